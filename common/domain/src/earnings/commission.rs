//! Commissions of a sale under a policy, and their lifecycle.

use chrono::{DateTime, Months, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use crate::ids::PolicyId;
use crate::money::{AmountCents, BasisPoints, Cents, Currency, proportion};

/// The payments on which a commission is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommissionType {
    /// On the first payment and on those within `months` calendar months of it.
    CpsRecurring { months: u32 },
    /// On every payment.
    CpsLifetime,
    /// On the customer's first payment only.
    CpsOneTime,
}

impl CommissionType {
    /// From the columns of a policy; `None` where they contradict each other.
    pub fn from_parts(text: &str, default_duration_months: Option<i32>) -> Option<Self> {
        match (text, default_duration_months) {
            ("cps_recurring", Some(months)) => u32::try_from(months)
                .ok()
                .filter(|months| *months >= 1)
                .map(|months| Self::CpsRecurring { months }),
            ("cps_lifetime", None) => Some(Self::CpsLifetime),
            ("cps_one_time", None | Some(0)) => Some(Self::CpsOneTime),
            _ => None,
        }
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::CpsRecurring { .. } => "cps_recurring",
            Self::CpsLifetime => "cps_lifetime",
            Self::CpsOneTime => "cps_one_time",
        }
    }

    /// The contract's encoding: N for recurring, null for lifetime, 0 for one-time.
    pub fn default_duration_months(self) -> Option<i32> {
        match self {
            Self::CpsRecurring { months } => i32::try_from(months).ok(),
            Self::CpsLifetime => None,
            Self::CpsOneTime => Some(0),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rate {
    /// A share of the commissionable amount, in the sale's currency.
    Percentage(BasisPoints),
    /// The same amount for every sale, in the rate's own currency.
    Fixed { amount: Cents, currency: Currency },
}

impl Rate {
    /// Hundredths of a percent: 0..=10 000.
    pub fn percentage(basis_points: i64) -> Option<Self> {
        u32::try_from(basis_points)
            .ok()
            .and_then(BasisPoints::new)
            .map(Self::Percentage)
    }

    /// `cents` must be in 0..=[`AmountCents::MAX`].
    pub fn fixed(cents: i64, currency: Currency) -> Option<Self> {
        (0..=AmountCents::MAX.get())
            .contains(&cents)
            .then_some(Self::Fixed {
                amount: Cents::new(cents),
                currency,
            })
    }

    pub const fn basis_points(&self) -> Option<BasisPoints> {
        match self {
            Self::Percentage(rate) => Some(*rate),
            Self::Fixed { .. } => None,
        }
    }

    pub const fn fixed_amount(&self) -> Option<(Cents, Currency)> {
        match self {
            Self::Percentage(_) => None,
            Self::Fixed { amount, currency } => Some((*amount, *currency)),
        }
    }
}

/// One version of a program's commission rules. A change makes a new version with a later `effective_from`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    pub id: PolicyId,
    /// `None`: the version is the program's default.
    pub product_id: Option<String>,
    pub effective_from: DateTime<Utc>,
    pub commission_type: CommissionType,
    pub rate: Rate,
}

/// The policy for a product at a moment: the newest version for that product, else the newest default. If two
/// versions take effect at the same moment, the one created later wins.
pub fn policy_in_force<'a>(
    policies: &'a [Policy],
    product_id: Option<&str>,
    at: DateTime<Utc>,
) -> Option<&'a Policy> {
    let newest = |wanted: Option<&str>| {
        policies
            .iter()
            .filter(|policy| policy.product_id.as_deref() == wanted && policy.effective_from <= at)
            .max_by_key(|policy| (policy.effective_from, policy.id))
    };
    product_id
        .and_then(|product_id| newest(Some(product_id)))
        .or_else(|| newest(None))
}

/// Payments before the payment that is being decided.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PaymentHistory {
    pub customer_first_payment_at: Option<DateTime<Utc>>,
    pub subscription_first_payment_at: Option<DateTime<Utc>>,
    /// The sale is a payment of a subscription. Then the months in which renewals earn a commission start with
    /// the subscription's first payment, not with the customer's.
    pub names_subscription: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    Amount { amount: Cents, currency: Currency },
    Nothing(NothingDue),
}

crate::text_enum! {
    /// Why an attributed payment earns nothing. The sale is recorded all the same.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum NothingDue {
        NoPolicy = "no_commission_policy",
        RecurringPeriodOver = "recurring_period_over",
        OneTimeAlreadyPaid = "one_time_already_paid",
        /// The payment renews a subscription that had already ended.
        SubscriptionEnded = "subscription_ended",
        /// The partner bought for themselves, and the program refuses such commissions.
        SelfReferral = "self_referral",
    }
}

impl NothingDue {
    /// Text for the caller, as part of a sentence.
    pub const fn message(self) -> &'static str {
        match self {
            Self::NoPolicy => "the program has no commission policy in force",
            Self::RecurringPeriodOver => "the recurring commission period is over",
            Self::OneTimeAlreadyPaid => "the program pays on a customer's first payment only",
            Self::SubscriptionEnded => "the subscription had ended",
            Self::SelfReferral => "partners earn nothing by their own purchases",
        }
    }
}

