//! Stops processes that an earlier command left running in an area.

use std::time::Duration;

use anyhow::{Result, bail};

use crate::area::{Area, remove};
use crate::interrupt::wait_uninterrupted;
use crate::pids::{Pids, Recorded};
use crate::process::{SUPERVISOR, stop_all};
use crate::progress::Step;
use crate::servers::postgres;

/// Time for the supervising command to stop each of its six processes.
const SUPERVISOR_LIMIT: Duration = Duration::from_secs(400);

/// Stops everything recorded in the area. `false` if nothing was running.
pub fn stop_area(area: &Area) -> Result<bool> {
    let recorded = Pids::read(area).entries;
    if !recorded.iter().any(Recorded::is_alive) {
        return Ok(false);
    }
    let step = Step::start(format_args!("Stopping what runs in {}", area.dir.display()));
    // The supervising command stops its processes in order.
    if let Some(supervisor) = recorded.iter().find(|process| process.name == SUPERVISOR) {
        supervisor.shut_down();
        if !wait_uninterrupted(SUPERVISOR_LIMIT, || !supervisor.is_alive()) {
            bail!("the command with pid {} does not exit", supervisor.pid);
        }
    }
    stop_all(&mut Pids::read(area));
    step.done("stopped");
    Ok(true)
}

/// Stops what an earlier run left, and deletes its data.
pub fn start_empty(area: &Area) -> Result<()> {
    stop_area(area)?;
    postgres::delete(area)?;
    ["nats", "redis"]
        .iter()
        .try_for_each(|name| remove(&area.dir.join(name)))
}
