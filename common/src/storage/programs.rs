//! Programs: the terms a sale is judged by.

use std::collections::{HashMap, HashSet};

use sqlx::PgConnection;

use super::{StorageError, StorageResult, policies};
use crate::domain::attribution::{AttributionModel, AttributionWindow};
use crate::domain::commission::HoldPeriod;
use crate::domain::ids::ProgramId;
use crate::domain::lead::LeadAuth;
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
    let mut policies = policies::of_programs(connection, ids).await?;
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
                policies: policies
                    .remove(&ProgramId::new(row.id))
                    .unwrap_or_default()
                    .into_iter()
                    .map(|stored| stored.policy)
                    .collect(),
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
