//! The program of `xtask/dev-servers`, which runs beside the service: its front, a page of e-mails, a receiver of webhooks.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use anyhow::{Context, Result};
use harness::area::{Area, Checkout};
use harness::env_file::EnvFile;
use harness::ports::Ports;
use harness::process::{Running, in_own_session};
use harness::services::{INGEST, WEBHOOK_CONSUMER};

/// Of the program and its package.
pub(crate) const NAME: &str = "dev-servers";
const FRONT_PORT: u16 = 8080;
const MAIL_PORT: u16 = 8025;
const WEBHOOKS_PORT: u16 = 8026;
/// Where the demo's endpoint is.
const OF_THE_DEMO: &str = "/webhooks/demo";

/// They run.
pub(crate) struct DevServers {
    smtp_url: String,
    /// The page of what is sent by e-mail.
    pub(crate) mail_url: String,
    /// The page of what is sent to webhook endpoints.
    pub(crate) receiver_url: String,
    /// The secrets of endpoints, each with the path that the endpoint calls: lines of a file.
    secrets: PathBuf,
    front_port: Option<u16>,
}

impl DevServers {
    /// Without a front.
    pub(crate) fn start(checkout: &Checkout, area: &Area, running: &mut Running) -> Result<Self> {
        Self::start_with(Ports::of(area)?, None, checkout, area, running)
    }

    /// The front's port is chosen before the ingest could: links in answers and e-mails begin with this one.
    pub(crate) fn start_with_front(checkout: &Checkout, area: &Area, running: &mut Running) -> Result<Self> {
        let mut ports = Ports::of(area)?;
        let front = ports.choose("front", Some(FRONT_PORT))?;
        Self::start_with(ports, Some(front), checkout, area, running)
    }

    fn start_with(
        mut ports: Ports,
        front_port: Option<u16>,
        checkout: &Checkout,
        area: &Area,
        running: &mut Running,
    ) -> Result<Self> {
        let smtp = ports.choose("smtp", None)?;
        let mail = ports.choose("mail-catcher", Some(MAIL_PORT))?;
        let webhooks = ports.choose("webhook-receiver", Some(WEBHOOKS_PORT))?;
        let secrets = secrets_file(area);
        let mut command = in_own_session(checkout.bin_dir.join(NAME));
        command.arg("--secrets").arg(&secrets);
        let mut port = |name: &str, port: u16| {
            command.args([name, &port.to_string()]);
        };
        port("--smtp-port", smtp);
        port("--mail-port", mail);
        port("--webhooks-port", webhooks);
        if let Some(front) = front_port {
            port("--front-port", front);
            port("--ingest-port", ports.choose(INGEST, None)?);
            port("--webhook-consumer-port", ports.choose(WEBHOOK_CONSUMER, None)?);
        }
        running.start(NAME, command, area.log(NAME))?;
        Ok(Self {
            smtp_url: format!("smtp://127.0.0.1:{smtp}"),
            mail_url: url(mail),
            receiver_url: url(webhooks),
            secrets,
            front_port,
        })
    }

    /// Of the services: e-mail is on, and caught; links begin with the front's address.
    pub(crate) fn configure(&self, env: &mut EnvFile) {
        env.set("SMTP_URL", &self.smtp_url);
        env.set("EMAIL_FROM", "Referral tracker <mail@referrals.example>");
        if let Some(port) = self.front_port {
            // Browsers offer passkeys for host names only.
            env.set("PUBLIC_URL", format!("http://localhost:{port}"));
        }
    }

    /// For shells and tools.
    pub(crate) fn describe(&self, env: &mut EnvFile) {
        if let Some(port) = self.front_port {
            env.set("BASE_URL", url(port));
        }
        env.set("MAIL_URL", &self.mail_url);
        env.set("WEBHOOK_RECEIVER_URL", &self.receiver_url);
    }

    /// The URL of the demo's endpoint.
    pub(crate) fn demo_endpoint(&self) -> String {
        format!("{}{OF_THE_DEMO}", self.receiver_url)
    }

    /// Gives the receiver the secret of the demo's endpoint. While a secret is replaced, there are two.
    pub(crate) fn know(&self, secret: &str) -> Result<()> {
        let mut options = OpenOptions::new();
        let file = options.append(true).create(true).mode(0o600).open(&self.secrets);
        file.and_then(|mut file| writeln!(file, "{OF_THE_DEMO} {secret}"))
            .with_context(|| format!("cannot write {}", self.secrets.display()))
    }

    /// Whether the receiver has it since this start or an earlier one.
    pub(crate) fn knows_demo(&self) -> bool {
        let known = fs::read_to_string(&self.secrets).unwrap_or_default();
        known
            .lines()
            .any(|line| line.split(' ').next() == Some(OF_THE_DEMO))
    }
}

fn url(port: u16) -> String {
    format!("http://127.0.0.1:{port}")
}

pub(crate) fn secrets_file(area: &Area) -> PathBuf {
    area.dir.join("webhook-secrets")
}
