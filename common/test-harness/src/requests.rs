//! Requests to the ingest of a stack, and the answers.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use reqwest::header::HeaderMap;
use reqwest::{Method, RequestBuilder, StatusCode};
use serde_json::{Value, json};

use crate::json::Json;
use crate::program::{Partner, Program};
use crate::rows;
use crate::stack::Stack;

/// A user agent of a bot.
pub const BOT: &str = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)";

/// The fields of a test event.
pub fn test_mode() -> Value {
    json!({ "additional_data": { "test_mode": true } })
}

/// A refund of a sale; zero cents ask for the rest.
pub fn refund_of(transaction_id: &str, cents: i64) -> Value {
    json!({ "transaction_id": transaction_id, "refund_amount_cents": cents })
}

#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Value,
}

impl Answer {
    /// Fails if the connection breaks during the answer.
    pub async fn of(response: reqwest::Response) -> Result<Self, reqwest::Error> {
        let (status, headers) = (response.status(), response.headers().clone());
        // An event stream has no end, so tests read its events themselves.
        let is_stream = headers
            .get("content-type")
            .is_some_and(|kind| kind == "text/event-stream");
        let text = if is_stream {
            String::new()
        } else {
            response.text().await?
        };
        Ok(Self {
            status,
            headers,
            body: serde_json::from_str(&text).unwrap_or(Value::String(text)),
        })
    }

    /// A header's text; empty if the header is missing.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// Asserts the status.
    #[expect(clippy::return_self_not_must_use, reason = "the assertion is enough")]
    #[track_caller]
    pub fn is(self, status: u16) -> Self {
        assert_eq!(self.status.as_u16(), status, "{self:?}");
        self
    }

    /// Asserts that the answer is exactly the platform's error envelope.
    #[track_caller]
    pub fn refused(&self, status: u16, message: &str) {
        assert_eq!(self.body, platform_error(status, message));
        assert_eq!(self.status.as_u16(), status, "{self:?}");
    }

    /// Asserts that access is forbidden for the reason with this code, such as `PASSWORD_REQUIRED`.
    #[track_caller]
    pub fn forbidden(&self, code: &str) {
        assert_eq!(self.status, StatusCode::FORBIDDEN, "{self:?}");
        assert_eq!(self.body["error"]["details"], json!({ "code": code }));
    }

    /// The message in the platform's error envelope.
    pub fn message(&self) -> &str {
        self.body["error"]["message"].as_str().unwrap_or_default()
    }

    /// The id of the answer's object.
    #[track_caller]
    pub fn id(&self) -> i64 {
        self.body["data"]["id"].as_i64().unwrap()
    }

    /// A text of the answer's object.
    #[track_caller]
    pub fn string(&self, field: &str) -> String {
        self.body["data"][field].as_str().unwrap().to_owned()
    }

    /// The token of the session that the answer opens.
    #[track_caller]
    pub fn session(&self) -> String {
        self.body["jwt"].as_str().unwrap().to_owned()
    }
}

/// The platform's error envelope.
pub fn platform_error(status: u16, message: &str) -> Value {
    let name = match status {
        400 => "BadRequestError",
        401 => "UnauthorizedError",
        403 => "ForbiddenError",
        404 => "NotFoundError",
        405 => "MethodNotAllowedError",
        409 => "ConflictError",
        410 => "GoneError",
        413 => "PayloadTooLargeError",
        500 => "InternalServerError",
        other => panic!("the platform's envelope has no name for {other}"),
    };
    let error = json!({ "status": status, "name": name, "message": message, "details": {} });
    json!({ "data": null, "error": error })
}

/// The statuses of answers to concurrent requests, in ascending order.
pub fn statuses(answers: impl IntoIterator<Item = Answer>) -> Vec<u16> {
    let mut statuses: Vec<u16> = answers.into_iter().map(|answer| answer.status.as_u16()).collect();
    statuses.sort_unstable();
    statuses
}

/// Sends each case of the table, and asserts that it is refused. The table lists the cases by the message that
/// refuses them.
pub async fn refused_each(status: u16, table: Value, send: impl AsyncFn(Value) -> Answer) {
    let Value::Object(table) = table else {
        panic!("{table} is no object");
    };
    for (message, cases) in table {
        for case in cases.as_array().unwrap() {
            let answer = send(case.clone()).await;
            assert_eq!(answer.message(), message, "{case}");
            answer.refused(status, &message);
        }
    }
}

/// A client of the ingest that a stack uses at present. Clones follow a change of the ingest.
#[derive(Debug, Clone)]
pub struct Client {
    http: reqwest::Client,
    base_url: Arc<Mutex<String>>,
}

