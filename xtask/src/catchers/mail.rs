//! `cargo xtask mail-catcher`: takes every e-mail by SMTP on loopback, and shows it on a page.

mod message;
mod pages;
mod smtp;

use std::sync::{Arc, Mutex};

use anyhow::Result;
use harness::area::Area;
use harness::interrupt::Interrupt;
use harness::ports::Ports;
use harness::process::Running;

use self::message::Email;
use super::http::{self, Answer, Request};
use super::{Kept, listen, locked, start, wait_for_the_end};

const NAME: &str = "mail-catcher";
const PORT: u16 = 8025;

#[derive(clap::Args)]
pub(crate) struct Options {
    #[arg(long)]
    smtp_port: u16,
    #[arg(long)]
    http_port: u16,
}

/// A catcher that runs, and what services and people need of it.
pub(crate) struct MailCatcher {
    smtp_url: String,
    /// Its page.
    pub(crate) url: String,
}

impl MailCatcher {
    pub(crate) fn start(area: &Area, running: &mut Running) -> Result<Self> {
        let mut ports = Ports::of(area)?;
        let smtp = ports.choose("mail-catcher-smtp", None)?;
        let http = ports.choose(NAME, Some(PORT))?;
        let arguments = [
            ("--smtp-port", smtp.to_string()),
            ("--http-port", http.to_string()),
        ];
        start(NAME, &arguments, area, running)?;
        Ok(Self {
            smtp_url: format!("smtp://127.0.0.1:{smtp}"),
            url: format!("http://127.0.0.1:{http}"),
        })
    }

    /// Of the services: e-mail is on, and comes here.
    pub(crate) fn settings(&self) -> [(&'static str, &str); 2] {
        [
            ("SMTP_URL", self.smtp_url.as_str()),
            ("EMAIL_FROM", "Referral tracker <mail@referrals.example>"),
        ]
    }
}

type Caught = Mutex<Kept<Email>>;

pub(crate) fn run(options: &Options, interrupt: &Interrupt) -> Result<()> {
    let caught = Arc::<Caught>::default();
    listen(options.smtp_port, &caught, smtp::serve)?;
    listen(options.http_port, &caught, |connection, caught| {
        http::serve(connection, caught, answer)
    })?;
    wait_for_the_end(interrupt);
    Ok(())
}

fn answer(request: &Request, caught: &Caught) -> Answer {
    let page = match request.path.strip_prefix("/emails/") {
        Some(number) => locked(caught, |kept| kept.find(number)).map(|email| pages::email(&email)),
        None if request.path == "/" => Some(pages::list(&locked(caught, |kept| kept.all()))),
        None => None,
    };
    page.map_or_else(
        || Answer::Page("404 Not Found", pages::nothing()),
        |page| Answer::Page("200 OK", page),
    )
}
