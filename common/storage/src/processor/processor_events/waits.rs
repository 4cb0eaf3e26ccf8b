//! Why events wait, what they wait for, and how they are woken.

use chrono::{DateTime, Utc};
use sqlx::{PgConnection, PgPool};

use crate::error::StorageResult;
use domain::ids::ProgramId;
use domain::processors::processor::ProcessorId;
use domain::text::TransactionId;

domain::text_enum! {
    /// Why an event waits, or why its sale was not recorded. The code is stored in `processor_events.reason`.
    pub enum Reason {
        /// Another report of the same payment was recorded.
        Duplicate = "duplicate",
        /// The processor's customer is bound to a different customer than the event names.
        ProcessorCustomerDiffers = "processor_customer_differs",
        /// Another report of the same transaction_id is being processed.
        Claimed = "claimed",
        /// The session or invoice may still be reported, with more data of the sale.
        AwaitsSession = "awaits_session",
        CustomerNotFound = "customer_not_found",
        NoAttribution = "no_attribution",
        NoRelationship = "no_relationship",
        ProgramArchived = "program_archived",
        WindowExpired = "window_expired",
        /// Paid before the customer's first click.
        BeforeFirstClick = "before_first_click",
        /// The credited partner is not, or no longer, approved in the program.
        PartnerNotApproved = "partner_not_approved",
        /// A refund or dispute of a payment that has no sale yet.
        SaleMissing = "sale_missing",
        /// Its currency differs from the currency of its sale.
        CurrencyDiffers = "currency_differs",
    }
}

/// Payments for a partner who is not approved wait for this.
pub const PARTNER_APPROVED: &str = "partner_approved";

/// Payments with an unknown customer_key wait for this.
pub fn waits_for_key(customer_key: &str) -> String {
    format!("customer_key:{customer_key}")
}

/// Payments of an unbound processor customer wait for this.
pub fn waits_for_processor_customer(processor_customer: &ProcessorId) -> String {
    format!("processor_customer:{processor_customer}")
}

/// Payments whose session or invoice may still be reported wait for this.
pub fn waits_for_sale(transaction_id: &TransactionId) -> String {
    // The query of `receive` reads the transaction_id after the colon.
    format!("sale:{transaction_id}")
}

/// Makes a program's events that wait for `waits_for` due. A later wait counts its retries from zero.
pub async fn wake(connection: &mut PgConnection, waited_for: &[(ProgramId, String)]) -> StorageResult<()> {
    write_batch!(
        connection,
        "WITH waiting AS (
           SELECT e.event_id FROM processor_events e
           JOIN UNNEST($1::bigint[], $2::text[]) AS w (program_id, waits_for)
             ON e.program_id = w.program_id AND e.waits_for = w.waits_for
           WHERE e.waits_for IS NOT NULL AND e.state = 'parked'
           ORDER BY e.event_id
           FOR UPDATE OF e
         )
         UPDATE processor_events e SET relay_after = now(), relays = 0, waits_for = NULL
         FROM waiting WHERE e.event_id = waiting.event_id",
        (program_id, waits_for) in waited_for =>
            programs: i64 = program_id.get(),
            waits: &str = waits_for.as_str()
    );
    Ok(())
}

/// Gives up events that have waited since before `horizon`, unless they wait for a person. Bounded.
pub async fn give_up_parked(pool: &PgPool, horizon: DateTime<Utc>, limit: i64) -> StorageResult<u64> {
    Ok(execute!(
        pool,
        "UPDATE processor_events
         SET state = 'ignored', sale_pending = false, payment_pending = false, waits_for = NULL, relay_after = NULL,
             payload = NULL
         WHERE event_id IN (
             SELECT event_id FROM processor_events WHERE state = 'parked' AND received_at < $1 AND reason IS DISTINCT FROM 'partner_not_approved'
             ORDER BY received_at LIMIT $2 FOR UPDATE SKIP LOCKED)",
        horizon,
        limit,
    ))
}
