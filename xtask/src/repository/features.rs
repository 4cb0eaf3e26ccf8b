//! A build of fewer packages shares what a build of the workspace has compiled: the same features of the same crates.

use std::collections::BTreeSet;
use std::process::Command;

/// The crates below these packages and their tests, each with its features.
fn features(packages: &[&str]) -> BTreeSet<String> {
    let mut tree = Command::new(env!("CARGO"));
    // Without packages, the default members are meant: those of the workspace, not of this package.
    tree.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    tree.args(["tree", "--offline", "--edges", "normal,dev,no-proc-macro"]);
    tree.args(["--prefix", "none", "--format", "{p} {f}"]);
    let printed = tree.args(packages).output().unwrap();
    assert!(printed.status.success(), "{printed:?}");
    let printed = String::from_utf8(printed.stdout).unwrap();
    printed
        .lines()
        .map(|line| line.trim_end_matches(" (*)").to_owned())
        .collect()
}

/// A feature that differs has everything above its crate compiled once more.
#[test]
fn fewer_packages_have_the_features_of_the_workspace() {
    let workspace = features(&["--workspace"]);
    for packages in [[].as_slice(), &["-p", "ingest"], &["-p", "worker"]] {
        let others: Vec<String> = features(packages).difference(&workspace).cloned().collect();
        assert!(others.is_empty(), "{packages:?}: {others:?}");
    }
}
