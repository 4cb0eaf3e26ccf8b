//! `cargo xtask stop`, and the same for what an earlier command left behind when it was killed.

use std::time::Duration;

use anyhow::{Result, bail};

use crate::area::{Area, Checkout};
use crate::interrupt::wait_uninterrupted;
use crate::pids::{Pids, StopSignal};
use crate::process::{SUPERVISOR, stop_all};
use crate::progress::{Step, note};

/// Enough for the watching command to stop each of its six processes at their limits.
const SUPERVISOR_LIMIT: Duration = Duration::from_secs(400);

pub(crate) fn stop(checkout: &Checkout) -> Result<()> {
    let stopped = stop_area(&checkout.dev_area())?;
    // A test run at work has the lock and is left alone.
    let test = checkout.test_area();
    let left_by_test = match test.dir.is_dir().then(|| test.try_lock()).transpose()?.flatten() {
        Some(_lock) => stop_area(&test)?,
        None => false,
    };
    if !stopped && !left_by_test {
        note("nothing of this checkout is running");
    }
    Ok(())
}

/// Stops everything recorded in the area. `false` when nothing of it was alive.
pub(crate) fn stop_area(area: &Area) -> Result<bool> {
    let recorded = Pids::read(area).entries;
    if !recorded.iter().any(crate::pids::Recorded::is_alive) {
        return Ok(false);
    }
    let step = Step::start(format_args!("Stopping what runs in {}", area.dir.display()));
    // The command that watches the rest stops it in order itself.
    if let Some(supervisor) = recorded.iter().find(|process| process.name == SUPERVISOR) {
        supervisor.send(StopSignal::Term);
        if !wait_uninterrupted(SUPERVISOR_LIMIT, || !supervisor.is_alive()) {
            bail!("the command with pid {} does not end", supervisor.pid);
        }
    }
    stop_all(&mut Pids::read(area));
    step.done("stopped");
    Ok(true)
}
