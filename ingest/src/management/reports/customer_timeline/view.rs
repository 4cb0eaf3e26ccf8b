//! A customer's timeline as the dashboard shows it.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use messages::instant::{as_instant, as_instant_if_any};
use storage::reads::customer_timeline::{TimelineCommission, TimelineCustomer, TimelineEntry};
use storage::reads::program_events::{EventPage, ProgramEvent, ProgramEventDetails};

use crate::management::advertiser::money::commissions::NamedPartner;
use crate::management::answers::view;
use crate::management::prelude::*;
use crate::management::reports::program_events::view::ProgramEventView;

/// A customer and what happened, oldest first.
#[derive(Debug, Serialize, ToSchema)]
pub struct CustomerTimeline {
    id: i64,
    click_id: String,
    /// Null when none is bound, and after an erasure.
    customer_key: Option<String>,
    /// `click`, `lead` or `conversion`.
    status: String,
    #[serde(serialize_with = "as_instant")]
    first_click_at: DateTime<Utc>,
    #[serde(serialize_with = "as_instant_if_any")]
    signup_date: Option<DateTime<Utc>>,
    #[serde(serialize_with = "as_instant_if_any")]
    first_purchase_date: Option<DateTime<Utc>>,
    /// When the customer's data was erased.
    #[serde(serialize_with = "as_instant_if_any")]
    erased_at: Option<DateTime<Utc>>,
    /// Whether commissions, ledger and payouts are among what happened: they are for those who may read the program.
    shows_earnings: bool,
    /// There are more events than these: older ones, or clicks between the first and the hundred latest.
    has_older_events: bool,
    timeline: Vec<HappenedView>,
}

/// One thing that happened. What its kind has not is null.
#[derive(Debug, Default, Serialize, ToSchema)]
#[schema(as = TimelineEntry)]
struct HappenedView {
    #[serde(serialize_with = "as_instant")]
    timestamp: DateTime<Utc>,
    /// `click`, `lead`, `sale`, `refund`, `commission`, `ledger` or `payout`.
    kind: &'static str,
    /// Of the sale or commission, what a refund gave back, what moved a partner's balance, what a payout paid.
    amount_cents: Option<i64>,
    currency: Option<String>,
    sale_id: Option<i64>,
    commission_id: Option<i64>,
    payout_id: Option<i64>,
    /// Of a click, lead, sale or refund.
    event: Option<ProgramEventView>,
    commission: Option<TimelineCommissionView>,
    /// Of what moved a balance, payouts among it.
    ledger: Option<LedgerEntryView>,
}

/// A commission as it is now, and why it is what it is.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = TimelineCommission)]
struct TimelineCommissionView {
    /// The sale's.
    transaction_id: String,
    partner_program_id: i64,
    partner: NamedPartner,
    status: String,
    /// What of the amount was added by hand, or taken when negative.
    adjusted_cents: i64,
    /// What refunds have taken.
    deducted_cents: i64,
    /// What is left for the partner: amount less deductions.
    payable_cents: i64,
    /// As the list of commissions explains them.
    signals: Vec<String>,
    refund_reason: Option<String>,
    rejection_reason: Option<String>,
    note: Option<String>,
    #[serde(serialize_with = "as_instant")]
    hold_until: DateTime<Utc>,
    #[serde(serialize_with = "as_instant_if_any")]
    approved_at: Option<DateTime<Utc>>,
    #[serde(serialize_with = "as_instant_if_any")]
    paid_at: Option<DateTime<Utc>>,
    /// The sale was credited again, because an earlier click or payment became known: another commission took its place, or none.
    #[serde(serialize_with = "as_instant_if_any")]
    superseded_at: Option<DateTime<Utc>>,
    why_partner: WhyPartner,
    /// Null when it was added by hand.
    why_rate: Option<WhyRate>,
}

/// Why this partner.
#[derive(Debug, Serialize, ToSchema)]
struct WhyPartner {
    /// How the sale was credited: `last_click`, `first_click` or `linear`; null where that is not known any more.
    attribution_model: Option<String>,
    referral_link_code: Option<String>,
    /// The customer's last click on that link before the payment that decided, where it is known.
    #[serde(serialize_with = "as_instant_if_any")]
    clicked_at: Option<DateTime<Utc>>,
    /// A renewal is credited as the first payment of its subscription was; null for other sales.
    #[serde(serialize_with = "as_instant_if_any")]
    first_payment_at: Option<DateTime<Utc>>,
}

/// Why this rate: the policy that was in force when the sale was made, as it was then.
#[derive(Debug, Serialize, ToSchema)]
struct WhyRate {
    policy_id: i64,
    /// Of the policy; null when it is for every product without one.
    product_id: Option<String>,
    #[serde(serialize_with = "as_instant_if_any")]
    effective_from: Option<DateTime<Utc>>,
    commission_type: Option<String>,
    default_duration_months: Option<i32>,
    /// A share in hundredths of a percent, or else `fixed_cents`.
    rate_bps: Option<i32>,
    fixed_cents: Option<i64>,
    /// What the share is taken of.
    commissionable_cents: i64,
    sale_currency: String,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = LedgerEntry)]
