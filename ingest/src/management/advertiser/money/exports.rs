//! Commissions and payouts as CSV files.

use axum::response::Response;
use domain::ids::{PayoutId, ProgramId};
use storage::money::payouts::{self, PaidCommission};
use storage::reads::commission_lists::{self, ListedCommission};

use super::commissions::{CommissionQuery, SIGNALS, STATUSES, filter};
use crate::http::field::refused;
use crate::http::query::Query;
use crate::management::access::right::Read;
use crate::management::access::{Caller, ReadProgram};
use crate::management::csv_download::{PIECE, Piece, csv_row, download};
use crate::management::prelude::*;

/// Export commissions
///
/// As CSV, oldest first. Text that a spreadsheet would take for a formula begins with an apostrophe.
#[utoipa::path(
    get,
    path = "/api/advertiser/affiliate-programs/{program_id}/commissions/export.csv",
    params(CommissionQuery),
    responses(
        (status = 200, description = "A file with a line a commission.", body = String, content_type = "text/csv"),
    ),
    extensions(("x-refusals" = json!([refused("status", STATUSES), refused("signal", SIGNALS)]))),
)]
pub async fn export_commissions(
    State(app): State<App>,
    mut read: ReadProgram<Read>,
    query: Query,
) -> Result<Response, ApiError> {
    let program_id = read.ids;
    read.caller.just_proved(&app)?;
    let filter = filter(&mut read.db, program_id, &query).await?;
    drop(read.db);
    let read = move |after| {
        let (pool, filter) = (app.management.clone(), filter.clone());
        async move {
            let Some(filter) = filter else {
                return Ok(Piece::default());
            };
            let mut connection = pool.acquire().await?;
            let rows =
                commission_lists::following(&mut connection, program_id, &filter, after, PIECE).await?;
            Ok(Piece::of(rows, |row| row.id, commission))
        }
    };
    download(&format!("commissions-{program_id}"), COMMISSION_COLUMNS, read).await
}

csv_row! { COMMISSION_COLUMNS;
    fn commission(row: ListedCommission) {
        "commission_id": row.id,
        "sale_id": row.sale_id,
        "transaction_id": row.transaction_id,
        "partner_id": row.partner_id,
        "partner_name": row.partner_name,
        "amount_cents": row.amount_cents,
        "deducted_cents": row.deducted_cents,
        "payable_cents": row.amount_cents - row.deducted_cents,
        "currency": row.currency,
        "status": row.status,
        "refund_reason": row.refund_reason,
        "hold_until": row.hold_until,
        "approved_at": row.approved_at,
        "paid_at": row.paid_at,
        "payout_id": row.payout_id,
        "created_at": row.created_at,
        "signals": row.signals.join(" "),
        "sale_amount_cents": row.sale_amount_cents,
        "commissionable_cents": row.commissionable_cents,
        "sale_currency": row.sale_currency,
        "adjusted_cents": row.adjusted_cents,
        "note": row.note,
        "paid_cents": row.paid_cents,
        "shortfall_cents": row.shortfall_cents,
    }
}

/// Export a payout
///
/// As CSV, a line a commission: what was left of it, what of that settled a debt, and what the partner receives.
#[utoipa::path(
    get,
    path = "/api/advertiser/affiliate-programs/{program_id}/payouts/{payout_id}/export.csv",
    responses(
        (status = 200, description = "A file with a line a commission.", body = String, content_type = "text/csv"),
    )
)]
pub async fn export_payout(
    State(app): State<App>,
    mut read: ReadProgram<Read, (ProgramId, PayoutId)>,
) -> Result<Response, ApiError> {
    let (program_id, payout_id) = read.ids;
    read.caller.just_proved(&app)?;
    let reference = payouts::find(&mut read.db, program_id, payout_id)
        .await?
        .ok_or(super::payouts::UNKNOWN)?
        .reference;
    drop(read.db);
    let read = move |after| {
        let (pool, reference) = (app.management.clone(), reference.clone());
        async move {
            let mut connection = pool.acquire().await?;
            let rows = payouts::following(&mut connection, payout_id, after, PIECE).await?;
            let paid = |row| paid(payout_id, reference.clone(), row);
            Ok(Piece::of(rows, |row| row.commission_id, paid))
        }
    };
    download(&format!("payout-{payout_id}"), PAYOUT_COLUMNS, read).await
}

csv_row! { PAYOUT_COLUMNS;
    fn paid(payout_id: PayoutId, reference: Option<String>, row: PaidCommission) {
        "payout_id": payout_id.get(),
        "reference": reference,
        "commission_id": row.commission_id,
        "sale_id": row.sale_id,
        "transaction_id": row.transaction_id,
        "partner_id": row.partner_id,
        "partner_name": row.partner_name,
        "partner_email": row.partner_email,
        "requested_cents": row.requested_cents,
        "shortfall_cents": row.shortfall_cents,
        "amount_cents": row.amount_cents,
        "currency": row.currency,
        "paid_at": row.paid_at,
    }
}
