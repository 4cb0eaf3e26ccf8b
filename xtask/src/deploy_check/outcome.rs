//! The outcome of a check, and the output of a linter.

use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

pub(super) enum Outcome {
    Passed(String),
    Skipped(&'static str),
}

/// Runs a linter. Returns its standard output; fails with all of its output.
pub(super) fn lint(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("cannot start {name}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        bail!("{}{}", text, String::from_utf8_lossy(&output.stderr));
    }
    Ok(text)
}

/// For a linter that exits with 0 despite warnings.
pub(super) fn lint_without_warnings(command: &mut Command) -> Result<()> {
    let output = command.output()?;
    let warnings = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success() && warnings.trim().is_empty(),
        "{warnings}"
    );
    Ok(())
}
