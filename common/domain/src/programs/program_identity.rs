//! How a program presents itself to its partners in e-mails, beside its name.

use serde::{Deserialize, Serialize};

/// Both addresses were checked when they were set.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramIdentity {
    /// An https address.
    pub logo_url: Option<String>,
    /// Where answers go, if not to the installation's address.
    pub reply_to: Option<String>,
}
