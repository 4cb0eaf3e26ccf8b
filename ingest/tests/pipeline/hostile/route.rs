//! Every route that reads a body, the fields it takes, and a service to send requests to.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use reqwest::Method;
use runtime::clock::Clock;
use serde_json::{Value, json};

use super::wire::Wire;
use test_harness::{Answer, Program, Stack, rows, sale_of};

pub const NOT_JSON: &str = "Request body must be a valid JSON object";
pub const AMOUNT: &str = "amount_cents is required and must be a positive integer";
pub const REFUND_AMOUNT: &str = "refund_amount_cents must be a positive integer";
const SALE_ID: &str = "transaction_id is required and must be a string";
const REFUND_ID: &str = "transaction_id is required";
const RUN: &str = "type must be chain, or event_type one of click, lead and sale";
const STEP: &str = "step_id must be pageview, referrals or payments";

/// The values that a field takes, and its refusal.
#[derive(Debug, Clone, Copy)]
pub enum Rule {
    /// At most so many characters; the name is that of the field in messages.
    Text(usize, &'static str),
    /// Like `Text`; an integer counts as its text.
    Key(usize, &'static str),
    /// Like `Text`; a value of another type counts as absent.
    Required(usize, &'static str, &'static str),
    /// One of a few words; all other values get this message.
    Word(&'static str),
}

impl Rule {
    pub fn wrong_type(self) -> String {
        match self {
            Self::Text(_, name) | Self::Key(_, name) => format!("{name} must be a string"),
            Self::Required(_, _, missing) | Self::Word(missing) => missing.to_owned(),
        }
    }

    /// Whether this JSON value, which is not text, is accepted as text.
    pub fn takes(self, json: &str) -> bool {
        let is_digit = |byte: u8| byte.is_ascii_digit();
        matches!(self, Self::Key(..)) && json != "-0" && json.trim_start_matches('-').bytes().all(is_digit)
    }

    pub fn too_long(self) -> String {
        self.refusal(&format!("must be at most {} characters", self.longest()))
    }

    pub fn nul(self) -> String {
        self.refusal("must not contain NUL characters")
    }

    fn refusal(self, why: &str) -> String {
        match self {
            Self::Text(_, name) | Self::Key(_, name) | Self::Required(_, name, _) => format!("{name} {why}"),
            Self::Word(message) => message.to_owned(),
        }
    }

    pub fn longest(self) -> usize {
        match self {
            Self::Text(longest, _) | Self::Key(longest, _) | Self::Required(longest, ..) => longest,
            Self::Word(_) => 16,
        }
    }
}

/// A route with a body that it would answer 200.
pub struct Route {
    pub path: &'static str,
    pub body: Value,
    pub texts: &'static [(&'static str, Rule)],
    /// The answer to `{}`; `None` if `{}` is enough for a 200.
    pub empty: Option<&'static str>,
}

const CLICK: &[(&str, Rule)] = &[
    ("page_url", Rule::Text(8192, "page_url")),
    ("page_title", Rule::Text(8192, "page_title")),
    ("referrer_url", Rule::Text(8192, "referrer_url")),
    ("user_agent", Rule::Text(8192, "user_agent")),
    ("session_id", Rule::Text(255, "session_id")),
    ("screen_resolution", Rule::Text(255, "screen_resolution")),
    ("viewport_size", Rule::Text(255, "viewport_size")),
    ("language", Rule::Text(255, "language")),
    ("timezone", Rule::Text(255, "timezone")),
    ("existing_click_id", Rule::Text(255, "existing_click_id")),
];
const LEAD: &[(&str, Rule)] = &[
    ("click_id", Rule::Text(255, "click_id")),
    ("customer_key", Rule::Key(255, "customer_key")),
    ("email", Rule::Text(320, "email")),
    ("event_name", Rule::Text(255, "event_name")),
];
const OLD_LEAD: &[(&str, Rule)] = &[
    ("customer_code", Rule::Text(255, "click_id")),
    ("user_id", Rule::Key(255, "customer_key")),
    ("email", Rule::Text(320, "email")),
    ("event_name", Rule::Text(255, "event_name")),
];
const SALE: &[(&str, Rule)] = &[
    ("transaction_id", Rule::Required(255, "transaction_id", SALE_ID)),
    ("customer_key", Rule::Key(255, "customer_key")),
    ("click_id", Rule::Text(255, "click_id")),
    ("subscription_id", Rule::Text(255, "subscription_id")),
    ("product_id", Rule::Text(255, "product_id")),
    ("currency", Rule::Text(8, "currency")),
    ("sale_type", Rule::Text(255, "sale_type")),
    ("subscription_interval", Rule::Text(255, "subscription_interval")),
];
const REFUND: &[(&str, Rule)] = &[
    ("transaction_id", Rule::Required(255, "transaction_id", REFUND_ID)),
    ("refund_id", Rule::Text(255, "refund_id")),
    ("refund_reason", Rule::Text(1000, "refund_reason")),
];
const TEST_EVENT: &[(&str, Rule)] = &[("event_type", Rule::Word(RUN)), ("type", Rule::Word(RUN))];
const STEPS: &[(&str, Rule)] = &[("step_id", Rule::Word(STEP))];

fn routes(program: &Program, click_ids: &[String; 2]) -> Vec<Route> {
    let click = json!({ "affiliate_url": format!("https://shop.example/?aff={}", program.ada.code) });
    let sale = |id: &str| sale_of(id, "user-1");
    let step = json!({ "program_id": program.program_id, "step_id": "pageview" });
    let no_click = Some("affiliate_url is required");
    let no_lead = Some("click_id or customer_key is required");
    let route = |path, body, texts, empty| Route {
        path,
        body,
        texts,
        empty,
    };
    let lead = json!({ "click_id": click_ids[0], "customer_key": "user-2" });
    let old_lead = json!({ "customer_code": click_ids[1], "user_id": "user-3" });
    let refund = json!({ "transaction_id": "t1" });
    let test_event = json!({ "event_type": "lead" });
    vec![
        route("/api/v1/track/click", click.clone(), CLICK, no_click),
        route("/api/v1/track/lead", lead, LEAD, no_lead),
        route("/api/v1/track/sale", sale("t2"), SALE, Some(SALE_ID)),
        route("/api/v1/track/refund", refund.clone(), REFUND, Some(REFUND_ID)),
        route("/api/v1/cli/test-event", test_event, TEST_EVENT, Some(RUN)),
        route("/api/tracking/click", click, CLICK, no_click),
        route("/api/tracking/lead", old_lead, OLD_LEAD, no_lead),
        route("/api/tracking/sale", sale("t3"), SALE, Some(SALE_ID)),
        route("/api/tracking/refund", refund, REFUND, Some(REFUND_ID)),
        route("/api/tracking/test", step.clone(), STEPS, Some(STEP)),
        route("/api/tracking/check-test-events", step, STEPS, None),
    ]
}

impl Route {
    /// The body with one field replaced by this JSON.
    pub fn with(&self, field: &str, json: impl AsRef<[u8]>) -> Vec<u8> {
        let mut others = self.body.clone();
        others.as_object_mut().unwrap().remove(field);
        let mut body = others.to_string().into_bytes();
        body.pop();
        if body.len() > 1 {
            body.push(b',');
        }
        body.extend(format!("\"{field}\":").as_bytes());
        body.extend(json.as_ref());
        body.push(b'}');
        body
    }

