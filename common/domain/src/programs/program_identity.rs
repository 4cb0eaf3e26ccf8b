//! A program's look in e-mails to its partners, beside its name.

use serde::{Deserialize, Serialize};

/// Both addresses were checked when they were set.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramIdentity {
    /// An https address.
    pub logo_url: Option<String>,
    /// The address for replies. Without it, replies go to the installation's address.
    pub reply_to: Option<String>,
}
