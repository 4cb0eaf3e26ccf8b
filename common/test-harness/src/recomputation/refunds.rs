//! Refunded and deducted amounts: summed from refunds and the ledger, and as stored.

use std::collections::HashMap;

use chrono::{DateTime, NaiveDate, Utc};
use sqlx::FromRow;
use sqlx::types::Uuid;
use storage::reads::refund_rollups::RefundSums;

use super::{Rollups, rows};
use crate::stack::Stack;

#[derive(FromRow)]
struct Sale {
    id: i64,
    referral_link_id: Option<i64>,
    currency: String,
    duplicate_of: Option<i64>,
}

#[derive(FromRow)]
struct Refund {
    event_id: Uuid,
    sale_id: i64,
    program_id: i64,
    effective_cents: i64,
    refunded_at: DateTime<Utc>,
}

#[derive(FromRow)]
struct Movement {
    entry_group: Uuid,
    kind: String,
    commission_id: i64,
    program_id: i64,
    currency: String,
    amount_cents: i64,
    requested_cents: i64,
    created_at: DateTime<Utc>,
}

#[derive(FromRow)]
struct Commission {
    id: i64,
    sale_id: Option<i64>,
    referral_link_id: Option<i64>,
    superseded_at: Option<DateTime<Utc>>,
}

/// Counts only sales that are not duplicates, and only their commissions in force.
pub(super) async fn recompute(stack: &Stack, rollups: &mut Rollups) {
    let sales = "SELECT id, referral_link_id, currency, duplicate_of FROM sale_events";
    let sales: Vec<Sale> = rows(stack, sales).await;
    let standing: HashMap<i64, Sale> = sales
        .into_iter()
        .filter(|sale| sale.duplicate_of.is_none())
        .map(|sale| (sale.id, sale))
        .collect();
    let mut days: HashMap<Uuid, NaiveDate> = HashMap::new();
    for refund in rows::<Refund>(stack, "SELECT * FROM refunds").await {
        let day = refund.refunded_at.date_naive();
        days.insert(refund.event_id, day);
        if let Some(sale) = standing.get(&refund.sale_id) {
            let sums = RefundSums {
                refunded_cents: refund.effective_cents,
                ..RefundSums::default()
            };
            let link = sale.referral_link_id.unwrap_or(0);
            rollups.give_back(refund.program_id, link, day, &sale.currency, sums);
        }
    }
    let commissions: HashMap<i64, Commission> = rows::<Commission>(stack, "SELECT * FROM commissions")
        .await
        .into_iter()
        .map(|commission| (commission.id, commission))
        .collect();
    for movement in rows::<Movement>(stack, "SELECT * FROM ledger_entries").await {
        let commission = &commissions[&movement.commission_id];
        let of_standing = commission
            .sale_id
            .is_some_and(|sale| standing.contains_key(&sale));
        let deducts = ["reversal", "adjustment"].contains(&movement.kind.as_str());
        if !deducts || !of_standing || commission.superseded_at.is_some() {
            continue;
        }
        let day = days.get(&movement.entry_group).copied();
        let sums = RefundSums {
            refunded_cents: 0,
            deducted_cents: if movement.amount_cents > 0 {
                -movement.requested_cents
            } else {
                movement.requested_cents
            },
        };
        rollups.give_back(
            movement.program_id,
            commission.referral_link_id.unwrap_or(0),
            day.unwrap_or(movement.created_at.date_naive()),
            &movement.currency,
            sums,
        );
    }
}

#[derive(FromRow)]
struct Kept {
    program_id: i64,
    referral_link_id: i64,
    day: NaiveDate,
    currency: String,
    refunded_cents: i64,
    deducted_cents: i64,
}

/// The stored days plus remaining deltas: first those of programs, then those of links.
pub(super) async fn read(stack: &Stack, rollups: &mut Rollups) {
    let programs = "SELECT program_id, 0::bigint AS referral_link_id, day, currency, refunded_cents, deducted_cents
                    FROM program_refund_days
                    UNION ALL
                    SELECT program_id, referral_link_id, day, currency, refunded_cents, deducted_cents FROM refund_deltas";
    for kept in rows::<Kept>(stack, programs).await {
        let (program, link) = (kept.program_id, kept.referral_link_id);
        rollups.give_back(program, link, kept.day, &kept.currency, kept.sums());
    }
    let links = "SELECT program_id, referral_link_id, day, currency, refunded_cents, deducted_cents FROM link_refund_days";
    for kept in rows::<Kept>(stack, links).await {
        let day = (kept.referral_link_id, kept.day, kept.currency.clone());
        let known = rollups.link_refunds.entry(day).or_default();
        known.refunded_cents += kept.refunded_cents;
        known.deducted_cents += kept.deducted_cents;
    }
}

impl Kept {
    const fn sums(&self) -> RefundSums {
        RefundSums {
            refunded_cents: self.refunded_cents,
            deducted_cents: self.deducted_cents,
        }
    }
}
