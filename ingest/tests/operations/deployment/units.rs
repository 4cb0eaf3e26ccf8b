//! Starts the program of each systemd unit with the unit's settings, and with secrets as files.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use runtime::clock::Clock;
use testing::{Folder, Process, free_address, from_environment};

use super::read;
use test_harness::{Edge, Stack, ended};

/// The lines of a unit file.
pub struct Unit(Vec<(String, String)>);

impl Unit {
    pub fn of(name: &str) -> Self {
        let text = read(&format!("systemd/referral-tracker-{name}.service"));
        let pairs = text
            .lines()
            .filter(|line| !line.starts_with('#'))
            .filter_map(|line| line.split_once('='));
        Self(
            pairs
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
        )
    }

    fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0
            .iter()
            .filter(move |(it, _)| it == name)
            .map(|(_, value)| value.as_str())
    }

    /// The settings in the unit itself.
    pub fn set(&self) -> BTreeMap<String, String> {
        let pairs = self.all("Environment").map(|pair| pair.split_once('=').unwrap());
        pairs
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    }

    /// The settings in the unit and in its environment files.
    pub fn environment(&self) -> BTreeMap<String, String> {
        let mut environment = self.set();
        for file in self.all("EnvironmentFile") {
            let file = file.strip_prefix("/etc/referral-tracker/").unwrap();
            let text = read(&format!("systemd/{file}"));
            let pairs = text.lines().filter(|line| !line.starts_with('#'));
            environment.extend(pairs.map(|pair| {
                let (name, value) = pair.split_once('=').unwrap();
                (name.to_owned(), value.to_owned())
            }));
        }
        environment
    }

    /// The names of the files from which the unit's secrets are read.
    fn credentials(&self) -> Vec<String> {
        let names = self.all("LoadCredential").map(|pair| {
            let (name, path) = pair.split_once(':').unwrap();
            // Each service has a NATS address of its own.
            let place = format!("/etc/referral-tracker/credentials/{name}");
            assert!(path.starts_with(&place), "{path}");
            name.to_owned()
        });
        names.collect()
    }

    /// The program and its arguments, with the paths of this build.
    fn command(&self) -> Command {
        let line = self.all("ExecStart").next().unwrap();
        let mut words = line
            .strip_prefix("/usr/lib/referral-tracker/")
            .unwrap()
            .split(' ');
        let mut command =
            Command::new(PathBuf::from(from_environment("RT_BIN_DIR")).join(words.next().unwrap()));
        command.args(words).env_clear();
        command
    }
}

/// Writes the credentials as `make-secrets.sh` does, with the values of the stack.
fn write_credentials(dir: &Path, unit: &Unit, stack: &Stack) {
    fs::create_dir_all(dir).unwrap();
    for name in unit.credentials() {
        let setting = name.to_uppercase().replace('-', "_");
        let (_, value) = stack
            .settings
            .iter()
            .find(|(it, _)| **it == setting)
            .unwrap_or_else(|| panic!("{name}"));
        fs::write(dir.join(name), value).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_unit_starts_what_it_says_and_ends_when_told() {
    let stack = Stack::without_services(Clock::system()).await;
    let folder = Folder::create();
    let log = folder.join("log");
    for name in ["worker", "delivery", "ingest", "webhook-consumer"] {
        let unit = Unit::of(name);
        let credentials = folder.join(name);
        write_credentials(&credentials, &unit, &stack);
        let mut environment = unit.environment();
        for value in environment.values_mut() {
            *value = value.replace("%d", credentials.to_str().unwrap());
        }
        // Settings that differ between machines.
        let listen = free_address();
        environment.insert("LISTEN".to_owned(), listen.to_string());
        environment.insert("METRICS_LISTEN".to_owned(), free_address().to_string());
        for (setting, value) in &stack.settings {
            if ["STREAM_PREFIX", "STREAM_MAX_BYTES"].contains(setting) || environment.contains_key(*setting) {
                environment.insert((*setting).to_owned(), value.clone());
            }
        }
        let mut command = unit.command();
        command
            .envs(environment)
            .stdin(Stdio::null())
            .stderr(File::create(&log).unwrap());
        let started = Process::spawn(&mut command);
        Edge::at(listen).ready(&stack).await;
        started.signal("TERM");
        let status = ended(started).await;
        let log = fs::read_to_string(&log).unwrap();
        assert!(status.success(), "{name}: {status}\n{log}");
        let is_json = log.lines().all(|line| line.starts_with('{'));
        assert!(is_json, "{name} does not log as the settings say:\n{log}");
    }
}
