//! `tracking.sales`: one record for each claimed sale. Ingest waits for its [`SaleOutcome`].

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use domain::earnings::commission::NothingDue;
use domain::ids::{CommissionId, EventId, ProgramId, SaleId};
use domain::tracking::sale::{Earning, Sale, SaleRefusal};

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SaleRecord {
    /// Identifies the claim. If another event holds the claim, this record is a stale copy and has no effect.
    pub event_id: EventId,
    pub sold_at: DateTime<Utc>,
    pub program_id: ProgramId,
    pub sale: Sale,
    /// The payment processor reported the sale, and `event_id` is that of its event in `processor_events`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub from_processor: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SaleOutcome {
    Recorded {
        sale_id: SaleId,
        /// In the attribution model's order. If empty, `no_commission` has the reason.
        commission_ids: Vec<CommissionId>,
        /// The program splits commissions, so the answer lists all of them.
        split: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        no_commission: Option<NoCommission>,
    },
    WindowExpired {
        click_age_days: i64,
        window_days: u16,
    },
    Refused(SaleRefusal),
    /// The payment is already recorded under another of its processor ids.
    Duplicate,
}

/// Why a recorded sale has no commission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoCommission {
    NothingDue(NothingDue),
    /// The caller gets an error, although the sale is stored.
    PartnerMissing,
}

impl NoCommission {
    const PARTNER_MISSING: &'static str = "partner_missing";

    /// `None` for a sale that earns commissions.
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
