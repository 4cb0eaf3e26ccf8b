//! What e-mails tell: facts, without wording. `common/mail` has the wording.

use chrono::{DateTime, NaiveDate, TimeDelta, Utc};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::weekly_summary::WeekLine;
use crate::ids::WebhookEndpointId;
use crate::program_identity::ProgramIdentity;

crate::text_enum! {
    /// The kind of an e-mail.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum EmailKind {
        MemberInvitation = "member_invitation",
        PartnerInvitation = "partner_invitation",
        PasswordReset = "password_reset",
        NewSignIn = "new_sign_in",
        PasswordChanged = "password_changed",
        SecondClaim = "second_claim",
        WeeklySummary = "weekly_summary",
        AddressVerification = "address_verification",
        ProgramNotice = "program_notice",
    }
}

/// Of the kinds that have one, `link` is an address without its token, which is stored apart and sealed.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum EmailContent {
    /// Into a workspace.
    MemberInvitation {
        workspace: String,
        link: String,
        expires_at: DateTime<Utc>,
    },
    /// To an account of their own, for a partner of a program.
    PartnerInvitation {
        program: String,
        #[serde(flatten)]
        identity: ProgramIdentity,
        link: String,
        expires_at: DateTime<Utc>,
    },
    PasswordReset {
        link: String,
        expires_at: DateTime<Utc>,
    },
    /// Somebody signed in from where the account was not used before.
    NewSignIn {
        at: DateTime<Utc>,
        address: Option<String>,
        /// Two letters (ISO 3166-1).
        country: Option<String>,
        /// As the browser called itself.
        user_agent: Option<String>,
        account_link: String,
    },
    PasswordChanged {
        at: DateTime<Utc>,
        /// By a link that was sent to the address, not with the password before.
        by_link: bool,
        account_link: String,
    },
    /// Somebody had an invitation for an address that has an account, and could not show that the account is theirs.
    SecondClaim {
        at: DateTime<Utc>,
        /// Of the workspace or program of the invitation.
        invited_to: String,
        account_link: String,
    },
    /// What a partner's programs gave in a week. Its token ends these e-mails.
    WeeklySummary {
        first_day: NaiveDate,
        last_day: NaiveDate,
        /// By program and currency; one at least.
        lines: Vec<WeekLine>,
        commissions_link: String,
        unsubscribe_link: String,
    },
    /// Of a new account, or on request.
    AddressVerification {
        link: String,
        expires_at: DateTime<Utc>,
    },
    /// What in a program needs those who look after it.
    ProgramNotice {
        program: String,
        endpoints: Vec<EndpointNotice>,
        /// Events of its payment processor that a person must decide about.
        to_review: i64,
        /// Events that could not be handled.
        stuck: i64,
        endpoints_link: String,
        events_link: String,
    },
}

crate::redacted!(EmailContent);

/// A webhook endpoint that was disabled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndpointNotice {
    /// `None` in an e-mail that was written before ids were in it.
    #[serde(default)]
    pub endpoint_id: Option<WebhookEndpointId>,
    /// Several endpoints may have the same.
    pub host: String,
    /// It answered 410; otherwise every attempt failed, for days.
    pub gone: bool,
}

impl EmailContent {
    pub const fn kind(&self) -> EmailKind {
        match self {
            Self::MemberInvitation { .. } => EmailKind::MemberInvitation,
            Self::PartnerInvitation { .. } => EmailKind::PartnerInvitation,
            Self::PasswordReset { .. } => EmailKind::PasswordReset,
            Self::NewSignIn { .. } => EmailKind::NewSignIn,
            Self::PasswordChanged { .. } => EmailKind::PasswordChanged,
            Self::SecondClaim { .. } => EmailKind::SecondClaim,
            Self::WeeklySummary { .. } => EmailKind::WeeklySummary,
            Self::AddressVerification { .. } => EmailKind::AddressVerification,
            Self::ProgramNotice { .. } => EmailKind::ProgramNotice,
        }
    }

    /// Until when it is worth sending: no longer than its link works.
    pub fn worth_sending_until(&self, written_at: DateTime<Utc>) -> DateTime<Utc> {
        match self {
            Self::MemberInvitation { expires_at, .. }
            | Self::PartnerInvitation { expires_at, .. }
            | Self::PasswordReset { expires_at, .. }
            | Self::AddressVerification { expires_at, .. } => (*expires_at).min(written_at + WORTH_SENDING),
            Self::WeeklySummary { .. } => written_at + SUMMARY_WORTH_SENDING,
            Self::NewSignIn { .. }
            | Self::PasswordChanged { .. }
            | Self::SecondClaim { .. }
            | Self::ProgramNotice { .. } => written_at + WORTH_SENDING,
        }
    }
}

/// An e-mail that could not be sent for so long is not worth sending any more.
const WORTH_SENDING: TimeDelta = TimeDelta::days(1);
/// The same of a summary, which tells of a week.
const SUMMARY_WORTH_SENDING: TimeDelta = TimeDelta::days(3);

/// Context under which the token of an e-mail's link is [sealed](crate::sealed).
pub fn token_purpose(message_id: Uuid) -> Vec<u8> {
    format!("token of e-mail {message_id}").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_content_names_its_kind() {
        let content = EmailContent::PasswordReset {
            link: "https://referrals.example/password-reset".to_owned(),
            expires_at: DateTime::UNIX_EPOCH,
        };
        let stored = serde_json::to_value(&content).unwrap();
        assert_eq!(stored["kind"], content.kind().as_str());
        assert_eq!(serde_json::from_value::<EmailContent>(stored).unwrap(), content);
        assert_eq!(format!("{content:?}"), "EmailContent");
    }
}
