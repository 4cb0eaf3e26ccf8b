//! `commission_policies`: every version of the commission terms. Versions never change; a later one applies.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::error::{StorageError, StorageResult};
use crate::money::commissions::rate_columns;
use domain::earnings::commission::{CommissionType, Policy, Rate, policy_in_force};
use domain::ids::{PolicyId, ProgramId};
use domain::money::Currency;
use domain::text::ProductId;

#[derive(Debug)]
pub struct NewPolicy<'a> {
    pub program_id: ProgramId,
    /// `None` for the program's default policy.
    pub product_id: Option<&'a ProductId>,
    pub effective_from: DateTime<Utc>,
    pub commission_type: CommissionType,
    pub rate: &'a Rate,
    pub created_at: DateTime<Utc>,
}

#[derive(Debug, Clone)]
pub struct StoredPolicy {
    pub policy: Policy,
    pub created_at: DateTime<Utc>,
}

pub async fn create(connection: &mut PgConnection, new: &NewPolicy<'_>) -> StorageResult<PolicyId> {
    let (rate_bps, fixed_cents) = rate_columns(new.rate);
    let currency = match new.rate {
        Rate::Percentage(_) => None,
        Rate::Fixed { currency, .. } => Some(currency.as_str()),
    };
    Ok(fetch_scalar!(
        connection,
        r#"INSERT INTO commission_policies (program_id, product_id, effective_from, commission_type,
             default_duration_months, rate_bps, fixed_cents, currency, created_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) RETURNING id AS "id: PolicyId""#,
        new.program_id.get(),
        new.product_id.map(ProductId::as_str),
        new.effective_from,
        new.commission_type.as_str(),
        new.commission_type.default_duration_months(),
        rate_bps,
        fixed_cents,
        currency,
        new.created_at,
    ))
}

/// Every version of these programs' policies, newest first. Programs without policies are absent.
pub async fn of_programs(
    connection: &mut PgConnection,
    programs: &[i64],
) -> StorageResult<HashMap<ProgramId, Vec<StoredPolicy>>> {
    let rows = fetch_all!(
        connection,
        r#"SELECT id AS "id: PolicyId", program_id AS "program_id: ProgramId", product_id, effective_from, commission_type,
                  default_duration_months, rate_bps, fixed_cents, currency AS "currency: Currency", created_at
           FROM commission_policies WHERE program_id = ANY($1) ORDER BY id DESC"#,
        programs,
    );
    let mut by_program: HashMap<ProgramId, Vec<StoredPolicy>> = HashMap::new();
    for row in rows {
        let columns = PolicyColumns {
            id: row.id,
            product_id: row.product_id,
            effective_from: row.effective_from,
            commission_type: row.commission_type,
            default_duration_months: row.default_duration_months,
            rate_bps: row.rate_bps,
            fixed_cents: row.fixed_cents,
            currency: row.currency,
        };
        let stored = StoredPolicy {
            policy: columns.try_into()?,
            created_at: row.created_at,
        };
        by_program.entry(row.program_id).or_default().push(stored);
    }
    Ok(by_program)
}

/// The default policies in force at this time. Programs without one are absent.
pub async fn defaults_in_force(
    connection: &mut PgConnection,
    programs: &[i64],
    at: DateTime<Utc>,
) -> StorageResult<HashMap<ProgramId, Policy>> {
    let in_force = |stored: Vec<StoredPolicy>| {
        let policies: Vec<Policy> = stored.into_iter().map(|stored| stored.policy).collect();
        policy_in_force(&policies, None, at).cloned()
    };
    let versions = of_programs(connection, programs).await?;
    Ok(versions
        .into_iter()
        .filter_map(|(program_id, versions)| Some((program_id, in_force(versions)?)))
        .collect())
}

pub(super) struct PolicyColumns {
    pub id: PolicyId,
    pub product_id: Option<String>,
    pub effective_from: DateTime<Utc>,
    pub commission_type: String,
    pub default_duration_months: Option<i32>,
    pub rate_bps: Option<i32>,
    pub fixed_cents: Option<i64>,
    pub currency: Option<Currency>,
}

impl TryFrom<PolicyColumns> for Policy {
    type Error = StorageError;

    fn try_from(row: PolicyColumns) -> StorageResult<Self> {
        let corrupt = |column| StorageError::corrupt("commission_policies", column, row.id);
        let rate = match (row.rate_bps, row.fixed_cents, row.currency) {
            (Some(bps), None, _) => Rate::percentage(bps.into()).ok_or_else(|| corrupt("rate_bps"))?,
            (None, Some(cents), Some(currency)) => {
                Rate::fixed(cents, currency).ok_or_else(|| corrupt("fixed_cents"))?
            }
            _ => return Err(corrupt("rate_bps")),
        };
        Ok(Self {
            id: row.id,
            commission_type: CommissionType::from_parts(&row.commission_type, row.default_duration_months)
                .ok_or_else(|| corrupt("commission_type"))?,
            product_id: row.product_id,
            effective_from: row.effective_from,
            rate,
        })
    }
}
