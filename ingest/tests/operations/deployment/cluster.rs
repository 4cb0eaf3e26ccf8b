//! Three NATS servers with the settings of `deploy/kubernetes`, except for paths and addresses.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use async_nats::jetstream::{self, Context};
use messages::subject::Subject;
use reqwest::StatusCode;
use runtime::clock::Clock;
use testing::{Folder, Process, free_address};

use super::users::PASSWORD;
use super::{changed, make_secrets, nats_server, read};
use test_harness::{Stack, sale_of};

const NODES: [&str; 3] = ["nats-0", "nats-1", "nats-2"];

struct Cluster {
    nodes: Vec<Node>,
    folder: Folder,
    secrets: Folder,
}

struct Node {
    name: &'static str,
    client: u16,
    route: u16,
    process: Process,
}

impl Cluster {
    fn start() -> Self {
        let (folder, secrets) = (Folder::create(), make_secrets());
        let routes = NODES.map(|_| free_address().port());
        let nodes = NODES.iter().zip(routes).map(|(&name, route)| {
            let home = folder.join(name);
            fs::create_dir(&home).unwrap();
            let client = free_address().port();
            let mut changes = vec![
                ("0.0.0.0:4222".to_owned(), format!("127.0.0.1:{client}")),
                ("0.0.0.0:8222".to_owned(), free_address().to_string()),
                ("0.0.0.0:6222".to_owned(), format!("127.0.0.1:{route}")),
                ("/secrets".to_owned(), secrets.display().to_string()),
                ("\"/data\"".to_owned(), format!("\"{}\"", home.display())),
            ];
            for (other, route) in NODES.iter().zip(routes) {
                changes.push((format!("{other}.nats:6222"), format!("127.0.0.1:{route}")));
            }
            let settings = changed(&read("kubernetes/base/nats.conf"), &changes);
            fs::write(home.join("nats.conf"), settings).unwrap();
            let users = read("kubernetes/base/nats-users.conf");
            fs::write(home.join("nats-users.conf"), users).unwrap();
            let process = Self::start_node(name, &home);
            Node {
                name,
                client,
                route,
                process,
            }
        });
        Self {
            nodes: nodes.collect(),
            folder,
            secrets,
        }
    }

    fn start_node(name: &str, home: &Path) -> Process {
        Process::spawn(nats_server(home, "nats.conf").env("SERVER_NAME", name))
    }

    /// In the form in which `make-secrets.sh` writes it.
    fn url(&self, user: &str) -> String {
        let urls: Vec<String> = self
            .nodes
            .iter()
            .map(|node| format!("tls://{user}:{PASSWORD}@127.0.0.1:{}", node.client))
            .collect();
        urls.join(",")
    }

    /// Connects through another server than this one.
    async fn jetstream(&self, without: Option<&str>) -> Option<Context> {
        let node = self.nodes.iter().find(|node| Some(node.name) != without).unwrap();
        let client = async_nats::ConnectOptions::with_user_and_password("ctl".into(), PASSWORD.into())
            .custom_inbox_prefix("_INBOX_ctl")
            .add_root_certificates(self.secrets.file("servers-ca.crt").into())
            .connect(format!("tls://127.0.0.1:{}", node.client))
            .await
            .ok()?;
        Some(jetstream::new(client))
    }

    fn kill(&mut self, name: &str) {
        let mut nodes = self.nodes.iter_mut();
        nodes.find(|node| node.name == name).unwrap().process.kill();
    }

    fn start_again(&mut self, name: &str) {
        let process = Self::start_node(name, &self.folder.join(name));
        let mut nodes = self.nodes.iter_mut();
        nodes.find(|node| node.name == name).unwrap().process = process;
    }
}

/// The answer of a server to a peer that claims to belong to the cluster, but shows no certificate.
fn answer_to_a_stranger(route: u16) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", route)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    stream
        .write_all(b"INFO {\"server_id\":\"stranger\"}\r\nCONNECT {}\r\nPING\r\n")
        .unwrap();
    let mut answer = Vec::new();
    // The connection may end in any way.
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

/// The leader of a stream, and whether each of the three servers has all of it.
async fn leader(jetstream: &Context, stream: &str) -> Option<(String, bool)> {
    let info = jetstream.get_stream(stream).await.ok()?.cached_info().clone();
    let cluster = info.cluster?;
    let others = &cluster.replicas;
    let whole = others.len() + 1 == NODES.len() && others.iter().all(|peer| peer.current && !peer.offline);
    Some((cluster.leader?, whole))
}

#[tokio::test(flavor = "multi_thread")]
async fn three_servers_keep_every_message_and_one_of_them_may_be_lost() {
    let mut cluster = Cluster::start();
    let mut stack = Stack::without_services(Clock::system()).await;
    // The users' permissions are for subjects without a prefix.
    stack.set("STREAM_PREFIX", "");
    stack.set("STREAM_REPLICAS", "3");
    stack.set("NATS_CA_FILE", &cluster.secrets.file("servers-ca.crt"));
    stack
        .eventually("the servers have found each other", async || {
            match cluster.jetstream(None).await {
                Some(jetstream) => jetstream.query_account().await.is_ok(),
                None => false,
            }
        })
        .await;
    stack.set("NATS_URL", &cluster.url("worker"));
    stack.start_worker();
    stack.set("NATS_URL", &cluster.url("ingest"));
    let address = stack.start_ingest();
    stack.use_ingest(address);
    stack.ready().await;
    let program = stack.program().await;
    let stream = Subject::Sales.stream_name("");
    stack.customer(&program, &program.ada.code, "user-1").await;
    stack.sold(&program, sale_of("t1", "user-1")).await;

    let route = cluster.nodes[0].route;
    let answer = tokio::task::spawn_blocking(move || answer_to_a_stranger(route))
        .await
        .unwrap();
    assert!(!answer.contains("PONG"), "{answer}");
    let log = fs::read_to_string(cluster.folder.join(NODES[0]).join("log")).unwrap();
    assert!(log.contains("TLS route handshake error"), "{log}");
    let jetstream = cluster.jetstream(None).await.unwrap();
    let (lost, whole) = leader(&jetstream, &stream).await.unwrap();
    assert!(whole, "not every server has the stream");
    cluster.kill(&lost);
    stack
        .eventually("a sale is recorded without the server that led", async || {
            let sold = stack.sale(&program, sale_of("t2", "user-1")).await;
            // The first attempt may have been recorded although its answer came too late.
            [StatusCode::OK, StatusCode::CONFLICT].contains(&sold.status)
        })
        .await;
    stack.reaches("sale_events", 2).await;

    cluster.start_again(&lost);
    let jetstream = cluster.jetstream(Some(&lost)).await.unwrap();
    stack
        .eventually("it is back, with all it missed", async || {
            leader(&jetstream, &stream).await.is_some_and(|(_, whole)| whole)
        })
        .await;
    stack.verify().await;
    // One address is enough to delete the streams.
    stack.set("NATS_URL", cluster.url("ctl").split(',').next().unwrap());
}
