//! A lead: the signup of a visitor.

use serde::{Deserialize, Serialize};

use crate::ids::ProgramId;
use crate::text::{CustomerKey, Label};
use crate::tracking::click_id::ClickId;
use crate::tracking::customer::CustomerStatus;

/// Keyed hash of an e-mail address, `v<scheme version>:<hex>`. The address itself never leaves ingest.
pub type EmailHash = crate::text::Text<80>;

/// The sender of a lead, which decides how far the lead is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeadMode {
    /// The advertiser's backend, authenticated for one program.
    Server { program_id: ProgramId },
    /// The visitor's browser; the click_id is the only proof.
    Browser,
}

impl LeadMode {
    /// The program of the authenticated caller.
    pub const fn program_id(self) -> Option<ProgramId> {
        match self {
            Self::Server { program_id } => Some(program_id),
            Self::Browser => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lead {
    pub mode: LeadMode,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub click_id: Option<ClickId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub customer_key: Option<CustomerKey>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email_hash: Option<EmailHash>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_name: Option<Label>,
}

impl Lead {
    /// Whether the caller may see why a lead of this customer is refused. A backend may, and so may a browser
    /// that sends the customer's click_id. A key can be guessed, so a refusal must not reveal that it exists.
    pub fn may_see_refusal(&self, click_id: &str) -> bool {
        match self.mode {
            LeadMode::Server { .. } => true,
            LeadMode::Browser => self.click_id.as_ref().is_some_and(|own| own.as_str() == click_id),
        }
    }
}

/// Whether a program accepts unauthenticated leads (`lead_auth`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeadAuth {
    /// `lead_auth` is not set: a browser lead counts at once.
    AnyCaller,
    /// `lead_auth: server_required`: a browser lead is provisional until backend or payment confirms it.
    ServerRequired,
}

crate::stored!(LeadAuth: &str, |text| Self::parse(Some(text)));

impl LeadAuth {
    /// The stored value of the program's `lead_auth` setting.
    pub const fn as_str(self) -> Option<&'static str> {
        match self {
            Self::AnyCaller => None,
            Self::ServerRequired => Some("server_required"),
        }
    }

    /// `None` for an unknown setting.
    pub fn parse(text: Option<&str>) -> Option<Self> {
        [Self::AnyCaller, Self::ServerRequired]
            .into_iter()
            .find(|lead_auth| lead_auth.as_str() == text)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeadRefusal {
    CustomerNotFound,
    CustomerOfAnotherProgram,
    CannotBecomeLead { current: CustomerStatus },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeadDecision {
    /// The status becomes `lead`, and the key is bound if the customer has none.
    Track,
    /// Only the event and the proposed key are stored. The status stays `click`.
    Provisional,
    Refuse(LeadRefusal),
}

/// Decides a lead of a known customer.
///
/// A provisional lead may be repeated, because browsers retry. It follows the same lifecycle rule as a
/// confirmed lead: a customer who cannot become a lead cannot get a provisional one.
pub fn decide(
    mode: LeadMode,
    customer_program: ProgramId,
    status: CustomerStatus,
    lead_auth: LeadAuth,
) -> LeadDecision {
    if let LeadMode::Server { program_id } = mode
        && program_id != customer_program
    {
        return LeadDecision::Refuse(LeadRefusal::CustomerOfAnotherProgram);
    }
    if let Err(refusal) = status.on_lead() {
        return LeadDecision::Refuse(LeadRefusal::CannotBecomeLead {
            current: refusal.current,
        });
    }
    match (mode, lead_auth) {
        (LeadMode::Browser, LeadAuth::ServerRequired) => LeadDecision::Provisional,
        _ => LeadDecision::Track,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: ProgramId = ProgramId::new(1);
    const THEIRS: ProgramId = ProgramId::new(2);

    #[test]
    fn a_browser_lead_is_provisional_only_where_the_backend_must_confirm() {
        let decided = |mode, auth| decide(mode, OURS, CustomerStatus::Click, auth);
        let server = LeadMode::Server { program_id: OURS };
        assert_eq!(
            decided(LeadMode::Browser, LeadAuth::ServerRequired),
            LeadDecision::Provisional
        );
        assert_eq!(
            decided(LeadMode::Browser, LeadAuth::AnyCaller),
            LeadDecision::Track
        );
        assert_eq!(decided(server, LeadAuth::ServerRequired), LeadDecision::Track);
    }

    #[test]
    fn another_programs_customer_is_named_before_its_status() {
        let server = LeadMode::Server { program_id: THEIRS };
        assert_eq!(
            decide(server, OURS, CustomerStatus::Conversion, LeadAuth::AnyCaller),
            LeadDecision::Refuse(LeadRefusal::CustomerOfAnotherProgram)
        );
    }

    #[test]
    fn a_status_never_moves_back_to_lead() {
        for current in [CustomerStatus::Lead, CustomerStatus::Conversion] {
            assert_eq!(
                decide(LeadMode::Browser, OURS, current, LeadAuth::AnyCaller),
                LeadDecision::Refuse(LeadRefusal::CannotBecomeLead { current })
            );
        }
    }
}
