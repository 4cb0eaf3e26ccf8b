//! Shared by all processes: settings, logs, metrics, traces, HTTP, batching, retries, shutdown.

pub mod batch;
pub mod body;
pub mod claim_conflicts;
pub mod clock;
pub mod config;
pub mod crash_point;
pub mod health;
pub mod http;
pub mod lifecycle;
pub mod metrics;
pub mod platform_error;
pub mod postgres;
pub mod retry;
pub mod rounds;
pub mod sampled_counter;
pub mod telemetry;
pub mod trace;
