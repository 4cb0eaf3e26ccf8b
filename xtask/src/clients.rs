//! The packages of `web/clients`: types, tests and builds; then their calls, their examples and what generators make of the description, against
//! a service. Before a release also the apps of `docs/integrate.md`.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use harness::area::{Checkout, remove};
use harness::interrupt::Interrupt;
use harness::process::{self, search_first};
use harness::progress::Step;
use harness::python;

use crate::web::{NodePackage, chromium};
use crate::whole_service::WholeService;

const NODE: &str = "web/clients/node";
const PYTHON: &str = "web/clients/python";
/// Rewrites generated files in place of comparing them.
const UPDATE: &str = "UPDATE_CLIENTS";

pub(crate) struct Clients {
    node: NodePackage,
    python_dir: PathBuf,
    /// Programs of Python's environment.
    python_bin: PathBuf,
    /// For what is built of them.
    out: PathBuf,
}

impl Clients {
    /// Installs their tools if needed.
    pub(crate) fn provide(checkout: &Checkout, interrupt: &Interrupt) -> Result<Self> {
        Ok(Self {
            node: NodePackage::provide(checkout, NODE, interrupt)?,
            python_dir: checkout.root.join(PYTHON),
            python_bin: python::provide(checkout, PYTHON, interrupt)?.join("bin"),
            out: checkout.target_dir().join("clients"),
        })
    }

    /// The tests that need no service, and the packages as they are published.
    pub(crate) fn check_alone(&self, interrupt: &Interrupt) -> Result<()> {
        let step = Step::start("Testing the client for Node");
        process::run(&mut self.node.script("test", &[])?, interrupt)?;
        step.done("passed");
        let step = Step::start("Testing the client for Python");
        let mut types = self.python(&["scripts/generate.py"])?;
        if env::var_os(UPDATE).is_none() {
            types.arg("--check");
        }
        for mut command in [
            types,
            self.python(&["-m", "mypy"])?,
            self.python(&["-m", "pytest", "-q", "-m", "not service"])?,
        ] {
            process::run(&mut command, interrupt)?;
        }
        step.done("passed");
        self.publish(interrupt)
    }

    /// A run of Python, where tools find the environment's programs by name.
    fn python(&self, arguments: &[&str]) -> Result<Command> {
        let mut command = Command::new(self.python_bin.join("python"));
        command.current_dir(&self.python_dir).args(arguments);
        search_first(&mut command, [self.python_bin.clone()])?;
        Ok(command)
    }

    /// Builds what a registry would get: a tarball for Node, a wheel and a source archive for Python.
    pub(crate) fn pack(&self, out: &Path, interrupt: &Interrupt) -> Result<()> {
        let pack = ["pack", "--loglevel=error", "--pack-destination"];
        process::run(self.node.npm(&pack)?.arg(out), interrupt)?;
        let build = ["-m", "build", "--no-isolation", "--outdir"];
        process::run(self.python(&build)?.arg(out), interrupt)
    }

    /// [`Self::pack`], and loads it from where it is installed.
    fn publish(&self, interrupt: &Interrupt) -> Result<()> {
        const LOADS_IN_NODE: &str =
            "import { Tracker } from 'referral-tracker'\nnew Tracker({ url: 'https://track.example' })\n";
        const LOADS_IN_PYTHON: &str =
            "import referral_tracker; referral_tracker.Tracker('https://track.example')";
        let step = Step::start("Packing the clients");
        remove(&self.out)?;
        fs::create_dir_all(&self.out)?;
        self.pack(&self.out, interrupt)?;
        let installed = self.out.join("node");
        let install = ["install", "--no-save", "--no-audit", "--no-fund", "--prefix"];
        let mut install = self.node.npm(&install)?;
        let packed = only(&self.out, ".tgz")?;
        process::run(install.args([&installed, &packed]), interrupt)?;
        fs::write(installed.join("loads.mjs"), LOADS_IN_NODE)?;
        let mut load = Command::new(&self.node.node.program);
        process::run(load.current_dir(&installed).arg("loads.mjs"), interrupt)?;

        let installed = self.out.join("python");
        let install = ["-m", "pip", "install", "--quiet", "--no-deps", "--target"];
        let wheel = only(&self.out, ".whl")?;
        process::run(self.python(&install)?.args([&installed, &wheel]), interrupt)?;
        only(&self.out, ".tar.gz")?;
        ensure!(
            installed.join("referral_tracker/py.typed").is_file(),
            "the wheel says nothing about its types"
        );
        let mut load = self.python(&["-c", LOADS_IN_PYTHON])?;
        load.env("PYTHONPATH", &installed).current_dir(&self.out);
        process::run(&mut load, interrupt)?;
        step.done(format_args!("in {}", self.out.display()));
        Ok(())
    }

    /// After [`Self::check_alone`], which has compiled what runs here.
    pub(crate) fn check_with(&self, service: &WholeService, interrupt: &Interrupt) -> Result<()> {
        let step = Step::start("Testing the clients with the service");
        let node = self.node.script("test-service", &[])?;
        let python = self.python(&["-m", "pytest", "-q", "-m", "service"])?;
        for mut tests in [node, python] {
            process::run(with_service(&mut tests, service), interrupt)?;
        }
        step.done("passed");
        Ok(())
    }
}

/// Makes the apps of `docs/integrate.md` as it says, from their generators, and uses them as a person does.
pub(crate) fn check_apps(checkout: &Checkout, service: &WholeService, interrupt: &Interrupt) -> Result<()> {
    let clients = Clients::provide(checkout, interrupt)?;
    process::run(&mut clients.node.script("compile", &[])?, interrupt)?;
    clients.publish(interrupt)?;
    let step = Step::start("Making the apps of docs/integrate.md");
    let mut apps = clients.node.script("test-apps", &[])?;
    with_service(&mut apps, service)
        .env("CHROMIUM", chromium(interrupt)?)
        .env("PACKAGES", &clients.out)
        .env("APPS", clients.out.join("apps"));
    process::run(&mut apps, interrupt)?;
    step.done("they report what their visitors do");
    Ok(())
}

fn with_service<'a>(command: &'a mut Command, service: &WholeService) -> &'a mut Command {
    command
        .envs(service.demo_env.iter())
        .env("BASE_URL", service.ingest.url())
}

/// The one file in `dir` whose name ends like this.
fn only(dir: &Path, end: &str) -> Result<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().ends_with(end) {
            found.push(entry.path());
        }
    }
    ensure!(found.len() == 1, "expected one *{end}, found {found:?}");
    found.pop().context("just counted")
}
