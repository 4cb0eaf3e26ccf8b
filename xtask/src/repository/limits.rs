//! The longest file of product code. Clippy has the longest function: `too_many_lines`, with the threshold of `clippy.toml`.

use std::fs;
use std::path::{Path, PathBuf};

use super::{assert_each, sources_below};

const LINES_OF_A_FILE: usize = 450;

/// Of the workspace.
const FOLDERS: [&str; 6] = ["common", "ctl", "ingest", "webhook-consumer", "worker", "xtask"];

fn is_product(path: &Path) -> bool {
    let is_left_out = |folder| ["tests", "benches", "fuzz"].iter().any(|name| folder == *name);
    !path.iter().any(is_left_out) && !path.ends_with("tests.rs")
}

#[test]
fn no_file_of_product_code_is_too_long() {
    let files = FOLDERS.into_iter().flat_map(sources_below);
    let files: Vec<PathBuf> = files.filter(|path| is_product(path)).collect();
    assert_each("too long", 300, &files, |path| {
        let text = fs::read_to_string(path).unwrap();
        // Tests at the end of a file are cut off.
        let code = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap();
        code.lines().count() <= LINES_OF_A_FILE
    });
}