/// The commission of a payment made at `at` under a policy. Percentages apply to `commissionable`.
pub fn due(
    policy: Option<&Policy>,
    commissionable: Cents,
    sale_currency: Currency,
    history: &PaymentHistory,
    at: DateTime<Utc>,
) -> Due {
    let Some(policy) = policy else {
        return Due::Nothing(NothingDue::NoPolicy);
    };
    let clock = if history.names_subscription {
        history.subscription_first_payment_at
    } else {
        history.customer_first_payment_at
    };
    match policy.commission_type {
        CommissionType::CpsOneTime if history.customer_first_payment_at.is_some() => {
            return Due::Nothing(NothingDue::OneTimeAlreadyPaid);
        }
        CommissionType::CpsRecurring { months }
            if clock.is_some_and(|first| at > months_after(first, months)) =>
        {
            return Due::Nothing(NothingDue::RecurringPeriodOver);
        }
        _ => {}
    }
    match policy.rate {
        Rate::Percentage(rate) => Due::Amount {
            amount: proportion(
                commissionable,
                i64::from(rate.get()),
                i64::from(BasisPoints::WHOLE.get()),
            ),
            currency: sale_currency,
        },
        Rate::Fixed { amount, currency } => Due::Amount { amount, currency },
    }
}

/// Adds calendar months. If the target month is too short, the result is on its last day.
fn months_after(first: DateTime<Utc>, months: u32) -> DateTime<Utc> {
    first
        .checked_add_months(Months::new(months))
        .unwrap_or(DateTime::<Utc>::MAX_UTC)
}

crate::bounded::bounded! {
    /// Days before a commission is approved.
    HoldPeriod { days: u8 }, 0..=31, default 15
}

impl HoldPeriod {
    /// The moment from which a commission of a sale made at `at` may be approved.
    pub fn until(self, at: DateTime<Utc>) -> DateTime<Utc> {
        at.checked_add_signed(TimeDelta::days(i64::from(self.days)))
            .unwrap_or(DateTime::<Utc>::MAX_UTC)
    }
}

crate::text_enum! {
    /// The commissions of a program that need approval by hand, even after their hold period.
    #[derive(Default)]
    pub enum NeedsApproval {
        #[default]
        None = "none",
        /// Commissions with a fraud signal.
        Flagged = "flagged",
        All = "all",
    }
}

impl NeedsApproval {
    pub const fn applies(self, flagged: bool) -> bool {
        match self {
            Self::None => false,
            Self::Flagged => flagged,
            Self::All => true,
        }
    }
}

crate::text_enum! {
    /// How a partner's own purchase is treated.
    #[derive(Default)]
    pub enum SelfReferrals {
        /// The purchase earns a commission, which is shown with a fraud signal.
        #[default]
        Flag = "flag",
        /// The purchase is recorded and earns no commission.
        Refuse = "refuse",
    }
}

crate::text_enum! {
    /// The lifecycle of a commission: pending → approved → paid. A refund moves any of these to refunded or
    /// reversed.
    ///
    /// A separate field, `paid_at`, records the payout, and a later refund does not erase it.
    #[derive(Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum CommissionStatus {
        Pending = "pending",
        Approved = "approved",
        Paid = "paid",
        /// Refunded in part. The rest is still payable or already paid.
        Refunded = "refunded",
        /// Refunded entirely. No transition leaves this status.
        Reversed = "reversed",
    }
}

/// The lifecycle has no such transition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TransitionError {
    #[error("{} commissions cannot be {attempted}", .from.as_str())]
    NotFrom {
        from: CommissionStatus,
        attempted: &'static str,
    },
    #[error("the commission is held until {held_until}")]
    Held { held_until: DateTime<Utc> },
}

impl CommissionStatus {
    /// Approves once the hold period is over.
    pub fn approve(self, held_until: DateTime<Utc>, now: DateTime<Utc>) -> Result<Self, TransitionError> {
        match self {
            Self::Pending if now < held_until => Err(TransitionError::Held { held_until }),
            Self::Pending => Ok(Self::Approved),
            from => Err(TransitionError::NotFrom {
                from,
                attempted: "approved",
            }),
        }
    }

    /// Approval by the advertiser before the end of the hold period.
    pub fn approve_early(self) -> Result<Self, TransitionError> {
        self.approve(DateTime::<Utc>::MIN_UTC, DateTime::<Utc>::MIN_UTC)
    }

    /// Pays the commission out. A refunded commission keeps its status when its rest is paid.
    pub fn pay(self) -> Result<Self, TransitionError> {
        match self {
            Self::Approved => Ok(Self::Paid),
            Self::Refunded => Ok(Self::Refunded),
            from => Err(TransitionError::NotFrom {
                from,
                attempted: "paid",
            }),
        }
    }

    /// `fully`: the sale is refunded in full.
    pub fn on_refund(self, fully: bool) -> Result<Self, TransitionError> {
        match self {
            Self::Reversed => Err(TransitionError::NotFrom {
                from: self,
                attempted: "refunded",
            }),
            _ if fully => Ok(Self::Reversed),
            _ => Ok(Self::Refunded),
        }
    }
}

#[cfg(test)]
mod tests;
