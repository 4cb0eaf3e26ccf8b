//! Health of a program, for the advertiser's tools. Real events only, unless stated.

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::PgPool;

use crate::error::StorageResult;
use domain::ids::ProgramId;
use domain::readiness::{Facts, LastEvents};

/// Events of the last 24 hours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecentEvents {
    pub clicks: i64,
    pub leads: i64,
    pub sales: i64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramStatus {
    pub name: String,
    pub domain: Option<String>,
    pub dns_verified: bool,
    pub processor_connected: bool,
    /// `None` without a processor's account.
    pub charges_enabled: Option<bool>,
    pub recent: RecentEvents,
    /// Approved partners.
    pub active_partners: i64,
    /// Commissions in their hold period.
    pub pending_commissions: i64,
}

/// A program's state at `now`.
pub async fn status(
    pool: &PgPool,
    program_id: ProgramId,
    now: DateTime<Utc>,
) -> StorageResult<ProgramStatus> {
    let row = sqlx::query!(
        r#"SELECT p.name, p.domain, p.dns_verified,
                  coalesce(c.status = 'connected', false) AS "processor_connected!",
                  c.charges_enabled AS "charges_enabled?",
                  (SELECT count(*) FROM click_events e WHERE e.program_id = p.id AND NOT e.is_test
                       AND e.click_timestamp > $2) AS "clicks!",
                  (SELECT count(*) FROM lead_events e WHERE e.program_id = p.id AND NOT e.is_test
                       AND e.lead_timestamp > $2) AS "leads!",
                  (SELECT count(*) FROM sale_events e WHERE e.program_id = p.id AND NOT e.is_test AND e.duplicate_of IS NULL
                       AND e.sale_date > $2) AS "sales!",
                  (SELECT count(*) FROM partner_programs m WHERE m.program_id = p.id AND m.status = 'approved'
                       AND m.partner_id IS NOT NULL) AS "active_partners!",
                  (SELECT count(*) FROM commissions k WHERE k.program_id = p.id AND k.status = 'pending')
                      AS "pending_commissions!"
           FROM programs p LEFT JOIN processor_connections c ON c.program_id = p.id
           WHERE p.id = $1"#,
        program_id.get(),
        now - TimeDelta::hours(24),
    )
    .fetch_one(pool)
    .await?;
    Ok(ProgramStatus {
        name: row.name,
        domain: row.domain,
        dns_verified: row.dns_verified,
        processor_connected: row.processor_connected,
        charges_enabled: row.charges_enabled,
        recent: RecentEvents {
            clicks: row.clicks,
            leads: row.leads,
            sales: row.sales,
        },
        active_partners: row.active_partners,
        pending_commissions: row.pending_commissions,
    })
}

/// Input of a program's readiness, and the figures shown with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramHealth {
    pub facts: Facts,
    pub recent: RecentEvents,
    /// When the present tracking token was made.
    pub token_created_at: DateTime<Utc>,
}

pub async fn health(
    pool: &PgPool,
    program_id: ProgramId,
    now: DateTime<Utc>,
) -> StorageResult<ProgramHealth> {
    let row = sqlx::query!(
        r#"SELECT p.name, p.domain, p.api_token_created_at, v.verified_at AS "verified_at?",
                  EXISTS (SELECT 1 FROM commission_policies c WHERE c.program_id = p.id AND c.effective_from <= $2)
                      AS "has_policy!",
                  EXISTS (SELECT 1 FROM processor_connections c WHERE c.program_id = p.id AND c.status = 'connected')
                      AS "processor_connected!",
                  (EXISTS (SELECT 1 FROM click_events e WHERE e.program_id = p.id AND e.is_test)
                   OR EXISTS (SELECT 1 FROM lead_events e WHERE e.program_id = p.id AND e.is_test)
                   OR EXISTS (SELECT 1 FROM sale_events e WHERE e.program_id = p.id AND e.is_test))
                      AS "has_test_events!",
                  (SELECT max(e.click_timestamp) FROM click_events e WHERE e.program_id = p.id AND NOT e.is_test)
                      AS last_click,
                  (SELECT max(e.lead_timestamp) FROM lead_events e WHERE e.program_id = p.id AND NOT e.is_test)
                      AS last_lead,
                  (SELECT max(e.sale_date) FROM sale_events e WHERE e.program_id = p.id AND NOT e.is_test)
                      AS last_sale,
                  (SELECT count(*) FROM click_events e WHERE e.program_id = p.id AND NOT e.is_test
                       AND e.click_timestamp > $3) AS "clicks!",
                  (SELECT count(*) FROM lead_events e WHERE e.program_id = p.id AND NOT e.is_test
                       AND e.lead_timestamp > $3) AS "leads!",
                  (SELECT count(*) FROM sale_events e WHERE e.program_id = p.id AND NOT e.is_test AND e.duplicate_of IS NULL
                       AND e.sale_date > $3) AS "sales!"
           FROM programs p LEFT JOIN integration_verifications v ON v.program_id = p.id
           WHERE p.id = $1"#,
        program_id.get(),
        now,
        now - TimeDelta::hours(24),
    )
    .fetch_one(pool)
    .await?;
    Ok(ProgramHealth {
        facts: Facts {
            name: row.name,
            domain: row.domain,
            has_policy: row.has_policy,
            processor_connected: row.processor_connected,
            has_test_events: row.has_test_events,
            last_event_at: LastEvents {
                click: row.last_click,
                lead: row.last_lead,
                sale: row.last_sale,
            },
            chain_verified_at: row.verified_at,
        },
        recent: RecentEvents {
            clicks: row.clicks,
            leads: row.leads,
            sales: row.sales,
        },
        token_created_at: row.api_token_created_at,
    })
}
