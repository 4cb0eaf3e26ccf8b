//! What tests hold true of the repository's files.

mod documents;
mod features;
mod limits;
mod migrations;

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn sources_below(folder: &Path) -> Vec<PathBuf> {
    let mut sources = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources.extend(sources_below(&path));
        } else if path.extension().is_some_and(|end| end == "rs") {
            sources.push(path);
        }
    }
    sources
}
