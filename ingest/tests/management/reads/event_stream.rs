//! The events of a program, read by a cursor: every event once, in an order that a late commit does not
//! change.

mod clicks;
mod cursors;
mod order;
mod waits;

use runtime::clock::Clock;

use chrono::{DateTime, TimeDelta, Utc};
use domain::ids::CustomerId;
use domain::programs::event_stream::{EventCursor, StreamPlace};
use domain::programs::outbound_event::OutboundEventType;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use sqlx::PgConnection;
use storage::outbound::outbound_events::{self, NewOutboundEvent};
use storage::outbound::stream_events::{self, MarkedClicks};
use test_harness::{Answer, Json, Person, Program, Stack, managed::audited, rows};
use uuid::Uuid;

const ENROLLED: OutboundEventType = OutboundEventType::PartnerEnrolled;

/// A program whose stream is on, and a key that may read it.
struct Reader {
    stack: Stack,
    program: Program,
    owner: Person,
    key: String,
    /// The cursor of a read before any event.
    start: String,
}

impl Reader {
    async fn begun() -> Self {
        let (stack, program) = Stack::with_program().await;
        let owner = stack.owner_of(&program).await;
        let key = stack.key(&program, &owner, "{events:read}").await;
        let mut reader = Self {
            stack,
            program,
            owner,
            key,
            start: String::new(),
        };
        let first = reader.read("").await;
        assert_eq!(first.body["data"], json!([]));
        assert_eq!(first.body["meta"]["started"], true);
        reader.start = next(&first);
        reader
    }

    fn path(&self, query: &str) -> String {
        path(&self.program, query)
    }

    async fn get(&self, query: &str) -> Answer {
        self.stack.get(&self.path(query), &self.key).await
    }

    async fn read(&self, query: &str) -> Answer {
        self.get(query).await.ok()
    }

    /// Reads after a cursor.
    async fn after(&self, cursor: &str) -> Answer {
        self.read(&format!("after={cursor}")).await
    }

    /// The ids of all events after a cursor, read in pages of `limit`, and the cursor at the end.
    async fn all(&self, cursor: &str, limit: usize, types: &str) -> (Vec<String>, String) {
        let (mut all, mut cursor) = (Vec::new(), cursor.to_owned());
        loop {
            let page = self.read(&format!("after={cursor}&limit={limit}{types}")).await;
            let read = ids(&page);
            assert!(read.len() <= limit);
            all.extend(read);
            cursor = next(&page);
            if page.body["meta"]["has_more"] == false {
                return (all, cursor);
            }
        }
    }

    /// Adds an event in a transaction of its own. Returns its public id.
    async fn happens(&self, event_type: OutboundEventType) -> String {
        let mut connection = self.stack.pool().acquire().await.unwrap();
        add(&mut connection, &self.program, event_type, None).await
    }

    /// Gives positions to all committed events.
    async fn place(&self) {
        place(&self.stack).await;
    }

    /// Adds a batch of clicks, a second apart, and its mark. Returns their public ids.
    async fn clicks(&self, count: i64) -> Vec<String> {
        let now = Clock::system().now();
        let clicks: Vec<(Uuid, DateTime<Utc>)> = (0..count)
            .map(|n| (Clock::system().mint(), now - TimeDelta::seconds(count - n)))
            .collect();
        let mut transaction = self.stack.pool().begin().await.unwrap();
        for (event_id, clicked_at) in &clicks {
            sqlx::query(
                "INSERT INTO click_events (event_id, program_id, referral_link_id, customer_id, click_timestamp, click_id)
                 VALUES ($1, $2, $3, 1, $4, 'c')",
            )
            .bind(event_id)
            .bind(self.program.program_id.get())
            .bind(self.program.ada.link.get())
            .bind(clicked_at)
            .execute(&mut *transaction)
            .await
            .unwrap();
        }
        let ids = clicks
            .iter()
            .map(|(event_id, _)| format!("evt_{event_id}"))
            .collect();
        let marked = MarkedClicks {
            program_id: self.program.program_id,
            clicks,
        };
        stream_events::mark(&mut transaction, &[marked]).await.unwrap();
        transaction.commit().await.unwrap();
        ids
    }

