//! Commissions and payouts as CSV files.

use axum::extract::State;
use axum::response::Response;
use domain::ids::{PayoutId, ProgramId};
use domain::permission::Permission;
use storage::commission_lists::{self, ListedCommission};
use storage::payouts::{self, PaidCommission};

use super::commissions::{CommissionQuery, filter};
use crate::app::App;
use crate::http::error::ApiError;
use crate::http::openapi::envelopes::PlatformError;
use crate::http::query::Query;
use crate::management::access::Advertiser;
use crate::management::answers::Ids;
use crate::management::csv_download::{Cell, PIECE, Piece, download};

const COMMISSION_COLUMNS: &[&str] = &[
    "commission_id",
    "sale_id",
    "transaction_id",
    "partner_id",
    "partner_name",
    "amount_cents",
    "deducted_cents",
    "payable_cents",
    "currency",
    "status",
    "refund_reason",
    "hold_until",
    "approved_at",
    "paid_at",
    "payout_id",
    "created_at",
    "signals",
    "sale_amount_cents",
    "commissionable_cents",
    "sale_currency",
    "adjusted_cents",
    "note",
];

/// Export commissions
///
/// As CSV, oldest first. Text that a spreadsheet would take for a formula begins with an apostrophe.
#[utoipa::path(
    get,
    path = "/api/advertiser/affiliate-programs/{program_id}/commissions/export.csv",
    operation_id = "export_commissions",
    params(CommissionQuery),
    responses(
        (status = 200, description = "A file with a line a commission.", body = String, content_type = "text/csv"),
        (status = 400, description = "A parameter is not what it must be.", body = PlatformError),
    )
)]
pub async fn commissions(
    State(app): State<App>,
    advertiser: Advertiser,
    Ids(program_id): Ids<ProgramId>,
    query: Query,
) -> Result<Response, ApiError> {
    let mut connection = app.management.acquire().await?;
    advertiser
        .program(&mut connection, program_id, Permission::ProgramRead)
        .await?;
    advertiser.just_proved(&app)?;
    let filter = filter(&mut connection, program_id, &query).await?;
    drop(connection);
    let read = move |after| {
        let pool = app.management.clone();
        async move {
            let Some(filter) = filter else {
                return Ok(Piece {
                    rows: Vec::new(),
                    last_id: None,
                });
            };
            let mut connection = pool.acquire().await?;
            let rows = commission_lists::following(&mut connection, program_id, filter, after, PIECE).await?;
            Ok(Piece {
                last_id: rows.last().map(|row| row.id),
                rows: rows.into_iter().map(commission).collect(),
            })
        }
    };
    download(&format!("commissions-{program_id}"), COMMISSION_COLUMNS, read).await
}

fn commission(row: ListedCommission) -> Vec<Cell> {
    vec![
        Cell::Number(row.id),
        Cell::number_if_any(row.sale_id),
        Cell::text_if_any(row.transaction_id),
        Cell::Number(row.partner_id),
        Cell::text_if_any(row.partner_name),
        Cell::Number(row.amount_cents),
        Cell::Number(row.deducted_cents),
        Cell::Number(row.amount_cents - row.deducted_cents),
        Cell::Text(row.currency),
        Cell::Text(row.status),
        Cell::text_if_any(row.refund_reason),
        Cell::instant(row.hold_until),
        Cell::instant_if_any(row.approved_at),
        Cell::instant_if_any(row.paid_at),
        Cell::number_if_any(row.payout_id),
        Cell::instant(row.created_at),
        Cell::Text(row.signals.join(" ")),
        Cell::number_if_any(row.sale_amount_cents),
        Cell::number_if_any(row.commissionable_cents),
        Cell::text_if_any(row.sale_currency),
        Cell::Number(row.adjusted_cents),
        Cell::text_if_any(row.note),
    ]
}

const PAYOUT_COLUMNS: &[&str] = &[
    "payout_id",
    "reference",
    "commission_id",
    "sale_id",
    "transaction_id",
    "partner_id",
    "partner_name",
    "partner_email",
    "requested_cents",
    "shortfall_cents",
    "amount_cents",
    "currency",
    "paid_at",
];

/// Export a payout
///
/// As CSV, a line a commission: what was left of it, what of that settled a debt, and what the partner receives.
#[utoipa::path(
    get,
    path = "/api/advertiser/affiliate-programs/{program_id}/payouts/{payout_id}/export.csv",
    operation_id = "export_payout",
    responses(
        (status = 200, description = "A file with a line a commission.", body = String, content_type = "text/csv"),
    )
)]
pub async fn payout(
    State(app): State<App>,
    advertiser: Advertiser,
    Ids((program_id, payout_id)): Ids<(ProgramId, PayoutId)>,
) -> Result<Response, ApiError> {
    let mut connection = app.management.acquire().await?;
    advertiser
        .program(&mut connection, program_id, Permission::ProgramRead)
        .await?;
    advertiser.just_proved(&app)?;
    let reference = payouts::find(&mut connection, program_id, payout_id)
        .await?
        .ok_or_else(super::payouts::unknown)?
        .reference;
    drop(connection);
    let read = move |after| {
        let (pool, reference) = (app.management.clone(), reference.clone());
        async move {
            let mut connection = pool.acquire().await?;
            let rows = payouts::following(&mut connection, payout_id, after, PIECE).await?;
            let paid = |row| paid(payout_id, reference.clone(), row);
            Ok(Piece {
                last_id: rows.last().map(|row| row.commission_id),
                rows: rows.into_iter().map(paid).collect(),
            })
        }
    };
    download(&format!("payout-{payout_id}"), PAYOUT_COLUMNS, read).await
}

fn paid(payout_id: PayoutId, reference: Option<String>, row: PaidCommission) -> Vec<Cell> {
    vec![
        Cell::Number(payout_id.get()),
        Cell::text_if_any(reference),
        Cell::Number(row.commission_id),
        Cell::number_if_any(row.sale_id),
        Cell::text_if_any(row.transaction_id),
        Cell::Number(row.partner_id),
        Cell::text_if_any(row.partner_name),
        Cell::text_if_any(row.partner_email),
        Cell::Number(row.requested_cents),
        Cell::Number(row.shortfall_cents),
        Cell::Number(row.amount_cents),
        Cell::Text(row.currency),
        Cell::instant_if_any(row.paid_at),
    ]
}
