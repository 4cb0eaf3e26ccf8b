//! The settings of a management key: everything that can change after the key was made.

use chrono::{DateTime, Utc};

use crate::name::Name;
use crate::people::permission::{ProgramScope, Scopes};

pub type KeyName = Name;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeySettings {
    pub name: KeyName,
    pub scopes: Scopes,
    pub program_scope: ProgramScope,
    /// The first moment at which the key is refused; `None` means never.
    pub expires_at: Option<DateTime<Utc>>,
}

crate::text_enum! {
    pub enum KeyStatus {
        Active = "active",
        /// Permanent.
        Revoked = "revoked",
    }
}
