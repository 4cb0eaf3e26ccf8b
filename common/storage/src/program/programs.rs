//! Programs: the terms a sale is judged by.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::error::{StorageError, StorageResult};
use crate::program::policies::PolicyColumns;
use domain::attribution::{AttributionModel, AttributionWindow};
use domain::commission::{HoldPeriod, Policy, SelfReferrals};
use domain::ids::ProgramId;
use domain::lead::LeadAuth;
use domain::outbound_event::WantedEvents;
use domain::program_identity::ProgramIdentity;
use domain::sale::ProgramTerms;

/// A program's settings as the worker's steps need them.
#[derive(Debug, Clone)]
pub struct Program {
    pub terms: ProgramTerms,
    pub hold: HoldPeriod,
    pub lead_auth: LeadAuth,
    pub archived_at: Option<DateTime<Utc>>,
    /// The types of outbound events that it wants.
    pub wanted_events: WantedEvents,
}

/// Programs by id, with every version of their commission policies, newest first.
pub async fn find(connection: &mut PgConnection, ids: &[i64]) -> StorageResult<HashMap<ProgramId, Program>> {
    let rows = sqlx::query_as!(
        ProgramRow,
        r#"SELECT p.id, p.attribution_model, p.attribution_window_days, p.hold_days, p.lead_auth,
                  p.self_referrals, p.archived_at, p.wanted_events,
                  c.id AS "policy_id?", c.product_id, c.effective_from AS "effective_from?",
                  c.commission_type AS "commission_type?", c.default_duration_months, c.rate_bps, c.fixed_cents,
                  c.currency
           FROM programs p LEFT JOIN commission_policies c ON c.program_id = p.id
           WHERE p.id = ANY($1)
           ORDER BY p.id, c.id DESC"#,
        ids,
    )
    .fetch_all(connection)
    .await?;
    let mut programs: HashMap<ProgramId, Program> = HashMap::new();
    for row in rows {
        let program = match programs.entry(ProgramId::new(row.id)) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => unknown.insert(row.program()?),
        };
        program.terms.policies.extend(row.policy()?);
    }
    Ok(programs)
}

/// A program with one of its policies, if it has any.
struct ProgramRow {
    id: i64,
    attribution_model: String,
    attribution_window_days: i32,
    hold_days: i32,
    lead_auth: Option<String>,
    self_referrals: String,
    archived_at: Option<DateTime<Utc>>,
    wanted_events: i32,
    policy_id: Option<i64>,
    product_id: Option<String>,
    effective_from: Option<DateTime<Utc>>,
    commission_type: Option<String>,
    default_duration_months: Option<i32>,
    rate_bps: Option<i32>,
    fixed_cents: Option<i64>,
    currency: Option<String>,
}

impl ProgramRow {
    /// Without its policies.
    fn program(&self) -> StorageResult<Program> {
        let corrupt = |column| StorageError::corrupt("programs", column, self.id);
        Ok(Program {
            terms: ProgramTerms {
                attribution_model: AttributionModel::parse(&self.attribution_model)
                    .ok_or_else(|| corrupt("attribution_model"))?,
                attribution_window: u16::try_from(self.attribution_window_days)
                    .ok()
                    .and_then(AttributionWindow::new)
                    .ok_or_else(|| corrupt("attribution_window_days"))?,
                policies: Vec::new(),
                self_referrals: SelfReferrals::parse(&self.self_referrals)
                    .ok_or_else(|| corrupt("self_referrals"))?,
            },
            hold: u8::try_from(self.hold_days)
                .ok()
                .and_then(HoldPeriod::new)
                .ok_or_else(|| corrupt("hold_days"))?,
            lead_auth: LeadAuth::parse(self.lead_auth.as_deref()).ok_or_else(|| corrupt("lead_auth"))?,
            archived_at: self.archived_at,
            wanted_events: WantedEvents::from_bits(self.wanted_events),
        })
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

/// The programs that exclude bots from counters and attribution.
pub async fn excluding_bots(connection: &mut PgConnection, ids: &[i64]) -> StorageResult<HashSet<ProgramId>> {
    let excluding = sqlx::query_scalar!("SELECT id FROM programs WHERE id = ANY($1) AND exclude_bots", ids)
        .fetch_all(connection)
        .await?;
    Ok(excluding.into_iter().map(ProgramId::new).collect())
}

/// What e-mails to partners have of a program's own.
pub async fn identity(
    connection: &mut PgConnection,
    program_id: ProgramId,
) -> StorageResult<ProgramIdentity> {
    let identity = sqlx::query_as!(
        ProgramIdentity,
        "SELECT logo_url, reply_to_email AS reply_to FROM programs WHERE id = $1",
        program_id.get(),
    )
    .fetch_optional(connection)
    .await?;
    Ok(identity.unwrap_or_default())
}
