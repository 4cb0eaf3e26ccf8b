//! A browser binds another customer's key to its own click. A backend call that names the other click undoes
//! this.

use std::time::Duration;

use messages::subject::Subject;
use reqwest::StatusCode;
use serde_json::{Value, json};
use test_harness::{
    Program, Stack, Streams, digests,
    leads::{browser, server},
    rows, two_clicks,
};

const KEY: &str = "1001";

fn lead_of(click_id: &str) -> Value {
    json!({ "click_id": click_id, "customer_key": KEY })
}

fn sale_through(transaction_id: &str, click_id: Option<&str>) -> Value {
    json!({ "transaction_id": transaction_id, "amount_cents": 5000, "customer_key": KEY, "click_id": click_id })
}

async fn sold(stack: &Stack, program: &Program, transaction_id: &str, click_id: Option<&str>) {
    stack.sold(program, sale_through(transaction_id, click_id)).await;
}

async fn signals(stack: &Stack, transaction_id: &str) -> Value {
    rows::commission(stack, transaction_id).await["signals"].clone()
}

async fn key_of(stack: &Stack, click_id: &str) -> Value {
    rows::customer(stack, click_id).await["customer_key"].clone()
}

async fn is_contested(stack: &Stack, transaction_id: &str) -> bool {
    let signals = signals(stack, transaction_id).await;
    signals.to_string().contains("contested_key")
}

/// Asserts that the key is the second customer's.
async fn key_moved(stack: &Stack, from: &str, to: &str) {
    let keys = [key_of(stack, from).await, key_of(stack, to).await];
    assert_eq!(keys, [Value::Null, json!(KEY)]);
}

#[tokio::test]
async fn a_key_bound_by_a_browser_yields_to_the_backends_word_in_any_order() {
    let stack = Stack::start().await;
    for order in [
        "thief lead sale",
        "thief sale lead",
        "lead thief sale",
        "lead sale thief",
        "sale thief lead",
        "sale lead thief",
    ] {
        let program = stack.program().await;
        let (theirs, own) = two_clicks(&stack, &program).await;
        let transaction_id = format!("{order} {}", program.program_id);
        for step in order.split(' ') {
            match step {
                "thief" => drop(browser(&stack, lead_of(&theirs)).await),
                "lead" => drop(server(&stack, &program, lead_of(&own)).await),
                _ => sold(&stack, &program, &transaction_id, Some(&own)).await,
            }
        }
        assert_eq!(stack.balances(&program).await, [0, 1_000], "{order}");
        key_moved(&stack, &theirs, &own).await;
        sold(&stack, &program, &format!("key alone, {transaction_id}"), None).await;
        assert_eq!(stack.balances(&program).await, [0, 2_000], "{order}");
        let contested = is_contested(&stack, &transaction_id).await;
        assert_eq!(contested, order.starts_with("thief"), "{order}");
    }
    let streams = Streams::of(&stack).await;
    streams.drained(&stack).await;
    let before = digests(&stack).await;
    streams.replay(&stack).await;
    assert_eq!(digests(&stack).await, before);
    stack.verify().await;
}

#[tokio::test]
async fn a_browsers_key_and_the_backends_word_in_one_batch_end_alike() {
    let mut stack = Stack::start().await;
    let program = stack.program().await;
    let (theirs, own) = two_clicks(&stack, &program).await;
    stack.stop_workers().await;
    let browsers = stack.tracking("lead").json(&lead_of(&theirs));
    let backends = stack.tracking("lead").json(&lead_of(&own));
    let browsers = tokio::spawn(browsers.send());
    tokio::time::sleep(Duration::from_millis(300)).await;
    let backends = tokio::spawn(backends.bearer_auth(&program.token).send());
    tokio::time::sleep(Duration::from_millis(300)).await;
    stack.start_worker();
    for sent in [browsers, backends] {
        assert_eq!(sent.await.unwrap().unwrap().status(), StatusCode::OK);
    }
    assert_eq!(key_of(&stack, &own).await, KEY);
    sold(&stack, &program, "t1", None).await;
    assert_eq!(stack.balances(&program).await, [0, 1_000]);
    stack.verify().await;
}

#[tokio::test]
async fn a_key_bound_by_a_browser_waits_for_the_click_that_the_backend_names() {
    let (stack, program) = Stack::with_program().await;
    let streams = Streams::of(&stack).await;
    let theirs = stack.click(&program.ada.code).await;
    rows::counted(&stack, program.ada.link, 1).await;
    browser(&stack, lead_of(&theirs)).await;
    let holding_up = stack.hold_up_clicks().await;
    let own = stack.click(&program.bruno.code).await;
    let release = async {
        let in_hand = async || streams.in_hand(Subject::Sales).await == 1;
        stack.eventually("a worker has the sale", in_hand).await;
        holding_up.rollback().await.unwrap();
    };
    tokio::join!(sold(&stack, &program, "t1", Some(&own)), release);
    assert_eq!(stack.balances(&program).await, [0, 1_000]);
    stack.verify().await;
}

