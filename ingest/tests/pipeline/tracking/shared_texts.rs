//! Texts that many visitors send are stored once.

use serde_json::json;
use test_harness::{Json, Program, Stack};

const BROWSER: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0";
const TITLE: &str = "Prices of everything we sell";
/// Once this many visitors have sent a text, it identifies none of them.
const MANY: usize = 100;

async fn visits(stack: &Stack, program: &Program, count: usize) -> Vec<String> {
    let stored: i64 = stack.count("click_events").await;
    let mut click_ids = Vec::new();
    for _ in 0..count {
        let visit = json!({ "user_agent": BROWSER, "page_title": TITLE });
        let click = stack.click_with(&program.ada.code, visit).await;
        click_ids.push(click.body["click_id"].as_str().unwrap().to_owned());
    }
    stack
        .reaches("click_events", stored + i64::try_from(count).unwrap())
        .await;
    click_ids
}

#[tokio::test]
async fn a_user_agent_and_a_title_that_many_visitors_bring_are_stored_once() {
    let (stack, program) = Stack::with_program().await;
    let first = visits(&stack, &program, MANY - 1).await;
    assert_eq!(stack.count("shared_texts").await, 0);
    assert_eq!(stack.count("click_events WHERE user_agent IS NULL").await, 0);

    let shared = visits(&stack, &program, 2).await;
    assert_eq!(stack.count("shared_texts").await, 2);
    let by_number =
        "click_events WHERE user_agent IS NULL AND page_title IS NULL AND user_agent_id IS NOT NULL
                     AND page_title_id IS NOT NULL";
    assert_eq!(stack.count(by_number).await, 2);
    let owner = stack.owner_of(&program).await;
    for click_id in [&first[0], &shared[1]] {
        let customer = json!({ "click_id": click_id });
        let exported = owner.submit(&program.path("customers/export"), customer).await;
        let event = &exported.data()["click_events"][0];
        event.has(json!({ "user_agent": BROWSER, "page_title": TITLE, "browser_name": "Firefox" }));
        assert_eq!(event.get("user_agent_id"), None);
    }
    stack.verify().await;
}

#[tokio::test]
async fn who_is_erased_leaves_no_reference_to_a_shared_text() {
    let (stack, program) = Stack::with_program().await;
    let visitors = visits(&stack, &program, MANY + 1).await;
    let owner = stack.owner_of(&program).await;
    let named = json!({ "click_id": visitors[MANY] });
    owner.submit(&program.path("customers/erase"), named).await.ok();
    let of_nobody =
        "click_events WHERE click_id LIKE 'erased%' AND user_agent_id IS NULL AND page_title_id IS NULL";
    assert_eq!(stack.count(of_nobody).await, 1);
    stack.verify().await;
}

#[tokio::test]
async fn a_text_that_one_visitor_brings_again_and_again_stays_theirs() {
    let (stack, program) = Stack::with_program().await;
    let click_id = visits(&stack, &program, 1).await.remove(0);
    for _ in 0..MANY {
        let again = json!({ "user_agent": BROWSER, "page_title": TITLE, "existing_click_id": click_id });
        let again = stack.click_with(&program.ada.code, again).await;
        assert_eq!(again.body["click_id"], click_id.as_str());
    }
    stack
        .reaches("click_events", i64::try_from(MANY).unwrap() + 1)
        .await;
    assert_eq!(stack.count("shared_texts").await, 0);
}
