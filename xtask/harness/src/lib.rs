//! What `cargo xtask` and its tools share: they find or install servers, start servers and services in an
//! area of the checkout, wait until they are ready, and stop them.
//!
//! Linux only: `/proc` identifies a process by its pid and its start time, so that nothing is stopped that
//! these commands did not start.

pub mod area;
pub mod cargo;
pub mod env_file;
pub mod environment;
pub mod http;
pub mod interrupt;
pub mod keys;
pub mod pids;
pub mod ports;
pub mod process;
pub mod progress;
pub mod python;
pub mod servers;
pub mod services;
pub mod stop;

use std::process::ExitCode;

use anyhow::Result;

use crate::area::Checkout;
use crate::interrupt::{Interrupt, Interrupted};

/// Runs a command of this checkout; prints its error.
pub fn run_command(run: impl FnOnce(&Checkout, &Interrupt) -> Result<ExitCode>) -> ExitCode {
    let result = Checkout::find().and_then(|checkout| run(&checkout, &Interrupt::install()?));
    match result {
        Ok(code) => code,
        Err(error) if error.is::<Interrupted>() => {
            progress::line(&error);
            ExitCode::from(130)
        }
        Err(error) => {
            progress::line(format_args!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}
