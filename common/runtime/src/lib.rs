//! What every process needs in order to run, and nothing of what it does.

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
pub mod sampled_counter;
pub mod telemetry;
pub mod trace;
