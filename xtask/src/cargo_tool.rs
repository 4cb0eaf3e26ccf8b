//! Commands of cargo that others publish, built into the target directory, which a CI caches.

use std::path::PathBuf;

use anyhow::Result;
use harness::area::Checkout;
use harness::cargo::cargo;
use harness::interrupt::Interrupt;
use harness::process;
use harness::progress::Step;

/// The directory that has the program of this version, and no other program.
pub(crate) fn provide(
    checkout: &Checkout,
    name: &str,
    version: &str,
    interrupt: &Interrupt,
) -> Result<PathBuf> {
    let root = checkout
        .target_dir()
        .join("tools")
        .join(format!("{name}-{version}"));
    let dir = root.join("bin");
    if !dir.join(name).is_file() {
        let step = Step::start(format_args!("Building {name} {version} (some minutes, once)"));
        let mut install = cargo(checkout);
        install.args(["install", "--quiet", "--locked", name, "--version", version]);
        process::run(install.arg("--root").arg(&root), interrupt)?;
        step.done("built");
    }
    Ok(dir)
}
