//! `processor_reversals`: one reversal by the processor for each event, and the sale on which it counts.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::error::StorageResult;
use crate::processor::processor_refs::Reference;
use domain::ids::{EventId, ProgramId, SaleId};
use domain::money::{AmountCents, Currency};
use domain::processors::payment::ReversalKind;

#[derive(Debug, Clone)]
pub struct NewReversal<'a> {
    pub event_id: EventId,
    pub program_id: ProgramId,
    /// Any of the payment's names.
    pub reference: &'a str,
    pub kind: ReversalKind,
    /// The charge or the dispute.
    pub source: &'a str,
    pub amount: AmountCents,
    pub currency: Currency,
    pub occurred_at: DateTime<Utc>,
}

/// Stores reversals. Stored ones stay as they are.
pub async fn insert(connection: &mut PgConnection, reversals: &[NewReversal<'_>]) -> StorageResult<()> {
    write_batch!(
        connection,
        "INSERT INTO processor_reversals (event_id, program_id, reference, kind, source, amount_cents, currency, occurred_at)
         SELECT * FROM UNNEST($1::uuid[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::text[],
                              $8::timestamptz[])
              AS r (event_id, program_id, reference, kind, source, amount_cents, currency, occurred_at)
         ORDER BY event_id
         ON CONFLICT (event_id) DO NOTHING",
        new in reversals =>
            events: Uuid = new.event_id.get(),
            programs: i64 = new.program_id.get(),
            references: &str = new.reference,
            kinds: &str = new.kind.as_str(),
            sources: &str = new.source,
            amounts: i64 = new.amount.get(),
            currencies: &str = new.currency.as_str(),
            times: DateTime<Utc> = new.occurred_at
    );
    Ok(())
}

#[derive(Debug, Clone)]
pub struct Reversal {
    pub event_id: EventId,
    pub program_id: ProgramId,
    pub kind: ReversalKind,
    pub source: String,
    pub amount: AmountCents,
    pub currency: Currency,
    pub occurred_at: DateTime<Utc>,
    /// The payment's sale, on which the reversal counts.
    pub sale_id: SaleId,
    pub transaction_id: String,
    pub sale_currency: Currency,
    /// The reversal was counted on that sale.
    pub counted: bool,
    /// The reversal was counted on another sale, which was undone: its event has already caused a refund.
    pub moved: bool,
}

/// Every reversal of these payments, counted or not, in order. The caller holds the claims of the sales.
pub async fn of_payments(
    connection: &mut PgConnection,
    payments: &[(Reference, SaleId)],
) -> StorageResult<Vec<Reversal>> {
    if payments.is_empty() {
        return Ok(Vec::new());
    }
    Ok(unnest!(
        query_as,
        Reversal,
        r#"SELECT v.event_id, v.program_id, v.kind AS "kind: _", v.source, v.amount_cents AS "amount: _",
                  v.currency AS "currency: _", v.occurred_at, s.id AS sale_id, s.processor_event_id AS transaction_id,
                  s.currency AS "sale_currency: _",
                  coalesce(v.sale_id = s.id, false) AS "counted!",
                  EXISTS (SELECT 1 FROM refunds f WHERE f.event_id = v.event_id) AS "moved!"
           FROM UNNEST($1::bigint[], $2::text[], $3::bigint[]) AS p (program_id, payment, sale_id)
           JOIN processor_refs r ON r.program_id = p.program_id AND r.payment = p.payment
           JOIN processor_reversals v ON v.program_id = r.program_id AND v.reference = r.reference
           JOIN sale_events s ON s.id = p.sale_id
           ORDER BY v.occurred_at, v.event_id"#,
        ((program_id, payment), sale_id) in payments =>
            programs: i64 = program_id.get(),
            names: &str = payment.as_str(),
            sales: i64 = sale_id.get()
    )
    .fetch_all(connection)
    .await?)
}

pub async fn count(connection: &mut PgConnection, counted: &[(EventId, SaleId)]) -> StorageResult<()> {
    write_batch!(
        connection,
        "UPDATE processor_reversals v SET sale_id = n.sale_id
         FROM UNNEST($1::uuid[], $2::bigint[]) AS n (event_id, sale_id) WHERE v.event_id = n.event_id",
        (event_id, sale_id) in counted =>
            events: Uuid = event_id.get(),
            sales: i64 = sale_id.get()
    );
    Ok(())
}
