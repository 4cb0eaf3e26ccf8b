//! `customers`: finds them by key, by click_id or by a proposed key, locks and updates them.

use std::collections::HashSet;

use chrono::{DateTime, Utc};
use sqlx::{PgConnection, PgPool};

use crate::batch::array_literal;
use crate::error::{StorageError, StorageResult, expect_rows};
use domain::ids::{CustomerId, ProgramId, ReferralLinkId};
use domain::tracking::attribution::{Journey, Touch};
use domain::tracking::customer::CustomerStatus;

/// A locked customer, with all fields that a step may read or change.
#[derive(Debug, Clone, PartialEq)]
pub struct Customer {
    pub customer_id: CustomerId,
    pub program_id: ProgramId,
    pub click_id: String,
    pub customer_key: Option<String>,
    /// No authenticated call has confirmed the key of this click yet.
    pub key_from_browser: bool,
    /// A browser bound the key to one customer, an authenticated call named it with another. Set on both.
    pub key_contested: bool,
    /// The customer's lead was one of many within an hour.
    pub many_leads: bool,
    pub proposed_customer_key: Option<String>,
    pub email_hash: Option<String>,
    pub status: CustomerStatus,
    pub journey: Journey,
    pub signup: Option<Milestone>,
    pub first_purchase: Option<Milestone>,
    /// The latest sale, by its own time. `None` without a sale, or with sales from before this was stored.
    pub last_purchase_at: Option<DateTime<Utc>>,
}

/// When a customer reached a status, and the link under which it counts, whatever is clicked later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Milestone {
    pub at: DateTime<Utc>,
    pub referral_link_id: Option<ReferralLinkId>,
}

impl Milestone {
    fn link(self) -> Option<i64> {
        self.referral_link_id.map(ReferralLinkId::get)
    }
}

/// A customer's click_id, to be compared as a whole string.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CustomerIdentity {
    pub customer_id: CustomerId,
    pub program_id: ProgramId,
    pub click_id: String,
}

/// Customers by id, for comparing click_ids as whole strings.
pub async fn identities(connection: &mut PgConnection, ids: &[i64]) -> StorageResult<Vec<CustomerIdentity>> {
    Ok(fetch_all!(
        connection,
        CustomerIdentity,
        "SELECT id AS customer_id, program_id, click_id FROM customers WHERE id = ANY($1)",
        ids
    ))
}

/// [`identities`] for the edge, which has no transaction.
pub async fn identities_from_pool(pool: &PgPool, ids: &[i64]) -> StorageResult<Vec<CustomerIdentity>> {
    let mut connection = pool.acquire().await?;
    identities(&mut connection, ids).await
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyInProgram<'a> {
    pub program_id: ProgramId,
    pub customer_key: &'a str,
}

