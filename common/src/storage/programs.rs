//! Programs: the terms a sale is judged by, and setting programs up.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use super::{StorageError, StorageResult};
use crate::domain::attribution::{AttributionModel, AttributionWindow};
use crate::domain::commission::{CommissionType, HoldPeriod, Policy, Rate};
use crate::domain::ids::{PolicyId, ProgramId};
use crate::domain::lead::LeadAuth;
use crate::domain::money::{BasisPoints, Cents, Currency};
use crate::domain::sale::ProgramTerms;

/// A program's settings as the worker's steps need them.
#[derive(Debug, Clone)]
pub struct Program {
    pub terms: ProgramTerms,
    pub hold: HoldPeriod,
    pub lead_auth: LeadAuth,
}

/// Programs by id, with every version of their commission policies.
pub async fn find(connection: &mut PgConnection, ids: &[i64]) -> StorageResult<HashMap<ProgramId, Program>> {
    let rows = sqlx::query!(
        "SELECT id, attribution_model, attribution_window_days, hold_days, lead_auth
         FROM programs WHERE id = ANY($1)",
        ids,
    )
    .fetch_all(&mut *connection)
    .await?;
    let mut policies = policies(connection, ids).await?;
    rows.into_iter()
        .map(|row| {
            let corrupt = |column| StorageError::corrupt("programs", column, row.id);
            let terms = ProgramTerms {
                attribution_model: AttributionModel::parse(&row.attribution_model)
                    .ok_or_else(|| corrupt("attribution_model"))?,
                attribution_window: u16::try_from(row.attribution_window_days)
                    .ok()
                    .and_then(AttributionWindow::new)
                    .ok_or_else(|| corrupt("attribution_window_days"))?,
                policies: policies.remove(&row.id).unwrap_or_default(),
            };
            let hold = u8::try_from(row.hold_days)
                .ok()
                .and_then(HoldPeriod::new)
                .ok_or_else(|| corrupt("hold_days"))?;
            let lead_auth = LeadAuth::parse(row.lead_auth.as_deref()).ok_or_else(|| corrupt("lead_auth"))?;
            Ok((
                ProgramId::new(row.id),
                Program {
                    terms,
                    hold,
                    lead_auth,
                },
            ))
        })
        .collect()
}

/// Those of the programs whose counters and attribution bots must not move.
pub async fn excluding_bots(connection: &mut PgConnection, ids: &[i64]) -> StorageResult<HashSet<ProgramId>> {
    let excluding = sqlx::query_scalar!("SELECT id FROM programs WHERE id = ANY($1) AND exclude_bots", ids)
        .fetch_all(connection)
        .await?;
    Ok(excluding.into_iter().map(ProgramId::new).collect())
}

async fn policies(
    connection: &mut PgConnection,
    programs: &[i64],
) -> StorageResult<HashMap<i64, Vec<Policy>>> {
    let rows = sqlx::query_as!(
        PolicyRow,
        "SELECT id, program_id, product_id, effective_from, commission_type, default_duration_months, rate_bps,
                fixed_cents, currency
         FROM commission_policies WHERE program_id = ANY($1)",
        programs,
    )
    .fetch_all(connection)
    .await?;
    let mut by_program: HashMap<i64, Vec<Policy>> = HashMap::new();
    for row in rows {
        by_program
            .entry(row.program_id)
            .or_default()
            .push(row.try_into()?);
    }
    Ok(by_program)
}

struct PolicyRow {
    id: i64,
    program_id: i64,
    product_id: Option<String>,
    effective_from: DateTime<Utc>,
    commission_type: String,
    default_duration_months: Option<i32>,
    rate_bps: Option<i32>,
    fixed_cents: Option<i64>,
    currency: Option<String>,
}

impl TryFrom<PolicyRow> for Policy {
    type Error = StorageError;

    fn try_from(row: PolicyRow) -> StorageResult<Self> {
        let corrupt = |column| StorageError::corrupt("commission_policies", column, row.id);
        let rate = match (row.rate_bps, row.fixed_cents, row.currency.as_deref()) {
            (Some(bps), None, _) => {
                let bps = u32::try_from(bps).ok().and_then(BasisPoints::new);
                Rate::Percentage(bps.ok_or_else(|| corrupt("rate_bps"))?)
            }
            (None, Some(cents), Some(currency)) => Rate::Fixed {
                amount: Cents::new(cents),
                currency: Currency::parse(currency).ok_or_else(|| corrupt("currency"))?,
            },
            _ => return Err(corrupt("rate_bps")),
        };
        Ok(Self {
            id: PolicyId::new(row.id),
            commission_type: CommissionType::from_parts(&row.commission_type, row.default_duration_months)
                .ok_or_else(|| corrupt("commission_type"))?,
            product_id: row.product_id,
            effective_from: row.effective_from,
            rate,
        })
    }
}
