//! A NATS server for one test, which the test can kill.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use super::{Certificate, free_address, unique_name};

/// Runs JetStream and syncs every message before it acknowledges the message. Killed and deleted when
/// dropped.
#[derive(Debug)]
pub struct OwnNats {
    dir: PathBuf,
    port: u16,
    process: Option<Child>,
}

impl OwnNats {
    /// Starts a server without streams. It may not answer yet, but our clients wait for it.
    pub fn start() -> Self {
        Self::start_set("")
    }

    /// As [`Self::start`], but accepts TLS connections only.
    pub fn start_with(certificate: &Certificate) -> Self {
        let Certificate { certificate, key } = certificate;
        Self::start_set(&format!(
            "tls {{ cert_file: \"{}\", key_file: \"{}\" }}\n",
            certificate.display(),
            key.display()
        ))
    }

    /// As [`Self::start`], with additional settings.
    pub fn start_set(more: &str) -> Self {
        let dir = std::env::temp_dir().join(unique_name());
        std::fs::create_dir(&dir).unwrap();
        let mut server = Self {
            port: free_address().port(),
            dir,
            process: None,
        };
        let settings = format!(
            "listen: \"127.0.0.1:{}\"\njetstream {{ store_dir: \"{}\", sync_interval: always }}\n{more}",
            server.port,
            server.dir.display()
        );
        std::fs::write(server.dir.join("settings"), settings).unwrap();
        server.start_again();
        server
    }

    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// Kills the server, as `kill -9` does.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().unwrap();
            process.wait().unwrap();
        }
    }

    /// Deletes everything the server has stored. The server must be stopped.
    pub fn wipe(&self) {
        assert!(self.process.is_none());
        std::fs::remove_dir_all(self.dir.join("jetstream")).unwrap();
    }

    /// Pauses the server: connections stay open, but nothing is processed until [`Self::go_on`].
    pub fn pause(&self) {
        self.signal("STOP");
    }

    pub fn go_on(&self) {
        self.signal("CONT");
    }

    fn signal(&self, name: &str) {
        let process = self.process.as_ref().unwrap();
        let status = Command::new("kill")
            .args(["-s", name, &process.id().to_string()])
            .status();
        assert!(status.unwrap().success(), "{name}");
    }

    /// Starts the server again on the same data and port.
    pub fn start_again(&mut self) {
        // `cargo xtask test` exports the path of its server. Otherwise the one on the search path is used.
        let program = std::env::var("RT_NATS_SERVER").unwrap_or_else(|_| "nats-server".to_owned());
        let process = Command::new(&program)
            .arg("--config")
            .arg(self.dir.join("settings"))
            .arg("--log")
            .arg(self.dir.join("log"))
            .stdin(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("{program}: {error}"));
        self.process = Some(process);
    }
}

impl Drop for OwnNats {
    fn drop(&mut self) {
        self.kill();
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}
