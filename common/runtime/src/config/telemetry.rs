//! Settings of logs, metrics and traces.

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::ParseError;
use url::Url;

/// `bus` logs NATS connection events itself; the client library would repeat each at info level.
const DEFAULT_FILTER: &str = "info,async_nats=warn";

/// Logs, metrics, traces.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Telemetry")]
pub struct TelemetryConfig {
    /// Log filter: a level such as `info`, or levels by module such as `warn,bus=debug`. Messages with customer data are never
    /// logged.
    #[arg(long, env = "LOG", default_value = DEFAULT_FILTER)]
    pub log: LogFilter,
    /// Log format: plain text, or one JSON object a line.
    #[arg(long, env = "LOG_FORMAT", value_enum, default_value_t = LogFormat::Text)]
    pub log_format: LogFormat,
    /// Address and port that serve `/metrics`, without authentication. When not set, metrics are not served.
    #[arg(long, env = "METRICS_LISTEN")]
    pub metrics_listen: Option<SocketAddr>,
    /// URL of a trace collector, such as `http://host:4318`: OTLP over plain HTTP. When not set, nothing is traced.
    #[arg(long, env = "OTEL_EXPORTER_OTLP_ENDPOINT")]
    pub otel_exporter_otlp_endpoint: Option<CollectorUrl>,
    /// Share of requests that are traced, from 0 to 1.
    #[arg(long, env = "TRACE_RATIO", default_value = "0.01")]
    pub trace_ratio: Ratio,
}

/// Which events are logged, in `tracing_subscriber`'s syntax.
#[derive(Debug, Clone)]
pub struct LogFilter(String);

impl LogFilter {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

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

/// URL of an OTLP collector, `http://host:port`. Plain HTTP, because the collector runs on the same machine
/// or private network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectorUrl {
    /// For the socket: an IPv6 address has no brackets.
    pub host: String,
    pub port: u16,
    base: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a collector is an address like http://collector:4318, without user, query or TLS")]
pub struct CollectorUrlError;

impl FromStr for CollectorUrl {
    type Err = CollectorUrlError;

    fn from_str(text: &str) -> Result<Self, CollectorUrlError> {
        let url = Url::parse(text).map_err(|_| CollectorUrlError)?;
        let is_plain = url.scheme() == "http"
            && url.username().is_empty()
            && url.password().is_none()
            && url.query().is_none()
            && url.fragment().is_none();
        let host = url.host_str().filter(|_| is_plain).ok_or(CollectorUrlError)?;
        Ok(Self {
            host: host.trim_matches(['[', ']']).to_owned(),
            port: url.port_or_known_default().unwrap_or(80),
            base: text.trim_end_matches('/').to_owned(),
        })
    }
}

impl CollectorUrl {
    pub fn traces(&self) -> String {
        format!("{}/v1/traces", self.base)
    }
}

/// A share of all requests.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio(f64);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a share is a number from 0 to 1")]
pub struct RatioError;

impl FromStr for Ratio {
    type Err = RatioError;

    fn from_str(text: &str) -> Result<Self, RatioError> {
        let share: f64 = text.parse().map_err(|_| RatioError)?;
        (0.0..=1.0)
            .contains(&share)
            .then_some(Self(share))
            .ok_or(RatioError)
    }
}

impl Ratio {
    pub const fn get(self) -> f64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collector_is_reached_plainly() {
        let url: CollectorUrl = "http://[::1]:4318/".parse().unwrap();
        assert_eq!((url.host.as_str(), url.port), ("::1", 4318));
        assert_eq!(url.traces(), "http://[::1]:4318/v1/traces");
        for invalid in [
            "collector:4318",
            "https://collector",
            "http://u:p@collector",
            "http://collector?key=1",
        ] {
            assert_eq!(
                invalid.parse::<CollectorUrl>(),
                Err(CollectorUrlError),
                "{invalid}"
            );
        }
    }

    #[test]
    fn a_share_is_from_none_to_all() {
        for share in ["0", "0.25", "1"] {
            assert!(share.parse::<Ratio>().is_ok());
        }
        for invalid in ["-0.1", "1.1", "NaN", "many"] {
            assert_eq!(invalid.parse::<Ratio>(), Err(RatioError), "{invalid}");
        }
    }
}
