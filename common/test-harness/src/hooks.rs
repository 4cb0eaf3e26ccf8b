//! Webhooks of payment processors from the sender's side: HTTP answers, and the stored rows.

use std::fmt::Write;
use std::net::SocketAddr;

use domain::ids::ProgramId;
use domain::processors::processor::{ConnectionStatus, ProcessorId, WebhookSecret};
use domain::sealed::SealingKeys;
use hmac::{Hmac, KeyInit, Mac};
use reqwest::StatusCode;
use runtime::clock::Clock;
use serde_json::{Value, json};
use sha2::Sha256;
use storage::processor::processor_connections::{self, Connection, SealedSecret};

use crate::edge::Edge;
use crate::program::Program;
use crate::requests::Answer;
use crate::stack::Stack;

pub const SECRET: &str = "whsec_of_this_program_1111";
pub const DISTRIBUTOR_SECRET: &str = "whsec_of_the_platform_2222";
pub const ACCOUNT: &str = "acct_1Shop";
pub const DISTRIBUTOR: &str = "/api/webhook-distributor/stripe";

/// A client of a webhook consumer.
#[derive(Debug, Clone)]
pub struct Hooks {
    pub address: SocketAddr,
    pub http: reqwest::Client,
}

impl Hooks {
    /// A running stack with a webhook consumer.
    pub async fn with_stack(clock: Clock) -> (Stack, Self) {
        let mut stack = Stack::start_with(clock).await;
        let hooks = Self::start(&mut stack).await;
        (stack, hooks)
    }

    /// A running stack with a webhook consumer, and a program with a connected account.
    pub async fn with_program() -> (Stack, Self, Program) {
        let (stack, hooks) = Self::with_stack(Clock::system()).await;
        let program = connected(&stack).await;
        (stack, hooks, program)
    }

    /// As [`Self::with_program`], with the customer `user-1` on Ada's link.
    pub async fn with_customer() -> (Stack, Self, Program) {
        let (stack, hooks, program) = Self::with_program().await;
        stack.customer(&program, &program.ada.code, "user-1").await;
        (stack, hooks, program)
    }

    /// Starts a webhook consumer for a running stack.
    pub async fn start(stack: &mut Stack) -> Self {
        stack.set("STRIPE_DISTRIBUTOR_SECRETS", DISTRIBUTOR_SECRET);
        let hooks = Self::at(stack.start_webhook_consumer());
        Edge::at(hooks.address).ready(stack).await;
        hooks
    }

