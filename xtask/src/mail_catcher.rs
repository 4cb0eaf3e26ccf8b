//! `cargo xtask mail-catcher`: takes every e-mail by SMTP on loopback, and shows it on a page. `dev` and the walk through the dashboard start it.

mod message;
mod pages;
mod smtp;

use std::collections::VecDeque;
use std::env;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use harness::area::Area;
use harness::interrupt::{Interrupt, PAUSE};
use harness::pids::StopSignal;
use harness::ports::Ports;
use harness::process::{Running, in_own_session};

use self::message::Email;

/// Older ones are forgotten.
const KEPT: usize = 200;
/// A client that says nothing for so long is disconnected.
const SILENCE: Duration = Duration::from_secs(30);
const LONGEST_LINE: u64 = 64 << 10;
const NAME: &str = "mail-catcher";

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
    /// Starts one as a process of its own, which `cargo xtask stop` ends like the others.
    pub(crate) fn start(area: &Area, running: &mut Running) -> Result<Self> {
        let mut ports = Ports::of(area)?;
        let smtp = ports.choose("mail-catcher-smtp", None)?;
        let http = ports.choose(NAME, Some(8025))?;
        let mut command = in_own_session(this_program()?);
        command.args([
            NAME,
            "--smtp-port",
            &smtp.to_string(),
            "--http-port",
            &http.to_string(),
        ]);
        running.start(NAME, command, area.log(NAME), StopSignal::Term)?;
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

/// Where this program is. A build puts another one in its place, also while it runs.
fn this_program() -> Result<PathBuf> {
    let running = env::current_exe().context("where this program is")?;
    let replaced = running
        .to_str()
        .and_then(|path| path.strip_suffix(" (deleted)"))
        .map(PathBuf::from);
    Ok(replaced.unwrap_or(running))
}

/// The e-mails, newest first, each with its number.
#[derive(Default)]
struct Caught {
    emails: VecDeque<(u64, Email)>,
    count: u64,
}

type Shared = Arc<Mutex<Caught>>;

impl Caught {
    fn take(&mut self, email: Email) {
        self.count += 1;
        self.emails.push_front((self.count, email));
        self.emails.truncate(KEPT);
    }
}

pub(crate) fn run(options: &Options, interrupt: &Interrupt) -> Result<()> {
    let caught = Shared::default();
    listen(options.smtp_port, &caught, smtp::serve)?;
    listen(options.http_port, &caught, answer)?;
    while !interrupt.came() {
        thread::sleep(PAUSE);
    }
    Ok(())
}

/// One thread a connection: it is for one developer.
fn listen(port: u16, caught: &Shared, serve: fn(&TcpStream, &Shared) -> Result<()>) -> Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).context("the mail catcher's port")?;
    let caught = Arc::clone(caught);
    thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            let caught = Arc::clone(&caught);
            thread::spawn(move || {
                let _ = connection.set_read_timeout(Some(SILENCE));
                // A client that breaks off is no failure.
                let _ = serve(&connection, &caught);
            });
        }
    });
    Ok(())
}

/// Answers one HTTP request.
fn answer(mut connection: &TcpStream, caught: &Shared) -> Result<()> {
    let mut reader = BufReader::new(connection.take(LONGEST_LINE));
    let mut request = String::new();
    reader.read_line(&mut request)?;
    // The rest of the head is read, so that closing resets no connection.
    let mut line = String::new();
    while reader.read_line(&mut line)? > 2 {
        line.clear();
    }
    let path = request.split(' ').nth(1).unwrap_or("/");
    let page = {
        let caught = caught.lock().unwrap_or_else(PoisonError::into_inner);
        match path.strip_prefix("/emails/") {
            Some(number) => caught
                .emails
                .iter()
                .find(|(of_it, _)| of_it.to_string() == number)
                .map(|(_, email)| pages::email(email)),
            None if path == "/" => Some(pages::list(&caught.emails)),
            None => None,
        }
    };
    let (status, page) = page.map_or(("404 Not Found", pages::nothing()), |page| ("200 OK", page));
    write!(
        connection,
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\
         Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'\r\nX-Content-Type-Options: nosniff\r\n\
         Referrer-Policy: no-referrer\r\n\r\n{page}",
        page.len()
    )?;
    Ok(())
}
