//! The dashboard's list of events: every click, lead, sale and refund once, even under concurrent changes,
//! and only for users with the right.

mod access;
mod filters;
mod walks;

use runtime::clock::Clock;
use serde_json::{Value, json};
use test_harness::{Answer, Json, Shop, noon};

/// The whole list, read in answers of `limit` events.
async fn whole(shop: &Shop, query: &str, limit: usize) -> Vec<Value> {
    let mut events = Vec::new();
    let mut after = String::new();
    loop {
        let answer = shop
            .get(&format!("events?limit={limit}&{query}&after={after}"))
            .await;
        events.extend(data(&answer));
        match answer.body["meta"]["next"].as_str() {
            Some(next) => next.clone_into(&mut after),
            None => return events,
        }
    }
}

fn data(answer: &Answer) -> Vec<Value> {
    answer.data().as_array().unwrap().clone()
}

/// `type id` of each event, in order.
fn names(events: &[Value]) -> Vec<String> {
    let name = |event: &Value| format!("{} {}", event["event_type"].as_str().unwrap(), event["id"]);
    events.iter().map(name).collect()
}

fn types(events: &[Value]) -> Vec<&str> {
    events
        .iter()
        .map(|event| event["event_type"].as_str().unwrap())
        .collect()
}

/// Adds clicks of Ada's link, one a second, from midnight of this day; `columns` and `values` add further
/// fields.
async fn add_clicks(shop: &Shop, day: &str, count: usize, columns: &str, values: &str) {
    let statement = format!(
        "INSERT INTO click_events (event_id, program_id, referral_link_id, customer_id, click_timestamp, click_id{columns})
         SELECT gen_random_uuid(), {}, {}, i, '{day}T00:00:00Z'::timestamptz + make_interval(secs => i), 'c' || i{values}
         FROM generate_series(1, {count}) i",
        shop.program.program_id, shop.program.ada.link
    );
    shop.stack.execute(&statement).await;
}

#[tokio::test]
async fn one_list_has_what_happened_and_to_whom_it_is_credited() {
    let clock = Clock::manual(noon());
    let shop = Shop::open_at(clock.clone()).await;
    clock.advance(chrono::TimeDelta::minutes(1));
    let commission_id = shop.sell("t1", json!({ "currency": "EUR" })).await;
    clock.advance(chrono::TimeDelta::minutes(1));
    shop.refund("t1", 2_500).await;

    let events = whole(&shop, "", 50).await;
    assert_eq!(types(&events), ["refund", "sale", "lead", "click"]);
    let ada = &shop.program.ada;
    for event in &events {
        assert_eq!(event["partner_program_id"], json!(ada.membership), "{event}");
        assert_eq!(event["partner"]["id"], json!(ada.partner_id), "{event}");
        event.has(json!({
            "referral_link_code": ada.code, "customer_id": events[0]["customer_id"],
            "click_id": events[0]["click_id"], "is_test": false,
        }));
    }
    assert_eq!(events[0]["partner"]["name"], "ada");
    let (refund, sale, signup, visit) = (&events[0], &events[1], &events[2], &events[3]);
    refund.has(json!({
        "timestamp": "2026-03-01T12:02:00.000Z", "transaction_id": "t1", "sale_id": sale["id"],
    }));
    refund.has(json!({ "amount_cents": 2_500, "currency": "EUR" }));
    assert_eq!(sale["timestamp"], "2026-03-01T12:01:00.000Z");
    sale.has(json!({ "amount_cents": 10_000, "refunded_cents": 2_500 }));
    assert_eq!(
        sale["commissions"],
        json!([{
            "id": commission_id, "partner_program_id": ada.membership, "status": "refunded",
            "amount_cents": 2_000, "payable_cents": 1_500, "currency": "EUR",
        }])
    );
    signup.has(json!({ "customer_key": "user-1", "converted": true }));
    visit.has(json!({ "customer_key": "user-1", "converted": true }));

    // The list of the contract has not changed.
    let path = format!("/api/tracking/events/{}", shop.program.program_id);
    let contract = shop.stack.get(&path, &shop.owner.token).await;
    assert_eq!(types(&data(&contract)), ["conversion", "lead", "click"]);
}

