//! Identities of records. Each is a type of its own, so that a sale's id never lands where a partner's
//! belongs.

use std::fmt;

use chrono::{DateTime, Utc};
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
    /// A partner, across every program they promote.
    PartnerId,
    /// One partner's membership of one program; the holder of a balance.
    PartnerProgramId,
    /// The link whose short code is the `aff` value.
    ReferralLinkId,
    /// The sequence number of a customer. Shown to members of the program's workspace alone: the public form is
    /// [`ClickId`](super::click_id::ClickId).
    CustomerId,
    /// Answered as `sale_id`.
    SaleId,
    /// Answered as `commission_id`.
    CommissionId,
    /// One version of a commission policy.
    PolicyId,
    /// An advertiser: owns programs, has members and keys. The command line calls it `advertiser_id`.
    WorkspaceId,
    /// An account that signs in.
    UserId,
    /// A user's place in a workspace.
    MemberId,
    SessionId,
    ManagementKeyId,
    PasskeyId,
    /// A tracking token beside a program's own.
    TrackingTokenId,
    InvitationId,
    /// Commissions paid together.
    PayoutId,
    /// Where events of a program are sent.
    WebhookEndpointId,
    /// One event on its way to one endpoint.
    WebhookDeliveryId,
}

/// Identity of one record on the bus: a `UUIDv7` minted at the edge.
///
/// Unique in its event table, so a redelivered record changes nothing.
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

    /// No id that was minted at that time or later comes before it.
    pub fn first_of(at: DateTime<Utc>) -> Uuid {
        let milliseconds = u128::try_from(at.timestamp_millis()).unwrap_or(0);
        Uuid::from_u128(milliseconds << 80)
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
