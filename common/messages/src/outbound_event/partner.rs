//! `partner.*`: partners of a program.

use serde::Serialize;

/// A partner, as a member of the program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PartnerEvent {
    pub program_id: i64,
    /// The membership.
    pub partner_program_id: i64,
    pub partner_id: i64,
    pub partner_name: String,
    /// `pending`, `approved` or `suspended`. Only who is approved earns anything.
    pub status: String,
}

impl PartnerEvent {
    pub fn example(program_id: i64, status: &str) -> Self {
        Self {
            program_id,
            partner_program_id: 5,
            partner_id: 6,
            partner_name: "Ada".to_owned(),
            status: status.to_owned(),
        }
    }
}
