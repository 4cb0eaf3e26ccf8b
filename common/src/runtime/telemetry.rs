//! Logs: one line an event, on stderr, so that stdout stays free for what a command answers.

use std::env;
use std::io::stderr;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::ParseError;

/// The NATS client repeats at info level each event that the bus logs with its own words.
const DEFAULT_FILTER: &str = "info,async_nats=warn";

/// What must not be logged whatever `LOG` asks for: messages as they were read, with all that customers told.
const NEVER: &str = "async_nats::connection=off";

/// Why logging could not start.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    #[error("LOG is not a valid filter: {0}")]
    Filter(#[from] ParseError),
    #[error("a subscriber is already installed: {0}")]
    Installed(Box<dyn std::error::Error + Send + Sync>),
}

/// Starts logging for the process. `LOG` filters (`info`, `warn,common::bus=debug`; default `info`,
/// less for the NATS client),
/// `LOG_FORMAT=json` writes JSON lines. Panics are logged in the same format, because a bare line on stderr is lost
/// on whoever collects the rest as JSON.
pub fn init(service: &'static str) -> Result<(), TelemetryError> {
    init_with(service, DEFAULT_FILTER)
}

/// The same for a command somebody types: what goes well goes without saying, unless `LOG` asks for it.
pub fn init_quietly(command: &'static str) -> Result<(), TelemetryError> {
    init_with(command, "warn")
}

fn init_with(service: &'static str, default_filter: &str) -> Result<(), TelemetryError> {
    let filter = EnvFilter::try_new(env::var("LOG").unwrap_or_else(|_| default_filter.to_owned()))?
        .add_directive(NEVER.parse()?);
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(stderr);
    if env::var("LOG_FORMAT").is_ok_and(|format| format == "json") {
        builder
            .json()
            .flatten_event(true)
            .try_init()
            .map_err(TelemetryError::Installed)?;
    } else {
        builder.try_init().map_err(TelemetryError::Installed)?;
    }
    std::panic::set_hook(Box::new(|panic| {
        let location = panic.location().map(ToString::to_string);
        tracing::error!(location, message = panic.payload_as_str(), "panic");
    }));
    tracing::info!(service, version = env!("CARGO_PKG_VERSION"), "starting");
    Ok(())
}