impl Default for Client {
    fn default() -> Self {
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        Self {
            http,
            base_url: Arc::default(),
        }
    }
}

impl Client {
    pub fn use_ingest(&self, address: SocketAddr) {
        *self.base_url.lock().unwrap() = format!("http://{address}");
    }

    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let url = format!("{}{path}", self.base_url.lock().unwrap());
        self.http.request(method, url)
    }

    pub async fn call(
        &self,
        method: Method,
        path: &str,
        token: Option<&str>,
        body: Option<&Value>,
    ) -> Answer {
        let mut request = self.request(method, path);
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        if let Some(body) = body {
            request = request.json(body);
        }
        Answer::of(request.send().await.unwrap()).await.unwrap()
    }
}

impl Stack {
    pub async fn post(&self, path: &str, token: Option<&str>, body: Value) -> Answer {
        self.post_raw(path, token, body.to_string()).await
    }

    pub async fn post_raw(&self, path: &str, token: Option<&str>, body: impl Into<reqwest::Body>) -> Answer {
        let mut request = self.tracking(path).body(body);
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        self.send(request).await
    }

    /// Starts any request to ingest, to be completed and sent with [`Self::send`].
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, path)
    }

    /// Starts a request to a tracking route, for tests that set its headers themselves.
    pub fn tracking(&self, path: &str) -> RequestBuilder {
        self.request(Method::POST, &format!("/api/v1/track/{path}"))
    }

    pub async fn send(&self, request: RequestBuilder) -> Answer {
        Answer::of(request.send().await.unwrap()).await.unwrap()
    }

    /// A click through a link. Returns its click_id.
    pub async fn click(&self, code: &str) -> String {
        let answer = self.click_with(code, json!({})).await;
        assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
        answer.body["click_id"].as_str().unwrap().to_owned()
    }

    pub async fn click_with(&self, code: &str, more: Value) -> Answer {
        let body = json!({ "affiliate_url": format!("https://shop.example/landing?aff={code}") });
        self.post("click", None, body.with(more)).await
    }

    /// A visitor comes back through this partner's link. Waits until the link has counted this many clicks.
    pub async fn returns(&self, partner: &Partner, click_id: &str, clicks: i64) {
        let again = json!({ "existing_click_id": click_id });
        let answer = self.click_with(&partner.code, again).await.ok();
        assert_eq!(answer.body["click_id"], click_id);
        rows::counted(self, partner.link, clicks).await;
    }

    /// Asserts which values of a field a list shows, by query; and that the total is their number, unless the
    /// query asks for a page.
    pub async fn lists(&self, token: &str, path: &str, field: &str, by_query: Value) {
        for (query, values) in by_query.as_object().unwrap() {
            let list = self.get(&format!("{path}?{query}"), token).await;
            assert_eq!(list.column(field), *values, "{path}?{query}");
            let total = values.as_array().unwrap().len();
            assert!(query.contains("page") || *list.total() == total, "{path}?{query}");
        }
    }

    /// Asserts that queries are refused with these messages, by query.
    pub async fn refuses(&self, token: &str, path: &str, by_query: Value) {
        for (query, message) in by_query.as_object().unwrap() {
            let answer = self.get(&format!("{path}?{query}"), token).await;
            answer.refused(400, message.as_str().unwrap());
        }
    }

    pub async fn lead(&self, program: &Program, click_id: &str, customer_key: &str) -> Answer {
        let body = json!({ "click_id": click_id, "customer_key": customer_key });
        self.post("lead", Some(&program.token), body).await
    }

    pub async fn sale(&self, program: &Program, body: Value) -> Answer {
        self.post("sale", Some(&program.token), body).await
    }

    /// A sale that must succeed.
    pub async fn sold(&self, program: &Program, body: Value) -> Answer {
        self.sale(program, body).await.ok()
    }

    /// A refund that must succeed.
    pub async fn refunded(&self, program: &Program, body: Value) -> Answer {
        self.refund(program, body).await.ok()
    }

    /// A lead that must succeed.
    pub async fn signed_up(&self, program: &Program, click_id: &str, customer_key: &str) -> Answer {
        let answer = self.lead(program, click_id, customer_key).await;
        answer.ok()
    }

    pub async fn refund(&self, program: &Program, body: Value) -> Answer {
        self.post("refund", Some(&program.token), body).await
    }

    /// A customer with a click through this link and a confirmed lead. Returns the click_id.
    pub async fn customer(&self, program: &Program, code: &str, customer_key: &str) -> String {
        let click_id = self.click(code).await;
        let answer = self.lead(program, &click_id, customer_key).await;
        assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
        click_id
    }
}
