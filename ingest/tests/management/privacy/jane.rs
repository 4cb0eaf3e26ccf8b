use domain::programs::outbound_event::OutboundEventType;
use messages::envelope;
use messages::subject::Subject;
use serde_json::value::to_raw_value;
use serde_json::{Value, json};
use storage::outbound::outbound_events;
use test_harness::{
    Answer, Json, Person, Program, Stack, Streams,
    hooks::{Hooks, event},
    outbound_events::want_all,
    sale_of,
};

pub const KEY: &str = "key-of-jane-4711";
pub const EMAIL: &str = "jane.doe@customer.example";
/// The data that Jane's browser, her shop and her payment processor send about her.
pub const TOLD: &[&str] = &[
    KEY,
    EMAIL,
    "https://shop.example/account/jane-4711",
    "Welcome back, Jane Doe 4711",
    "https://mail.example/inbox/jane-4711",
    "session-of-jane-4711",
    "Mozilla/5.0 (Jane 4711)",
    "1711x4711",
    "471x1147",
    "tlh-4711",
    "Jane/4711",
    "engraved for Jane 4711",
    "Jane 4711 was not happy",
    "Jane Q. Doe 4711",
    "cus_of_jane_4711",
    "Jane 4711, says the receiver",
];
/// Jane, who has data in every table.
pub struct Jane {
    pub stack: Stack,
    pub program: Program,
    owner: Person,
    pub click_id: String,
}

pub fn visit() -> Value {
    json!({
        "page_url": TOLD[2], "page_title": TOLD[3], "referrer_url": TOLD[4], "session_id": TOLD[5],
        "user_agent": TOLD[6], "screen_resolution": TOLD[7], "viewport_size": TOLD[8], "language": TOLD[9],
        "timezone": TOLD[10],
    })
}

/// Creates an endpoint that receives all events of the program.
async fn told(stack: &Stack, program: &Program) {
    want_all(stack, program).await;
    let endpoint = format!(
        "INSERT INTO webhook_endpoints (program_id, url, event_types, secret_sealed, created_at)
         VALUES ({}, 'https://receiver.example/', '{{{}}}', '', now())",
        program.program_id,
        OutboundEventType::ALL.map(OutboundEventType::as_str).join(",")
    );
    stack.execute(&endpoint).await;
}

impl Jane {
    pub async fn came() -> Self {
        let (stack, hooks, program) = Hooks::with_program().await;
        let owner = stack.owner_of(&program).await;
        told(&stack, &program).await;
        let click = stack.click_with(&program.ada.code, visit()).await.ok();
        let click_id = click.body["click_id"].as_str().unwrap().to_owned();
        let lead = json!({ "click_id": click_id, "customer_key": KEY, "email": EMAIL });
        stack.post("lead", Some(&program.token), lead).await.ok();
        let again = visit().with(json!({ "existing_click_id": click_id }));
        let again = stack.click_with(&program.bruno.code, again).await.ok();
        assert_eq!(again.body["click_id"], click_id.as_str());
        stack.reaches("click_events", 2).await;
        for transaction_id in ["t1", "t2"] {
            let sale = sale_of(transaction_id, KEY).with(json!({ "line_items": [{ "note": TOLD[11] }] }));
            stack.sold(&program, sale).await;
        }
        let refund = json!({ "transaction_id": "t1", "refund_amount_cents": 100, "refund_reason": TOLD[12] });
        stack.refunded(&program, refund).await;
        let jane = Self {
            stack,
            program,
            owner,
            click_id,
        };
        jane.left_unfinished(&hooks).await;
        jane.delivered().await;
        jane
    }

    /// Delivers the first event; the receiver's answer names her. The other events are still queued.
    async fn delivered(&self) {
        let mut placing = self.stack.pool().begin().await.unwrap();
        let placed = outbound_events::place(&mut placing, self.stack.clock.now(), 100).await;
        assert!(placed.unwrap() > Some(0));
        placing.commit().await.unwrap();
        let first = format!(
            "WITH first AS (DELETE FROM webhook_queue WHERE position = (SELECT min(position) FROM webhook_queue) RETURNING *)
             INSERT INTO webhook_deliveries (id, endpoint_id, program_id, event_id, event_type, event_created_at, position, customer_id,
                 is_replay, created_at, attempts, attempted_at, status, answer, state, finished_at)
             SELECT id, endpoint_id, program_id, event_id, event_type, event_created_at, position, customer_id, false, created_at, 1,
                 now(), 200, '{}', 'delivered', now()
             FROM first",
            TOLD[15]
        );
        self.stack.execute(&first).await;
    }

    /// Data that cannot be processed: a record, its claim, and a renewal in an invalid currency.
    async fn left_unfinished(&self, hooks: &Hooks) {
        let streams = Streams::of(&self.stack).await;
        let odd = json!({
            "event_id": self.stack.clock.mint(), "program_id": self.program.program_id,
            "sale": { "customer_key": KEY, "transaction_id": "t3" },
        });
        let packed = envelope::encode(None, &[to_raw_value(&odd).unwrap()]);
        streams.publish(Subject::Sales, packed).await;
        let dead = format!(
            "INSERT INTO transaction_claims (transaction_id, program_id, event_id, state, payload)
             VALUES ('t3', {}, gen_random_uuid(), 'dead', '{odd}')",
            self.program.program_id
        );
        self.stack.execute(&dead).await;
        let mut renewal = event(&self.stack, "invoice.paid.renewal.acacia", &self.program, KEY);
        renewal["data"]["object"]["customer_email"] = EMAIL.into();
        renewal["data"]["object"]["currency"] = "none".into();
        renewal["data"]["object"]["customer"] = TOLD[14].into();
        renewal["data"]["object"]["customer_name"] = TOLD[13].into();
        hooks.deliver(&self.stack, &self.program, &renewal).await.ok();
        let mut trial = event(&self.stack, "invoice.paid.trial.acacia", &self.program, KEY);
        trial["data"]["object"]["customer"] = TOLD[14].into();
        hooks.deliver(&self.stack, &self.program, &trial).await.ok();
        self.stack
            .eventually("all of it is where it ends", async || {
                self.stack.count("dead_letters").await == 1
                    && self.stack.count("processor_events WHERE state = 'stuck'").await == 1
                    && self.stack.count("notifications").await == 1
                    && self.stack.count("processor_customers").await == 1
            })
            .await;
        streams.drained(&self.stack).await;
    }

    pub async fn ask(&self, what: &str, named: Value) -> Answer {
        let path = self.program.path(&format!("customers/{what}"));
        self.stack.submit(&path, Some(&self.owner.token), named).await
    }

    pub async fn erase(&self) -> Answer {
        self.ask("erase", json!({ "customer_key": KEY, "email": EMAIL }))
            .await
            .ok()
    }
}
