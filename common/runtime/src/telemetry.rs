//! Logging: one line per event, on stderr, so that stdout carries only a command's output.

use std::io::stderr;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::ParseError;

use super::config::{LogFormat, TelemetryConfig};

/// Never logged, whatever `LOG` says: raw NATS messages contain customer data.
const NEVER_LOGGED: &str = "async_nats::connection=off";
/// At info level it lists the dashboard's files at each start.
const RARELY_LOGGED: &str = "memory_serve=warn";

/// Why logging could not start.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    #[error("LOG is not a valid filter: {0}")]
    Filter(#[from] ParseError),
    #[error("a subscriber is already installed: {0}")]
    Installed(Box<dyn std::error::Error + Send + Sync>),
}

/// Starts logging. Panics are logged in the same format, because a log collector that expects JSON drops a
/// plain line.
pub fn init(service: &'static str, config: &TelemetryConfig) -> Result<(), TelemetryError> {
    init_with(service, config.log.as_str(), config.log_format)
}

/// Starts logging for a command-line tool: as text, and only warnings and errors unless `LOG` is set.
pub fn init_cli(command: &'static str) -> Result<(), TelemetryError> {
    let filter = std::env::var("LOG").unwrap_or_else(|_| "warn".to_owned());
    init_with(command, &filter, LogFormat::Text)
}

fn init_with(service: &'static str, filter: &str, format: LogFormat) -> Result<(), TelemetryError> {
    let filter = EnvFilter::try_new(filter)?
        .add_directive(NEVER_LOGGED.parse()?)
        .add_directive(RARELY_LOGGED.parse()?);
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