/// Customers for whom a browser proposed these keys. A key proposed for several customers finds none of them.
pub async fn by_proposed_key(
    connection: &mut PgConnection,
    keys: &[KeyInProgram<'_>],
) -> StorageResult<Vec<(usize, CustomerId)>> {
    // Two rows are enough to see that a key is ambiguous.
    Ok(unnest!(
        query,
        r#"SELECT k.position AS "position!", min(c.id) AS "id!"
           FROM UNNEST($1::text[], $2::bigint[]) WITH ORDINALITY AS k (customer_key, program_id, position)
           CROSS JOIN LATERAL (
               SELECT id FROM customers
               WHERE proposed_customer_key = k.customer_key AND program_id = k.program_id
               LIMIT 2) c
           GROUP BY k.position HAVING count(*) = 1"#,
        key in keys =>
            texts: &str = key.customer_key,
            programs: i64 = key.program_id.get()
    )
    .map(|row| (index(row.position), CustomerId::new(row.id)))
    .fetch_all(connection)
    .await?
    .into_iter()
    .collect())
}

/// Customers in any program with these keys. A key that several customers have finds none of them.
pub async fn by_key_in_any_program(
    connection: &mut PgConnection,
    keys: &[&str],
) -> StorageResult<Vec<(usize, CustomerId)>> {
    Ok(sqlx::query!(
        r#"SELECT k.position AS "position!", min(c.id) AS "id!"
           FROM UNNEST($1::text[]) WITH ORDINALITY AS k (customer_key, position)
           CROSS JOIN LATERAL (SELECT id FROM customers WHERE customer_key = k.customer_key LIMIT 2) c
           GROUP BY k.position HAVING count(*) = 1"#,
        keys as &[&str],
    )
    .map(|row| (index(row.position), CustomerId::new(row.id)))
    .fetch_all(connection)
    .await?)
}

/// Locks customers in ascending order of id and reads them.
pub async fn lock(connection: &mut PgConnection, ids: &[i64]) -> StorageResult<Vec<Customer>> {
    lock_named(connection, ids, &[]).await
}

/// Locks the customers with these ids or keys, in ascending order of id, and reads them.
pub async fn lock_named(
    connection: &mut PgConnection,
    ids: &[i64],
    keys: &[KeyInProgram<'_>],
) -> StorageResult<Vec<Customer>> {
    if ids.is_empty() && keys.is_empty() {
        return Ok(Vec::new());
    }
    columns!(key in keys =>
        texts: &str = key.customer_key,
        programs: i64 = key.program_id.get(),
    );
    let rows = fetch_all!(
        connection,
        r#"SELECT id AS "id: CustomerId", program_id AS "program_id: ProgramId", click_id, customer_key, key_from_browser, key_contested, many_leads, proposed_customer_key,
                email_hash, status AS "status: CustomerStatus", first_click_at, first_referral_link_id AS "first_referral_link_id: ReferralLinkId",
                touched_link_ids AS "touched_link_ids: Vec<ReferralLinkId>", touched_at,
                earlier_link_ids AS "earlier_link_ids: Vec<ReferralLinkId>", earlier_at,
                signup_date, signup_link_id AS "signup_link_id: ReferralLinkId", first_purchase_date,
                first_purchase_link_id AS "first_purchase_link_id: ReferralLinkId", last_purchase_date
         FROM customers
         WHERE id IN (SELECT UNNEST($1::bigint[])
                      UNION
                      SELECT c.id FROM UNNEST($2::text[], $3::bigint[]) AS k (customer_key, program_id)
                      JOIN customers c ON c.customer_key = k.customer_key AND c.program_id = k.program_id)
         ORDER BY id
         FOR UPDATE"#,
        ids,
        &texts as &[&str],
        &programs,
    );
    rows.into_iter()
        .map(|row| {
            let touch = |referral_link_id, clicked_at| Touch {
                referral_link_id,
                clicked_at,
            };
            let links = row
                .touched_link_ids
                .iter()
                .chain(row.earlier_link_ids.iter().flatten());
            let times = row.touched_at.iter().chain(row.earlier_at.iter().flatten());
            let touches = links.zip(times).map(|(link, at)| touch(*link, *at)).collect();
            let first = touch(row.first_referral_link_id, row.first_click_at);
            let milestone =
                |at: Option<DateTime<Utc>>, referral_link_id| at.map(|at| Milestone { at, referral_link_id });
            Ok(Customer {
                customer_id: row.id,
                program_id: row.program_id,
                status: row.status,
                journey: Journey::from_parts(first, touches)
                    .ok_or_else(|| StorageError::corrupt("customers", "touched_link_ids", row.id))?,
                click_id: row.click_id,
                customer_key: row.customer_key,
                key_from_browser: row.key_from_browser,
                key_contested: row.key_contested,
                many_leads: row.many_leads,
                proposed_customer_key: row.proposed_customer_key,
                email_hash: row.email_hash,
                signup: milestone(row.signup_date, row.signup_link_id),
                first_purchase: milestone(row.first_purchase_date, row.first_purchase_link_id),
                last_purchase_at: row.last_purchase_date,
            })
        })
        .collect()
}

#[derive(Debug)]
pub struct NewCustomer<'a> {
    pub customer_id: CustomerId,
    pub program_id: ProgramId,
    pub click_id: &'a str,
    pub first_touch: Touch,
}

/// Inserts customers and returns how many are new. Those of an earlier delivery stay unchanged.
pub async fn insert(connection: &mut PgConnection, customers: &[NewCustomer<'_>]) -> StorageResult<u64> {
    Ok(write_batch!(
        connection,
        "INSERT INTO customers (id, program_id, click_id, first_click_at, first_referral_link_id,
                                touched_link_ids, touched_at)
         SELECT id, program_id, click_id, clicked_at, link_id, ARRAY[link_id], ARRAY[clicked_at]
         FROM UNNEST($1::bigint[], $2::bigint[], $3::text[], $4::timestamptz[], $5::bigint[])
              AS c (id, program_id, click_id, clicked_at, link_id)
         ORDER BY id
         ON CONFLICT (id) DO NOTHING",
        new in customers =>
            ids: i64 = new.customer_id.get(),
            programs: i64 = new.program_id.get(),
            click_ids: &str = new.click_id,
            clicked_at: DateTime<Utc> = new.first_touch.clicked_at,
            links: i64 = new.first_touch.referral_link_id.get()
    ))
}

/// Removes the keys of customers, so that [`save`] can assign them to others: one statement cannot do both.
pub async fn unbind(connection: &mut PgConnection, ids: &[i64]) -> StorageResult<()> {
    if ids.is_empty() {
        return Ok(());
    }
    execute!(
        connection,
        "UPDATE customers SET customer_key = NULL WHERE id = ANY($1)",
        ids
    );
    Ok(())
}

/// Stores the fields that leads and sales change: key, proposed key, e-mail, status and milestones.
pub async fn save(connection: &mut PgConnection, customers: &[&Customer]) -> StorageResult<()> {
    let updated = write_batch!(
        connection,
        "UPDATE customers c
         SET customer_key = n.customer_key, proposed_customer_key = n.proposed_customer_key,
             email_hash = n.email_hash, status = n.status, signup_date = n.signup_date,
             signup_link_id = n.signup_link, first_purchase_date = n.first_purchase_date,
             first_purchase_link_id = n.first_purchase_link, key_from_browser = n.key_from_browser,
             key_contested = n.key_contested, last_purchase_date = n.last_purchase_date, many_leads = n.many_leads
         FROM UNNEST($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::timestamptz[], $7::bigint[],
                     $8::timestamptz[], $9::bigint[], $10::boolean[], $11::boolean[], $12::timestamptz[],
                     $13::boolean[])
              AS n (id, customer_key, proposed_customer_key, email_hash, status, signup_date, signup_link,
                    first_purchase_date, first_purchase_link, key_from_browser, key_contested, last_purchase_date,
                    many_leads)
         WHERE c.id = n.id",
        customer in customers =>
            ids: i64 = customer.customer_id.get(),
            keys: Option<&str> = customer.customer_key.as_deref(),
            proposed: Option<&str> = customer.proposed_customer_key.as_deref(),
            emails: Option<&str> = customer.email_hash.as_deref(),
            statuses: &str = customer.status.as_str(),
            signups: Option<DateTime<Utc>> = customer.signup.map(|signup| signup.at),
            signup_links: Option<i64> = customer.signup.and_then(Milestone::link),
            purchases: Option<DateTime<Utc>> = customer.first_purchase.map(|purchase| purchase.at),
            purchase_links: Option<i64> = customer.first_purchase.and_then(Milestone::link),
            from_browsers: bool = customer.key_from_browser,
            contested: bool = customer.key_contested,
            last_purchases: Option<DateTime<Utc>> = customer.last_purchase_at,
            many_leads: bool = customer.many_leads
    );
    expect_rows("customers", customers.len(), updated)
}

pub async fn save_journeys(connection: &mut PgConnection, customers: &[&Customer]) -> StorageResult<()> {
    if customers.is_empty() {
        return Ok(());
    }
    columns!(customer in customers =>
        ids: i64 = customer.customer_id.get(),
        first_at: DateTime<Utc> = customer.journey.first().clicked_at,
        first_links: i64 = customer.journey.first().referral_link_id.get(),
    );
    let touches: Vec<(Vec<Touch>, Vec<Touch>)> = customers
        .iter()
        .map(|customer| by_age(&customer.journey))
        .collect();
    columns!((latest, earlier) in touches =>
        links: String = link_array(latest),
        times: String = time_array(latest),
        earlier_links: String = link_array(earlier),
        earlier_times: String = time_array(earlier),
    );
    let updated = execute!(
        connection,
        "UPDATE customers c
         SET first_click_at = n.first_at, first_referral_link_id = n.first_link,
             touched_link_ids = n.links::bigint[], touched_at = n.times::timestamptz[],
             earlier_link_ids = nullif(n.earlier_links, '{}')::bigint[], earlier_at = nullif(n.earlier_times, '{}')::timestamptz[]
         FROM UNNEST($1::bigint[], $2::timestamptz[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[])
              AS n (id, first_at, first_link, links, times, earlier_links, earlier_times)
         WHERE c.id = n.id",
        &ids,
        &first_at,
        &first_links,
        &links,
        &times,
        &earlier_links,
        &earlier_times,
    );
    expect_rows("customers", customers.len(), updated)
}

/// Splits a journey into each link's latest click and the other stored clicks, for the two pairs of columns.
fn by_age(journey: &Journey) -> (Vec<Touch>, Vec<Touch>) {
    let mut seen = HashSet::new();
    let (mut latest, mut earlier): (Vec<Touch>, Vec<Touch>) = journey
        .touches()
        .iter()
        .rev()
        .partition(|touch| seen.insert(touch.referral_link_id));
    latest.reverse();
    earlier.reverse();
    (latest, earlier)
}

fn link_array(touches: &[Touch]) -> String {
    array_literal(touches.iter().map(|touch| touch.referral_link_id))
}

fn time_array(touches: &[Touch]) -> String {
    array_literal(touches.iter().map(|touch| touch.clicked_at.to_rfc3339()))
}

/// SQL ordinality counts from one.
fn index(position: i64) -> usize {
    usize::try_from(position - 1).unwrap_or(usize::MAX)
}
