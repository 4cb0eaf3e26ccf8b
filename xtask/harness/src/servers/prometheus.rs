//! Prometheus, on loopback and with data of its own; Debian's service never runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::debian;
use super::start::Start;
use crate::area::{Area, Checkout};
use crate::http;
use crate::interrupt::Interrupt;
use crate::pids::StopSignal;
use crate::ports::Ports;
use crate::process::{Running, in_own_session};
use crate::progress::Step;

pub const NAME: &str = "prometheus";
const ANSWER_LIMIT: Duration = Duration::from_secs(10);

/// A started server.
#[derive(Debug, Clone, Copy)]
pub struct Prometheus {
    port: u16,
}

impl Prometheus {
    /// Starts it with this configuration, and returns once it answers.
    pub fn start(
        checkout: &Checkout,
        area: &Area,
        config: &Path,
        running: &mut Running,
        interrupt: &Interrupt,
    ) -> Result<Self> {
        let program = provide(checkout, interrupt)?;
        let mut ports = Ports::of(area)?;
        let port = ports.choose(NAME, None)?;
        let step = Step::start(format_args!("Starting Prometheus on 127.0.0.1:{port}"));
        let data = area.dir.join(NAME).join("data");
        fs::create_dir_all(&data)?;
        let mut command = in_own_session(program);
        command
            .current_dir(&data)
            .arg(format!("--config.file={}", config.display()))
            .arg(format!("--storage.tsdb.path={}", data.display()))
            .arg(format!("--web.listen-address=127.0.0.1:{port}"));
        let mut start = Start {
            area,
            ports: &mut ports,
            running,
            interrupt,
        };
        let started = Self { port };
        start.launch(NAME, command, StopSignal::Term, || {
            started.ask("/-/ready").is_ok()
        })?;
        step.done("Prometheus answers");
        Ok(started)
    }

    pub fn url(self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The body of the answer to a GET; fails unless it is 200.
    pub fn ask(self, path_and_query: &str) -> Result<String> {
        // By HTTP/1.0, an answer is not chunked.
        let line = format!("GET {path_and_query} HTTP/1.0");
        let answer = http::ask(self.port, ANSWER_LIMIT, &line, "", "")?;
        let (head, body) = answer.split_once("\r\n\r\n").context("half an answer")?;
        ensure!(
            head.split(' ').nth(1) == Some("200"),
            "Prometheus answered {path_and_query} with {}: {body}",
            head.lines().next().unwrap_or_default()
        );
        Ok(body.to_owned())
    }
}

fn provide(checkout: &Checkout, interrupt: &Interrupt) -> Result<PathBuf> {
    debian::extract(checkout, NAME, NAME, interrupt)?
        .context("prometheus is neither on this machine nor could Debian's package be fetched")
}
