//! SIGINT, SIGHUP and SIGTERM: stop what was started, then exit.

use std::error::Error;
use std::fmt;
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
        let deadline = Instant::now() + limit;
        loop {
            self.check()?;
            if yes()? {
                return Ok(true);
            }
            if Instant::now() >= deadline {
                return Ok(false);
            }
            thread::sleep(PAUSE);
        }
    }
}

/// The same wait during shutdown, which must not be interrupted.
pub fn wait_uninterrupted(limit: Duration, mut yes: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + limit;
    loop {
        if yes() {
            return true;
        }
        if Instant::now() >= deadline {
            return false;
        }
        thread::sleep(PAUSE);
    }
}

/// The command ended because of a signal.
#[derive(Debug)]
pub struct Interrupted;

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("interrupted; everything this command started is stopped")
    }
}

impl Error for Interrupted {}
