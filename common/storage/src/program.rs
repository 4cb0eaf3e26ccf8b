//! Programs, their settings, partners, referral links and tracking tokens.

pub mod directory;
pub mod links;
pub mod own_links;
pub mod partner_notes;
pub mod partners;
pub mod policies;
pub mod program_settings;
pub mod programs;
pub mod tracking_setup;
pub mod tracking_tokens;
