//! Logs: one line an event, on stderr, so that stdout stays free for what a command answers.

use std::fmt;
use std::io::stderr;
use std::str::FromStr;

use clap::ValueEnum;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::ParseError;

use super::config::TelemetryConfig;

/// The NATS client repeats at info level each event that the bus logs with its own words.
pub const DEFAULT_FILTER: &str = "info,async_nats=warn";

/// What must not be logged whatever `LOG` asks for: messages as they were read, with all that customers told.
const NEVER: &str = "async_nats::connection=off";

/// Which events are logged, as `tracing_subscriber` filters them.
#[derive(Debug, Clone)]
pub struct LogFilter(String);

impl FromStr for LogFilter {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        EnvFilter::try_new(text).map(|_| Self(text.to_owned()))
    }
}

impl fmt::Display for LogFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    Text,
    Json,
}

/// Why logging could not start.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    #[error("LOG is not a valid filter: {0}")]
    Filter(#[from] ParseError),
    #[error("a subscriber is already installed: {0}")]
    Installed(Box<dyn std::error::Error + Send + Sync>),
}

/// Starts logging for the process. Panics are logged in the same format, because a bare line on stderr is lost on whoever
/// collects the rest as JSON.
pub fn init(service: &'static str, config: &TelemetryConfig) -> Result<(), TelemetryError> {
    init_with(service, &config.log.0, config.log_format)
}

/// The same for a command somebody types: what goes well goes without saying, unless `LOG` asks for it.
pub fn init_cli(command: &'static str) -> Result<(), TelemetryError> {
    let filter = std::env::var("LOG").unwrap_or_else(|_| "warn".to_owned());
    init_with(command, &filter, LogFormat::Text)
}

fn init_with(service: &'static str, filter: &str, format: LogFormat) -> Result<(), TelemetryError> {
    let filter = EnvFilter::try_new(filter)?.add_directive(NEVER.parse()?);
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(stderr);
    match format {
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
        LogFormat::Text => builder.try_init(),
    }
    .map_err(TelemetryError::Installed)?;
    std::panic::set_hook(Box::new(|panic| {
        let location = panic.location().map(ToString::to_string);
        tracing::error!(location, message = panic.payload_as_str(), "panic");
    }));
    tracing::info!(service, version = env!("CARGO_PKG_VERSION"), "starting");
    Ok(())
}
