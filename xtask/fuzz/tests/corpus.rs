//! Runs every target on its corpus, without a fuzzer.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use fuzz::TARGETS;

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    files
}

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Every property holds for every input of the corpus, and for the empty input.
#[test]
fn kept_inputs_hold() {
    for (name, run) in TARGETS {
        run(&[]);
        for file in files(&here("corpus").join(name)) {
            let bytes = fs::read(&file).unwrap();
            let held = std::panic::catch_unwind(|| run(&bytes));
            assert!(held.is_ok(), "{} of {name}", file.display());
        }
    }
}

/// The processor's events are fixtures of the webhook consumer.
#[test]
fn the_processors_fixtures_hold() {
    let fixtures = files(&here("../../webhook-consumer/tests/fixtures"));
    assert!(fixtures.len() > 20, "{fixtures:?}");
    for file in fixtures {
        fuzz::run("stripe_event", &fs::read(file).unwrap());
    }
}

#[test]
fn every_target_has_a_corpus_and_an_entry_point_and_nothing_else_has() {
    let targets = BTreeSet::from(TARGETS.map(|(name, _)| name.to_owned()));
    let mut corpora = BTreeSet::new();
    for dir in files(&here("corpus")) {
        let kept = files(&dir).len();
        assert!(kept > 2, "{} has too few inputs", dir.display());
        corpora.insert(dir.file_name().unwrap().to_string_lossy().into_owned());
    }
    assert_eq!(corpora, targets);
    let manifest = fs::read_to_string(here("libfuzzer/Cargo.toml")).unwrap();
    let entry_points = manifest.split("[[bin]]\nname = \"").skip(1);
    let entry_points: BTreeSet<String> = entry_points
        .filter_map(|bin| Some(bin.split_once('"')?.0.to_owned()))
        .collect();
    assert_eq!(entry_points, targets);
}
