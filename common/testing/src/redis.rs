//! A Redis server for one test, which the test can stop.

use std::net::SocketAddr;
use std::process::{Command, Stdio};

use super::{Certificate, Process, free_address};

/// Killed when dropped. It stores nothing on disk.
#[derive(Debug)]
pub struct OwnRedis {
    address: SocketAddr,
    certificate: Option<Certificate>,
    server: Process,
}

impl OwnRedis {
    /// Returns before the server is ready. Clients retry until it is.
    pub fn start() -> Self {
        Self::start_on(free_address(), None)
    }

    /// As [`Self::start`], but accepts TLS connections only.
    pub fn start_with(certificate: &Certificate) -> Self {
        Self::start_on(free_address(), Some(certificate.clone()))
    }

    fn start_on(address: SocketAddr, certificate: Option<Certificate>) -> Self {
        let server = spawn(address, certificate.as_ref());
        Self {
            address,
            certificate,
            server,
        }
    }

    pub fn url(&self) -> String {
        format!("redis://{}", self.address)
    }

    pub fn kill(&mut self) {
        self.server.kill();
    }

    /// Pauses the server: it accepts connections and requests, but does not answer.
    pub fn hang(&self) {
        self.server.signal("STOP");
    }

    /// Resumes the server. It processes everything it received while it was paused.
    pub fn go_on(&self) {
        self.server.signal("CONT");
    }

    /// Starts the server again at the same address, without data.
    pub fn start_again(&mut self) {
        self.server = spawn(self.address, self.certificate.as_ref());
    }
}

fn spawn(address: SocketAddr, certificate: Option<&Certificate>) -> Process {
    let program = std::env::var("RT_REDIS_SERVER").unwrap_or_else(|_| "redis-server".to_owned());
    let port = address.port().to_string();
    let mut command = Command::new(&program);
    command.args(["--bind", &address.ip().to_string()]);
    match certificate {
        None => command.args(["--port", &port]),
        Some(Certificate { certificate, key }) => command
            .args(["--port", "0", "--tls-port", &port, "--tls-auth-clients", "no"])
            .arg("--tls-cert-file")
            .arg(certificate)
            .arg("--tls-key-file")
            .arg(key)
            .arg("--tls-ca-cert-file")
            .arg(certificate),
    };
    command
        .args(["--save", "", "--appendonly", "no"])
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    Process::spawn(&mut command)
}
