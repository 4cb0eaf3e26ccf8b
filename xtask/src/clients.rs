//! The packages of `web/clients`: types, tests and builds; then their calls, their examples and what generators make of the description, against
//! a service. Before a release also the apps of `docs/integrate.md`.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use harness::area::{Checkout, remove};
use harness::interrupt::Interrupt;
use harness::process;
use harness::progress::Step;
use harness::python;
use sha2::{Digest, Sha256};

use crate::web::{NodePackage, chromium};
use crate::whole_service::WholeService;

const NODE: &str = "web/clients/node";
const PYTHON: &str = "web/clients/python";
/// Rewrites generated files in place of comparing them.
const UPDATE: &str = "UPDATE_CLIENTS";

pub(crate) struct Clients {
    node: NodePackage,
    python: PythonPackage,
    /// For what is built of them.
    out: PathBuf,
}

impl Clients {
    /// Installs their tools if needed.
    pub(crate) fn provide(checkout: &Checkout, interrupt: &Interrupt) -> Result<Self> {
        Ok(Self {
            node: NodePackage::provide(checkout, NODE, interrupt)?,
            python: PythonPackage::provide(checkout, interrupt)?,
            out: checkout.target_dir().join("clients"),
        })
    }

    /// The tests that need no service, and the packages as they are published.
    pub(crate) fn check_alone(&self, interrupt: &Interrupt) -> Result<()> {
        let step = Step::start("Testing the client for Node");
        process::run(&mut self.node.script("test", &[])?, interrupt)?;
        step.done("passed");
        let step = Step::start("Testing the client for Python");
        let mut types = self.python.run(&["scripts/generate.py"]);
        if env::var_os(UPDATE).is_none() {
            types.arg("--check");
        }
        process::run(&mut types, interrupt)?;
        process::run(&mut self.python.run(&["-m", "mypy"]), interrupt)?;
        process::run(
            &mut self.python.run(&["-m", "pytest", "-q", "-m", "not service"]),
            interrupt,
        )?;
        step.done("passed");
        self.publish(interrupt)
    }

    /// Builds what a registry would get: a tarball for Node, a wheel and a source archive for Python.
    pub(crate) fn pack(&self, out: &Path, interrupt: &Interrupt) -> Result<()> {
        let mut pack = self
            .node
            .npm(&["pack", "--loglevel=error", "--pack-destination"])?;
        process::run(pack.arg(out), interrupt)?;
        let mut build = self.python.run(&["-m", "build", "--no-isolation", "--outdir"]);
        process::run(build.arg(out), interrupt)
    }

    /// [`Self::pack`], and loads it from where it is installed.
    fn publish(&self, interrupt: &Interrupt) -> Result<()> {
        let step = Step::start("Packing the clients");
        remove(&self.out)?;
        fs::create_dir_all(&self.out)?;
        self.pack(&self.out, interrupt)?;
        let packed = only(&self.out, ".tgz")?;
        let installed = self.out.join("node");
        let mut install = self
            .node
            .npm(&["install", "--no-save", "--no-audit", "--no-fund", "--prefix"])?;
        process::run(install.arg(&installed).arg(&packed), interrupt)?;
        fs::write(
            installed.join("loads.mjs"),
            "import { Tracker } from 'referral-tracker'\nnew Tracker({ url: 'https://track.example' })\n",
        )?;
        process::run(
            self.node.node().current_dir(&installed).arg("loads.mjs"),
            interrupt,
        )?;

        let installed = self.out.join("python");
        let mut install = self
            .python
            .run(&["-m", "pip", "install", "--quiet", "--no-deps", "--target"]);
        process::run(install.arg(&installed).arg(only(&self.out, ".whl")?), interrupt)?;
        only(&self.out, ".tar.gz")?;
        ensure!(
            installed.join("referral_tracker/py.typed").is_file(),
            "the wheel says nothing about its types"
        );
        let mut load = self.python.run(&[
            "-c",
            "import referral_tracker; referral_tracker.Tracker('https://track.example')",
        ]);
        process::run(
            load.env("PYTHONPATH", &installed).current_dir(&self.out),
            interrupt,
        )?;
        step.done(format_args!("in {}", self.out.display()));
        Ok(())
    }

    /// After [`Self::check_alone`], which has compiled what runs here.
    pub(crate) fn check_with(&self, service: &WholeService, interrupt: &Interrupt) -> Result<()> {
        let step = Step::start("Testing the clients with the service");
        let mut node = self.node.script("test-service", &[])?;
        process::run(with_service(&mut node, service), interrupt)?;
        let mut python = self.python.run(&["-m", "pytest", "-q", "-m", "service"]);
        process::run(with_service(&mut python, service), interrupt)?;
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

struct PythonPackage {
    dir: PathBuf,
    program: PathBuf,
}

impl PythonPackage {
    /// Installs its tools once for each set of pins.
    fn provide(checkout: &Checkout, interrupt: &Interrupt) -> Result<Self> {
        let dir = checkout.root.join(PYTHON);
        let pins = dir.join("requirements.txt");
        let hash = hex::encode(Sha256::digest(fs::read(&pins)?));
        let name = format!("clients-python-{}", hash.get(..12).unwrap_or(&hash));
        let environment = checkout.target_dir().join(name);
        let package = Self {
            dir,
            program: environment.join("bin/python"),
        };
        let marker = environment.join("complete");
        // Run it: an environment that was moved with its target directory no longer starts.
        if marker.is_file() && process::output(&mut package.run(&["-m", "pytest", "--version"])).is_ok() {
            return Ok(package);
        }
        let step = Step::start(format_args!("Installing the tools of {PYTHON}"));
        let packages = [
            "--require-hashes".as_ref(),
            "--no-deps".as_ref(),
            "--requirement".as_ref(),
            pins.as_os_str(),
        ];
        python::make_environment(&environment, &packages, interrupt)?;
        fs::write(marker, "")?;
        step.done("installed");
        Ok(package)
    }

    fn run(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        // Programs of the environment, which tools start by name.
        let programs = self.program.parent().map(Path::to_owned);
        let path = env::var_os("PATH").unwrap_or_default();
        if let Ok(path) = env::join_paths(programs.into_iter().chain(env::split_paths(&path))) {
            command.env("PATH", path);
        }
        command.current_dir(&self.dir).args(arguments);
        command
    }
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
