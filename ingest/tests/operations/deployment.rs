//! Tests `deploy/` as far as possible without a container engine: services know all settings, units start
//! their programs, and the settings of the three NATS servers make a cluster that loses a server without loss
//! of data. So does a PostgreSQL server with a standby.

mod cluster;
mod failover;
mod redis_server;
mod settings;
mod units;
mod users;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use testing::Folder;

fn place(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy").join(path)
}

fn read(path: &str) -> String {
    fs::read_to_string(place(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The secrets that `make-secrets.sh` creates for TLS servers at 127.0.0.1.
fn make_secrets() -> Folder {
    let folder = Folder::create();
    let made = Command::new("sh")
        .arg(place("make-secrets.sh"))
        .arg(&*folder)
        .env("SERVERS_CA_FILE", "/secrets/servers-ca.crt")
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    folder
}

/// A NATS server with settings in this folder, whose users have the passwords of the tests.
fn nats_server(folder: &Path, settings: &str) -> Command {
    let program = std::env::var("RT_NATS_SERVER").unwrap_or_else(|_| "nats-server".to_owned());
    let mut command = Command::new(program);
    command
        .arg("--config")
        .arg(folder.join(settings))
        .envs(users::VARIABLES.map(|name| (name, users::PASSWORD)))
        .stdin(Stdio::null())
        .stderr(File::create(folder.join("log")).unwrap());
    command
}

/// Shipped settings with these texts replaced, which must all be there.
fn changed(settings: &str, changes: &[(String, String)]) -> String {
    changes.iter().fold(settings.to_owned(), |settings, (from, to)| {
        assert!(settings.contains(from), "{from}");
        settings.replace(from, to)
    })
}
