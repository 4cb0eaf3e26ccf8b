//! A program, its partners and its tracking tokens.

pub mod event_stream;
pub mod key_rotation;
pub mod outbound_event;
pub mod partner;
pub mod program;
pub mod program_identity;
pub mod readiness;
pub mod tracking_token;
pub mod webhook;
pub mod webhook_address;
pub mod webhook_attempt;
pub mod webhook_endpoint;