#[tokio::test]
async fn only_the_same_click_with_the_key_confirms_what_a_browser_bound() {
    let (stack, program) = Stack::with_program().await;
    let (theirs, own) = two_clicks(&stack, &program).await;
    browser(&stack, lead_of(&theirs)).await;
    // This sale sends only the key: the browser's binding counts, and stays a browser's.
    sold(&stack, &program, "t1", None).await;
    assert_eq!(signals(&stack, "t1").await, json!(["fast_sale"]));
    sold(&stack, &program, "t2", Some(&own)).await;
    assert_eq!(stack.balances(&program).await, [1_000, 1_000]);
    for transaction_id in ["t1", "t2"] {
        let signals = signals(&stack, transaction_id).await;
        assert_eq!(signals, json!(["fast_sale", "contested_key"]));
    }
    assert_eq!(rows::customer(&stack, &theirs).await["status"], "conversion");

    let confirmed = stack.program().await;
    let (first, second) = two_clicks(&stack, &confirmed).await;
    browser(&stack, lead_of(&first)).await;
    sold(&stack, &confirmed, "t3", Some(&first)).await;
    sold(&stack, &confirmed, "t4", Some(&second)).await;
    assert_eq!(stack.balances(&confirmed).await, [2_000, 0]);
    stack.verify().await;
}

#[tokio::test]
async fn a_click_of_another_program_moves_no_key() {
    let stack = Stack::start().await;
    let (program, other) = (stack.program().await, stack.program().await);
    let (theirs, _) = two_clicks(&stack, &program).await;
    let foreign = stack.click(&other.bruno.code).await;
    rows::counted(&stack, other.bruno.link, 1).await;
    browser(&stack, lead_of(&theirs)).await;
    sold(&stack, &program, "t1", Some(&foreign)).await;
    assert_eq!(stack.balances(&program).await, [1_000, 0]);
    assert_eq!(key_of(&stack, &theirs).await, KEY);
    stack.verify().await;
}

#[tokio::test]
async fn a_key_bound_by_a_browser_yields_to_a_backends_lead_that_is_refused() {
    let stack = Stack::start().await;
    for order in [
        "thief signup lead",
        "signup thief lead",
        "signup-by-server thief lead",
        "thief purchase lead",
    ] {
        let program = stack.program().await;
        let (theirs, own) = two_clicks(&stack, &program).await;
        let transaction_id = format!("{order} {}", program.program_id);
        for step in order.split(' ') {
            match step {
                "thief" => drop(browser(&stack, lead_of(&theirs)).await),
                "signup" => drop(browser(&stack, json!({ "click_id": own })).await),
                "signup-by-server" => drop(server(&stack, &program, json!({ "click_id": own })).await),
                "purchase" => {
                    let sale = json!({ "transaction_id": format!("first {transaction_id}"), "amount_cents": 5000, "click_id": own });
                    stack.sold(&program, sale).await;
                }
                _ => {
                    let lead = server(&stack, &program, lead_of(&own)).await;
                    let because = "Customer status cannot be updated to lead";
                    assert!(lead.message().starts_with(because), "{lead:?}");
                }
            }
        }
        sold(&stack, &program, &transaction_id, None).await;
        assert_eq!(stack.balance(program.ada.membership).await, 0, "{order}");
        key_moved(&stack, &theirs, &own).await;
        assert!(is_contested(&stack, &transaction_id).await, "{order}");
    }
    stack.verify().await;
}

#[tokio::test]
async fn a_key_bound_by_a_browser_yields_to_a_sale_outside_the_attribution_window() {
    let (stack, program) = Stack::with_program().await;
    let (theirs, own) = two_clicks(&stack, &program).await;
    browser(&stack, lead_of(&theirs)).await;
    let statement = "UPDATE customers SET first_click_at = first_click_at - interval '400 days', touched_at = ARRAY[touched_at[1] - interval '400 days'] WHERE customer_key IS NULL";
    stack.execute(statement).await;
    let sale = stack.sale(&program, sale_through("t1", Some(&own))).await;
    assert_eq!(sale.body["attributed"], false, "{sale:?}");
    assert_eq!(key_of(&stack, &theirs).await, Value::Null);
    let again = stack.sale(&program, sale_through("t2", None)).await;
    assert_eq!(again.body["attributed"], false, "{again:?}");
    assert_eq!(stack.balances(&program).await, [0, 0]);
    stack.verify().await;
}
