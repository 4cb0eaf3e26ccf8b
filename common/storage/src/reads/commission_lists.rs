//! Commissions as an advertiser looks at them: a page of a list, or all of them in order, a piece at a time.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::error::StorageResult;
use crate::page::{Whole, Window, page};
use domain::commission::CommissionStatus;
use domain::ids::{PartnerId, PartnerProgramId, ProgramId};
use domain::signal::Signal;

/// A commission with what it is about.
#[derive(Debug)]
pub struct ListedCommission {
    pub id: i64,
    /// `None`, like all that is of the sale, of one that was added by hand and makes up for none.
    pub sale_id: Option<i64>,
    pub transaction_id: Option<String>,
    /// Amount of the sale.
    pub sale_amount_cents: Option<i64>,
    /// The part of it on which percentages are computed.
    pub commissionable_cents: Option<i64>,
    pub sale_currency: Option<String>,
    pub partner_program_id: i64,
    pub partner_id: i64,
    /// `None` when the partner's record was removed.
    pub partner_name: Option<String>,
    pub amount_cents: i64,
    pub deducted_cents: i64,
    pub currency: String,
    pub status: String,
    pub refund_reason: Option<String>,
    pub adjusted_cents: i64,
    pub rejection_reason: Option<String>,
    /// The advertiser's own words on one that was added by hand.
    pub note: Option<String>,
    pub hold_until: DateTime<Utc>,
    pub approved_at: Option<DateTime<Utc>>,
    pub paid_at: Option<DateTime<Utc>>,
    pub payout_id: Option<i64>,
    pub created_at: DateTime<Utc>,
    /// Names of signals.
    pub signals: Vec<String>,
}

/// Which of a program's commissions.
#[derive(Debug, Clone, Copy, Default)]
pub struct Filter {
    pub status: Option<CommissionStatus>,
    pub partner_program_id: Option<PartnerProgramId>,
    /// Any of these; empty means no filter.
    pub signals: &'static [Signal],
    /// The membership's partner, for the index by partner; without it the program's own is walked.
    partner_id: Option<PartnerId>,
}

impl Filter {
    /// `None` when the membership is none of the program's: nothing passes.
    pub async fn resolve(
        connection: &mut PgConnection,
        program_id: ProgramId,
        status: Option<CommissionStatus>,
        partner_program_id: Option<PartnerProgramId>,
        signals: &'static [Signal],
    ) -> StorageResult<Option<Self>> {
        let unfiltered = Self {
            status,
            signals,
            ..Self::default()
        };
        let Some(membership) = partner_program_id else {
            return Ok(Some(unfiltered));
        };
        let partner_id = sqlx::query_scalar!(
            "SELECT partner_id FROM partner_programs WHERE id = $1 AND program_id = $2",
            membership.get(),
            program_id.get(),
        )
        .fetch_optional(connection)
        .await?;
        Ok(partner_id.map(|partner_id| Self {
            partner_program_id,
            partner_id: partner_id.map(PartnerId::new),
            ..unfiltered
        }))
    }
}

impl Filter {
    fn signal_names(self) -> Option<Vec<&'static str>> {
        let names = || self.signals.iter().map(|signal| signal.as_str()).collect();
        (!self.signals.is_empty()).then(names)
    }
}

/// Newest first, and how many there are. The count walks the program's part of an index, so it grows with the program.
pub async fn page(
    connection: &mut PgConnection,
    program_id: ProgramId,
    filter: Filter,
    window: Window,
) -> StorageResult<(Vec<ListedCommission>, Whole)> {
    let status = filter.status.map(CommissionStatus::as_str);
    let membership = filter.partner_program_id.map(PartnerProgramId::get);
    let partner = filter.partner_id.map(PartnerId::get);
    let signals = filter.signal_names();
    Ok(page!(
        connection,
        window,
        ListedCommission,
        r#"SELECT c.id, s.id AS "sale_id?", s.processor_event_id AS "transaction_id?", c.partner_program_id, c.partner_id,
                  p.name AS "partner_name?", c.amount_cents, c.deducted_cents, c.currency, c.status, c.refund_reason,
                  c.hold_until, c.approved_at, c.paid_at, c.payout_id, c.created_at, c.signals, c.adjusted_cents,
                  c.rejection_reason, c.note, s.amount_cents AS "sale_amount_cents?",
                  coalesce(s.commissionable_cents, s.amount_cents) AS commissionable_cents,
                  s.currency AS "sale_currency?"
           FROM commissions c LEFT JOIN sale_events s ON s.id = coalesce(c.sale_id, c.for_sale_id)
           LEFT JOIN partners p ON p.id = c.partner_id
           WHERE c.program_id = $1 AND ($2::text IS NULL OR c.status = $2)
             AND ($3::bigint IS NULL OR c.partner_program_id = $3) AND ($4::bigint IS NULL OR c.partner_id = $4)
             AND ($5::text[] IS NULL OR c.signals && $5) AND c.id <= $6
           ORDER BY c.id DESC OFFSET $7 LIMIT $8"#,
        r#"SELECT count(*) AS "count!", max(id) AS up_to FROM commissions c
           WHERE c.program_id = $1 AND ($2::text IS NULL OR c.status = $2)
             AND ($3::bigint IS NULL OR c.partner_program_id = $3) AND ($4::bigint IS NULL OR c.partner_id = $4)
             AND ($5::text[] IS NULL OR c.signals && $5) AND id <= $6"#,
        program_id.get(),
        status,
        membership,
        partner,
        signals.as_deref() as Option<&[&str]>,
    ))
}

/// The next `limit` after `after`, oldest first.
pub async fn following(
    connection: &mut PgConnection,
    program_id: ProgramId,
    filter: Filter,
    after: i64,
    limit: i64,
) -> StorageResult<Vec<ListedCommission>> {
    let signals = filter.signal_names();
    let rows = sqlx::query_as!(
        ListedCommission,
        r#"SELECT c.id, s.id AS "sale_id?", s.processor_event_id AS "transaction_id?", c.partner_program_id, c.partner_id,
                  p.name AS "partner_name?", c.amount_cents, c.deducted_cents, c.currency, c.status, c.refund_reason,
                  c.hold_until, c.approved_at, c.paid_at, c.payout_id, c.created_at, c.signals, c.adjusted_cents,
                  c.rejection_reason, c.note, s.amount_cents AS "sale_amount_cents?",
                  coalesce(s.commissionable_cents, s.amount_cents) AS commissionable_cents,
                  s.currency AS "sale_currency?"
           FROM commissions c LEFT JOIN sale_events s ON s.id = coalesce(c.sale_id, c.for_sale_id)
           LEFT JOIN partners p ON p.id = c.partner_id
           WHERE c.program_id = $1 AND c.id > $5 AND ($2::text IS NULL OR c.status = $2)
             AND ($3::bigint IS NULL OR c.partner_program_id = $3) AND ($4::bigint IS NULL OR c.partner_id = $4)
             AND ($7::text[] IS NULL OR c.signals && $7)
           ORDER BY c.id LIMIT $6"#,
        program_id.get(),
        filter.status.map(CommissionStatus::as_str),
        filter.partner_program_id.map(PartnerProgramId::get),
        filter.partner_id.map(PartnerId::get),
        after,
        limit,
        signals.as_deref() as Option<&[&str]>,
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}