#[tokio::test]
async fn every_event_is_read_once_while_others_come() {
    let shop = Shop::open().await;
    let id = shop.program.program_id;
    // All events have ties, within types and across them.
    add_clicks(&shop, "2026-01-01", 70, "", "").await;
    let statement = format!(
        "INSERT INTO click_events (event_id, program_id, referral_link_id, customer_id, click_timestamp, click_id)
         SELECT gen_random_uuid(), {id}, 1, i, '2026-01-01T00:00:07Z', 'd' || i FROM generate_series(1, 25) i;
         INSERT INTO lead_events (event_id, program_id, customer_id, lead_timestamp, click_id)
         SELECT gen_random_uuid(), {id}, i, '2026-01-01T00:00:07Z', 'c' || i FROM generate_series(1, 25) i;
         INSERT INTO sale_events (event_id, program_id, customer_id, processor_event_id, amount_cents, currency, sale_type,
             is_recurring, sale_date)
         SELECT gen_random_uuid(), {id}, i, 't' || i, i, 'USD', 'payment', false, '2026-01-01T00:00:07Z'
         FROM generate_series(1, 25) i"
    );
    shop.stack.execute(&statement).await;
    let expected = names(&whole(&shop, "to=2026-01-01", 100).await);
    assert_eq!(expected.len(), 145);
    for limit in [4, 9, 100] {
        let mut read = Vec::new();
        let mut after = String::new();
        loop {
            let answer = shop
                .get(&format!("events?limit={limit}&to=2026-01-01&after={after}"))
                .await;
            assert!(data(&answer).len() <= limit);
            read.extend(names(&data(&answer)));
            if read.len() < 40 {
                let statement = format!(
                    "INSERT INTO click_events (event_id, program_id, referral_link_id, customer_id, click_timestamp, click_id)
                     VALUES (gen_random_uuid(), {id}, 1, 1, '2026-01-01T22:00:00Z', 'meanwhile')"
                );
                shop.stack.execute(&statement).await;
            }
            match answer.body["meta"]["next"].as_str() {
                Some(next) => next.clone_into(&mut after),
                None => break,
            }
        }
        read.retain(|name| expected.contains(name));
        assert_eq!(read, expected, "in answers of {limit}");
    }
}

#[tokio::test]
async fn a_refund_is_listed_with_what_its_sale_has_left() {
    let shop = Shop::open().await;
    shop.sell("t1", json!({})).await;
    // A list that has read the sale waits for its refunds until a concurrent refund has committed.
    let lock = "LOCK TABLE refunds IN ACCESS EXCLUSIVE MODE";
    let mut refunding = shop.stack.holding(lock).await;
    let refund = async {
        shop.stack.locked_out("the list waits for refunds", 1).await;
        sqlx::raw_sql(
            "INSERT INTO refunds (event_id, sale_id, program_id, channel, refund_key, effective_cents, deducted_cents, refunded_at, outcome)
             SELECT gen_random_uuid(), id, program_id, 'api', 'r1', 2500, 500, sale_date, '{}' FROM sale_events;
             UPDATE sale_events SET api_refunded_cents = 2500",
        )
        .execute(&mut *refunding)
        .await
        .unwrap();
        refunding.commit().await.unwrap();
    };
    let (answer, ()) = tokio::join!(shop.get("events"), refund);
    let left_and_refunds = |answer: &Answer| {
        let events = data(answer);
        let sale = events.iter().find(|event| event["event_type"] == "sale").unwrap();
        let refunds = types(&events).iter().filter(|name| **name == "refund").count();
        (sale["refunded_cents"].clone(), refunds)
    };
    assert_eq!(left_and_refunds(&answer), (json!(0), 0));
    assert_eq!(left_and_refunds(&shop.get("events").await), (json!(2_500), 1));
}
