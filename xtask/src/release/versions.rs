//! The version of the workspace is the one of everything that is published. Where it is written a second time, a test fails when it differs,
//! and `cargo xtask release --prepare` writes it. The API has a version of its own, which a release does not change.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use harness::process;

/// The version is between these two texts, once in the file.
struct Place {
    file: &'static str,
    before: &'static str,
    after: &'static str,
}

const fn place(file: &'static str, before: &'static str, after: &'static str) -> Place {
    Place { file, before, after }
}

const PLACES: [Place; 10] = [
    place("Cargo.toml", "[workspace.package]\nversion = \"", "\"\n"),
    place("web/clients/node/package.json", "\n  \"version\": \"", "\",\n"),
    place(
        "web/clients/node/package-lock.json",
        "\n  \"version\": \"",
        "\",\n",
    ),
    place(
        "web/clients/node/package-lock.json",
        "\n      \"name\": \"referral-tracker\",\n      \"version\": \"",
        "\",\n",
    ),
    place("web/clients/python/pyproject.toml", "\nversion = \"", "\"\n"),
    place("deploy/Dockerfile", "org.opencontainers.image.version=\"", "\""),
    place("deploy/compose.yaml", "\n  image: referral-tracker:", "\n"),
    place(
        "deploy/kubernetes/overlays/production/kustomization.yaml",
        "newTag: ",
        "\n",
    ),
    place(
        "deploy/kubernetes/overlays/single-node/kustomization.yaml",
        "newTag: ",
        "\n",
    ),
    place(
        "deploy/README.md",
        "apt-get install ./referral-tracker_",
        "-1_amd64.deb",
    ),
];

/// A directory for each version, of what it writes.
const KEPT_MESSAGES: &str = "common/messages/tests/messages";

/// The text before the version, the version, the text after it.
fn split<'a>(text: &'a str, place: &Place) -> Result<(&'a str, &'a str, &'a str)> {
    let missing = || format!("{}: no version after {:?}", place.file, place.before);
    let at = text.find(place.before).with_context(missing)? + place.before.len();
    let (start, rest) = text.split_at_checked(at).with_context(missing)?;
    let end = rest.find(place.after).with_context(missing)?;
    let (version, rest) = rest.split_at_checked(end).with_context(missing)?;
    Ok((start, version, rest))
}

pub(super) fn check(root: &Path, version: &str) -> Result<()> {
    for place in PLACES {
        let text = fs::read_to_string(root.join(place.file))?;
        let (_, found, _) = split(&text, &place)?;
        ensure!(
            found == version,
            "{} says {found}, and Cargo.toml {version}",
            place.file
        );
    }
    Ok(())
}

/// Everywhere, and starts the directory of what this version writes.
pub(super) fn write(root: &Path, from: &str, to: &str) -> Result<()> {
    for place in PLACES {
        let file = root.join(place.file);
        let text = fs::read_to_string(&file)?;
        let (start, _, rest) = split(&text, &place)?;
        fs::write(&file, format!("{start}{to}{rest}"))?;
    }
    let kept = root.join(KEPT_MESSAGES);
    if !kept.join(to).exists() {
        let mut copy = Command::new("cp");
        copy.arg("-R").args([kept.join(from), kept.join(to)]);
        process::output(&mut copy)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root() -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
    }

    #[test]
    fn the_version_is_the_same_everywhere() {
        check(&root(), super::super::VERSION).unwrap();
    }

    #[test]
    fn every_place_gets_another_version() {
        let dir = std::env::temp_dir().join(format!("release-versions-{}", std::process::id()));
        for place in PLACES {
            let file = dir.join(place.file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::copy(root().join(place.file), file).unwrap();
        }
        fs::create_dir_all(dir.join(KEPT_MESSAGES).join("0.1.0")).unwrap();
        fs::write(dir.join(KEPT_MESSAGES).join("0.1.0/message"), "kept").unwrap();

        write(&dir, "0.1.0", "7.8.9").unwrap();

        check(&dir, "7.8.9").unwrap();
        assert!(dir.join(KEPT_MESSAGES).join("7.8.9/message").is_file());
        for place in PLACES {
            let (before, after) = (root().join(place.file), dir.join(place.file));
            let [before, after] = [before, after].map(|file| fs::read_to_string(file).unwrap());
            assert_eq!(before.lines().count(), after.lines().count(), "{}", place.file);
        }
        harness::area::remove(&dir).unwrap();
    }
}
