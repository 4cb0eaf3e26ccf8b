//! A Redis server of one test's own, for tests that stop it.

use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use super::{Certificate, free_address};

/// Killed when dropped. Keeps nothing on disk.
#[derive(Debug)]
pub struct OwnRedis {
    address: SocketAddr,
    certificate: Option<Certificate>,
    server: Child,
}

impl OwnRedis {
    /// Returns before it is ready; clients retry until it is.
    pub fn start() -> Self {
        Self::start_on(free_address(), None)
    }

    /// The same, with TLS only.
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
        self.server.kill().unwrap();
        self.server.wait().unwrap();
    }

    /// From now on it takes connections and requests and answers none.
    pub fn hang(&self) {
        self.signal("STOP");
    }

    /// It goes on where it was, with everything it was sent in the meantime.
    pub fn go_on(&self) {
        self.signal("CONT");
    }

    fn signal(&self, name: &str) {
        // The shell's own kill is everywhere; the program of that name is not.
        let status = Command::new("sh")
            .args([
                "-c",
                "kill -s \"$1\" \"$2\"",
                "sh",
                name,
                &self.server.id().to_string(),
            ])
            .status();
        assert!(status.unwrap().success());
    }

    /// At the same address, empty.
    pub fn start_again(&mut self) {
        self.server = spawn(self.address, self.certificate.as_ref());
    }
}

impl Drop for OwnRedis {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

fn spawn(address: SocketAddr, certificate: Option<&Certificate>) -> Child {
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
        .stdout(Stdio::null())
        .spawn()
        .unwrap_or_else(|error| panic!("{program}: {error}"))
}
