use std::time::Duration;

use reqwest::{Method, RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};

use test_harness::{Json, Person, Program, Stack, sale_of, test_mode};

/// For events that normally arrive within a second.
const PATIENCE: Duration = Duration::from_mins(1);

/// A stream of server-sent events, read one by one.
struct Live {
    response: Response,
    text: String,
    /// The last `id`.
    id: String,
}

impl Live {
    /// Returns once the service listens: later events arrive.
    async fn open(stack: &Stack, program: &Program, person: &Person) -> Self {
        let path = format!("/api/tracking/live/{}", program.program_id);
        Self::listen(stack.request(Method::GET, &path).bearer_auth(&person.token)).await
    }

    /// Continues where another stream stopped.
    async fn resume(stack: &Stack, program: &Program, person: &Person, id: &str) -> Self {
        let path = format!("/api/tracking/live/{}", program.program_id);
        let request = stack.request(Method::GET, &path).bearer_auth(&person.token);
        Self::listen(request.header("last-event-id", id)).await
    }

    async fn listen(request: RequestBuilder) -> Self {
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        let mut live = Self {
            response,
            text: String::new(),
            id: String::new(),
        };
        assert!(live.part().await.unwrap().starts_with(": listening"));
        live
    }

    /// The next part; `None` at the end of the stream.
    async fn part(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.text.find("\n\n") {
                let rest = self.text.split_off(end + 2);
                let part = std::mem::replace(&mut self.text, rest);
                if let Some(id) = part.lines().find_map(|line| line.strip_prefix("id: ")) {
                    id.clone_into(&mut self.id);
                }
                return Some(part.trim_end().to_owned());
            }
            let bytes = self.response.chunk().await.unwrap()?;
            self.text.push_str(std::str::from_utf8(&bytes).unwrap());
        }
    }

    /// The next event: its name and its data.
    async fn event(&mut self) -> Option<(String, Value)> {
        loop {
            let part = self.part().await?;
            let field = |name: &str| part.lines().find_map(|line| line.strip_prefix(name));
            // A heartbeat has no data.
            if let Some(data) = field("data: ") {
                return Some((
                    field("event: ").unwrap().to_owned(),
                    serde_json::from_str(data).unwrap(),
                ));
            }
        }
    }
}

#[tokio::test]
async fn events_show_as_they_come_test_events_marked_and_others_not_at_all() {
    let (stack, program) = Stack::with_program().await;
    let other = stack.program().await;
    let own = stack.owner_of(&program).await;
    let before = stack.click(&program.ada.code).await;
    test_harness::rows::counted(&stack, program.ada.link, 1).await;
    let mut live = Live::open(&stack, &program, &own).await;

    let test = test_mode();
    stack.click_with(&other.ada.code, test.clone()).await.ok();
    stack.click_with(&program.ada.code, test).await.ok();
    let (name, data) = live.event().await.unwrap();
    let row = format!(
        "SELECT id FROM click_events WHERE is_test AND program_id = {}",
        program.program_id
    );
    let row: i64 = stack.value(&row).await;
    assert_eq!(name, "click");
    data.has(json!({ "id": row, "is_test": true, "event_type": "click" }));

    stack.lead(&program, &before, "user-1").await.ok();
    let (name, data) = live.event().await.unwrap();
    assert_eq!(name, "lead");
    data.has(json!({ "customer_key": "user-1", "is_test": false }));
    stack.sold(&program, sale_of("t1", "user-1")).await;
    let (name, data) = live.event().await.unwrap();
    let customer: i64 = stack.value("SELECT id FROM customers").await;
    assert_eq!(name, "conversion");
    data.has(json!({ "processor_event_id": "t1", "customer_id": customer }));
    // The fields that the list shows of a conversion, whether it is a test, and the id of its customer's
    // page. No other data of a person.
    let mut fields: Vec<_> = data.as_object().unwrap().keys().map(String::as_str).collect();
    fields.sort_unstable();
    assert_eq!(
        fields,
        [
            "amount_cents",
            "click_id",
            "createdAt",
            "currency",
            "customer_id",
            "event_type",
            "id",
            "is_recurring",
            "is_test",
            "payment_status",
            "processor_event_id",
            "sale_type",
            "timestamp",
        ]
    );
    drop(live);
}

#[tokio::test]
async fn a_stream_that_cannot_show_everything_says_so() {
    let (stack, program) = Stack::with_program().await;
    let own = stack.owner_of(&program).await;
    let mut live = Live::open(&stack, &program, &own).await;
    let statement = format!(
        "INSERT INTO click_events (event_id, program_id, referral_link_id, customer_id, click_timestamp, click_id)
         SELECT gen_random_uuid(), {}, 1, i, now(), 'c' || i FROM generate_series(1, 150) i",
        program.program_id
    );
    stack.execute(&statement).await;
    assert_eq!(
        live.event().await.unwrap(),
        ("dropped".to_owned(), json!({ "event_type": "click" }))
    );
    for _ in 0..100 {
        assert_eq!(live.event().await.unwrap().0, "click");
    }
    drop(live);
}