    pub fn at(address: SocketAddr) -> Self {
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        Self { address, http }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Fails if the connection breaks before the answer.
    pub async fn try_send(
        &self,
        path: &str,
        headers: &[&str],
        body: impl Into<reqwest::Body>,
    ) -> Result<Answer, reqwest::Error> {
        let mut request = self
            .http
            .post(format!("http://{}{path}", self.address))
            .body(body);
        for header in headers {
            request = request.header("Stripe-Signature", *header);
        }
        Answer::of(request.send().await?).await
    }

    pub async fn send(&self, path: &str, headers: &[&str], body: impl Into<reqwest::Body>) -> Answer {
        self.try_send(path, headers, body).await.unwrap()
    }

    /// Sends an event with the signature that the program's endpoint expects.
    pub async fn deliver(&self, stack: &Stack, program: &Program, event: &Value) -> Answer {
        let body = event.to_string();
        let header = header(SECRET, stack.clock.now().timestamp(), body.as_bytes());
        self.send(&path(program), &[&header], body).await
    }

    /// As [`Self::deliver`], and waits until all events are done.
    pub async fn process(&self, stack: &Stack, program: &Program, event: &Value) {
        accepted(&self.deliver(stack, program, event).await);
        settled(stack, &["done"]).await;
    }

    /// Sends an event with the signature that the platform's endpoint expects.
    pub async fn distribute(&self, stack: &Stack, event: &Value) -> Answer {
        let body = event.to_string();
        let header = header(DISTRIBUTOR_SECRET, stack.clock.now().timestamp(), body.as_bytes());
        self.send(DISTRIBUTOR, &[&header], body).await
    }
}

/// The path of a program's own endpoint.
pub fn path(program: &Program) -> String {
    format!("/webhooks/stripe/{}", program.program_id)
}

/// A signature of scheme v1.
pub fn signature(secret: &str, timestamp: impl std::fmt::Display, body: &[u8]) -> String {
    let mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    let mac = mac.chain_update(format!("{timestamp}.")).chain_update(body);
    let mut hex = String::new();
    for byte in mac.finalize().into_bytes() {
        write!(hex, "{byte:02x}").unwrap();
    }
    hex
}

pub fn header(secret: &str, timestamp: i64, body: &[u8]) -> String {
    format!("t={timestamp},v1={}", signature(secret, timestamp, body))
}

/// A program with a connected account and a webhook secret.
pub async fn connected(stack: &Stack) -> Program {
    let program = stack.program().await;
    connect(stack, program.program_id, ACCOUNT, Some(SECRET)).await;
    program
}

pub async fn connect(stack: &Stack, program_id: ProgramId, account: &str, secret: Option<&str>) {
    let keys = SealingKeys::new(&[0x33; 32], &[]);
    let seal = |text: &str| {
        let secret = WebhookSecret::parse(text).unwrap();
        SealedSecret::seal(&keys, program_id, &secret, [7; 24]).unwrap()
    };
    let connection = Connection {
        account_id: ProcessorId::parse(account).unwrap(),
        webhook_endpoint_id: None,
        status: ConnectionStatus::Connected,
        charges_enabled: true,
        payouts_enabled: true,
        connected_at: Some(stack.clock.now()),
        confirmed_at: Some(stack.clock.now()),
        secret: secret.map(seal),
        previous: None,
    };
    let mut to = stack.pool().acquire().await.unwrap();
    processor_connections::save(&mut to, program_id, &connection, stack.clock.now())
        .await
        .unwrap();
}

/// A fixture of the webhook consumer, changed as if the event had just happened to a customer of this
/// program.
pub fn event(stack: &Stack, name: &str, program: &Program, customer_key: &str) -> Value {
    let path = format!(
        "{}/../../webhook-consumer/tests/fixtures/{name}.json",
        env!("CARGO_MANIFEST_DIR")
    );
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let text = text
        .replace("user-42", customer_key)
        .replace(
            "\"program_id\": \"1\"",
            &format!("\"program_id\": \"{}\"", program.program_id),
        )
        .replace("cust_4503599627370_1789990000000", "");
    let mut event: Value = serde_json::from_str(&text).unwrap();
    event["created"] = json!(stack.clock.now().timestamp());
    event
}

pub fn accepted(answer: &Answer) {
    let received = &answer.body["received"];
    assert_eq!((answer.status, received), (StatusCode::OK, &json!(true)));
}

/// The inbox, oldest first, without values that differ between runs.
pub async fn inbox(stack: &Stack) -> Vec<Value> {
    stack
        .values(
            "SELECT jsonb_build_object('event', processor_event_id, 'program', program_id, 'state', state,
                                       'reason', reason)
             FROM processor_events ORDER BY processor_event_id, program_id NULLS LAST",
        )
        .await
}

/// Waits until all events in the inbox are in one of these states.
pub async fn settled(stack: &Stack, states: &[&str]) {
    stack
        .eventually("events are settled", async || {
            let found: Vec<String> = stack.values("SELECT DISTINCT state FROM processor_events").await;
            found.iter().all(|state| states.contains(&state.as_str()))
        })
        .await;
}

/// Asserts that a rejected event has left no row.
pub async fn nothing_stored(stack: &Stack) {
    let rows = stack.count("processor_events").await + stack.count("transaction_claims").await;
    assert_eq!(rows, 0);
}
