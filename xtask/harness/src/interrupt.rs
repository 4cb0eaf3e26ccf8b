//! Ctrl-C, a hang-up and a polite kill all mean: stop what was started, then leave.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// How often a wait looks again.
pub const PAUSE: Duration = Duration::from_millis(50);

/// The request to stop, once it came.
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

    /// Fails with [`Interrupted`] once the request came.
    pub fn check(&self) -> Result<()> {
        if self.came() {
            Err(Interrupted.into())
        } else {
            Ok(())
        }
    }

    /// Asks again and again until the answer is yes. `false` when the limit passed first.
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

/// The same wait where stopping is already under way and must not be cut short.
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

/// The command ended because it was asked to.
#[derive(Debug)]
pub struct Interrupted;

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("interrupted; everything this command started is stopped")
    }
}

impl Error for Interrupted {}
