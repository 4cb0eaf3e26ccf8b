//! A short list of a workspace's programs, for the command line.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::error::{StorageError, StorageResult};
use domain::earnings::commission::Rate;
use domain::ids::{ProgramId, WorkspaceId};
use domain::money::{BasisPoints, Cents, Currency};
use domain::programs::program::ProgramStatus;

/// Maximum number of programs: more than a person reads.
const SHOWN: i64 = 1_000;

#[derive(Debug, Clone)]
pub struct ProgramOverview {
    pub program_id: ProgramId,
    pub name: String,
    pub domain: Option<String>,
    pub status: ProgramStatus,
    /// The rate of the default policy in force.
    pub commission: Option<Rate>,
    /// Approved partners.
    pub partners: i64,
    pub created_at: DateTime<Utc>,
}

/// Programs that are not archived, newest first.
pub async fn of_workspace(
    connection: &mut PgConnection,
    workspace_id: WorkspaceId,
    now: DateTime<Utc>,
) -> StorageResult<Vec<ProgramOverview>> {
    let rows = fetch_all!(
        connection,
        r#"SELECT p.id AS "id: ProgramId", p.name, p.domain, p.status AS "status: ProgramStatus", p.created_at,
                  c.rate_bps AS "rate_bps?", c.fixed_cents AS "amount?: Cents", c.currency AS "currency?: Currency",
                  (SELECT count(*) FROM partner_programs m WHERE m.program_id = p.id AND m.status = 'approved'
                       AND m.partner_id IS NOT NULL) AS "partners!"
           FROM programs p
           LEFT JOIN LATERAL (
               SELECT rate_bps, fixed_cents, currency FROM commission_policies c
               WHERE c.program_id = p.id AND c.product_id IS NULL AND c.effective_from <= $2
               ORDER BY c.effective_from DESC, c.id DESC LIMIT 1) c ON true
           WHERE p.workspace_id = $1 AND p.status <> 'archived'
           ORDER BY p.id DESC LIMIT $3"#,
        workspace_id.get(),
        now,
        SHOWN,
    );
    rows.into_iter()
        .map(|row| {
            let corrupt = || StorageError::corrupt("commission_policies", "rate_bps", row.id);
            let commission = match (row.rate_bps, row.amount, row.currency) {
                (None, None, _) => None,
                (Some(bps), None, _) => {
                    let bps = u32::try_from(bps).ok().and_then(BasisPoints::new);
                    let bps = bps.ok_or_else(corrupt)?;
                    Some(Rate::Percentage(bps))
                }
                (None, Some(amount), Some(currency)) => Some(Rate::Fixed { amount, currency }),
                _ => return Err(corrupt()),
            };
            Ok(ProgramOverview {
                program_id: row.id,
                name: row.name,
                domain: row.domain,
                status: row.status,
                commission,
                partners: row.partners,
                created_at: row.created_at,
            })
        })
        .collect()
}
