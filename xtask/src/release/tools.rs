//! The tools of a release, built into the target directory in the versions that the Dockerfile has: its programs and ours are built alike.
//!
//! cargo-auditable puts the list of dependencies into each program, where scanners of images and `cargo audit bin` find it. cargo-cyclonedx writes
//! it as CycloneDX. cargo-deb reads the package's list from the manifest, and finds the libraries that the programs need.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use harness::area::Checkout;
use harness::interrupt::Interrupt;

use crate::cargo_tool;

const DOCKERFILE: &str = "deploy/Dockerfile";
const OF_THE_DOCKERFILE: [&str; 2] = ["cargo-auditable", "cargo-cyclonedx"];
const CARGO_DEB: (&str, &str) = ("cargo-deb", "3.8.0");

pub(super) struct Tools {
    dirs: Vec<PathBuf>,
}

impl Tools {
    pub(super) fn provide(checkout: &Checkout, interrupt: &Interrupt) -> Result<Self> {
        let dockerfile = fs::read_to_string(checkout.root.join(DOCKERFILE))?;
        let mut dirs = vec![cargo_tool::provide(
            checkout,
            CARGO_DEB.0,
            CARGO_DEB.1,
            interrupt,
        )?];
        for name in OF_THE_DOCKERFILE {
            let version = version(&dockerfile, name)?;
            dirs.push(cargo_tool::provide(checkout, name, version, interrupt)?);
        }
        Ok(Self { dirs })
    }

    /// The search path with them.
    pub(super) fn path(&self) -> Result<OsString> {
        let path = env::var_os("PATH").unwrap_or_default();
        Ok(env::join_paths(
            self.dirs.iter().cloned().chain(env::split_paths(&path)),
        )?)
    }
}

/// `cargo install cargo-auditable --locked --version 0.7.7`.
fn version<'a>(dockerfile: &'a str, name: &str) -> Result<&'a str> {
    let missing = || format!("{DOCKERFILE} does not install {name}");
    let (_, rest) = dockerfile
        .split_once(&format!("cargo install {name} --locked --version "))
        .with_context(missing)?;
    rest.split_whitespace().next().with_context(missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dockerfile_names_their_versions() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let dockerfile = fs::read_to_string(root.join(DOCKERFILE)).unwrap();
        for name in OF_THE_DOCKERFILE {
            let version = version(&dockerfile, name).unwrap();
            assert_eq!(version.split('.').count(), 3, "{name} {version}");
        }
    }
}
