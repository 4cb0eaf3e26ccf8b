//! A NATS server for one test, which the test can kill.

use std::process::{Command, Stdio};

use super::{Certificate, Folder, Process, free_address};

/// Runs JetStream and syncs every message before it acknowledges the message. Killed and deleted when
/// dropped.
#[derive(Debug)]
pub struct OwnNats {
    process: Option<Process>,
    port: u16,
    dir: Folder,
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
        let mut server = Self {
            process: None,
            port: free_address().port(),
            dir: Folder::create(),
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
        self.process = None;
    }

    /// Deletes everything the server has stored. The server must be stopped.
    pub fn wipe(&self) {
        assert!(self.process.is_none());
        std::fs::remove_dir_all(self.dir.join("jetstream")).unwrap();
    }

    /// Pauses the server: connections stay open, but nothing is processed until [`Self::go_on`].
    pub fn pause(&self) {
        self.process.as_ref().unwrap().signal("STOP");
    }

    pub fn go_on(&self) {
        self.process.as_ref().unwrap().signal("CONT");
    }

    /// Starts the server again on the same data and port.
    pub fn start_again(&mut self) {
        // `cargo xtask test` exports the path of its server. Otherwise the one on the search path is used.
        let program = std::env::var("RT_NATS_SERVER").unwrap_or_else(|_| "nats-server".to_owned());
        let mut command = Command::new(program);
        command
            .arg("--config")
            .arg(self.dir.join("settings"))
            .arg("--log")
            .arg(self.dir.join("log"))
            .stdin(Stdio::null());
        self.process = Some(Process::spawn(&mut command));
    }
}