    /// A cursor of this program.
    fn cursor(&self, position: i64, read_until: DateTime<Utc>) -> String {
        let cursor = EventCursor {
            program_id: self.program.program_id,
            place: StreamPlace { position, clicks: 0 },
            read_until,
        };
        cursor.encode()
    }
}

fn path(program: &Program, query: &str) -> String {
    program.path(&format!("event-stream?{query}"))
}

/// Writes an event as the pipeline does. Returns its public id.
async fn add(
    connection: &mut PgConnection,
    program: &Program,
    event_type: OutboundEventType,
    customer_id: Option<CustomerId>,
) -> String {
    let event_id = Clock::system().mint();
    let body = json!({ "type": event_type.as_str(), "timestamp": "2026-11-26T00:00:00.000Z",
                       "data": { "program_id": program.program_id } });
    let event = NewOutboundEvent {
        event_id,
        program_id: program.program_id,
        event_type,
        customer_id,
        occurred_at: Clock::system().now(),
        body: body.to_string(),
    };
    outbound_events::add(connection, &[event]).await.unwrap();
    format!("evt_{event_id}")
}

async fn place(stack: &Stack) {
    loop {
        let mut transaction = stack.pool().begin().await.unwrap();
        let placed = outbound_events::place(&mut transaction, Clock::system().now(), 1_000)
            .await
            .unwrap();
        transaction.commit().await.unwrap();
        if placed == Some(0) {
            return;
        }
    }
}

fn ids(answer: &Answer) -> Vec<String> {
    serde_json::from_value(answer.column("id")).unwrap()
}

fn next(answer: &Answer) -> String {
    answer.body["meta"]["next"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn the_first_read_turns_the_stream_on_and_says_so() {
    let (stack, program) = Stack::with_program().await;
    let own = stack.owner_of(&program).await;
    stack.click(&program.ada.code).await;
    rows::counted(&stack, program.ada.link, 1).await;
    // Without a reader no event is written.
    assert_eq!(stack.count("outbound_events").await, 0);
    let session = stack.get(&path(&program, ""), &own.token).await.ok();
    let (first, again) = (session, stack.get(&path(&program, ""), &own.token).await);
    assert_eq!(first.body["data"], json!([]));
    assert_eq!(
        (&first.body["meta"]["started"], &again.body["meta"]["started"]),
        (&json!(true), &json!(false))
    );
    first.body["meta"].has(json!({ "since": again.body["meta"]["since"], "has_more": false }));
    assert_eq!(audited(&stack, "event_stream.turned_on").await, 1);
    let wanted: i32 = stack.value("SELECT wanted_events FROM programs LIMIT 1").await;
    assert!(domain::programs::outbound_event::WantedEvents::from_bits(wanted).has_stream());
}

#[tokio::test]
async fn events_from_before_the_stream_was_on_are_not_in_it() {
    let (stack, program) = Stack::with_program().await;
    let own = stack.owner_of(&program).await;
    // Endpoints receive the same event.
    let mut connection = stack.pool().acquire().await.unwrap();
    add(&mut connection, &program, ENROLLED, None).await;
    place(&stack).await;
    let first = stack.get(&path(&program, ""), &own.token).await;
    assert_eq!(first.body["data"], json!([]));
    let enrolled = add(&mut connection, &program, ENROLLED, None).await;
    place(&stack).await;
    let all = stack.get(&path(&program, ""), &own.token).await;
    assert_eq!(ids(&all), [enrolled]);
}

/// `access.yaml` says who may read.
#[tokio::test]
async fn a_refused_request_does_not_turn_the_stream_on() {
    let (stack, program) = Stack::with_program().await;
    let (owner, other) = (stack.owner_of(&program).await, stack.program().await);
    let others = stack.owner_of(&other).await;
    let reading = stack.key(&program, &owner, "{program:read}").await;
    let foreign = stack.key(&other, &others, "{events:read}").await;
    for token in [&reading, &foreign, &others.token] {
        let answer = stack.get(&path(&program, ""), token).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN);
    }
    assert_eq!(stack.count("event_streams").await, 0);
}

#[tokio::test]
async fn lines_are_answered_to_who_accepts_them() {
    let reader = Reader::begun().await;
    let click = reader.clicks(1).await.remove(0);
    let enrolled = reader.happens(ENROLLED).await;
    reader.place().await;
    let request = reader
        .stack
        .request(Method::GET, &reader.path(&format!("after={}", reader.start)))
        .bearer_auth(&reader.key)
        .header("accept", "application/x-ndjson;q=0.9, application/json;q=0.1");
    let response = request.send().await.unwrap();
    assert_eq!(response.headers()["content-type"], "application/x-ndjson");
    let text = response.text().await.unwrap();
    assert!(text.ends_with('\n'));
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 3, "{text}");
    assert_eq!(
        (&lines[0]["id"], &lines[1]["id"]),
        (&json!(click), &json!(enrolled))
    );
    assert_eq!(lines[2]["meta"]["has_more"], false);
    let json = reader.after(&reader.start).await;
    assert_eq!(json.body["data"], json!([lines[0], lines[1]]));
    let cursor = lines[2]["meta"]["next"].as_str().unwrap();
    assert_eq!(reader.after(cursor).await.body["data"], json!([]));
}

