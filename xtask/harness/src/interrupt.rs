//! SIGINT, SIGHUP and SIGTERM: stop what was started, then exit.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// Polling interval of waits.
pub const PAUSE: Duration = Duration::from_millis(50);

/// Whether a signal to stop was received.
#[derive(Debug)]
pub struct Interrupt {
    came: Arc<AtomicBool>,
}

impl Interrupt {
    pub fn install() -> Result<Self> {
        let came = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::flag::register(signal, Arc::clone(&came))?;
        }
        Ok(Self { came })
    }

    pub fn came(&self) -> bool {
        self.came.load(Ordering::Relaxed)
    }

    /// Fails with [`Interrupted`] after a signal.
    pub fn check(&self) -> Result<()> {
        if self.came() {
            Err(Interrupted.into())
        } else {
            Ok(())
        }
    }

    /// Polls until the condition holds. `false` after the limit.
    pub fn wait_until(&self, limit: Duration, mut yes: impl FnMut() -> Result<bool>) -> Result<bool> {
        poll(limit, || {
            self.check()?;
            yes()
        })
    }
}

/// The same wait during shutdown, which must not be interrupted.
pub fn wait_uninterrupted(limit: Duration, mut yes: impl FnMut() -> bool) -> bool {
    poll(limit, || Ok(yes())).unwrap_or(false)
}

fn poll(limit: Duration, mut yes: impl FnMut() -> Result<bool>) -> Result<bool> {
    let deadline = Instant::now() + limit;
    while !yes()? {
        if Instant::now() >= deadline {
            return Ok(false);
        }
        thread::sleep(PAUSE);
    }
    Ok(true)
}

/// The command ended because of a signal.
#[derive(Debug, thiserror::Error)]
#[error("interrupted; everything this command started is stopped")]
pub struct Interrupted;
