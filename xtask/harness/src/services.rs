//! The service's own processes: how they are configured, started, and known to be ready.

use std::env;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, bail};
use serde_json::Value;

use crate::area::{Area, Checkout};
use crate::env_file::EnvFile;
use crate::http::{self, Answer};
use crate::interrupt::Interrupt;
use crate::ports::Ports;
use crate::process::{Running, in_own_session, tail};
use crate::progress::Step;

pub const INGEST: &str = "ingest";
pub const WEBHOOK_CONSUMER: &str = "webhook-consumer";
/// The worker's role that sends webhooks.
pub const DELIVERY: &str = "delivery";
/// In the order of their start; they stop in reverse order: the edges first, while the worker still answers
/// them.
pub const SERVICES: [&str; 4] = ["worker", DELIVERY, WEBHOOK_CONSUMER, INGEST];
/// What is built for them.
pub const PROGRAMS: [&str; 3] = ["worker", WEBHOOK_CONSUMER, INGEST];

/// Prefix of the variables that `ctl seed-demo` prints.
pub const DEMO_PREFIX: &str = "DEMO_";

const INGEST_PORT: u16 = 8080;
const READY_LIMIT: Duration = Duration::from_mins(1);
const READINESS_LIMIT: Duration = Duration::from_secs(5);
const ANSWER_LIMIT: Duration = Duration::from_secs(10);

/// A started service and the port it answers on.
#[derive(Debug)]
pub struct Service {
    pub name: &'static str,
    pub port: u16,
}

impl Service {
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Sends a JSON request, without a body if it is null.
    pub fn ask(&self, method: &str, path: &str, bearer: Option<&str>, body: &Value) -> Result<Answer> {
        let credential = bearer.map_or_else(String::new, |bearer| {
            format!("Authorization: Bearer {bearer}\r\n")
        });
        let headers = format!("Content-Type: application/json\r\n{credential}");
        let line = format!("{method} {path} HTTP/1.1");
        let body = match body {
            Value::Null => String::new(),
            _ => body.to_string(),
        };
        http::ask(self.port, ANSWER_LIMIT, &line, &headers, &body)
    }
}

/// Starts all services.
pub fn start(checkout: &Checkout, area: &Area, env: &EnvFile, running: &mut Running) -> Result<Vec<Service>> {
    let mut ports = Ports::of(area)?;
    SERVICES
        .into_iter()
        .map(|name| {
            let command = in_own_session(checkout.bin_dir.join(program(name)));
            start_as(name, command, checkout, area, env, &mut ports, running)
        })
        .collect()
}

/// The program of a service.
pub fn program(service: &str) -> &str {
    if service == DELIVERY { "worker" } else { service }
}

/// Starts a service under a name, by a command made by [`in_own_session`].
pub fn start_as(
    name: &'static str,
    mut command: Command,
    checkout: &Checkout,
    area: &Area,
    env: &EnvFile,
    ports: &mut Ports,
    running: &mut Running,
) -> Result<Service> {
    let public = ports.choose(INGEST, Some(INGEST_PORT))?;
    let port = ports.choose(name, None)?;
    command
        .current_dir(&checkout.root)
        // Browsers offer passkeys for host names only.
        .env("PUBLIC_URL", format!("http://localhost:{public}"))
        .envs(env.iter())
        .env("LISTEN", format!("127.0.0.1:{port}"))
        // The shell's address would be the same for all services.
        .env_remove("METRICS_LISTEN")
        // So that this machine can send X-Forwarded-For.
        .env("TRUSTED_PROXIES", "127.0.0.0/8,::1/128")
        // So that a receiver on this machine is sent webhooks.
        .env("WEBHOOK_ALLOW_LOOPBACK", "true");
    if name == DELIVERY {
        command.env("WORKER_ROLE", DELIVERY);
    }
    running.start(name, command, area.log(name))?;
    Ok(Service { name, port })
}

/// Waits until all services are ready; fails as soon as one ends.
pub fn wait_until_ready(
    services: &[Service],
    area: &Area,
    running: &mut Running,
    interrupt: &Interrupt,
) -> Result<()> {
    for service in services {
        let step = Step::start(format_args!("Waiting for {} on {}", service.name, service.url()));
        let mut last = None;
        interrupt.wait_until(READY_LIMIT, || {
            running.check()?;
            last = readiness(service.port).err();
            Ok(last.is_none())
        })?;
        if let Some(error) = last {
            bail!(
                "{} is not ready: {error}\n{}",
                service.name,
                tail(&area.log(service.name))
            );
        }
        step.done("ready");
    }
    Ok(())
}

/// Fails with the answer of `/readyz`, unless it is 200.
pub fn readiness(port: u16) -> Result<Value> {
    http::ask(port, READINESS_LIMIT, "GET /readyz HTTP/1.1", "", "")?.succeeded()
}

/// `ctl`, without the shell's variables of another demo program.
pub fn ctl(checkout: &Checkout, env: &EnvFile) -> Command {
    let mut command = Command::new(checkout.bin_dir.join("ctl"));
    command.current_dir(&checkout.root);
    for (name, _) in env::vars_os() {
        if name.to_str().is_some_and(|name| name.starts_with(DEMO_PREFIX)) {
            command.env_remove(name);
        }
    }
    command.envs(env.iter());
    command
}