#[tokio::test]
async fn lines_are_not_answered_to_who_refuses_them() {
    let reader = Reader::begun().await;
    for (accept, content_type) in [
        ("application/x-ndjson;q=0", "application/json"),
        (
            "application/json, application/x-ndjson; Q=0.000",
            "application/json",
        ),
        ("application/x-ndjson;q=0.001", "application/x-ndjson"),
        ("*/*", "application/json"),
    ] {
        let request = reader
            .stack
            .request(Method::GET, &reader.path(""))
            .bearer_auth(&reader.key)
            .header("accept", accept);
        let response = request.send().await.unwrap();
        assert_eq!(response.headers()["content-type"], content_type, "{accept}");
    }
}

#[tokio::test]
async fn what_is_asked_for_is_checked() {
    let reader = Reader::begun().await;
    let path = reader.program.path("event-stream");
    let refusals = json!({
        "limit=0": "limit must be an integer from 1 to 10000",
        "limit=10001": "limit must be an integer from 1 to 10000",
        "wait=31": "wait must be an integer from 0 to 30",
        "wait=soon": "wait must be an integer from 0 to 30",
        "types=sale.recorded,clicks": "types names no type of events: clicks",
        "after=latest": "after must be the next of an answer: it is not whole",
    });
    reader.stack.refuses(&reader.key, &path, refusals).await;
}

#[tokio::test]
async fn the_first_read_waits_for_a_change_of_the_program() {
    let (stack, program) = Stack::with_program().await;
    let owner = stack.owner_of(&program).await;
    let key = stack.key(&program, &owner, "{events:read}").await;
    // Every change of a program begins with the first lock, and a new token or slug ends with the second.
    // Rows that refer to the program would block them.
    let lock = |strength: &str| {
        format!(
            "SELECT FROM programs WHERE id = {} FOR {strength}",
            program.program_id
        )
    };
    let mut change = stack.holding(&lock("NO KEY UPDATE")).await;
    let rest = async {
        stack.locked_out("the read waits", 1).await;
        let end = sqlx::raw_sql(sqlx::AssertSqlSafe(lock("UPDATE")));
        end.execute(&mut *change).await.unwrap();
        change.commit().await.unwrap();
    };
    let path = path(&program, "");
    let (first, ()) = tokio::join!(stack.get(&path, &key), rest);
    assert_eq!(first.ok().body["meta"]["started"], true);
}
