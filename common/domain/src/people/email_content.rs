//! The facts in e-mails, without wording. `worker/src/mail` has the wording.

use chrono::{DateTime, NaiveDate, TimeDelta, Utc};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::weekly_summary::WeekLine;
use crate::ids::WebhookEndpointId;
use crate::programs::program_identity::ProgramIdentity;

crate::text_enum! {
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

/// In some kinds, `link` is a URL without its token. The token is stored separately and sealed.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum EmailContent {
    /// Invites to a workspace.
    MemberInvitation {
        workspace: String,
        link: String,
        expires_at: DateTime<Utc>,
    },
    /// Invites a partner of a program to an account of their own.
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
    /// A sign-in from a place where the account was not used before.
    NewSignIn {
        at: DateTime<Utc>,
        address: Option<String>,
        /// Two letters (ISO 3166-1).
        country: Option<String>,
        /// The browser's name for itself.
        user_agent: Option<String>,
        account_link: String,
    },
    PasswordChanged {
        at: DateTime<Utc>,
        /// Changed by a link sent to the address, not with the previous password.
        by_link: bool,
        account_link: String,
    },
    /// An invitation for an existing account's address was used, without proof that the account is theirs.
    SecondClaim {
        at: DateTime<Utc>,
        /// Name of the invitation's workspace or program.
        invited_to: String,
        account_link: String,
    },
    /// The results of a partner's programs in a week. The token of this e-mail belongs to `unsubscribe_link`,
    /// which ends the weekly e-mails.
    WeeklySummary {
        first_day: NaiveDate,
        last_day: NaiveDate,
        /// By program and currency; at least one line.
        lines: Vec<WeekLine>,
        commissions_link: String,
        unsubscribe_link: String,
    },
    /// For a new account, or on request.
    AddressVerification {
        link: String,
        expires_at: DateTime<Utc>,
    },
    /// Problems of a program that its members must look at.
    ProgramNotice {
        program: String,
        endpoints: Vec<EndpointNotice>,
        /// Events of the payment processor that a person must decide about.
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
    pub endpoint_id: WebhookEndpointId,
    /// Several endpoints may have the same host.
    pub host: String,
    /// True: the endpoint answered 410. False: every attempt failed for days.
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

    /// The time after which the e-mail is not worth sending, at most the time at which its link expires.
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

/// An e-mail older than this is not worth sending.
const WORTH_SENDING: TimeDelta = TimeDelta::days(1);
/// The same limit for a weekly summary.
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
