//! A Redis server of one test's own, for tests that stop it.

use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use super::free_address;

/// Killed when dropped. Keeps nothing on disk.
#[derive(Debug)]
pub struct OwnRedis {
    address: SocketAddr,
    server: Child,
}

impl OwnRedis {
    /// Returns before it answers; whoever needs it connects until it does.
    pub fn start() -> Self {
        let address = free_address();
        Self {
            address,
            server: spawn(address),
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
        self.server = spawn(self.address);
    }
}

impl Drop for OwnRedis {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

fn spawn(address: SocketAddr) -> Child {
    let program = std::env::var("RT_REDIS_SERVER").unwrap_or_else(|_| "redis-server".to_owned());
    Command::new(&program)
        .args([
            "--bind",
            &address.ip().to_string(),
            "--port",
            &address.port().to_string(),
        ])
        .args(["--save", "", "--appendonly", "no"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap_or_else(|error| panic!("{program}: {error}"))
}
