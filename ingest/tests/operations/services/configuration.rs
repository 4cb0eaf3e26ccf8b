//! Settings: one page documents all of them, a start reports all errors at once, and secrets may come from
//! files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::CommandFactory;
use runtime::clock::Clock;
use runtime::config::reference;
use test_harness::{Edge, Stack};
use testing::{Folder, Process, free_address, from_environment};

#[test]
fn the_page_about_settings_is_up_to_date() {
    let page = reference::page(&[
        ("ingest", ingest::config::Config::command()),
        ("worker", worker::config::Config::command()),
        ("delivery", worker::delivery::config::DeliveryConfig::command()),
        ("webhook-consumer", webhook_consumer::config::Config::command()),
    ]);
    let committed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/configuration.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&committed, &page).unwrap();
    }
    assert!(
        fs::read_to_string(&committed).is_ok_and(|committed| committed == page),
        "docs/configuration.md is out of date: run `UPDATE_DOCS=1 cargo xtask test up_to_date`"
    );
}

#[test]
fn every_service_tells_everything_that_is_wrong_and_does_not_start() {
    for service in ["ingest", "worker", "webhook-consumer"] {
        let ended = Command::new(PathBuf::from(from_environment("RT_BIN_DIR")).join(service))
            .env_clear()
            .env("NATS_URL", "http://u:hunter2@h")
            .env("LISTEN", "everywhere")
            .env("LOG", "a=b=c")
            .output()
            .unwrap();
        let told = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(2), "{service}: {told}");
        for wrong in [
            "DATABASE_URL is not set",
            "NATS_URL: an address must be a `nats:` or `tls:` URL",
            "LISTEN=everywhere: invalid socket address syntax",
            "LOG=a=b=c: ",
        ] {
            assert!(told.contains(wrong), "{service}: {wrong} is not in {told}");
        }
        assert!(!told.contains("hunter2"), "{service}: {told}");
    }
}

#[tokio::test]
async fn a_service_starts_with_its_secrets_in_files() {
    let stack = Stack::without_services(Clock::system()).await;
    let secrets = Folder::create();
    let address = free_address();
    let secret = ["DATABASE_URL", "NATS_URL", "CLICK_ID_KEYS", "EMAIL_HASH_KEY"];
    let (hidden, mut plain): (Vec<_>, Vec<_>) = stack
        .environment(address)
        .into_iter()
        .partition(|(name, _)| secret.contains(name));
    assert_eq!(hidden.len(), secret.len());
    for (name, value) in hidden {
        fs::write(secrets.join(name), value + "\n").unwrap();
        let variable: &'static str = format!("{name}_FILE").leak();
        plain.push((variable, secrets.file(name)));
    }
    let _worker = Process::start_without("worker", &plain, &secret);
    Edge::at(address).ready(&stack).await;
}
