//! Rounds with a cluster of three NATS servers: the leader of a stream is killed and restarted.
//!
//! The services use the cluster directly, without proxies: a client learns the servers' own addresses anyway.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use async_nats::jetstream;
use harness::area::remove;
use harness::pids::StopSignal;
use harness::ports::Ports;
use harness::process::in_own_session;
use harness::servers::nats;
use messages::subject::Subject;

use super::rng::Rng;
use super::round::RunningRound;
use super::schedule::Service;
use super::stack::Stack;

const NODES: [&str; 3] = ["nats-1", "nats-2", "nats-3"];
const START_LIMIT: Duration = Duration::from_secs(30);
const BEFORE: Duration = Duration::from_secs(1);
const WITHOUT: Duration = Duration::from_millis(2_500);
/// Streams whose leader may be killed.
const NOUNS: [Subject; 4] = [Subject::Clicks, Subject::Leads, Subject::Sales, Subject::Refunds];
/// Limit for clients to find the remaining majority.
const FAILOVER_LIMIT: Duration = Duration::from_secs(15);

impl Stack<'_> {
    /// Starts three empty servers, and restarts every service with them.
    pub(super) fn enter_cluster(&mut self) -> Result<()> {
        self.stop_services()?;
        let mut ports = Ports::of(&self.area)?;
        let mut nodes = Vec::new();
        for name in NODES {
            nodes.push(Node {
                name,
                clients: ports.choose(&format!("{name}-clients"), None)?,
                routes: ports.choose(&format!("{name}-routes"), None)?,
            });
        }
        for node in &nodes {
            let dir = self.node_dir(node.name);
            remove(&dir)?;
            fs::create_dir_all(&dir)?;
            fs::write(dir.join("nats.conf"), node.settings(&dir, &nodes))?;
            self.start_node(node.name)?;
        }
        let urls: Vec<String> = nodes.iter().map(|node| nats::url(node.clients)).collect();
        let single = std::mem::replace(&mut self.servers.nats_url, urls.join(","));
        self.single_nats_url = Some(single);
        self.wait_for_nodes(&nodes)?;
        self.env.set("STREAM_REPLICAS", "3");
        self.start_services()
    }

    /// Restarts every service with the single server, which kept its streams.
    pub(super) fn leave_cluster(&mut self) -> Result<()> {
        let Some(single) = self.single_nats_url.take() else {
            return Ok(());
        };
        self.stop_services()?;
        for node in NODES {
            self.running.kill(node)?;
        }
        self.servers.nats_url = single;
        self.env.set("STREAM_REPLICAS", "1");
        self.start_services()
    }

    pub(super) fn stop_services(&mut self) -> Result<()> {
        Service::ALL
            .into_iter()
            .try_for_each(|service| self.kill_service(service))
    }

    pub(super) fn start_services(&mut self) -> Result<()> {
        for service in Service::ALL {
            self.start_service(service, &[])?;
        }
        self.wait_until_ready()
    }

    fn node_dir(&self, node: &str) -> PathBuf {
        self.area.dir.join("cluster").join(node)
    }

    fn start_node(&mut self, node: &'static str) -> Result<()> {
        let program = self.servers.nats.clone().context("no NATS server here")?;
        let mut command = in_own_session(program);
        command.arg("--config").arg(self.node_dir(node).join("nats.conf"));
        self.running
            .start(node, command, self.area.log(node), StopSignal::Term)
    }

    fn wait_for_nodes(&self, nodes: &[Node]) -> Result<()> {
        let is_up = |node: &Node| nats::has_jetstream(node.clients).unwrap_or(false);
        let up = self
            .interrupt
            .wait_until(START_LIMIT, || Ok(nodes.iter().all(is_up)))?;
        ensure!(up, "the cluster does not start");
        Ok(())
    }

    /// The current leader of a stream.
    async fn leader(&self, subject: Subject) -> Result<&'static str> {
        let info = self.stream(subject).await?;
        let leader = info.cluster.and_then(|cluster| cluster.leader);
        NODES
            .into_iter()
            .find(|node| leader.as_deref() == Some(*node))
            .context("the stream has no leader")
    }

    /// Whether every replica of a stream is current.
    async fn is_whole(&self, subject: Subject) -> Result<bool> {
        let cluster = self.stream(subject).await?.cluster.unwrap_or_default();
        let others = &cluster.replicas;
        Ok(others.len() + 1 == NODES.len() && others.iter().all(|peer| peer.current && !peer.offline))
    }

    async fn stream(&self, subject: Subject) -> Result<jetstream::stream::Info> {
        let found = self
            .jetstream()
            .await?
            .get_stream(subject.stream_name(""))
            .await?;
        Ok(found.cached_info().clone())
    }
}

impl RunningRound<'_, '_> {
    pub(super) fn cluster(&mut self) -> Result<()> {
        self.watch_for(BEFORE)?;
        let subject = Rng::of(self.round.seed, u64::MAX - 1).pick(&NOUNS);
        let leader = self.stack.runtime.block_on(self.stack.leader(subject))?;
        self.notes.push(format!("{leader} led {subject}"));
        self.stack.running.kill(leader)?;
        let started = Instant::now();
        self.watch_for(WITHOUT)?;
        // Two of three are enough.
        let recovered = self.probe()?;
        if recovered.is_none_or(|_| started.elapsed() > WITHOUT + FAILOVER_LIMIT) {
            self.violations
                .push("no sale while one of three servers is down".to_owned());
        }
        self.stack.start_node(leader)?;
        let whole = self.watch_until(START_LIMIT, |round| {
            let whole = round.stack.runtime.block_on(round.stack.is_whole(subject));
            whole.unwrap_or(false)
        })?;
        if !whole {
            self.violations
                .push(format!("{leader} does not come back to {subject}"));
        }
        Ok(())
    }
}

/// A server, and its ports.
struct Node {
    name: &'static str,
    clients: u16,
    routes: u16,
}

impl Node {
    fn settings(&self, dir: &Path, nodes: &[Self]) -> String {
        let routes = nodes
            .iter()
            .map(|node| format!("\"nats://127.0.0.1:{}\"", node.routes));
        format!(
            "server_name: \"{}\"\n\
             listen: \"127.0.0.1:{}\"\n\
             jetstream {{\n\x20 store_dir: \"{}\"\n\x20 sync_interval: always\n}}\n\
             cluster {{\n\x20 name: \"chaos\"\n\x20 listen: \"127.0.0.1:{}\"\n\x20 routes: [{}]\n}}\n",
            self.name,
            self.clients,
            dir.display(),
            self.routes,
            routes.collect::<Vec<_>>().join(", ")
        )
    }
}
