//! Reads of a large program's events, customers, partners and payouts use indexes: they read about as many
//! rows as they show, not whole tables.

use chrono::{DateTime, NaiveDate, Utc};
use domain::ids::CustomerId;
use domain::reports::program_events::ProgramEventType;
use serde_json::json;
use sqlx::PgConnection;
use storage::page::Window;
use storage::program::links;
use storage::reads::commission_lists::{self, Wanted};
use storage::reads::program_events::{self, Filter, PageRead, Searched, Subjects};
use storage::reads::{customer_timeline, partner_days, partner_payouts, payout_lists};
use test_harness::{Person, Shop};

/// Rows of each table that no read asks for.
const CROWD: i64 = 20_000;
/// The most rows that one read may take from all tables together.
const MOST: i64 = 1_500;

/// Rows read by sequential scans, and entries read from indexes, in this transaction.
const ROWS_READ: &str = "SELECT coalesce(sum(pg_stat_get_xact_tuples_returned(oid)), 0)::bigint FROM pg_class
                         WHERE relkind IN ('r', 'i') AND oid >= 16384";

/// Copies the first row of a table, with other fields.
async fn crowd(shop: &Shop, table: &str, first: &str, fields: &str) {
    let statement = format!(
        "INSERT INTO {table} OVERRIDING SYSTEM VALUE SELECT r.*
             FROM (SELECT t FROM {table} t WHERE {first} LIMIT 1) one, generate_series(1, {CROWD}) i,
                  LATERAL jsonb_populate_record(t, jsonb_build_object({fields})) r;
             ANALYZE {table}"
    );
    shop.stack.execute(&statement).await;
}

/// One customer of Ada went from a click to a payout. Bruno has many customers, and so has Ada without
/// payouts.
async fn large_shop() -> (Shop, Person) {
    let shop = Shop::open().await;
    let (ada, bruno) = (&shop.program.ada, &shop.program.bruno);
    let person = shop
        .stack
        .account_of("ada@partner.example", &[ada.partner_id])
        .await;
    let commission = shop.sell("t1", json!({})).await;
    shop.refund("t1", 100).await;
    shop.approve(&[commission]).await;
    shop.pay(json!({ "commission_ids": [commission] })).await;
    shop.stack.reaches("click_events", 1).await;
    shop.stack.reaches("rollup_deltas", 0).await;
    let of = |name: &str, of_ada: i64, of_bruno: i64| {
        format!("'{name}', CASE WHEN i % 2 = 0 THEN {of_ada} ELSE {of_bruno} END")
    };
    let link = of("referral_link_id", ada.link.get(), bruno.link.get());
    let membership = of("partner_program_id", ada.membership.get(), bruno.membership.get());
    let partner = of("partner_id", ada.partner_id.get(), bruno.partner_id.get());
    let whose = "'id', -i, 'customer_id', -i, 'event_id', gen_random_uuid(), 'click_id', 'c' || i";
    for (table, first, fields) in [
        ("customers", "true", "'id', -i, 'click_id', 'c' || i, 'customer_key', 'k' || i, 'email_hash', 'h' || i".to_owned()),
        ("click_events", "true", format!("{whose}, 'click_timestamp', (t).click_timestamp - make_interval(secs => i), {link}")),
        ("lead_events", "true", format!("{whose}, 'lead_timestamp', (t).lead_timestamp - make_interval(secs => i)")),
        ("sale_events", "true", format!("{whose}, 'processor_event_id', 's' || i, 'sale_date', (t).sale_date - make_interval(secs => i), {link}")),
        ("refunds", "true", "'id', -i, 'event_id', gen_random_uuid(), 'sale_id', -i, 'refunded_at', (t).refunded_at - make_interval(secs => i)".to_owned()),
        ("payouts", "true", "'id', 1000000 + i, 'event_id', gen_random_uuid()".to_owned()),
        ("commissions", "true", format!("'id', -i, 'sale_id', -i, 'customer_id', -i, 'payout_id', NULL, 'paid_at', NULL, 'status', 'pending', {link}, {membership}, {partner}")),
        ("ledger_entries", "kind = 'accrual'", format!("'id', -i, 'commission_id', -i, 'sale_id', -i, {membership}, {partner}")),
        ("partners", "true", "'id', -i, 'name', 'Crowd ' || i, 'email', 'crowd' || i || '@crowd.example', 'user_id', NULL".to_owned()),
        ("partner_programs", "true", "'id', -i, 'partner_id', -i".to_owned()),
        ("referral_links", "true", "'id', -i, 'partner_id', -i, 'partner_program_id', -i, 'short_code', 'crowd' || i".to_owned()),
        ("link_days", "true", "'referral_link_id', -i".to_owned()),
    ] {
        crowd(&shop, table, first, &fields).await;
    }
    (shop, person)
}

