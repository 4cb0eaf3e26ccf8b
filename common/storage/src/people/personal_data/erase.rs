//! Erases personal data. Ids, sums, dates, links and states stay, because accounting depends on them. Without
//! the erased names they identify no person.
//!
//! Phases:
//!
//! - Lock the **program**. Otherwise two erasures, or an erasure and the deletion of a webhook endpoint,
//!   would lock rows of the same queue in different orders.
//! - Erase the **clicks** that were found. No lock that the pipeline needs is held yet.
//! - Lock and erase the **customers**. Concurrent transactions finish first, and later ones find no customer.
//! - Erase the clicks stored meanwhile, and all rows found by the customers' ids.

use std::collections::{BTreeSet, HashMap};

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use super::clicked_at;
use super::find::Found;
use crate::error::{StorageResult, expect_rows};
use crate::program::program_settings;
use domain::ids::CustomerId;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Erased {
    pub customers: u64,
    pub click_events: u64,
    pub lead_events: u64,
    pub sale_events: u64,
    pub refunds: u64,
    pub notifications: u64,
    pub processor_customers: u64,
    pub outbound_events: u64,
    /// Deleted waiting deliveries, and erased responses of finished ones.
    pub webhook_deliveries: u64,
    /// Dead letters and parked records whose content was erased. They can no longer be replayed.
    pub unprocessed: u64,
}

