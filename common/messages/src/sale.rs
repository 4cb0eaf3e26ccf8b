//! `tracking.sales`: one record a claimed sale; the edge waits for its [`SaleOutcome`].

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use domain::commission::NothingDue;
use domain::ids::{CommissionId, EventId, ProgramId, SaleId};
use domain::sale::{Earning, Sale, SaleRefusal};

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SaleRecord {
    /// Identifies the claim: a copy whose claim is held by another event is stale and has no effect.
    pub event_id: EventId,
    pub sold_at: DateTime<Utc>,
    pub program_id: ProgramId,
    pub sale: Sale,
    /// Reported by the payment processor: `event_id` is its event's, in `processor_events`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub from_processor: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SaleOutcome {
    Recorded {
        sale_id: SaleId,
        /// In the attribution model's order; empty with a reason in `no_commission`.
        commission_ids: Vec<CommissionId>,
        /// The program splits commissions, so the answer lists them all.
        split: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        no_commission: Option<NoCommission>,
    },
    WindowExpired {
        click_age_days: i64,
        window_days: u16,
    },
    Refused(SaleRefusal),
    /// The payment is recorded already, under another of its names.
    Duplicate,
}

/// Why a recorded sale has no commission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoCommission {
    NothingDue(NothingDue),
    /// The caller is answered with an error although the sale is stored.
    PartnerMissing,
}

impl NoCommission {
    const PARTNER_MISSING: &'static str = "partner_missing";

    /// `None` of a sale that earns commissions.
    pub fn of(earning: &Earning) -> Option<Self> {
        match earning {
            Earning::Commissions { .. } => None,
            Earning::Nothing(reason) => Some(Self::NothingDue(*reason)),
            Earning::PartnerMissing => Some(Self::PartnerMissing),
        }
    }

    /// The code stored in `sale_events.no_commission_reason`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NothingDue(reason) => reason.as_str(),
            Self::PartnerMissing => Self::PARTNER_MISSING,
        }
    }

    pub fn parse(code: &str) -> Option<Self> {
        if code == Self::PARTNER_MISSING {
            return Some(Self::PartnerMissing);
        }
        NothingDue::parse(code).map(Self::NothingDue)
    }
}