struct LedgerEntryView {
    id: i64,
    /// `accrual`, `reversal`, `adjustment`, `settlement` or `payout`.
    kind: String,
    partner_program_id: i64,
    /// By how much the balance moved; negative when it fell.
    amount_cents: i64,
    /// By how much it was to move: a balance does not fall below zero for what was not paid.
    requested_cents: i64,
    shortfall_cents: i64,
    /// The advertiser's own, of a payout.
    payout_reference: Option<String>,
}

view! { |customer: TimelineCustomer, earnings: bool, events: EventPage| CustomerTimeline {
    id, click_id, customer_key, status, first_click_at, signup_date, first_purchase_date, erased_at;
    shows_earnings: earnings,
    has_older_events: events.next.is_some() || customer.clicks_left_out,
    timeline: events.events.into_iter().rev().map(HappenedView::from).collect(),
} }

impl CustomerTimeline {
    pub fn add_earnings(&mut self, commissions: Vec<TimelineCommission>, ledger: Vec<TimelineEntry>) {
        let earned_at: HashMap<i64, DateTime<Utc>> = commissions
            .iter()
            .map(|commission| (commission.id, commission.created_at))
            .collect();
        // The rows come newest first.
        let commissions = commissions.into_iter().rev().map(HappenedView::from);
        self.timeline.extend(commissions);
        self.timeline.extend(ledger.into_iter().map(|entry| {
            // The database's clock may be behind the worker's.
            let earliest = earned_at.get(&entry.commission_id).copied();
            let moved = HappenedView::from(entry);
            HappenedView {
                timestamp: earliest.map_or(moved.timestamp, |earliest| earliest.max(moved.timestamp)),
                ..moved
            }
        }));
    }

    /// Oldest first. At the same instant a cause precedes its effects.
    pub fn sort(&mut self) {
        self.timeline
            .sort_by_key(|happened| (happened.timestamp, happened.rank()));
    }
}

impl HappenedView {
    fn rank(&self) -> usize {
        const ORDER: [&str; 7] = [
            "click",
            "lead",
            "sale",
            "commission",
            "refund",
            "ledger",
            "payout",
        ];
        ORDER
            .iter()
            .position(|kind| *kind == self.kind)
            .unwrap_or(ORDER.len())
    }
}

impl From<ProgramEvent> for HappenedView {
    fn from(event: ProgramEvent) -> Self {
        let (amount_cents, currency, sale_id) = match &event.details {
            ProgramEventDetails::Click(_) | ProgramEventDetails::Lead(_) => (None, None, None),
            ProgramEventDetails::Sale(sale) => (
                Some(sale.amount_cents),
                Some(sale.currency.clone()),
                Some(event.id),
            ),
            ProgramEventDetails::Refund(refund) => (
                Some(refund.amount_cents),
                Some(refund.currency.clone()),
                Some(refund.sale_id),
            ),
        };
        Self {
            timestamp: event.at,
            kind: event.event_type().as_str(),
            amount_cents,
            currency,
            sale_id,
            event: Some(event.into()),
            ..Self::default()
        }
    }
}

view! { |row: TimelineCommission| TimelineCommissionView {
    transaction_id, partner_program_id, status, adjusted_cents, deducted_cents, signals, refund_reason,
    rejection_reason, note, hold_until, approved_at, paid_at, superseded_at;
    partner: NamedPartner { id: row.partner_id, name: row.partner_name },
    payable_cents: row.amount_cents - row.deducted_cents,
    why_partner: WhyPartner {
        attribution_model: row.attribution_model,
        referral_link_code: row.referral_link_code,
        clicked_at: row.clicked_at,
        first_payment_at: row.first_payment_at,
    },
    why_rate: row.policy_id.map(|policy_id| WhyRate {
        policy_id,
        product_id: row.policy_product_id,
        effective_from: row.policy_effective_from,
        commission_type: row.commission_type,
        default_duration_months: row.default_duration_months,
        rate_bps: row.rate_bps,
        fixed_cents: row.fixed_cents,
        commissionable_cents: row.commissionable_cents,
        sale_currency: row.sale_currency,
    }),
} }

impl From<TimelineCommission> for HappenedView {
    fn from(row: TimelineCommission) -> Self {
        Self {
            timestamp: row.created_at,
            kind: "commission",
            amount_cents: Some(row.amount_cents),
            currency: Some(row.currency.clone()),
            sale_id: Some(row.sale_id),
            commission_id: Some(row.id),
            payout_id: row.payout_id,
            commission: Some(row.into()),
            ..Self::default()
        }
    }
}

impl From<TimelineEntry> for HappenedView {
    fn from(row: TimelineEntry) -> Self {
        let is_payout = row.payout_id.is_some();
        Self {
            timestamp: row.paid_out_at.unwrap_or(row.created_at),
            kind: if is_payout { "payout" } else { "ledger" },
            // A payout lowers the balance by the amount that was paid.
            amount_cents: Some(if is_payout {
                -row.amount_cents
            } else {
                row.amount_cents
            }),
            currency: Some(row.currency.clone()),
            sale_id: row.sale_id,
            commission_id: Some(row.commission_id),
            payout_id: row.payout_id,
            ledger: Some(row.into()),
            ..Self::default()
        }
    }
}

view! { |row: TimelineEntry| LedgerEntryView {
    id, kind, partner_program_id, amount_cents, requested_cents, shortfall_cents;
    payout_reference: row.payout_reference,
} }
