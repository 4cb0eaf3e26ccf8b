//! Tests the dashboard: unit tests, types, and a build that must equal the committed one; then, with a service, a browser's walk
//! through every page.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};
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
    /// For the fresh build.
    out: PathBuf,
}

impl Dashboard {
    /// Installs its packages and a browser if needed.
    pub(crate) fn provide(checkout: &Checkout, interrupt: &Interrupt) -> Result<Self> {
        Ok(Self {
            package: NodePackage::provide(checkout, SOURCES, interrupt)?,
            chromium: chromium(interrupt)?,
            out: checkout.target_dir().join("web"),
        })
    }

    /// The tests that need no service.
    pub(crate) fn check_alone(&self, interrupt: &Interrupt) -> Result<()> {
        let step = Step::start("Checking the dashboard's sources");
        // With CI=1, tests compare generated files instead of rewriting them.
        process::run(self.package.script("test", &[])?.env("CI", "1"), interrupt)?;
        process::run(&mut self.package.script("check", &[])?, interrupt)?;
        let fresh = self.out.join("dist");
        let mut build = self
            .package
            .script("build", &["--logLevel", "warn", "--outDir"])?;
        process::run(build.arg(fresh.join("app")), interrupt)?;
        let committed = self.package.dir.join("dist");
        let mut diff = Command::new("diff");
        diff.args(["--recursive", "--brief"]).args([&fresh, &committed]);
        process::output(&mut diff).with_context(|| {
            format!("`{SOURCES}/dist` is not built from its sources; run `npm run build` there and commit it")
        })?;
        step.done("the committed build is up to date");
        Ok(())
    }

    /// One browser a service, side by side.
    pub(crate) fn walk(&self, services: &[WholeService], interrupt: &Interrupt) -> Result<()> {
        let step = Step::start("Walking through the dashboard");
        let mut walk = self.package.script("walk", &[])?;
        walk.env("WORKERS", services.len().to_string())
            .env("CHROMIUM", &self.chromium);
        for (worker, service) in services.iter().enumerate() {
            let url = service.ingest.url();
            let of_service = [
                ("BASE_URL", url.as_str()),
                ("DATABASE_URL", &service.database_url),
                ("MAIL_URL", &service.mail_url),
                ("WEBHOOK_RECEIVER_URL", &service.receiver_url),
            ];
            for (name, value) in service.demo_env.iter().chain(of_service) {
                walk.env(format!("WORKER_{worker}_{name}"), value);
            }
        }
        process::run(&mut walk, interrupt)?;
        step.done("done");
        Ok(())
    }
}