/// After a lost connection or a paused page no event is missing.
#[tokio::test]
async fn a_stream_goes_on_where_it_stopped() {
    let (stack, program) = Stack::with_program().await;
    let own = stack.owner_of(&program).await;
    let mut live = Live::open(&stack, &program, &own).await;
    let start = live.id.clone();
    let mut shown = Vec::new();
    for _ in 0..2 {
        stack.click(&program.ada.code).await;
        shown.push(live.event().await.unwrap().1["id"].clone());
    }
    let stopped_at = live.id.clone();
    drop(live);
    // A click while the stream is closed.
    stack.click(&program.ada.code).await;
    test_harness::rows::counted(&stack, program.ada.link, 3).await;
    let missed: i64 = stack.value("SELECT max(id) FROM click_events").await;
    for id in [&start, &stopped_at] {
        let mut live = Live::resume(&stack, &program, &own, id).await;
        // Some events may arrive twice, but none is missing.
        loop {
            let (name, data) = live.event().await.unwrap();
            assert_eq!(name, "click");
            if data["id"] == json!(missed) {
                break;
            }
            assert!(shown.contains(&data["id"]), "{data}");
        }
    }

    // A client that was away for too long is notified of the gap.
    let long_ago = (start.parse::<i64>().unwrap() - 3_600_000).to_string();
    let mut live = Live::resume(&stack, &program, &own, &long_ago).await;
    for event_type in ["click", "lead", "conversion"] {
        assert_eq!(
            live.event().await.unwrap(),
            ("dropped".to_owned(), json!({ "event_type": event_type }))
        );
    }
    assert_eq!(live.event().await.unwrap().0, "click");

    let path = format!("/api/tracking/live/{}", program.program_id);
    for wrong in ["", "click-7", "99999999999999999999"] {
        let request = stack.request(Method::GET, &path).bearer_auth(&own.token);
        let answer = stack.send(request.header("last-event-id", wrong)).await;
        answer.refused(400, "Last-Event-ID must be the id of an event of this stream");
    }
}

#[tokio::test]
async fn a_stream_ends_with_the_session_and_with_the_right_to_it() {
    let (stack, program) = Stack::with_program().await;
    let mut own = stack.owner_of(&program).await;
    let mut live = Live::open(&stack, &program, &own).await;
    stack.execute("UPDATE sessions SET revoked_at = now()").await;
    assert_eq!(live.event().await, None);

    stack.sign_in_again(&mut own).await;
    let mut live = Live::open(&stack, &program, &own).await;
    let statement = "UPDATE workspace_members SET role = 'member'";
    stack.execute(statement).await;
    assert_eq!(live.event().await, None);
}

#[tokio::test]
async fn a_stream_ends_when_a_second_factor_is_required_that_its_session_lacks() {
    let (stack, program) = Stack::with_program().await;
    let own = stack.owner_of(&program).await;
    let mut live = Live::open(&stack, &program, &own).await;
    let statement = "UPDATE workspaces SET second_factor_required = true";
    stack.execute(statement).await;
    let end = tokio::time::timeout(PATIENCE, live.event()).await;
    assert_eq!(end, Ok(None));
}

#[tokio::test]
async fn streams_have_a_limit_for_each_workspace_and_a_shutdown_does_not_wait_for_them() {
    let (stack, program) = Stack::with_program().await;
    let own = stack.owner_of(&program).await;
    let mut streams = Vec::new();
    for _ in 0..8 {
        streams.push(Live::open(&stack, &program, &own).await);
    }
    let path = format!("/api/tracking/live/{}", program.program_id);
    let one_too_many = stack.get(&path, &own.token).await;
    assert_eq!(
        one_too_many.status,
        StatusCode::SERVICE_UNAVAILABLE,
        "{:?}",
        one_too_many.body
    );
    assert_eq!(one_too_many.header("retry-after"), "1");
    // A workspace that opens many streams does not use up another workspace's.
    let other = stack.program().await;
    let others = stack.owner_of(&other).await;
    streams.insert(0, Live::open(&stack, &other, &others).await);
    // A permit is free as soon as its client has disconnected.
    drop(streams.pop());
    stack
        .eventually("the place is free", async || {
            let request = stack.request(Method::GET, &path).bearer_auth(&own.token);
            request.send().await.unwrap().status() == StatusCode::OK
        })
        .await;
    drop(stack);
    for mut stream in streams {
        assert_eq!(stream.event().await, None);
    }
}
