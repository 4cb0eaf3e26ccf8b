//! The largest bodies and strings that are taken, and what comes back of them.

use serde_json::json;

use crate::malformed::{Route, prepared};
use crate::requests::{nothing_stored, refused};
use crate::rows;
use crate::stack::Stack;

#[tokio::test]
async fn a_body_beyond_64_kib_is_refused_and_one_of_64_kib_is_read() {
    let stack = Stack::start().await;
    let (program, routes) = prepared(&stack).await;
    let before = rows::counts(&stack).await;
    let padded = |route: &Route, bytes: usize| {
        let fixed = route.with("padding", b"\"\"").len();
        route.with("padding", format!("\"{}\"", "x".repeat(bytes - fixed)).as_bytes())
    };
    for route in &routes {
        let answer = route.post(&stack, &program, padded(route, 64 * 1024 + 1)).await;
        refused(&answer, 413, "Request body is too large", route.path);
    }
    nothing_stored(&stack, &program, &before).await;
    for route in &routes {
        let answer = route.post(&stack, &program, padded(route, 64 * 1024)).await;
        assert_eq!(answer.status, 200, "{}: {answer:?}", route.path);
    }
    stack.verify().await;
    stack.stop().await;
}

#[tokio::test]
async fn the_longest_strings_and_stranger_but_valid_text_are_recorded_as_sent() {
    let stack = Stack::start().await;
    let (program, routes) = prepared(&stack).await;
    // Quotes, escapes, astral characters and whatever a database or a log might take for its own.
    let odd = "\"'\\\u{1}\u{7f}\u{1f600}\u{202e}%s{}$1; DROP TABLE customers; --";
    for (field, longest) in routes[0].strings {
        let text: String = odd.chars().cycle().take(*longest).collect();
        let answer = routes[0]
            .post(
                &stack,
                &program,
                routes[0].with(field, json!(text).to_string().as_bytes()),
            )
            .await;
        assert_eq!(answer.status, 200, "{field}: {answer:?}");
    }
    let body = json!({ "transaction_id": odd, "amount_cents": 1, "customer_key": "user-1", "product_id": odd,
                       "line_items": { "a\"\\": [null, 1e-7, odd, { "b": [] }] } });
    assert_eq!(stack.sale(&program, body.clone()).await.status, 200);
    let stored = rows::sale(&stack, odd).await;
    assert_eq!(
        (&stored["product_id"], &stored["line_items"]),
        (&json!(odd), &body["line_items"])
    );
    let refund = json!({ "transaction_id": odd, "refund_reason": odd, "refund_id": odd });
    assert_eq!(stack.refund(&program, refund).await.body["status"], "reversed");
    assert_eq!(rows::commission(&stack, odd).await["refund_reason"], odd);
    let stored: Option<String> =
        sqlx::query_scalar("SELECT page_url FROM click_events WHERE page_url IS NOT NULL")
            .fetch_one(stack.pool())
            .await
            .unwrap();
    assert_eq!(stored, Some(odd.chars().cycle().take(8192).collect()));
    stack.verify().await;
    stack.stop().await;
}
