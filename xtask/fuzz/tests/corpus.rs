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
    for target in TARGETS {
        (target.run)(&[]);
        for file in files(&here("corpus").join(target.name)) {
            let bytes = fs::read(&file).unwrap();
            let held = std::panic::catch_unwind(|| (target.run)(&bytes));
            assert!(held.is_ok(), "{} of {}", file.display(), target.name);
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
    let names = |dir: &str| -> BTreeSet<String> {
        let stem = |file: &PathBuf| file.file_stem().unwrap().to_string_lossy().into_owned();
        files(&here(dir)).iter().map(stem).collect()
    };
    let targets: BTreeSet<String> = TARGETS.iter().map(|target| target.name.to_owned()).collect();
    assert_eq!(names("corpus"), targets);
    assert_eq!(names("libfuzzer/fuzz_targets"), targets);
    for target in TARGETS {
        let kept = files(&here("corpus").join(target.name));
        assert!(kept.len() > 2, "{} has too few inputs", target.name);
    }
    let manifest = fs::read_to_string(here("libfuzzer/Cargo.toml")).unwrap();
    for name in targets {
        assert!(
            manifest.contains(&format!("path = \"fuzz_targets/{name}.rs\"")),
            "{name}"
        );
    }
}