async fn rows_read(connection: &mut PgConnection) -> i64 {
    sqlx::query_scalar(ROWS_READ).fetch_one(connection).await.unwrap()
}

async fn is_bounded(
    connection: &mut PgConnection,
    what: &str,
    read: impl AsyncFnOnce(&mut PgConnection) -> usize,
) {
    let before = rows_read(connection).await;
    let found = read(connection).await;
    let rows = rows_read(connection).await - before;
    assert!(found > 0, "{what}: nothing was found");
    assert!(rows < MOST, "{what}: {rows} rows were read");
}

fn everything() -> Filter {
    let types = ProgramEventType::ALL.to_vec();
    Filter::of_types(types, DateTime::UNIX_EPOCH, DateTime::<Utc>::MAX_UTC)
}

#[tokio::test]
async fn lists_of_events_read_what_they_show() {
    let (shop, _) = large_shop().await;
    let program_id = shop.program.program_id;
    let query = "SELECT id FROM customers WHERE customer_key = 'user-1'";
    let customer: i64 = shop.stack.value(query).await;
    let clicks_of = |link: i64| Filter {
        types: vec![ProgramEventType::Click],
        links: Some(vec![link]),
        ..everything()
    };
    let of = |customers: &[i64], sales: &[i64]| Filter {
        subjects: Some(Subjects {
            customers: customers.to_vec(),
            sales: sales.to_vec(),
        }),
        ..everything()
    };
    let mut transaction = shop.stack.pool().begin().await.unwrap();
    for (what, filter) in [
        ("all", everything()),
        ("a partner's clicks", clicks_of(shop.program.ada.link.get())),
        ("a customer's", of(&[customer], &[])),
        ("a stranger's", of(&[-7], &[])),
        ("a sale's", of(&[], &[-7])),
    ] {
        is_bounded(&mut transaction, what, async |connection| {
            let read = PageRead {
                program_id,
                filter: &filter,
                after: None,
                limit: 50,
                with_commissions: true,
            };
            program_events::page(connection, &read)
                .await
                .unwrap()
                .events
                .len()
        })
        .await;
    }
    for text in ["k7", "s7", "h7"] {
        is_bounded(&mut transaction, text, async |connection| {
            let email_hashes = [text.to_owned()];
            let searched = Searched {
                text,
                click_id_customers: &[-8],
                email_hashes: &email_hashes,
            };
            let found = program_events::search(connection, program_id, searched)
                .await
                .unwrap();
            found.customers.len() + found.sales.len()
        })
        .await;
    }
    is_bounded(&mut transaction, "a timeline's commissions", async |connection| {
        let commissions =
            customer_timeline::commissions(connection, program_id, CustomerId::new(customer), None)
                .await
                .unwrap();
        let ids: Vec<i64> = commissions.iter().map(|commission| commission.id).collect();
        customer_timeline::ledger(connection, &ids).await.unwrap().len()
    })
    .await;
}

#[tokio::test]
async fn lists_of_partners_and_of_theirs_read_what_they_show() {
    let (shop, person) = large_shop().await;
    let (program_id, ada) = (shop.program.program_id, &shop.program.ada);
    let page = Window {
        up_to: i64::MAX,
        offset: 0,
        limit: 25,
    };
    let mut transaction = shop.stack.pool().begin().await.unwrap();
    is_bounded(&mut transaction, "links", async |connection| {
        let filter = links::list::Filter {
            membership: Some(ada.membership),
            ..links::list::Filter::default()
        };
        links::list::page(connection, program_id, &filter, None, page)
            .await
            .unwrap()
            .0
            .len()
    })
    .await;
    is_bounded(&mut transaction, "payouts", async |connection| {
        let all = payout_lists::Filter::default();
        let (payouts, _) = partner_payouts::received(connection, person.user_id, None, &all, None, page)
            .await
            .unwrap();
        let (shared, _) =
            partner_payouts::of_membership(connection, program_id, ada.membership, &all, None, page)
                .await
                .unwrap();
        payouts.len() + shared.len()
    })
    .await;
    let payout: i64 = shop.stack.value("SELECT min(id) FROM payouts").await;
    is_bounded(&mut transaction, "a payout's commissions", async |connection| {
        let wanted = Wanted {
            payout_id: Some(payout.into()),
            ..Wanted::default()
        };
        let filter = commission_lists::Filter::resolve(connection, program_id, &wanted)
            .await
            .unwrap()
            .unwrap();
        commission_lists::page(connection, program_id, &filter, None, page)
            .await
            .unwrap()
            .0
            .len()
    })
    .await;
    is_bounded(&mut transaction, "days", async |connection| {
        let last = NaiveDate::from_ymd_opt(9_000, 1, 1).unwrap();
        partner_days::partner_days(connection, &[ada.membership.get()], NaiveDate::default(), last)
            .await
            .unwrap()
            .len()
    })
    .await;
}
