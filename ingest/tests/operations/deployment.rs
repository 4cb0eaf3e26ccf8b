//! Tests `deploy/` as far as possible without a container engine: services know all settings, units start
//! their programs, and the settings of the three NATS servers make a cluster that loses a server without loss
//! of data. So does a PostgreSQL server with a standby.

mod cluster;
mod failover;
mod redis_server;
mod settings;
mod units;
mod users;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use testing::unique_name;

fn place(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy").join(path)
}

fn read(path: &str) -> String {
    fs::read_to_string(place(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The secrets that `make-secrets.sh` creates for TLS servers at 127.0.0.1. Deleted when dropped.
struct Secrets(PathBuf);

impl Secrets {
    fn make() -> Self {
        let dir = std::env::temp_dir().join(unique_name());
        let made = Command::new("sh")
            .arg(place("make-secrets.sh"))
            .arg(&dir)
            .env("SERVERS_CA_FILE", "/secrets/servers-ca.crt")
            .output()
            .unwrap();
        assert!(made.status.success(), "{made:?}");
        Self(dir)
    }

    fn dir(&self) -> &str {
        self.0.to_str().unwrap()
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).unwrap()
    }
}

impl Drop for Secrets {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
