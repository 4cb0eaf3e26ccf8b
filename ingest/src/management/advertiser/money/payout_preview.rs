//! `…/payouts/preview`: what a payout of all approved commissions would pay each partner.

use std::collections::BTreeMap;

use domain::ids::{EventId, PartnerProgramId};
use domain::money::Currency;
use sqlx::Connection;
use storage::StorageError;
use storage::program::partners;

use super::commissions::NamedPartner;
use super::payouts::{NO_CURRENCY, PartnerShareView, not_a_currency};
use crate::http::query::Query;
use crate::management::access::ReadProgram;
use crate::management::access::right::PayOut;
use crate::management::payout::{self, BATCH, NOTHING_TO_PAY, PayoutOrder, Settled, Wanted};
use crate::management::prelude::*;

/// As a payout with `all_approved` would be now.
#[derive(Debug, Serialize, ToSchema)]
pub struct PayoutPreview {
    currency: String,
    /// What partners would receive; `expected_amount_cents` of the payout.
    amount_cents: i64,
    commission_count: usize,
    /// One payout pays 5,000 commissions at most: there may be more.
    is_full: bool,
    partners: Vec<PartnerShareView>,
}

/// Preview a payout
///
/// Computed as the payout is, so that the two agree: commissions are locked for a moment, and nothing is written.
#[utoipa::path(
    get,
    path = "/api/advertiser/affiliate-programs/{program_id}/payouts/preview",
    params(
        ("currency" = Option<String>, Query, description = "Needed when there is something to pay in several."),
    ),
    responses(
        (status = 200, description = "As of now.", body = Data<PayoutPreview>),
        (status = 400, description = "There is nothing to pay, or in several currencies.", body = PlatformError),
    ),
    extensions(("x-refusals" = json!([NOTHING_TO_PAY, not_a_currency()]))),
)]
pub async fn preview_payout(
    State(app): State<App>,
    mut read: ReadProgram<PayOut>,
    query: Query,
) -> Answer<PayoutPreview> {
    let currency = query.parsed("currency", NO_CURRENCY, Currency::parse)?;
    let order = PayoutOrder {
        program_id: read.ids,
        wanted: Wanted::AllApproved,
        currency,
        reference: None,
        expected: None,
        idempotency_key: None,
        event_id: EventId::new(app.clock.mint()),
        now: app.clock.now(),
    };
    // Never committed: the transaction only reads, under the locks that a payout takes.
    let mut transaction = read.db.begin().await.map_err(StorageError::from)?;
    let settled = payout::settle(&mut transaction, &order).await?;
    let memberships: Vec<i64> = settled
        .batch
        .iter()
        .map(|commission| commission.partner_program_id.get())
        .collect();
    let names = partners::names(&mut transaction, &memberships).await?;
    transaction.rollback().await.map_err(StorageError::from)?;
    Ok(data(PayoutPreview {
        currency: settled.currency.to_string(),
        amount_cents: settled.amount().get(),
        commission_count: settled.batch.len(),
        is_full: settled.batch.len() == BATCH,
        partners: shares(&settled, names),
    }))
}

fn shares(settled: &Settled, mut names: BTreeMap<PartnerProgramId, String>) -> Vec<PartnerShareView> {
    let mut shares: BTreeMap<PartnerProgramId, PartnerShareView> = BTreeMap::new();
    for (commission, paid) in settled.batch.iter().zip(&settled.paid) {
        let membership = commission.partner_program_id;
        let share = shares.entry(membership).or_insert_with(|| PartnerShareView {
            partner_program_id: membership.get(),
            partner: NamedPartner {
                id: commission.partner_id.get(),
                name: names.remove(&membership),
            },
            commission_count: 0,
            requested_cents: 0,
            shortfall_cents: 0,
            amount_cents: 0,
        });
        let deducted = &paid.deducted;
        share.commission_count += 1;
        share.requested_cents += deducted.requested.get();
        share.shortfall_cents += deducted.shortfall.get();
        share.amount_cents += deducted.applied.get();
    }
    shares.into_values().collect()
}
