//! The version of the workspace is the one of everything that is published. Where it is written a second time, a test fails when it differs,
//! and `cargo xtask release --prepare` writes it. The API has a version of its own, which a release does not change.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};
use harness::process;

/// Files, each with the texts before and after the version.
const PLACES: [(&str, &str, &str); 10] = [
    ("Cargo.toml", "[workspace.package]\nversion = \"", "\"\n"),
    ("web/clients/node/package.json", "\n  \"version\": \"", "\",\n"),
    (
        "web/clients/node/package-lock.json",
        "\n  \"version\": \"",
        "\",\n",
    ),
    (
        "web/clients/node/package-lock.json",
        "\n      \"name\": \"referral-tracker\",\n      \"version\": \"",
        "\",\n",
    ),
    ("web/clients/python/pyproject.toml", "\nversion = \"", "\"\n"),
    ("deploy/Dockerfile", "org.opencontainers.image.version=\"", "\""),
    ("deploy/compose.yaml", "\n  image: referral-tracker:", "\n"),
    (
        "deploy/kubernetes/overlays/production/kustomization.yaml",
        "newTag: ",
        "\n",
    ),
    (
        "deploy/kubernetes/overlays/single-node/kustomization.yaml",
        "newTag: ",
        "\n",
    ),
    (
        "deploy/README.md",
        "apt-get install ./referral-tracker_",
        "-1_amd64.deb",
    ),
];

/// A directory for each version, of what it writes.
const KEPT_MESSAGES: &str = "common/messages/tests/messages";

pub(super) fn check(root: &Path, version: &str) -> Result<()> {
    for (file, before, after) in PLACES {
        let text = fs::read_to_string(root.join(file))?;
        ensure!(
            text.contains(&format!("{before}{version}{after}")),
            "{file} does not say {version} after {before:?}, as Cargo.toml does"
        );
    }
    Ok(())
}

/// Everywhere, and starts the directory of what this version writes.
pub(super) fn write(root: &Path, from: &str, to: &str) -> Result<()> {
    check(root, from)?;
    for (file, before, after) in PLACES {
        let file = root.join(file);
        let [old, new] = [from, to].map(|version| format!("{before}{version}{after}"));
        fs::write(&file, fs::read_to_string(&file)?.replacen(&old, &new, 1))?;
    }
    let [kept, next] = [from, to].map(|version| root.join(KEPT_MESSAGES).join(version));
    if !next.exists() {
        process::output(Command::new("cp").arg("-R").args([kept, next]))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository::root;

    #[test]
    fn the_version_is_the_same_everywhere() {
        check(&root(), super::super::VERSION).unwrap();
    }

    #[test]
    fn every_place_gets_another_version() {
        let dir = std::env::temp_dir().join(format!("release-versions-{}", std::process::id()));
        for (file, ..) in PLACES {
            let copy = dir.join(file);
            fs::create_dir_all(copy.parent().unwrap()).unwrap();
            fs::copy(root().join(file), copy).unwrap();
        }
        let kept = dir.join(KEPT_MESSAGES);
        fs::create_dir_all(kept.join("0.1.0")).unwrap();
        fs::write(kept.join("0.1.0/message"), "kept").unwrap();

        write(&dir, "0.1.0", "7.8.9").unwrap();

        check(&dir, "7.8.9").unwrap();
        assert!(kept.join("7.8.9/message").is_file());
        for (file, ..) in PLACES {
            let [before, after] =
                [root(), dir.clone()].map(|dir| fs::read_to_string(dir.join(file)).unwrap());
            assert_eq!(before.lines().count(), after.lines().count(), "{file}");
        }
        harness::area::remove(&dir).unwrap();
    }
}
