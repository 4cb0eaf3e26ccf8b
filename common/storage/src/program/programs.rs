//! Programs: the terms that apply to a sale.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::error::StorageResult;
use crate::program::policies::PolicyColumns;
use domain::earnings::commission::{HoldPeriod, Policy, SelfReferrals};
use domain::ids::{PolicyId, ProgramId};
use domain::money::Currency;
use domain::programs::outbound_event::WantedEvents;
use domain::programs::program_identity::ProgramIdentity;
use domain::tracking::attribution::{AttributionModel, AttributionWindow};
use domain::tracking::lead::LeadAuth;
use domain::tracking::sale::ProgramTerms;

#[derive(Debug, Clone)]
pub struct Program {
    pub terms: ProgramTerms,
    pub hold: HoldPeriod,
    pub lead_auth: LeadAuth,
    pub archived_at: Option<DateTime<Utc>>,
    pub wanted_events: WantedEvents,
}

/// Programs by id, with every version of their commission policies, newest first.
pub async fn find(connection: &mut PgConnection, ids: &[i64]) -> StorageResult<HashMap<ProgramId, Program>> {
    let rows = fetch_all!(
        connection,
        ProgramRow,
        r#"SELECT p.id, p.attribution_model AS "attribution_model: _", p.attribution_window_days AS "attribution_window: _",
                  p.hold_days AS "hold: _", p.lead_auth AS "lead_auth: _", p.self_referrals AS "self_referrals: _", p.archived_at,
                  p.wanted_events AS "wanted_events: _", c.id AS "policy_id?: _", c.product_id, c.effective_from AS "effective_from?",
                  c.commission_type AS "commission_type?", c.default_duration_months, c.rate_bps, c.fixed_cents,
                  c.currency AS "currency: _"
           FROM programs p LEFT JOIN commission_policies c ON c.program_id = p.id
           WHERE p.id = ANY($1)
           ORDER BY p.id, c.id DESC"#,
        ids,
    );
    let mut programs: HashMap<ProgramId, Program> = HashMap::new();
    for row in rows {
        let program = programs.entry(row.id).or_insert_with(|| row.program());
        program.terms.policies.extend(row.policy()?);
    }
    Ok(programs)
}

/// A program with one of its policies, or without one if it has none.
struct ProgramRow {
    id: ProgramId,
    attribution_model: AttributionModel,
    attribution_window: AttributionWindow,
    hold: HoldPeriod,
    lead_auth: Option<LeadAuth>,
    self_referrals: SelfReferrals,
    archived_at: Option<DateTime<Utc>>,
    wanted_events: WantedEvents,
    policy_id: Option<PolicyId>,
    product_id: Option<String>,
    effective_from: Option<DateTime<Utc>>,
    commission_type: Option<String>,
    default_duration_months: Option<i32>,
    rate_bps: Option<i32>,
    fixed_cents: Option<i64>,
    currency: Option<Currency>,
}

impl ProgramRow {
    fn program(&self) -> Program {
        Program {
            terms: ProgramTerms {
                attribution_model: self.attribution_model,
                attribution_window: self.attribution_window,
                policies: Vec::new(),
                self_referrals: self.self_referrals,
            },
            hold: self.hold,
            lead_auth: self.lead_auth.unwrap_or(LeadAuth::AnyCaller),
            archived_at: self.archived_at,
            wanted_events: self.wanted_events,
        }
    }

    fn policy(self) -> StorageResult<Option<Policy>> {
        let (Some(id), Some(effective_from), Some(commission_type)) =
            (self.policy_id, self.effective_from, self.commission_type)
        else {
            return Ok(None);
        };
        let columns = PolicyColumns {
            id,
            product_id: self.product_id,
            effective_from,
            commission_type,
            default_duration_months: self.default_duration_months,
            rate_bps: self.rate_bps,
            fixed_cents: self.fixed_cents,
            currency: self.currency,
        };
        columns.try_into().map(Some)
    }
}

pub async fn excluding_bots(connection: &mut PgConnection, ids: &[i64]) -> StorageResult<HashSet<ProgramId>> {
    Ok(fetch_scalars!(
        connection,
        r#"SELECT id AS "id: ProgramId" FROM programs WHERE id = ANY($1) AND exclude_bots"#,
        ids
    )
    .into_iter()
    .collect())
}

pub async fn identity(
    connection: &mut PgConnection,
    program_id: ProgramId,
) -> StorageResult<ProgramIdentity> {
    let identity = fetch_optional!(
        connection,
        ProgramIdentity,
        "SELECT logo_url, reply_to_email AS reply_to FROM programs WHERE id = $1",
        program_id.get(),
    );
    Ok(identity.unwrap_or_default())
}
