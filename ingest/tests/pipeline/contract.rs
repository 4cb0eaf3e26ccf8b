//! The contract as data: `ingest/tests/contract/*.yaml` is a table of rules with example calls. This test
//! runs the calls against the service's own binaries.
//!
//! Each file has an ingest, a worker, a database and streams of its own. Each entry has a program and a
//! client address of its own, so entries do not disturb each other, and the test reports all failing entries
//! at once.

mod always;
mod given;
mod matching;
mod names;
mod service;
mod table;
mod tables;

use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};

use futures::FutureExt;

use self::service::Service;
use self::table::Table;

macro_rules! files {
    ($($file:ident)*) => {
        const FILES: &[&str] = &[$(stringify!($file)),*];

        $(#[tokio::test]
        async fn $file() {
            shown(stringify!($file)).await;
        })*
    };
}

files! {
    click visitors lead sale refund keys rotation limits limits_reached chain_limit test_mode cli readiness legacy errors failures
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/contract")
}

fn read(file: &str) -> Table {
    let text = std::fs::read_to_string(folder().join(format!("{file}.yaml"))).unwrap();
    Table::parse(&text).unwrap_or_else(|faults| panic!("{file}.yaml: {faults}"))
}

/// Runs every entry of a file; reports all that fail together.
async fn shown(file: &str) {
    let table = read(file);
    let service = Service::start(&table).await;
    let mut failures = Vec::new();
    let mut held = Vec::new();
    for (number, entry) in table.entries.iter().enumerate() {
        // If a starting point cannot be created, or a process has ended, only this entry fails, not the file.
        let showing = AssertUnwindSafe(service.show(number, entry)).catch_unwind();
        match showing.await {
            Ok(Ok(shown)) => held.push((entry, shown)),
            Ok(Err(differences)) => failures.push((entry, differences)),
            Err(_) => failures.push((entry, vec!["stopped by a panic; see above".to_owned()])),
        }
    }
    for (entry, shown) in &held {
        if let Err(differences) = service.holds(entry, shown).await {
            failures.push((entry, differences));
        }
    }
    let mut report: Vec<String> = failures
        .iter()
        .map(|(entry, differences)| {
            format!(
                "{file}.yaml: {}\n    {}\n",
                entry.rule,
                differences.join("\n    ")
            )
        })
        .collect();
    report.extend(service.books_are_whole().await.err());
    assert!(report.is_empty(), "\n{}", report.join("\n"));
}

#[test]
fn every_file_of_the_table_is_run() {
    let files = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let stem = |path: PathBuf| path.file_stem().unwrap().to_str().unwrap().to_owned();
    let mut there: Vec<String> = files.map(stem).collect();
    there.sort();
    let mut run = FILES.to_vec();
    run.sort_unstable();
    assert_eq!(there, run);
}

#[test]
fn rules_are_unique_across_files() {
    let mut rules: Vec<String> = FILES
        .iter()
        .flat_map(|file| read(file).entries)
        .map(|entry| entry.rule)
        .collect();
    rules.sort();
    let twice: Vec<_> = rules.windows(2).filter(|pair| pair[0] == pair[1]).collect();
    assert!(twice.is_empty(), "{twice:?}");
}

#[test]
fn every_starting_point_is_used() {
    let table: String = FILES
        .iter()
        .map(|file| std::fs::read_to_string(folder().join(format!("{file}.yaml"))).unwrap())
        .collect();
    let names = include_str!("contract/given.rs")
        .split("#[serde(rename = \"")
        .skip(1);
    let names: Vec<&str> = names.filter_map(|rest| rest.split('"').next()).collect();
    assert!(names.len() > 10, "{names:?}");
    let given: Vec<&str> = table
        .lines()
        .filter(|line| line.trim().starts_with("given:"))
        .collect();
    let unused: Vec<_> = names
        .iter()
        .filter(|name| !given.iter().any(|line| line.contains(*name)))
        .collect();
    assert!(unused.is_empty(), "{unused:?}");
}
