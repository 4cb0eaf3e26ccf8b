//! `cargo xtask webhook-receiver`: takes webhooks on loopback, checks their signatures, and shows them on a page. It can be told to fail, so
//! that retries and disabled endpoints can be seen.

mod behaviour;
mod pages;
mod received;
mod secrets;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, SystemTime};

use anyhow::Result;
use harness::area::Area;
use harness::interrupt::Interrupt;
use harness::ports::Ports;
use harness::process::Running;

use self::behaviour::Behaviour;
use self::received::Received;
use self::secrets::Secrets;
use super::http::{self, Answer, Request};
use super::{Kept, listen, locked, start, wait_for_the_end};

const NAME: &str = "webhook-receiver";
const PORT: u16 = 8026;
/// Webhooks are taken here and below.
const WEBHOOKS: &str = "/webhooks";
/// Where the demo's endpoint is.
const OF_THE_DEMO: &str = "/webhooks/demo";
/// Of the answer that is slow: less than the sender waits.
const SLOWLY: Duration = Duration::from_secs(5);

#[derive(clap::Args)]
pub(crate) struct Options {
    #[arg(long)]
    port: u16,
    /// What the secrets of endpoints are read from, and written to.
    #[arg(long)]
    secrets: PathBuf,
}

/// A receiver that runs.
pub(crate) struct WebhookReceiver {
    secrets: Secrets,
    /// Its page.
    pub(crate) url: String,
}

impl WebhookReceiver {
    pub(crate) fn start(area: &Area, running: &mut Running) -> Result<Self> {
        let port = Ports::of(area)?.choose(NAME, Some(PORT))?;
        let file = secrets_file(area);
        let arguments = [
            ("--port", port.to_string()),
            ("--secrets", file.display().to_string()),
        ];
        start(NAME, &arguments, area, running)?;
        Ok(Self {
            secrets: Secrets::of(file),
            url: format!("http://127.0.0.1:{port}"),
        })
    }

    /// The URL of the demo's endpoint.
    pub(crate) fn demo_endpoint(&self) -> String {
        format!("{}{OF_THE_DEMO}", self.url)
    }

    /// Tells it the secret of the demo's endpoint.
    pub(crate) fn know(&self, secret: &str) -> Result<()> {
        self.secrets.add(OF_THE_DEMO, secret)
    }

    /// Whether it was told one at this start or an earlier one.
    pub(crate) fn knows_demo(&self) -> bool {
        let known = self.secrets.read();
        known.iter().any(|secret| secret.path == OF_THE_DEMO)
    }
}

pub(crate) fn secrets_file(area: &Area) -> PathBuf {
    area.dir.join("webhook-secrets")
}

struct Receiver {
    secrets: Secrets,
    now: Mutex<Now>,
}

#[derive(Default)]
struct Now {
    behaviour: Behaviour,
    kept: Kept<Received>,
}

pub(crate) fn run(options: &Options, interrupt: &Interrupt) -> Result<()> {
    let receiver = Arc::new(Receiver {
        secrets: Secrets::of(options.secrets.clone()),
        now: Mutex::default(),
    });
    listen(options.port, &receiver, |connection, receiver| {
        http::serve(connection, receiver, answer)
    })?;
    wait_for_the_end(interrupt);
    Ok(())
}

fn answer(request: &Request, receiver: &Receiver) -> Answer {
    let path = request.path.as_str();
    if request.method == "POST" && is_for_webhooks(path) {
        return receive(request, receiver);
    }
    match (request.method.as_str(), path) {
        ("POST", _) if request.is_from_another_site() => {
            Answer::Text("403 Forbidden", "from another site\n".to_owned())
        }
        ("POST", "/behaviour") => {
            let behaviour = request.field("answer").and_then(|name| Behaviour::of_name(&name));
            if let Some(behaviour) = behaviour {
                locked(&receiver.now, |now| now.behaviour = behaviour);
            }
            Answer::SeeOther("/")
        }
        ("POST", "/secrets") => add_secret(request, receiver),
        ("GET", "/") => {
            let (behaviour, all) = locked(&receiver.now, |now| (now.behaviour, now.kept.all()));
            Answer::Page("200 OK", pages::list(behaviour, &all, &receiver.secrets.read()))
        }
        ("GET", _) => shown(request, receiver).map_or_else(
            || Answer::Page("404 Not Found", pages::nothing()),
            |page| Answer::Page("200 OK", page),
        ),
        _ => Answer::Text(
            "405 Method Not Allowed",
            "POST webhooks to /webhooks\n".to_owned(),
        ),
    }
}

fn is_for_webhooks(path: &str) -> bool {
    path.strip_prefix(WEBHOOKS)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn receive(request: &Request, receiver: &Receiver) -> Answer {
    let (behaviour, verdict) = locked(&receiver.now, |now| {
        let attempt = Received::new(request.clone(), seconds_now(), now.behaviour);
        let verdict = attempt.verdict(&receiver.secrets.read());
        now.kept.take(attempt);
        (now.behaviour, verdict)
    });
    let said = format!("{}\n", verdict.text());
    match behaviour {
        Behaviour::Accept => Answer::Text("200 OK", said),
        Behaviour::Slow => {
            thread::sleep(SLOWLY);
            Answer::Text("200 OK", said)
        }
        Behaviour::Fail => Answer::Text("500 Internal Server Error", "told to fail\n".to_owned()),
        Behaviour::Gone => Answer::Text("410 Gone", "told to want nothing more\n".to_owned()),
        Behaviour::Hang => Answer::Silence,
    }
}

/// Seconds since 1970.
#[expect(
    clippy::disallowed_methods,
    reason = "the service's clock would bring the service's dependencies along"
)]
fn seconds_now() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs().try_into().unwrap_or(i64::MAX))
}

fn add_secret(request: &Request, receiver: &Receiver) -> Answer {
    let path = request.field("path").filter(|path| is_for_webhooks(path));
    let (Some(path), Some(secret)) = (path, request.field("secret")) else {
        return Answer::Text(
            "400 Bad Request",
            "a path below /webhooks, and a secret\n".to_owned(),
        );
    };
    match receiver.secrets.add(&path, &secret) {
        Ok(()) => Answer::SeeOther("/"),
        Err(error) => Answer::Text("400 Bad Request", format!("{error:#}\n")),
    }
}

/// The pages beside the list.
fn shown(request: &Request, receiver: &Receiver) -> Option<String> {
    if let Some(path) = request.path.strip_prefix("/secrets") {
        let host = request.header("host").unwrap_or("127.0.0.1");
        return Some(pages::secrets(host, path, &receiver.secrets.read()));
    }
    let number = request.path.strip_prefix("/received/")?;
    let (found, all) = locked(&receiver.now, |now| (now.kept.find(number), now.kept.all()));
    Some(pages::one(&*found?, &all, &receiver.secrets.read()))
}
