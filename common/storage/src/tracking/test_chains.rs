//! Test chains: the link that a chain uses, and the rows that it stores, all of them test rows.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::error::StorageResult;
use domain::ids::{PartnerId, ProgramId, ReferralLinkId, SaleId};
use messages::test_chain::TestChainRecord;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainLink {
    pub referral_link_id: ReferralLinkId,
    pub short_code: String,
    /// The link's partner. Attribution depends on the partner's membership.
    pub partner_id: PartnerId,
}

/// The oldest active link of an approved partner of the program.
pub async fn link(connection: &mut PgConnection, program_id: ProgramId) -> StorageResult<Option<ChainLink>> {
    Ok(fetch_optional!(
        connection,
        ChainLink,
        r#"SELECT l.id AS referral_link_id, l.short_code, l.partner_id AS "partner_id!"
           FROM partner_programs p JOIN referral_links l ON l.partner_program_id = p.id
           WHERE p.program_id = $1 AND p.status = 'approved'
             AND l.program_id = $1 AND l.status = 'active' AND l.partner_id IS NOT NULL
           ORDER BY l.id LIMIT 1"#,
        program_id.get(),
    ))
}

/// The partners with a commission for this sale.
pub async fn commission_partners(
    connection: &mut PgConnection,
    sale_id: SaleId,
) -> StorageResult<Vec<PartnerId>> {
    Ok(fetch_scalars!(
        connection,
        r#"SELECT partner_id AS "id: PartnerId" FROM commissions WHERE sale_id = $1 ORDER BY id"#,
        sale_id.get()
    ))
}

/// Stores the chain's click. A second delivery stores nothing.
pub async fn insert_click(
    connection: &mut PgConnection,
    chain: &TestChainRecord,
    link: ReferralLinkId,
) -> StorageResult<()> {
    execute!(
        connection,
        "INSERT INTO click_events (event_id, program_id, referral_link_id, customer_id, click_timestamp, click_id,
             is_test)
         VALUES ($1, $2, $3, $4, $5, $6, true)
         ON CONFLICT (event_id, click_timestamp) DO NOTHING",
        chain.event_id.get(),
        chain.program_id.get(),
        link.get(),
        chain.customer_id.get(),
        chain.started_at,
        chain.click_id.as_str(),
    );
    Ok(())
}

/// Stores the chain's lead. A second delivery stores nothing.
pub async fn insert_lead(connection: &mut PgConnection, chain: &TestChainRecord) -> StorageResult<()> {
    execute!(
        connection,
        "INSERT INTO lead_events (event_id, program_id, customer_id, lead_timestamp, click_id, customer_key, is_test)
         VALUES ($1, $2, $3, $4, $5, $6, true)
         ON CONFLICT (event_id, lead_timestamp) DO NOTHING",
        chain.event_id.get(),
        chain.program_id.get(),
        chain.customer_id.get(),
        chain.started_at,
        chain.click_id.as_str(),
        chain.customer_key.as_str(),
    );
    Ok(())
}

/// Stores the chain's sale. A second delivery stores nothing. Its id differs from the id under which the sale
/// was tried, so that a second delivery can be tried again.
pub async fn insert_sale(
    connection: &mut PgConnection,
    chain: &TestChainRecord,
    amount_cents: i64,
) -> StorageResult<()> {
    let stored_as = format!("test_txn_{}", chain.event_id.get().simple());
    execute!(
        connection,
        "INSERT INTO sale_events (event_id, program_id, customer_id, processor_event_id, amount_cents, currency,
             sale_type, is_recurring, sale_date, no_commission_reason, is_test)
         VALUES ($1, $2, $3, $4, $5, 'USD', 'payment', false, $6, 'test', true)
         ON CONFLICT DO NOTHING",
        chain.event_id.get(),
        chain.program_id.get(),
        chain.customer_id.get(),
        stored_as,
        amount_cents,
        chain.started_at,
    );
    Ok(())
}

/// Records that a chain of this program reached its partner. The time of the first chain stays.
pub async fn verified(
    connection: &mut PgConnection,
    program_id: ProgramId,
    at: DateTime<Utc>,
) -> StorageResult<()> {
    execute!(
        connection,
        "INSERT INTO integration_verifications (program_id, verified_at) VALUES ($1, $2)
         ON CONFLICT (program_id) DO NOTHING",
        program_id.get(),
        at,
    );
    Ok(())
}