impl Erased {
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// Erases the data that [`find`](super::find()) found, in its transaction. A second search finds nothing.
pub async fn erase(
    connection: &mut PgConnection,
    found: &Found,
    now: DateTime<Utc>,
) -> StorageResult<Erased> {
    program_settings::lock(connection, found.program_id).await?;
    let before = clicks(connection, found, &found.clicked_at).await?;
    let customers = lock_and_erase_customers(connection, found, now).await?;
    let clicked_at = clicked_at::read(connection, &found.customer_ids()).await?;
    let meanwhile = clicks(connection, found, &clicked_at.times).await?;
    let outbound = outbound_events(connection, found).await?;
    let erased = Erased {
        customers,
        click_events: before + meanwhile + held(connection, found).await?,
        lead_events: leads(connection, found).await?,
        ..purchases(connection, found).await?
    };
    Ok(Erased {
        processor_customers: processor_customers(connection, found).await?,
        outbound_events: outbound.outbound_events,
        webhook_deliveries: outbound.webhook_deliveries,
        unprocessed: unprocessed(connection, found, now).await?,
        ..erased
    })
}

async fn lock_and_erase_customers(
    connection: &mut PgConnection,
    found: &Found,
    now: DateTime<Utc>,
) -> StorageResult<u64> {
    let customers = found.customer_ids();
    // In ascending order, like the worker's steps.
    fetch_all!(
        &mut *connection,
        "SELECT id FROM customers WHERE id = ANY($1) ORDER BY id FOR UPDATE",
        &customers
    );
    let erased = execute!(
        connection,
        "UPDATE customers SET customer_key = NULL, proposed_customer_key = NULL, email_hash = NULL,
                click_id = 'erased_' || id, erased_at = $2
         WHERE id = ANY($1)",
        &customers,
        now,
    );
    expect_rows("customers", customers.len(), erased)?;
    Ok(erased)
}

/// Erases outbound events. First it locks the customer's sales and commissions: it waits for transactions
/// that write events about them, and later transactions find no names.
async fn outbound_events(connection: &mut PgConnection, found: &Found) -> StorageResult<Erased> {
    let (program_id, customers) = (found.program_id.get(), found.customer_ids());
    let sales = fetch_scalars!(
        &mut *connection,
        "SELECT id FROM sale_events WHERE program_id = $1 AND customer_id = ANY($2) ORDER BY id FOR UPDATE",
        program_id,
        &customers,
    );
    fetch_all!(
        &mut *connection,
        "SELECT id FROM commissions
         WHERE id IN (SELECT id FROM commissions WHERE sale_id = ANY($1)
                      UNION ALL
                      SELECT id FROM commissions
                      WHERE for_sale_id = ANY($1) AND for_sale_id IS NOT NULL AND rejected_at IS NULL)
         ORDER BY id FOR UPDATE",
        &sales,
    );
    // Events before the queue: the delete waits for an event that is being placed, then finds its queue row.
    let events = execute!(
        &mut *connection,
        "DELETE FROM outbound_events WHERE program_id = $1 AND customer_id = ANY($2) AND customer_id IS NOT NULL",
        program_id,
        &customers,
    );
    let queued = execute!(
        &mut *connection,
        "DELETE FROM webhook_queue
         WHERE endpoint_id IN (SELECT id FROM webhook_endpoints WHERE program_id = $1) AND customer_id = ANY($2)
           AND customer_id IS NOT NULL",
        program_id,
        &customers,
    );
    let answers = execute!(
        connection,
        "UPDATE webhook_deliveries SET answer = NULL
         WHERE program_id = $1 AND customer_id = ANY($2) AND customer_id IS NOT NULL AND answer IS NOT NULL",
        program_id,
        &customers,
    );
    Ok(Erased {
        outbound_events: events,
        webhook_deliveries: queued + answers,
        ..Erased::default()
    })
}

/// Texts from the advertiser on sales, refunds, commissions and notifications.
async fn purchases(connection: &mut PgConnection, found: &Found) -> StorageResult<Erased> {
    let (program_id, customers) = (found.program_id.get(), found.customer_ids());
    let sale_events = execute!(
        &mut *connection,
        "UPDATE sale_events SET line_items = NULL
         WHERE program_id = $1 AND customer_id = ANY($2) AND line_items IS NOT NULL",
        program_id,
        &customers,
    );
    execute!(
        &mut *connection,
        // A self-referral signal would identify the customer. The row still shows that it had a signal,
        // because approval may depend on that.
        "UPDATE commissions SET refund_reason = NULL, rejection_reason = NULL,
                signals = CASE WHEN signals = '{}' THEN signals ELSE ARRAY['erased'] END
         WHERE sale_id IN (SELECT id FROM sale_events WHERE program_id = $1 AND customer_id = ANY($2))
           AND (num_nonnulls(refund_reason, rejection_reason) > 0 OR signals <> '{}')",
        program_id,
        &customers,
    );
    let refunds = execute!(
        &mut *connection,
        "UPDATE refunds r SET refund_reason = NULL FROM sale_events s
         WHERE s.id = r.sale_id AND s.program_id = $1 AND s.customer_id = ANY($2) AND r.refund_reason IS NOT NULL",
        program_id,
        &customers,
    );
    // The reason is at the end of the message.
    let notifications = execute!(
        connection,
        "UPDATE notifications n
         SET message = left(n.message, -length(' Reason: ' || coalesce(n.details ->> 'refund_reason', n.details ->> 'reason'))),
             details = n.details - ARRAY['refund_reason', 'reason']
         FROM sale_events s
         WHERE n.program_id = $1 AND s.id::text = n.details ->> 'sale_id' AND n.details ->> 'sale_id' IS NOT NULL AND s.program_id = $1
           AND s.customer_id = ANY($2) AND n.details ?| ARRAY['refund_reason', 'reason']",
        program_id,
        &customers,
    );
    Ok(Erased {
        sale_events,
        refunds,
        notifications,
        ..Erased::default()
    })
}

async fn processor_customers(connection: &mut PgConnection, found: &Found) -> StorageResult<u64> {
    Ok(execute!(
        connection,
        "DELETE FROM processor_customers WHERE program_id = $1 AND processor_customer_id = ANY($2)",
        found.program_id.get(),
        &found.processor_customers() as &[&str],
    ))
}

/// Erases location, device and referrer. Country, device type and browser stay: many people share them.
async fn clicks(
    connection: &mut PgConnection,
    found: &Found,
    clicked_at: &BTreeSet<DateTime<Utc>>,
) -> StorageResult<u64> {
    let customers = found.customer_ids();
    let mut erased = 0;
    // One statement for each time: with an array of times, a generic plan would search all months.
    for at in clicked_at {
        let click = execute!(
            &mut *connection,
            "UPDATE click_events
             SET click_id = 'erased_' || customer_id, previous_click_id = NULL, session_id = NULL, page_url = NULL,
                 page_title = NULL, page_title_id = NULL, referrer_url = NULL, user_agent = NULL, user_agent_id = NULL,
                 screen_resolution = NULL, viewport_size = NULL, language = NULL, timezone = NULL, geo_region = NULL, geo_city = NULL
             WHERE program_id = $1 AND NOT is_test AND click_timestamp = $3 AND customer_id = ANY($2)
               AND click_id <> 'erased_' || customer_id",
            found.program_id.get(),
            &customers,
            at,
        );
        erased += click;
    }
    Ok(erased)
}

/// Erases these customers' click_ids in clicks of browsers that sent them but were taken for new customers.
async fn held(connection: &mut PgConnection, found: &Found) -> StorageResult<u64> {
    let click_ids: Vec<&str> = found.names.click_ids.iter().map(String::as_str).collect();
    Ok(execute!(
        connection,
        "UPDATE click_events SET previous_click_id = NULL
         WHERE program_id = $1 AND previous_click_id = ANY($2) AND previous_click_id IS NOT NULL AND click_timestamp >= $3",
        found.program_id.get(),
        &click_ids as &[&str],
        found.since(),
    ))
}

/// Erases the customers' leads, and their key in leads that were reported with another customer's click_id.
async fn leads(connection: &mut PgConnection, found: &Found) -> StorageResult<u64> {
    let own = execute!(
        &mut *connection,
        "UPDATE lead_events SET customer_key = NULL, click_id = 'erased_' || customer_id, session_id = NULL, page_url = NULL
         WHERE program_id = $1 AND customer_id = ANY($2) AND lead_timestamp >= $3
           AND (customer_key IS NOT NULL OR click_id <> 'erased_' || customer_id)",
        found.program_id.get(),
        &found.customer_ids(),
        found.since(),
    );
    let others = execute!(
        connection,
        "UPDATE lead_events SET customer_key = NULL
         WHERE program_id = $1 AND customer_key = ANY($2) AND customer_key IS NOT NULL",
        found.program_id.get(),
        &found.keys() as &[&str],
    );
    Ok(own + others)
}

async fn unprocessed(connection: &mut PgConnection, found: &Found, now: DateTime<Utc>) -> StorageResult<u64> {
    // These claims have no sale, and their records are erased here. The caller may send the payment again.
    let claims = execute!(
        &mut *connection,
        "DELETE FROM transaction_claims WHERE transaction_id = ANY($1) AND state = 'dead'",
        &found.claims,
    );
    let letters = execute!(
        &mut *connection,
        "UPDATE dead_letters SET payload = '', reason = 'erased', replayed_at = coalesce(replayed_at, $2)
         WHERE id = ANY($1)",
        &found.letters,
        now,
    );
    // A record of the event in flight will find no customer. The relay must not publish the event again.
    let events = execute!(
        connection,
        "UPDATE processor_events
         SET payload = NULL, state = 'ignored', reason = 'erased', waits_for = NULL, sale_pending = false,
             payment_pending = false, relay_after = NULL
         WHERE event_id = ANY($1)",
        &found.processor_events,
    );
    Ok(claims + letters + events)
}

/// Locks these customers and returns their click_ids. `None` for an erased customer: no more data about them
/// may be stored. Waits for running erasures.
pub async fn click_ids(
    connection: &mut PgConnection,
    customers: &[i64],
) -> StorageResult<HashMap<CustomerId, Option<String>>> {
    if customers.is_empty() {
        return Ok(HashMap::new());
    }
    let rows = fetch_all!(
        connection,
        "SELECT id, CASE WHEN erased_at IS NULL THEN click_id END AS click_id
         FROM customers WHERE id = ANY($1) ORDER BY id FOR UPDATE",
        customers,
    );
    Ok(rows
        .into_iter()
        .map(|row| (CustomerId::new(row.id), row.click_id))
        .collect())
}
