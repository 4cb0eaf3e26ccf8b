//! What a check found, and what a judge printed.

use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

pub(super) enum Outcome {
    Right(String),
    Skipped(&'static str),
}

/// What a judge printed on standard output; all it printed, if it found something.
pub(super) fn judged(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("cannot start {name}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        bail!("{}{}", text, String::from_utf8_lossy(&output.stderr));
    }
    Ok(text)
}

/// For a judge that succeeds and complains.
pub(super) fn complains_of_nothing(command: &mut Command) -> Result<()> {
    let output = command.output()?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success() && complaint.trim().is_empty(),
        "{complaint}"
    );
    Ok(())
}
