//! Runs the servers of `docs/webhooks.md` unchanged: each refuses what is signed with another secret, and remembers an event of the service.

use std::fs::{self, File};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use harness::area::Checkout;
use harness::interrupt::Interrupt;
use harness::progress::Step;
use serde_json::{Value, json};

use super::example;
use crate::demo::Owner;
use crate::oracles::Oracles;
use crate::whole_service::WholeService;

pub(super) const PAGE: &str = "docs/webhooks.md";
const PATIENCE: Duration = Duration::from_mins(1);
/// `whsec_` and 32 bytes that sign nothing.
const OTHER_SECRET: &str = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";

const NODE_FILE: &str = "server.mjs";
/// Headings, each with the file of its server.
pub(super) const SERVERS: [(&str, &str); 3] = [
    ("Node", NODE_FILE),
    ("Python", "server.py"),
    ("Without a library", "server.py"),
];
/// What the page leaves to its reader.
const REMEMBER_IN_NODE: &str = "const remember = (id, event) => console.log(id, event.type)\n";
const REMEMBER_IN_PYTHON: &str = "def remember(id, event):\n    print(id, event[\"type\"], flush=True)\n\n\n";

pub(crate) fn check(
    checkout: &Checkout,
    service: &WholeService,
    oracles: &Oracles,
    interrupt: &Interrupt,
) -> Result<()> {
    let page = fs::read_to_string(checkout.root.join(PAGE))?;
    let step = Step::start(format_args!("Running the servers of {PAGE}"));
    let owner = Owner::sign_in(&service.ingest, &service.demo_env)?.context("the owner cannot sign in")?;
    for (heading, file) in SERVERS {
        let code =
            example(&page, heading).with_context(|| format!("{PAGE} has no example under {heading}"))?;
        let server = Server {
            dir: checkout.target_dir().join("snippets/webhooks").join(heading),
            port: free_port()?,
            file,
            oracles,
        };
        server.write(code)?;
        let done = take_events(&server, &owner, service, interrupt);
        done.with_context(|| format!("the server under {heading} failed"))?;
    }
    step.done("they tell our events from others'");
    Ok(())
}

fn take_events(server: &Server, owner: &Owner, service: &WholeService, interrupt: &Interrupt) -> Result<()> {
    let endpoints = format!("{}/webhook-endpoints", owner.program);
    let url = format!("http://127.0.0.1:{}/webhooks", server.port);
    let endpoint = json!({ "url": url, "event_types": ["lead.created"] });
    let made = owner.ask("POST", &endpoints, &endpoint)?;
    let text = |pointer| made.pointer(pointer).map(ToString::to_string).unwrap_or_default();
    let endpoint = format!("{endpoints}/{}", text("/data/id"));

    let running = server.start(OTHER_SECRET, interrupt)?;
    let example = json!({ "type": "lead.created" });
    let sent = owner.ask("POST", &format!("{endpoint}/test"), &example)?;
    let delivery = sent.pointer("/data/id").context("a delivery has an id")?;
    let delivery = format!("{endpoint}/deliveries/{delivery}");
    let mut status = Value::Null;
    interrupt.wait_until(PATIENCE, || {
        let seen = owner.ask("GET", &delivery, &Value::Null)?;
        status = seen.pointer("/data/status").cloned().unwrap_or_default();
        Ok(!status.is_null())
    })?;
    ensure!(status == 400, "what another secret signed was answered {status}");
    drop(running);

    let running = server.start(text("/data/secret").trim_matches('"'), interrupt)?;
    let lead = json!({ "click_id": service.click()?, "customer_key": format!("server {}", server.port) });
    service.post("lead", &lead)?.succeeded()?;
    let remembered = interrupt.wait_until(PATIENCE, || Ok(server.printed().contains(" lead.created\n")))?;
    let printed = server.printed();
    ensure!(
        remembered,
        "it has not remembered the event; it printed: {printed}"
    );
    drop(running);
    owner.ask("DELETE", &endpoint, &Value::Null).map(|_| ())
}

struct Server<'a> {
    dir: PathBuf,
    port: u16,
    file: &'static str,
    oracles: &'a Oracles,
}

/// Ends with its owner.
struct Started(Child);

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Server<'_> {
    fn is_node(&self) -> bool {
        self.file == NODE_FILE
    }

    fn write(&self, code: &str) -> Result<()> {
        fs::create_dir_all(&self.dir)?;
        let before = if self.is_node() {
            REMEMBER_IN_NODE
        } else {
            REMEMBER_IN_PYTHON
        };
        fs::write(self.dir.join(self.file), format!("{before}{code}\n"))?;
        // Node looks for packages here.
        let packages = self.dir.join("node_modules");
        let _ = fs::remove_file(&packages);
        std::os::unix::fs::symlink(&self.oracles.node_modules, packages)?;
        Ok(())
    }

    /// Returns once it takes connections.
    fn start(&self, secret: &str, interrupt: &Interrupt) -> Result<Started> {
        let program: &Path = if self.is_node() {
            &self.oracles.node.program
        } else {
            &self.oracles.python
        };
        let printed = File::create(self.dir.join("printed"))?;
        let mut command = Command::new(program);
        command
            .current_dir(&self.dir)
            .arg(self.file)
            .env("PORT", self.port.to_string())
            .env("WEBHOOK_SECRET", secret)
            .stdin(Stdio::null())
            .stdout(printed.try_clone()?)
            .stderr(printed);
        let mut started = Started(command.spawn().context("it does not start")?);
        let listens = interrupt.wait_until(PATIENCE, || {
            if let Some(status) = started.0.try_wait()? {
                bail!("it ended ({status}): {}", self.printed());
            }
            Ok(TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).is_ok())
        })?;
        ensure!(listens, "it does not listen: {}", self.printed());
        Ok(started)
    }

    fn printed(&self) -> String {
        fs::read_to_string(self.dir.join("printed")).unwrap_or_default()
    }
}

fn free_port() -> Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    Ok(listener.local_addr()?.port())
}
