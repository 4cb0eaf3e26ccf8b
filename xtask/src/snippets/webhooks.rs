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

const PAGE: &str = "docs/webhooks.md";
const PATIENCE: Duration = Duration::from_mins(1);
/// `whsec_` and 32 bytes that sign nothing.
const OTHER_SECRET: &str = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";

struct Language {
    heading: &'static str,
    file: &'static str,
    is_node: bool,
}

const LANGUAGES: [Language; 3] = [
    Language {
        heading: "Node",
        file: "server.mjs",
        is_node: true,
    },
    Language {
        heading: "Python",
        file: "server.py",
        is_node: false,
    },
    Language {
        heading: "Without a library",
        file: "server.py",
        is_node: false,
    },
];

impl Language {
    /// What the page leaves to its reader.
    const fn before(&self) -> &'static str {
        if self.is_node {
            "const remember = (id, event) => console.log(id, event.type)\n"
        } else {
            "def remember(id, event):\n    print(id, event[\"type\"], flush=True)\n\n\n"
        }
    }
}

pub(crate) fn check(
    checkout: &Checkout,
    service: &WholeService,
    oracles: &Oracles,
    interrupt: &Interrupt,
) -> Result<()> {
    let page = fs::read_to_string(checkout.root.join(PAGE))?;
    let step = Step::start(format_args!("Running the servers of {PAGE}"));
    let owner = Owner::sign_in(&service.ingest, &service.demo_env)?.context("the owner cannot sign in")?;
    for language in &LANGUAGES {
        let heading = language.heading;
        let code =
            example(&page, heading).with_context(|| format!("{PAGE} has no example under {heading}"))?;
        let server = Server {
            dir: checkout.target_dir().join("snippets/webhooks").join(heading),
            port: free_port()?,
            language,
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
    let sent = owner.ask(
        "POST",
        &format!("{endpoint}/test"),
        &json!({ "type": "lead.created" }),
    )?;
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
    let answer = service.post("lead", &lead.to_string())?;
    ensure!(
        answer.starts_with("HTTP/1.1 200"),
        "the lead was refused: {answer}"
    );
    let remembered = interrupt.wait_until(PATIENCE, || Ok(server.printed().contains(" lead.created\n")))?;
    if !remembered {
        bail!(
            "it has not remembered the event; it printed: {}",
            server.printed()
        );
    }
    drop(running);
    owner.ask("DELETE", &endpoint, &Value::Null).map(|_| ())
}

struct Server<'a> {
    dir: PathBuf,
    port: u16,
    language: &'a Language,
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
    fn write(&self, code: &str) -> Result<()> {
        fs::create_dir_all(&self.dir)?;
        let text = format!("{}{code}\n", self.language.before());
        fs::write(self.dir.join(self.language.file), text)?;
        // Node looks for packages here.
        let packages = self.dir.join("node_modules");
        let _ = fs::remove_file(&packages);
        std::os::unix::fs::symlink(&self.oracles.node_modules, packages)?;
        Ok(())
    }

    /// Returns once it takes connections.
    fn start(&self, secret: &str, interrupt: &Interrupt) -> Result<Started> {
        let program: &Path = if self.language.is_node {
            &self.oracles.node.program
        } else {
            &self.oracles.python
        };
        let printed = File::create(self.dir.join("printed"))?;
        let mut command = Command::new(program);
        command
            .current_dir(&self.dir)
            .arg(self.language.file)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_a_server_under_every_heading() {
        let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(PAGE)).unwrap();
        for language in &LANGUAGES {
            let code = example(&page, language.heading).unwrap_or_default();
            for word in ["WEBHOOK_SECRET", "PORT", "remember(", "is_test"] {
                assert!(code.contains(word), "{}: {word}", language.heading);
            }
        }
    }
}
