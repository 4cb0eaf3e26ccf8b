//! Payouts that a partner received, from the ledger's `payout` entries.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::error::StorageResult;
use crate::money::payouts::{PartnerShare, StoredPayout};
use crate::page::{Whole, Window};
use crate::reads::payout_lists::{self, Filter, PayoutPart};
use domain::ids::{PartnerProgramId, PayoutId, ProgramId, UserId};
use domain::sorting::{PayoutColumn, Sorting};

/// An account's payouts, of all its programs or of one, newest first unless sorted, and the total number.
pub async fn received(
    connection: &mut PgConnection,
    user_id: UserId,
    program_id: Option<ProgramId>,
    filter: &Filter,
    sorting: Option<Sorting<PayoutColumn>>,
    window: Window,
) -> StorageResult<(Vec<PayoutPart>, Whole)> {
    let memberships = fetch_scalars!(
        &mut *connection,
        "SELECT m.id FROM partners p JOIN partner_programs m ON m.partner_id = p.id
         WHERE p.user_id = $1 AND ($2::bigint IS NULL OR m.program_id = $2)",
        user_id.get(),
        program_id.map(ProgramId::get),
    );
    payout_lists::parts(connection, &memberships, filter, sorting, window).await
}

/// `None` when no part of the payout belongs to the account.
pub async fn find_received(
    connection: &mut PgConnection,
    user_id: UserId,
    payout_id: PayoutId,
) -> StorageResult<Option<PayoutPart>> {
    Ok(fetch_optional!(
        connection,
        PayoutPart,
        r#"SELECT o.id AS "id!", g.id AS "program_id!", g.name AS "program_name!", o.currency AS "currency!",
                  o.amount_cents AS "whole_cents!", o.commission_count AS "whole_count!", o.reference AS "reference?", count(*) AS "commission_count!", sum(l.requested_cents)::bigint AS "requested_cents!",
                  sum(l.shortfall_cents)::bigint AS "shortfall_cents!", -sum(l.amount_cents)::bigint AS "amount_cents!",
                  o.created_at AS "created_at!"
           FROM payouts o JOIN programs g ON g.id = o.program_id
           JOIN commissions c ON c.payout_id = o.id
           JOIN ledger_entries l ON l.commission_id = c.id AND l.kind = 'payout'
           WHERE o.id = $2 AND c.partner_program_id = ANY(ARRAY(
               SELECT m.id FROM partners p JOIN partner_programs m ON m.partner_id = p.id WHERE p.user_id = $1))
           GROUP BY o.id, g.id"#,
        user_id.get(),
        payout_id.get(),
    ))
}

#[derive(Debug)]
pub struct ReceivedCommission {
    pub id: i64,
    pub requested_cents: i64,
    pub shortfall_cents: i64,
    pub amount_cents: i64,
    /// Of a commission that was added by hand.
    pub note: Option<String>,
    pub created_at: DateTime<Utc>,
}

/// The account's commissions of a payout, oldest first. The limit of a payout bounds their number.
pub async fn received_commissions(
    connection: &mut PgConnection,
    user_id: UserId,
    payout_id: PayoutId,
) -> StorageResult<Vec<ReceivedCommission>> {
    Ok(fetch_all!(
        connection,
        ReceivedCommission,
        r#"SELECT c.id, l.requested_cents, l.shortfall_cents, -l.amount_cents AS "amount_cents!", c.note, c.created_at
           FROM commissions c
           JOIN ledger_entries l ON l.commission_id = c.id AND l.kind = 'payout'
           WHERE c.payout_id = $2 AND c.partner_program_id = ANY(ARRAY(
               SELECT m.id FROM partners p JOIN partner_programs m ON m.partner_id = p.id WHERE p.user_id = $1))
           ORDER BY c.id"#,
        user_id.get(),
        payout_id.get(),
    ))
}

#[derive(Debug)]
pub struct SharedPayout {
    pub payout: StoredPayout,
    pub share: PartnerShare,
}

/// A program's payouts that include a membership, newest first unless sorted; none for another program's.
pub async fn of_membership(
    connection: &mut PgConnection,
    program_id: ProgramId,
    membership: PartnerProgramId,
    filter: &Filter,
    sorting: Option<Sorting<PayoutColumn>>,
    window: Window,
) -> StorageResult<(Vec<SharedPayout>, Whole)> {
    // The membership of a removed partner does not name the partner, but its paid commissions do.
    let paid = fetch_optional!(
        &mut *connection,
        r#"SELECT c.partner_id, p.name AS "name?" FROM partner_programs m
           CROSS JOIN LATERAL (
               SELECT partner_id FROM commissions WHERE partner_program_id = m.id AND payout_id IS NOT NULL LIMIT 1) c
           LEFT JOIN partners p ON p.id = c.partner_id
           WHERE m.id = $1 AND m.program_id = $2"#,
        membership.get(),
        program_id.get(),
    );
    let Some(partner) = paid else {
        return Ok((Vec::new(), Whole::from(0)));
    };
    let memberships = [membership.get()];
    let (parts, whole) = payout_lists::parts(connection, &memberships, filter, sorting, window).await?;
    let shared = |part: PayoutPart| SharedPayout {
        payout: StoredPayout {
            id: part.id,
            currency: part.currency,
            amount_cents: part.whole_cents,
            commission_count: part.whole_count,
            reference: part.reference,
            created_at: part.created_at,
        },
        share: PartnerShare {
            partner_program_id: membership.get(),
            partner_id: partner.partner_id,
            partner_name: partner.name.clone(),
            commission_count: part.commission_count,
            amount_cents: part.amount_cents,
            requested_cents: part.requested_cents,
            shortfall_cents: part.shortfall_cents,
        },
    };
    Ok((parts.into_iter().map(shared).collect(), whole))
}
