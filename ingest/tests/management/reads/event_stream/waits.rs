use std::time::Duration;

use domain::programs::outbound_event::OutboundEventType;
use reqwest::{Method, Response, StatusCode};
use serde_json::{Value, json};
use test_harness::{Program, Stack};

use super::{Reader, next, path};

const TYPE: OutboundEventType = OutboundEventType::SaleRecorded;

/// A read that waits: its answer has begun, so there was no event.
async fn waiting(stack: &Stack, program: &Program, key: &str, query: &str) -> Response {
    let request = stack.request(Method::GET, &path(program, query)).bearer_auth(key);
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    response
}

/// The complete answer of a read that waited.
async fn answered(response: Response) -> Value {
    serde_json::from_str(&response.text().await.unwrap()).unwrap()
}

impl Reader {
    async fn waiting(&self, query: &str) -> Response {
        let query = format!("after={}&{query}", self.start);
        waiting(&self.stack, &self.program, &self.key, &query).await
    }
}

#[tokio::test]
async fn an_event_wakes_who_waits_for_it() {
    let reader = Reader::begun().await;
    let waits = reader.waiting("wait=30").await;
    let for_clicks = reader.waiting("wait=30&types=click.recorded").await;
    let happened = reader.happens(TYPE).await;
    reader.place().await;
    let body = answered(waits).await;
    assert_eq!(body["data"][0]["id"], json!(happened));
    assert_eq!(body["meta"]["has_more"], false);
    let click = reader.clicks(1).await;
    reader.place().await;
    let body = answered(for_clicks).await;
    assert_eq!(body["data"].as_array().unwrap().len(), 1);
    assert_eq!(body["data"][0]["id"], json!(click[0]));
}

#[tokio::test]
async fn who_waited_in_vain_is_answered_with_a_cursor() {
    let reader = Reader::begun().await;
    // Another program's events end no wait.
    let other = reader.stack.program().await;
    let mut connection = reader.stack.pool().acquire().await.unwrap();
    let waits = reader.waiting("wait=1").await;
    super::add(&mut connection, &other, TYPE, None).await;
    reader.place().await;
    let body = answered(waits).await;
    assert_eq!(body["data"], json!([]));
    assert_eq!(body["meta"]["has_more"], false);
    let happened = reader.happens(TYPE).await;
    reader.place().await;
    let page = reader.after(body["meta"]["next"].as_str().unwrap()).await;
    assert_eq!(page.body["data"][0]["id"], json!(happened));
    // Existing events are answered at once.
    let page = reader.read(&format!("after={}&wait=30", reader.start)).await;
    assert_eq!(page.body["data"][0]["id"], json!(happened));
    assert_ne!(next(&page), reader.start);
}

#[tokio::test]
async fn who_may_not_read_any_more_is_told_nothing() {
    let reader = Reader::begun().await;
    let waits = reader.waiting("wait=30").await;
    let statement = "UPDATE management_keys SET status = 'revoked', revoked_at = now()";
    reader.stack.execute(statement).await;
    reader.happens(TYPE).await;
    reader.place().await;
    let body = answered(waits).await;
    assert_eq!(body["data"], json!([]));
    let again = reader.get("").await;
    assert_eq!(again.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn those_who_wait_hold_no_connection_have_a_limit_and_are_answered_at_a_shutdown() {
    let reader = Reader::begun().await;
    let other = reader.stack.program().await;
    let others = reader.stack.owner_of(&other).await;
    let mut waits = Vec::new();
    for _ in 0..32 {
        waits.push(reader.waiting("wait=30").await);
    }
    let one_too_many = reader.get(&format!("after={}&wait=30", reader.start)).await;
    assert_eq!(one_too_many.status, StatusCode::SERVICE_UNAVAILABLE);
    // A read that does not wait is answered, and so is a read of another workspace.
    reader.after(&reader.start).await;
    waits.push(waiting(&reader.stack, &other, &others.token, "wait=30").await);
    // A permit is free as soon as its client has disconnected.
    drop(waits.swap_remove(0));
    let query = format!("after={}&wait=30", reader.start);
    reader
        .stack
        .eventually("the place is free", async || {
            let request = reader
                .stack
                .request(Method::GET, &reader.path(&query))
                .bearer_auth(&reader.key);
            request.send().await.unwrap().status() == StatusCode::OK
        })
        .await;
    let shut_down = async {
        drop(reader.stack);
        let mut bodies = Vec::new();
        for wait in waits {
            bodies.push(answered(wait).await);
        }
        bodies
    };
    let bodies = tokio::time::timeout(Duration::from_mins(1), shut_down)
        .await
        .unwrap();
    for body in bodies {
        assert_eq!(body["data"], json!([]));
        assert!(body["meta"]["next"].is_string());
    }
}
