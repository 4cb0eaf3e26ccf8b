//! Streams are bounded and refuse messages when full. Settled messages must not fill them.

use reqwest::StatusCode;
use serde_json::json;
use test_harness::Stack;

#[tokio::test]
async fn what_is_settled_leaves_a_stream_that_fills() {
    let stack = Stack::start_set(&[("STREAM_MAX_BYTES", "131072")]).await;
    let program = stack.program().await;
    // Together more than three times the size limit of the stream.
    let page_title = "x".repeat(6_000);
    for _ in 0..70 {
        stack
            .eventually("the stream has room", async || {
                let click = stack.click_with(&program.ada.code, json!({ "page_title": page_title }));
                click.await.status == StatusCode::OK
            })
            .await;
    }
    stack.verify().await;
}
