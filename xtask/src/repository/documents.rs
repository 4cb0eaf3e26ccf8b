//! Documents name existing things: `docs/contract.md` every table of contract tests, and a test or a browser test for each other rule;
//! `docs/architecture.md` existing files; `docs/security.md` and `docs/privacy.md` a defence's file and its test.

mod operations;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::{read, root, sources_below};

/// Texts in backticks, on one line each.
fn codes(text: &str) -> impl Iterator<Item = &str> {
    text.lines().flat_map(|line| line.split('`').skip(1).step_by(2))
}

/// `file.rs::test`.
fn named_tests(text: &str) -> Vec<(&str, &str)> {
    codes(text).filter_map(|code| code.split_once(".rs::")).collect()
}

/// The folders of integration tests.
const TESTS: [&str; 2] = ["ingest/tests", "worker/tests"];

/// A document's tests that do not exist. It names an integration test by the end of its file's path, others by the path from the root.
fn missing_tests(document: &str) -> Vec<String> {
    let table = read(document);
    let named = named_tests(&table);
    assert!(!named.is_empty(), "{document}");
    let tests: Vec<PathBuf> = TESTS
        .iter()
        .flat_map(|folder| sources_below(&root().join(folder)))
        .collect();
    let exists = |file: &str, test: &str| {
        let file = format!("{file}.rs");
        let found = tests.iter().filter(|path| path.ends_with(&file));
        found
            .cloned()
            .chain([root().join(&file)])
            .filter_map(|path| fs::read_to_string(path).ok())
            .any(|source| source.contains(&format!("fn {test}(")))
    };
    let missing = named.into_iter().filter(|(file, test)| !exists(file, test));
    missing.map(|(file, test)| format!("{file}.rs::{test}")).collect()
}

#[test]
fn every_test_a_document_names_exists() {
    for document in ["docs/contract.md", "docs/security.md", "docs/privacy.md"] {
        let missing = missing_tests(document);
        assert!(
            missing.is_empty(),
            "{document} names what is not there: {missing:#?}"
        );
    }
}

/// Each row of a table of threats ends with a test, or with the configuration of cargo-deny.
#[test]
fn every_threat_is_guarded_by_a_test() {
    let text = read("docs/security.md");
    let threats: Vec<&str> = text
        .lines()
        .filter(|line| {
            line.starts_with("| ") && line.split(" | ").count() == 4 && !line.starts_with("| threat")
        })
        .collect();
    assert!(threats.len() > 30, "{}", threats.len());
    let unguarded: Vec<_> = threats
        .iter()
        .filter(|row| {
            !row.rsplit(" | ")
                .next()
                .is_some_and(|guards| guards.contains(".rs::") || guards.contains("`deny.services.toml`"))
        })
        .collect();
    assert!(unguarded.is_empty(), "{unguarded:#?}");
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

/// `file.test.js: scene`.
fn named_scenes(text: &str) -> Vec<(&str, &str)> {
    codes(text)
        .filter_map(|code| code.split_once(".test.js: "))
        .collect()
}

#[test]
fn every_scene_of_the_browser_script_that_is_named_is_played() {
    let table = read("docs/contract.md");
    let named = named_scenes(&table);
    assert!(named.len() > 10, "{}", named.len());
    let is_played = |file: &str, scene: &str| {
        let path = root().join(format!("web/tracker/test/{file}.test.js"));
        let played = ['\'', '`'].map(|quote| format!("scene({quote}{scene}{quote},"));
        fs::read_to_string(path).is_ok_and(|text| played.iter().any(|call| text.contains(call)))
    };
    let missing: Vec<_> = named
        .iter()
        .filter(|(file, scene)| !is_played(file, scene))
        .collect();
    assert!(missing.is_empty(), "named, but not there: {missing:#?}");
}

#[test]
fn names_are_found_by_file_and_test_or_scene() {
    let table = "| One | `a.test.js: this is so`, `b.test.js: that, too` |\n| `a.rs::b` | `clicks`, `docs/x.md`, `c_d.rs::e_f` |";
    assert_eq!(named_scenes(table), [("a", "this is so"), ("b", "that, too")]);
    assert_eq!(named_tests(table), [("a", "b"), ("c_d", "e_f")]);
}

/// Paths with a slash, and an extension or a trailing slash.
fn named_paths(text: &str) -> Vec<&str> {
    codes(text)
        .map(|code| code.split("::").next().unwrap_or(code))
        .filter(|code| !code.contains([' ', '…']) && code.contains('/'))
        .filter(|code| code.ends_with('/') || Path::new(code).extension().is_some())
        .collect()
}

fn assert_exist(named: &[&str]) {
    assert!(named.len() > 20, "{named:?}");
    let missing: Vec<_> = named.iter().filter(|path| !root().join(path).exists()).collect();
    assert!(missing.is_empty(), "named, but not there: {missing:?}");
}

#[test]
fn every_file_the_architecture_names_is_where_it_says() {
    assert_exist(&named_paths(&read("docs/architecture.md")));
}

#[test]
fn every_file_of_a_defence_is_where_it_says() {
    let text = read("docs/security.md");
    let is_source = |code: &&str| {
        !code.contains(".rs::")
            && Path::new(code)
                .extension()
                .is_some_and(|extension| extension == "rs")
    };
    assert_exist(&codes(&text).filter(is_source).collect::<Vec<_>>());
}

#[test]
fn no_document_has_the_marks_of_a_merge() {
    let documents = fs::read_dir(root().join("docs")).unwrap();
    let documents = documents.map(|entry| entry.unwrap().path());
    let others = ["README.md", "CHANGELOG.md", "deploy/README.md"].map(|path| root().join(path));
    let is_mark = |line: &str| ["<<<<<<< ", ">>>>>>> "].iter().any(|mark| line.starts_with(mark));
    let marked: Vec<_> = documents
        .chain(others)
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .filter(|path| fs::read_to_string(path).unwrap().lines().any(is_mark))
        .collect();
    assert!(marked.is_empty(), "{marked:?}");
}
