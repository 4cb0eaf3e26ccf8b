//! What `cargo xtask deploy-check` tries by hand, in place of its checks.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use harness::area::Checkout;
use harness::cargo::cargo;
use harness::interrupt::Interrupt;
use harness::process;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Start the compose file in this machine's Docker Engine and try it, instead of everything else. Needs root.
    #[arg(long)]
    containers: bool,
    /// With images made on this machine of Debian's packages, and debug programs.
    #[arg(long, requires = "containers")]
    pub(super) stand_ins: bool,
    /// Docker Compose 2, if it is not `docker-compose` on the search path.
    #[arg(long, requires = "containers")]
    pub(super) compose: Option<PathBuf>,
    /// Upgrade the Debian package of the release before in a container with systemd, instead of everything else. Needs root.
    #[arg(long, requires = "before", conflicts_with = "containers")]
    package_upgrade: bool,
    /// A checkout of the release before, with its debug programs in its `target/debug`. With stand-ins, the image is upgraded from it too.
    #[arg(long)]
    before: Option<PathBuf>,
}

pub(super) enum Trial {
    Containers,
    PackageUpgrade,
}

impl Options {
    pub(super) fn trial(&self) -> Option<Trial> {
        if self.containers {
            Some(Trial::Containers)
        } else {
            self.package_upgrade.then_some(Trial::PackageUpgrade)
        }
    }

    /// The release before, built.
    pub(super) fn before(&self) -> Result<Option<Checkout>> {
        let Some(root) = &self.before else {
            return Ok(None);
        };
        let root = root
            .canonicalize()
            .with_context(|| format!("{} is not there", root.display()))?;
        let bin_dir = root.join("target/debug");
        ensure!(
            bin_dir.join("ctl").is_file(),
            "{} is not built: `cargo build --manifest-path {} --bins`",
            root.display(),
            root.join("Cargo.toml").display()
        );
        Ok(Some(Checkout { root, bin_dir }))
    }
}

/// As `cargo xtask test` builds them: with the same features nothing is compiled twice.
pub(super) fn build_debug_programs(checkout: &Checkout, interrupt: &Interrupt) -> Result<()> {
    let build = ["build", "--quiet", "--workspace", "--bins"];
    process::run(cargo(checkout).args(build), interrupt)
}
