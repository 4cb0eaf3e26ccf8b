//! `cargo xtask front`: one address on loopback for all of the service, as the front of `deploy/caddy` is one elsewhere. What payment processors
//! send goes to the webhook consumer, everything else to the ingest.
//!
//! One request a connection, passed on unchanged but for its `Connection` header.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpStream};
use std::sync::Arc;
use std::thread;

use anyhow::{Context, Result};
use harness::area::Area;
use harness::interrupt::Interrupt;
use harness::ports::Ports;
use harness::process::Running;
use harness::services::{INGEST, Service, WEBHOOK_CONSUMER};

use crate::catchers::{listen, start, wait_for_the_end};

const NAME: &str = "front";
const PORT: u16 = 8080;
/// As in `deploy/caddy/Caddyfile`.
const OF_PROCESSORS: [&str; 2] = ["/webhooks/", "/api/webhook-distributor/"];
const LONGEST_HEAD: u64 = 64 << 10;

#[derive(clap::Args)]
pub(crate) struct Options {
    #[arg(long)]
    port: u16,
    #[command(flatten)]
    services: Services,
}

/// Ports of the services behind it.
#[derive(clap::Args, Clone, Copy)]
struct Services {
    #[arg(long)]
    ingest: u16,
    #[arg(long)]
    webhook_consumer: u16,
}

impl Services {
    fn port_for(self, path: &str) -> u16 {
        if OF_PROCESSORS.iter().any(|prefix| path.starts_with(prefix)) {
            self.webhook_consumer
        } else {
            self.ingest
        }
    }
}

/// The front of an area; it may not run yet.
pub(crate) struct Front {
    port: u16,
}

