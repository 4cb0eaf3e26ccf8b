//! Dead letters belong to the program that they name: its users reach them, and users of other programs do
//! not.

use messages::envelope;
use messages::subject::Subject;
use serde_json::value::to_raw_value;
use serde_json::{Value, json};
use test_harness::{Stack, Streams, ctl, managed::audited};

use super::jane::{EMAIL, Jane, KEY};
use super::{rows, standing};

/// A sale that no worker can read, with all of Jane's names; and two records that name no program: a
/// browser's lead, and a message that is not even JSON.
async fn more_put_aside(jane: &Jane) {
    let stack = &jane.stack;
    let sale = json!({
        "event_id": stack.clock.mint(), "program_id": jane.program.program_id,
        "sale": { "customer_key": KEY, "click_id": jane.click_id, "currency": "USD", "customer_email": EMAIL },
    });
    let lead = json!({
        "event_id": stack.clock.mint(),
        "lead": { "mode": "browser", "customer_key": KEY, "click_id": jane.click_id },
    });
    let streams = Streams::of(stack).await;
    let records = [
        (
            Subject::Sales,
            envelope::encode(None, &[to_raw_value(&sale).unwrap()]),
        ),
        (
            Subject::Leads,
            envelope::encode(None, &[to_raw_value(&lead).unwrap()]),
        ),
        (Subject::Sales, format!("<{EMAIL}> USD {}", jane.click_id).into()),
    ];
    for (subject, message) in records {
        streams.publish(subject, message).await;
    }
    let statement = format!(
        "INSERT INTO processor_events (event_id, processor_event_id, kind, occurred_at, received_at, state, payload)
         VALUES (gen_random_uuid(), 'evt_of_none', 'charge.refunded', now(), now(), 'review',
                 '{{\"receipt_email\": \"{EMAIL}\", \"currency\": \"USD\"}}')"
    );
    stack.execute(&statement).await;
    stack.reaches("dead_letters", 4).await;
}

async fn put_aside(stack: &Stack) -> Vec<Value> {
    let mut all = Vec::new();
    for table in ["dead_letters", "transaction_claims", "processor_events"] {
        all.extend(rows(stack, table, "true").await);
    }
    all
}

#[tokio::test]
async fn another_tenants_owner_reads_and_erases_nothing() {
    let jane = Jane::came().await;
    more_put_aside(&jane).await;
    let stack = &jane.stack;
    let other = stack.program().await;
    let mallory = stack.owner_of(&other).await;
    let before = put_aside(stack).await;
    let ask = async |what: &str, named: &Value| {
        let path = other.path(&format!("customers/{what}"));
        stack.submit(&path, Some(&mallory.token), named.clone()).await
    };
    for what in ["export", "erase"] {
        for no_address in ["USD", "@", "jane", "a@", "@b"] {
            let answer = ask(what, &json!({ "email": no_address })).await;
            answer.refused(400, "email must be an e-mail address");
        }
        for named in [
            json!({ "email": "%@%" }),
            json!({ "email": EMAIL }),
            json!({ "click_id": jane.click_id }),
            json!({ "click_id": "USD" }),
            json!({ "customer_key": KEY }),
            json!({ "customer_key": "USD" }),
            json!({ "customer_key": KEY, "email": EMAIL, "click_id": jane.click_id }),
        ] {
            let answer = ask(what, &named).await.ok();
            let parts = answer.body["data"].as_object().unwrap();
            let nothing = |part: &Value| *part == json!([]) || *part == json!(0);
            assert!(parts.values().all(nothing), "{what} {named}: {answer:?}");
        }
        assert_eq!(put_aside(stack).await, before, "{what}");
    }
    assert_eq!(audited(stack, "customer.erased").await, 0);
}

#[tokio::test]
async fn records_of_no_program_are_for_operators() {
    let jane = Jane::came().await;
    more_put_aside(&jane).await;
    let stack = &jane.stack;
    let of_no_program = async || {
        [
            rows(stack, "dead_letters", "program_id IS NULL").await,
            rows(stack, "processor_events", "program_id IS NULL").await,
        ]
        .concat()
    };
    let before = of_no_program().await;
    assert_eq!(before.len(), 3);
    let all = json!({ "customer_key": KEY, "email": EMAIL, "click_id": jane.click_id });
    let exported = jane.ask("export", all.clone()).await.ok();
    let unprocessed = exported.body["data"]["unprocessed"].as_array().unwrap();
    assert_eq!(unprocessed.len(), 4, "{unprocessed:?}");
    let erased = jane.ask("erase", all).await.ok();
    assert_eq!(erased.body["data"]["unprocessed"], 4);
    assert_eq!(of_no_program().await, before);
    let erased = format!(
        "customer erase --yes --program-id {} --click-id {} --email {EMAIL}",
        jane.program.program_id, jane.click_id
    );
    let erased = ctl(stack, &erased).await;
    assert_eq!(erased.fact("unprocessed"), "3");
    assert_eq!(standing(stack, &[EMAIL, KEY, &jane.click_id]).await, [""; 0]);
}
