//! What tests hold true of the repository's files.

mod documents;
mod features;
mod limits;
mod migrations;

use std::fmt::Debug;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

pub(crate) fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// What git prints, in the root.
fn git(arguments: &[&str]) -> String {
    let ran = Command::new("git").current_dir(root()).args(arguments).output();
    String::from_utf8(ran.unwrap().stdout).unwrap()
}

/// Those in a folder that git knows, or would add.
fn sources_below(folder: &str) -> Vec<PathBuf> {
    let pattern = format!("{folder}/*.rs");
    let listed = git(&["ls-files", "--cached", "--others", "--exclude-standard", &pattern]);
    let sources = listed.lines().map(|path| root().join(path));
    sources.filter(|path| path.exists()).collect()
}

/// Fails with each that is wrong. Fewer than `at_least` have not been read right.
fn assert_each<T: Debug>(what: &str, at_least: usize, named: &[T], is_right: impl Fn(&T) -> bool) {
    assert!(named.len() >= at_least, "{what}: {named:?}");
    let wrong: Vec<&T> = named.iter().filter(|one| !is_right(one)).collect();
    assert!(wrong.is_empty(), "{what}: {wrong:#?}");
}