impl Front {
    /// Chooses its port before the ingest could: links in answers and e-mails begin with this one.
    pub(crate) fn reserve(area: &Area) -> Result<Self> {
        let mut ports = Ports::of(area)?;
        let port = ports.choose(NAME, Some(PORT))?;
        ports.choose(INGEST, None)?;
        Ok(Self { port })
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Browsers offer passkeys for host names only.
    pub(crate) fn public_url(&self) -> String {
        format!("http://localhost:{}", self.port)
    }

    pub(crate) fn start(&self, services: &[Service], area: &Area, running: &mut Running) -> Result<()> {
        let port = |name: &str| {
            services
                .iter()
                .find(|service| service.name == name)
                .map(|service| service.port.to_string())
                .with_context(|| format!("{name} is missing"))
        };
        let arguments = [
            ("--port", self.port.to_string()),
            ("--ingest", port(INGEST)?),
            ("--webhook-consumer", port(WEBHOOK_CONSUMER)?),
        ];
        start(NAME, &arguments, area, running)
    }
}

pub(crate) fn run(options: &Options, interrupt: &Interrupt) -> Result<()> {
    listen(options.port, &Arc::new(options.services), |client, services| {
        forward(client, *services)
    })?;
    wait_for_the_end(interrupt);
    Ok(())
}

fn forward(client: &TcpStream, services: Services) -> Result<()> {
    let mut reader = BufReader::new(client);
    let Some((path, head)) = read_head(&mut reader)? else {
        return refuse(client, "400 Bad Request");
    };
    let Ok(mut service) = TcpStream::connect((Ipv4Addr::LOCALHOST, services.port_for(&path))) else {
        return refuse(client, "502 Bad Gateway");
    };
    service.write_all(&head)?;
    service.write_all(reader.buffer())?;
    // The live view of the dashboard lasts for hours, and its reader says nothing more.
    client.set_read_timeout(None)?;
    let (mut from, mut to) = (client.try_clone()?, service.try_clone()?);
    thread::spawn(move || {
        let _ = io::copy(&mut from, &mut to);
        // The client has gone.
        let _ = to.shutdown(Shutdown::Both);
    });
    io::copy(&mut service, &mut &*client)?;
    client.shutdown(Shutdown::Write)?;
    Ok(())
}

fn refuse(mut client: &TcpStream, status: &str) -> Result<()> {
    write!(
        client,
        "HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    )?;
    Ok(())
}

/// The path of a request, and its head for a connection that ends with its answer; `None` for what is no request or too long.
fn read_head(reader: &mut impl BufRead) -> io::Result<Option<(String, Vec<u8>)>> {
    let mut limited = reader.by_ref().take(LONGEST_HEAD);
    let mut head = Vec::new();
    limited.read_until(b'\n', &mut head)?;
    let first = String::from_utf8_lossy(&head).into_owned();
    let Some(path) = first.split_whitespace().nth(1) else {
        return Ok(None);
    };
    let mut line = Vec::new();
    loop {
        line.clear();
        limited.read_until(b'\n', &mut line)?;
        match line.trim_ascii_end() {
            [] if line.is_empty() => return Ok(None),
            [] => break,
            header if is_of_the_connection(header) => {}
            _ => head.extend_from_slice(&line),
        }
    }
    head.extend_from_slice(b"Connection: close\r\n\r\n");
    Ok(Some((path.to_owned(), head)))
}

fn is_of_the_connection(header: &[u8]) -> bool {
    let name = header.split(|byte| *byte == b':').next().unwrap_or_default();
    name.eq_ignore_ascii_case(b"connection") || name.eq_ignore_ascii_case(b"keep-alive")
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// Answers one request with its name and all it was sent.
    fn service(name: &'static str, body: usize) -> u16 {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || {
            let (mut connection, _) = listener.accept().unwrap();
            let mut reader = BufReader::new(connection.try_clone().unwrap());
            let (_, head) = read_head(&mut reader).unwrap().unwrap();
            let mut sent = vec![0; body];
            reader.read_exact(&mut sent).unwrap();
            write!(connection, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{name} ").unwrap();
            connection.write_all(&head).unwrap();
            connection.write_all(&sent).unwrap();
        });
        port
    }

    fn ask(services: Services, request: &[&str]) -> String {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (connection, _) = listener.accept().unwrap();
        let front = thread::spawn(move || forward(&connection, services).unwrap());
        for part in request {
            client.write_all(part.as_bytes()).unwrap();
        }
        let mut answer = String::new();
        client.read_to_string(&mut answer).unwrap();
        front.join().unwrap();
        answer
    }

    #[test]
    fn processors_reach_the_webhook_consumer_and_everybody_else_the_ingest() {
        for (path, wanted) in [
            ("/webhooks/stripe/1", "consumer"),
            ("/api/webhook-distributor/stripe", "consumer"),
            ("/api/v1/track/sale", "ingest"),
            ("/api/webhook-endpoints", "ingest"),
            ("/app/webhooks/1", "ingest"),
            ("/webhooks", "ingest"),
        ] {
            let services = Services {
                ingest: service("ingest", 4),
                webhook_consumer: service("consumer", 4),
            };
            let head = format!(
                "POST {path} HTTP/1.1\r\nhost: a\r\nconnection: Keep-Alive\r\ncontent-length: 4\r\n\r\n"
            );
            let answer = ask(services, &[&head, "bo", "dy"]);
            let (_, body) = answer.split_once("\r\n\r\n").unwrap();
            assert_eq!(
                body,
                format!(
                    "{wanted} POST {path} HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\nConnection: close\r\n\r\nbody"
                )
            );
        }
    }

    #[test]
    fn the_front_of_an_installation_has_the_same_paths() {
        let caddyfile = include_str!("../../../deploy/caddy/Caddyfile");
        let paths = OF_PROCESSORS.map(|prefix| format!("{prefix}*")).join(" ");
        assert!(caddyfile.contains(&format!("@processors path {paths}\n")));
        let ingress = include_str!("../../../deploy/kubernetes/overlays/production/ingress.yaml");
        let gateway = include_str!("../../../deploy/kubernetes/overlays/gateway/gateway.yaml");
        for prefix in OF_PROCESSORS {
            let path = prefix.trim_end_matches('/');
            assert!(ingress.contains(&format!("path: {path}\n")), "{path}");
            assert!(gateway.contains(&format!("value: {path}\n")), "{path}");
        }
    }

    #[test]
    fn no_request_and_no_service_are_answered() {
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let services = Services {
            ingest: port,
            webhook_consumer: port,
        };
        assert!(ask(services, &["GET / HTTP/1.1\r\n\r\n"]).starts_with("HTTP/1.1 502 "));
        assert!(ask(services, &["\r\n"]).starts_with("HTTP/1.1 400 "));
    }
}
