//! The dashboard in a browser: is what is committed what its sources make, and does it do what people come for?
//!
//! First what needs no service: unit tests, types, and a fresh build that must be the committed one. Then the walk: the first
//! ten minutes, and every page, whose pictures stay in `target/web`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use harness::area::Checkout;
use harness::interrupt::Interrupt;
use harness::process;
use harness::progress::Step;

use crate::web::{NodePackage, chromium};
use crate::whole_service::WholeService;

const SOURCES: &str = "web/dashboard";

pub(crate) struct Dashboard {
    package: NodePackage,
    chromium: PathBuf,
    /// Where the fresh build and the pictures go.
    out: PathBuf,
}

impl Dashboard {
    /// Its packages and a browser, installed where they are not there yet.
    pub(crate) fn provide(checkout: &Checkout, interrupt: &Interrupt) -> Result<Self> {
        Ok(Self {
            package: NodePackage::provide(checkout, SOURCES, interrupt)?,
            chromium: chromium(interrupt)?,
            out: checkout.target_dir().join("web"),
        })
    }

    /// What needs no service.
    pub(crate) fn check_alone(&self, interrupt: &Interrupt) -> Result<()> {
        let step = Step::start("Checking the dashboard's sources");
        // In a CI, files that a test would write anew are compared.
        process::run(self.package.script("test", &[])?.env("CI", "1"), interrupt)?;
        process::run(&mut self.package.script("check", &[])?, interrupt)?;
        let fresh = self.out.join("dist");
        let mut build = self
            .package
            .script("build", &["--logLevel", "warn", "--outDir"])?;
        process::run(build.arg(fresh.join("app")), interrupt)?;
        let (made, committed) = (files(&fresh)?, files(&self.package.dir().join("dist"))?);
        let differ: Vec<_> = made
            .keys()
            .chain(committed.keys())
            .filter(|name| made.get(*name) != committed.get(*name))
            .collect();
        ensure!(
            differ.is_empty(),
            "`{SOURCES}/dist` is not what its sources make; run `npm run build` there and commit it: {differ:?}"
        );
        step.done("the committed build is theirs");
        Ok(())
    }

    /// Drives a browser through it.
    pub(crate) fn walk(&self, service: &WholeService, interrupt: &Interrupt) -> Result<()> {
        let step = Step::start("Walking through the dashboard");
        let mut walk = self.package.script("walk", &[])?;
        walk.envs(service.demo_env.iter())
            .env("BASE_URL", service.ingest.url())
            .env("CHROMIUM", &self.chromium)
            .env("PICTURES", &self.out);
        process::run(&mut walk, interrupt)?;
        step.done(format_args!("pictures in {}", self.out.display()));
        Ok(())
    }
}

/// All below a directory, by their paths in it.
fn files(directory: &Path) -> Result<BTreeMap<PathBuf, Vec<u8>>> {
    let mut found = BTreeMap::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(next) = directories.pop() {
        for entry in fs::read_dir(&next).with_context(|| format!("cannot read {}", next.display()))? {
            let path = entry?.path();
            if path.is_dir() {
                directories.push(path);
            } else {
                found.insert(path.strip_prefix(directory)?.to_owned(), fs::read(&path)?);
            }
        }
    }
    Ok(found)
}
