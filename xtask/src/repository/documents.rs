//! Documents name existing things: `docs/contract.md` every table of contract tests, and a test or a browser test for each other rule;
//! `docs/architecture.md` existing files; `docs/security.md` and `docs/privacy.md` a defence's file and its test.

mod operations;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::{assert_each, git, read, root, sources_below};

/// Texts in backticks, on one line each.
fn codes(text: &str) -> impl Iterator<Item = &str> {
    text.lines().flat_map(|line| line.split('`').skip(1).step_by(2))
}

/// What a document names by a file and something in it: `file.rs::test`, or `file.test.js: scene`.
fn named<'a>(text: &'a str, between: &str) -> Vec<(&'a str, &'a str)> {
    codes(text).filter_map(|code| code.split_once(between)).collect()
}

/// The folders of integration tests.
const TESTS: [&str; 2] = ["ingest/tests", "worker/tests"];

/// A document names an integration test by the end of its file's path, others by the path from the root.
#[test]
fn every_test_a_document_names_exists() {
    let tests: Vec<PathBuf> = TESTS.into_iter().flat_map(sources_below).collect();
    let exists = |(file, test): &(&str, &str)| {
        let file = format!("{file}.rs");
        let found = tests.iter().filter(|path| path.ends_with(&file));
        found
            .cloned()
            .chain([root().join(&file)])
            .filter_map(|path| fs::read_to_string(path).ok())
            .any(|source| source.contains(&format!("fn {test}(")))
    };
    for document in ["docs/contract.md", "docs/security.md", "docs/privacy.md"] {
        assert_each(document, 1, &named(&read(document), ".rs::"), exists);
    }
}

/// Each row of a table of threats ends with a test, or with the configuration of cargo-deny.
#[test]
fn every_threat_is_guarded_by_a_test() {
    let text = read("docs/security.md");
    let rows = text.lines().filter(|line| line.split(" | ").count() == 4);
    let threats: Vec<&str> = rows
        .filter(|row| row.starts_with("| ") && !row.starts_with("| threat"))
        .collect();
    assert_each("unguarded", 31, &threats, |row| {
        let guards = row.rsplit(" | ").next().unwrap();
        guards.contains(".rs::") || guards.contains("`deny.services.toml`")
    });
}

/// The tables are complete by themselves: each of their rules is a sentence, so the document names the files.
#[test]
fn the_contract_names_every_table_and_no_other() {
    let text = read("docs/contract.md");
    let tables = text.lines().filter(|line| line.starts_with("Table: "));
    let named: BTreeSet<String> = tables.flat_map(codes).map(str::to_owned).collect();
    let there: BTreeSet<String> = fs::read_dir(root().join("ingest/tests/contract"))
        .unwrap()
        .map(|file| file.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    assert_eq!(named, there);
}

#[test]
fn every_scene_of_the_browser_script_that_is_named_is_played() {
    let table = read("docs/contract.md");
    let scenes = named(&table, ".test.js: ");
    assert_each("no such scene", 11, &scenes, |(file, scene)| {
        let path = root().join(format!("web/tracker/test/{file}.test.js"));
        let played = ['\'', '`'].map(|quote| format!("scene({quote}{scene}{quote},"));
        fs::read_to_string(path).is_ok_and(|text| played.iter().any(|call| text.contains(call)))
    });
}

/// Paths with a slash, and an extension or a trailing slash.
fn named_paths(text: &str) -> Vec<&str> {
    codes(text)
        .map(|code| code.split("::").next().unwrap_or(code))
        .filter(|code| !code.contains([' ', '…']) && code.contains('/'))
        .filter(|code| code.ends_with('/') || Path::new(code).extension().is_some())
        .collect()
}

#[test]
fn every_file_that_architecture_and_defences_name_is_where_they_say() {
    let architecture = read("docs/architecture.md");
    let security = read("docs/security.md");
    let defences = codes(&security).filter(|code| code.rsplit('.').next() == Some("rs"));
    for named in [named_paths(&architecture), defences.collect()] {
        assert_each("named, but not there", 21, &named, |path| {
            root().join(path).exists()
        });
    }
}

#[test]
fn no_document_has_the_marks_of_a_merge() {
    assert_eq!(git(&["grep", "-nE", "^(<<<<<<<|>>>>>>>) ", "--", "*.md"]), "");
}
