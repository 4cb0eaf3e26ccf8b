//! Ids of records, a type for each kind: the id of a sale cannot be passed as the id of a partner.

use std::fmt;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

macro_rules! row_ids {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        #[cfg_attr(feature = "sqlx", derive(sqlx::Type), sqlx(transparent))]
        pub struct $name(i64);

        impl $name {
            pub const fn new(id: i64) -> Self {
                Self(id)
            }

            pub const fn get(self) -> i64 {
                self.0
            }
        }

        impl From<i64> for $name {
            fn from(id: i64) -> Self {
                Self(id)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )+};
}

row_ids! {
    /// An advertiser's referral program.
    ProgramId,
    /// A partner across all programs that they promote.
    PartnerId,
    /// A partner's membership of one program. The membership has the balance.
    PartnerProgramId,
    /// A referral link. Its short code is the `aff` value.
    ReferralLinkId,
    /// The sequence number of a customer. Only members of the program's workspace see it; the public form is
    /// [`ClickId`](super::tracking::click_id::ClickId).
    CustomerId,
    /// The contract's `sale_id`.
    SaleId,
    /// The contract's `commission_id`.
    CommissionId,
    /// One version of a commission policy.
    PolicyId,
    /// An advertiser: has programs, members and keys. The command line calls the id `advertiser_id`.
    WorkspaceId,
    /// An account that signs in.
    UserId,
    /// A user's membership of a workspace.
    MemberId,
    SessionId,
    ManagementKeyId,
    PasskeyId,
    /// A further tracking token of a program, beside the program's own token.
    TrackingTokenId,
    InvitationId,
    /// A payout: commissions that are paid together.
    PayoutId,
    /// The address to which a program's events are sent.
    WebhookEndpointId,
    /// The delivery of one event to one endpoint.
    WebhookDeliveryId,
}

/// Id of one message on the bus: a `UUIDv7` that ingest makes.
///
/// It is unique in its event table, so a redelivered message changes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
#[cfg_attr(feature = "sqlx", derive(sqlx::Type), sqlx(transparent))]
pub struct EventId(Uuid);

impl EventId {
    pub const fn new(id: Uuid) -> Self {
        Self(id)
    }

    pub const fn get(self) -> Uuid {
        self.0
    }
}

impl From<Uuid> for EventId {
    fn from(id: Uuid) -> Self {
        Self(id)
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_travel_as_bare_json_values() {
        assert_eq!(serde_json::to_string(&SaleId::new(7)).unwrap(), "7");
        assert_eq!(serde_json::from_str::<SaleId>("7").unwrap(), SaleId::from(7));

        let event = EventId::new(Uuid::from_u128(1));
        let json = serde_json::to_string(&event).unwrap();
        assert_eq!(json, "\"00000000-0000-0000-0000-000000000001\"");
        assert_eq!(serde_json::from_str::<EventId>(&json).unwrap(), event);
    }

    #[test]
    fn ids_print_as_their_number() {
        assert_eq!(PartnerProgramId::new(42).to_string(), "42");
    }
}