    /// The body with an unknown field that pads it to this size.
    pub fn padded(&self, bytes: usize) -> Vec<u8> {
        let fixed = self.with("padding", "\"\"").len();
        self.with("padding", format!("\"{}\"", "x".repeat(bytes - fixed)))
    }
}

/// A service with a program, its customer `user-1`, their sale `t1`, and two clicks without leads.
pub struct Scene {
    pub stack: Stack,
    pub address: SocketAddr,
    pub program: Program,
    pub routes: Vec<Route>,
    before: BTreeMap<String, i64>,
    looks: i64,
}

impl Scene {
    pub async fn start() -> Self {
        let mut stack = Stack::without_services(Clock::system()).await;
        stack.set("CLI_LIMIT", "1000000");
        stack.start_worker();
        let address = stack.start_ingest();
        stack.use_ingest(address);
        stack.ready().await;
        let program = stack.program_with_customer().await;
        stack.sold(&program, sale_of("t1", "user-1")).await;
        let click_ids = [
            stack.click(&program.ada.code).await,
            stack.click(&program.ada.code).await,
        ];
        rows::counted(&stack, program.ada.link, 3).await;
        let routes = routes(&program, &click_ids);
        let before = rows::counts(&stack).await;
        Self {
            stack,
            address,
            program,
            routes,
            before,
            looks: 0,
        }
    }

    pub fn route(&self, path: &str) -> &Route {
        self.routes.iter().find(|route| route.path == path).unwrap()
    }

    pub async fn post(&self, route: &Route, body: impl Into<reqwest::Body>) -> Answer {
        let request = self.stack.request(Method::POST, route.path);
        self.stack
            .send(request.bearer_auth(&self.program.token).body(body))
            .await
    }

    pub async fn refused(&self, route: &Route, body: impl Into<reqwest::Body>, message: &str, what: &str) {
        let answer = self.post(route, body).await;
        refused(&answer, 400, message, &format!("{} {what}", route.path));
    }

    /// Asserts that the body with this JSON in one field is refused.
    pub async fn refuses(&self, route: &Route, field: &str, json: &str, message: &str) {
        let beginning: String = json.chars().take(30).collect();
        let what = format!("{field} {beginning}");
        self.refused(route, route.with(field, json), message, &what).await;
    }

    pub async fn accepted(&self, route: &Route, body: impl Into<reqwest::Body>, what: &str) -> Answer {
        let answer = self.post(route, body).await;
        assert_eq!(answer.status, 200, "{} {what}: {answer:?}", route.path);
        answer
    }

    /// Sends any bytes on a connection of its own.
    pub async fn exchange(&self, request: &[u8]) -> Option<Answer> {
        Wire::open(self.address).await.exchange(request).await
    }

    /// No table has gained or lost a row. Clicks are written behind their answers, in order: once one more
    /// click is counted, all earlier ones are written.
    pub async fn nothing_stored(&mut self, what: &str) {
        self.looks += 1;
        self.stack.click(&self.program.bruno.code).await;
        rows::counted(&self.stack, self.program.bruno.link, self.looks).await;
        let mut expected = self.before.clone();
        for table in ["customers", "click_events"] {
            *expected.get_mut(table).unwrap() += self.looks;
        }
        assert_eq!(rows::counts(&self.stack).await, expected, "{what}");
    }

    pub async fn end(&self) {
        assert_eq!(self.stack.count("dead_letters").await, 0);
        self.stack.verify().await;
    }
}

/// The platform envelope, exactly.
pub fn refused(answer: &Answer, status: u16, message: &str, what: &str) {
    assert_eq!(answer.message(), message, "{what}");
    answer.refused(status, message);
}
