//! Health of a program, for the advertiser's tools. Counts real events only, unless stated otherwise.

use std::collections::BTreeSet;

use chrono::{DateTime, TimeDelta, Timelike, Utc};
use sqlx::PgConnection;

use super::rollups;
use crate::error::StorageResult;
use domain::ids::ProgramId;
use domain::processors::event_types::{INVOICE_PAYMENT_SUCCEEDED, SUBSCRIBED};
use domain::programs::readiness::{Facts, LastEvents};

/// Rows are counted up to this number: it takes a few milliseconds, however many rows a program has.
const COUNTED: i64 = 10_000;
const SECONDS_A_DAY: i64 = 86_400;

/// Events of the last 24 hours. From [`COUNTED`] of a type on, all counts are estimates from day sums.
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
    /// `None` without a processor account.
    pub charges_enabled: Option<bool>,
    pub recent: RecentEvents,
    /// Approved partners.
    pub active_partners: i64,
    /// Commissions in their hold period, at most [`COUNTED`].
    pub pending_commissions: i64,
    /// Which of the subscribed event types the processor has sent and the service still stores; `None`
    /// without a processor account.
    pub received_event_types: Option<BTreeSet<String>>,
}

pub async fn status(
    connection: &mut PgConnection,
    program_id: ProgramId,
    now: DateTime<Utc>,
) -> StorageResult<ProgramStatus> {
    let row = fetch_one!(
        &mut *connection,
        r#"SELECT p.name, p.domain, p.dns_verified,
                  coalesce(c.status = 'connected', false) AS "processor_connected!",
                  c.charges_enabled AS "charges_enabled?",
                  (SELECT count(*) FROM partner_programs m WHERE m.program_id = p.id AND m.status = 'approved'
                       AND m.partner_id IS NOT NULL) AS "active_partners!",
                  (SELECT count(*) FROM (SELECT FROM commissions k WHERE k.program_id = p.id AND k.status = 'pending'
                                         LIMIT $2) pending) AS "pending_commissions!"
           FROM programs p LEFT JOIN processor_connections c ON c.program_id = p.id
           WHERE p.id = $1"#,
        program_id.get(),
        COUNTED,
    );
    Ok(ProgramStatus {
        name: row.name,
        domain: row.domain,
        dns_verified: row.dns_verified,
        processor_connected: row.processor_connected,
        charges_enabled: row.charges_enabled,
        recent: recent(&mut *connection, program_id, now).await?,
        active_partners: row.active_partners,
        pending_commissions: row.pending_commissions,
        received_event_types: if row.processor_connected {
            Some(received_event_types(connection, program_id).await?)
        } else {
            None
        },
    })
}

/// Which of the subscribed event types the processor has sent. An event is stored for 30 days, and longer
/// while it is unfinished.
pub async fn received_event_types(
    connection: &mut PgConnection,
    program_id: ProgramId,
) -> StorageResult<BTreeSet<String>> {
    let kinds: Vec<String> = SUBSCRIBED
        .into_iter()
        .chain([INVOICE_PAYMENT_SUCCEEDED])
        .map(str::to_owned)
        .collect();
    // One lookup in `processor_events_kinds` for each type.
    let received = fetch_scalars!(
        connection,
        r#"SELECT k.kind AS "kind!" FROM unnest($2::text[]) AS k (kind)
           WHERE EXISTS (SELECT FROM processor_events e WHERE e.program_id = $1 AND e.kind = k.kind)"#,
        program_id.get(),
        &kinds,
    );
    Ok(received.into_iter().collect())
}

/// The facts for a program's readiness, and the figures shown with them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramHealth {
    pub facts: Facts,
    pub recent: RecentEvents,
    /// When the current tracking token was created.
    pub token_created_at: DateTime<Utc>,
}

pub async fn health(
    connection: &mut PgConnection,
    program_id: ProgramId,
    now: DateTime<Utc>,
) -> StorageResult<ProgramHealth> {
    let row = fetch_one!(
        &mut *connection,
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
                      AS last_sale
           FROM programs p LEFT JOIN integration_verifications v ON v.program_id = p.id
           WHERE p.id = $1"#,
        program_id.get(),
        now,
    );
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
        recent: recent(connection, program_id, now).await?,
        token_created_at: row.api_token_created_at,
    })
}

async fn recent(
    connection: &mut PgConnection,
    program_id: ProgramId,
    now: DateTime<Utc>,
) -> StorageResult<RecentEvents> {
    let since = now - TimeDelta::hours(24);
    let counted = fetch_one!(
        &mut *connection,
        RecentEvents,
        r#"SELECT (SELECT count(*) FROM (SELECT FROM click_events WHERE program_id = $1 AND NOT is_test AND click_timestamp > $2
                                         LIMIT $3) clicks) AS "clicks!",
                  (SELECT count(*) FROM (SELECT FROM lead_events WHERE program_id = $1 AND NOT is_test AND lead_timestamp > $2
                                         LIMIT $3) leads) AS "leads!",
                  (SELECT count(*) FROM (SELECT FROM sale_events WHERE program_id = $1 AND NOT is_test AND duplicate_of IS NULL
                                             AND sale_date > $2 LIMIT $3) sales) AS "sales!""#,
        program_id.get(),
        since,
        COUNTED,
    );
    if counted.clicks.max(counted.leads).max(counted.sales) < COUNTED {
        return Ok(counted);
    }
    // Yesterday counts with the part of the day that is within the 24 hours.
    let of_today = i64::from(now.num_seconds_from_midnight());
    let mut summed = RecentEvents {
        clicks: 0,
        leads: 0,
        sales: 0,
    };
    for day in rollups::program_days(
        connection,
        &[program_id.get()],
        since.date_naive(),
        now.date_naive(),
    )
    .await?
    {
        let seconds = if day.day == now.date_naive() {
            SECONDS_A_DAY
        } else {
            SECONDS_A_DAY - of_today
        };
        let part = |count: i64| count.saturating_mul(seconds) / SECONDS_A_DAY;
        summed.clicks += part(day.sums.clicks);
        summed.leads += part(day.sums.leads);
        summed.sales += part(day.sums.sales);
    }
    let either = |counted: i64, summed: i64| {
        if counted < COUNTED {
            counted
        } else {
            summed.max(COUNTED)
        }
    };
    Ok(RecentEvents {
        clicks: either(counted.clicks, summed.clicks),
        leads: either(counted.leads, summed.leads),
        sales: either(counted.sales, summed.sales),
    })
}
