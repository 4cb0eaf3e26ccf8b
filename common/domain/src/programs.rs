//! A program, its partners and its tracking tokens.

pub mod key_rotation;
pub mod partner;
pub mod program;
pub mod readiness;
pub mod tracking_token;
