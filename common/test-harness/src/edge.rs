//! A client of one ingest among several, and functions that tests of failures share.

use std::net::SocketAddr;
use std::process::{Command, ExitStatus, Stdio};

use reqwest::{Method, RequestBuilder, StatusCode};
use runtime::clock::Clock;
use serde_json::{Value, json};
use testing::{Process, free_address};
use tokio::task::JoinHandle;

use crate::program::Program;
use crate::requests::Answer;
use crate::stack::Stack;

/// A client of one ingest. Clones share their connections.
#[derive(Debug, Clone)]
pub struct Edge {
    address: SocketAddr,
    http: reqwest::Client,
}

impl Edge {
    pub fn at(address: SocketAddr) -> Self {
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        Self { address, http }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Starts any request, to be completed and sent with [`Self::send`].
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let url = format!("http://{}{path}", self.address);
        self.http.request(method, url)
    }

    pub async fn send(&self, request: RequestBuilder) -> Answer {
        Answer::of(request.send().await.unwrap()).await.unwrap()
    }

    /// Fails if the connection breaks before the answer.
    pub async fn try_post(
        &self,
        path: &str,
        token: Option<&str>,
        body: &Value,
    ) -> Result<Answer, reqwest::Error> {
        let path = format!("/api/v1/track/{path}");
        let mut request = self.request(Method::POST, &path).body(body.to_string());
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        Answer::of(request.send().await?).await
    }

    pub async fn post(&self, path: &str, token: Option<&str>, body: &Value) -> Answer {
        self.try_post(path, token, body).await.unwrap()
    }

    /// A call with the program's token that the test does not wait for.
    pub fn in_background(&self, program: &Program, path: &'static str, body: Value) -> JoinHandle<Answer> {
        let (edge, token) = (self.clone(), program.token.clone());
        tokio::spawn(async move { edge.post(path, Some(&token), &body).await })
    }

    /// Reads any path with this session's token.
    pub async fn get(&self, path: &str, token: &str) -> Answer {
        self.send(self.request(Method::GET, path).bearer_auth(token))
            .await
    }

    pub async fn sale(&self, program: &Program, body: &Value) -> Answer {
        self.post("sale", Some(&program.token), body).await
    }

    pub async fn refund(&self, program: &Program, body: &Value) -> Answer {
        self.post("refund", Some(&program.token), body).await
    }

    pub async fn lead(&self, program: &Program, click_id: &str, customer_key: &str) -> Answer {
        let body = json!({ "click_id": click_id, "customer_key": customer_key });
        self.post("lead", Some(&program.token), &body).await
    }

    /// A click through a link. Returns its click_id.
    pub async fn click(&self, code: &str, existing: Option<&str>) -> String {
        let url = format!("https://shop.example/?aff={code}");
        let body = json!({ "affiliate_url": url, "existing_click_id": existing });
        let answer = self.post("click", None, &body).await.ok();
        answer.body["click_id"].as_str().unwrap().to_owned()
    }

    /// The status of `/livez` or `/readyz`; `None` while the port is closed.
    pub async fn health(&self, path: &str) -> Option<StatusCode> {
        let request = self.request(Method::GET, &format!("/{path}"));
        request.send().await.ok().map(|answer| answer.status())
    }

    /// Waits until `/readyz` of this service answers 200.
    pub async fn ready(&self, stack: &Stack) {
        stack
            .eventually("the service is ready", async || {
                self.health("readyz").await == Some(StatusCode::OK)
            })
            .await;
    }
}

/// A sale of 50.00, which gives a commission of 10.00 at 20 %.
pub fn sale_of(transaction_id: &str, customer_key: &str) -> Value {
    json!({ "transaction_id": transaction_id, "amount_cents": 5_000, "customer_key": customer_key })
}

/// One ingest and one worker. Callers wait this long for an outcome. Also returns a client of the ingest.
pub async fn answering_within(milliseconds: u32) -> (Stack, Edge) {
    let mut stack = Stack::without_services(Clock::system()).await;
    stack.set("ANSWER_WITHIN_MS", &milliseconds.to_string());
    let worker = Edge::at(stack.start_worker());
    let address = stack.start_ingest();
    stack.use_ingest(address);
    let edge = Edge::at(address);
    edge.ready(&stack).await;
    worker.ready(&stack).await;
    (stack, edge)
}

/// A timeout in milliseconds, long enough for anything that must happen.
pub const PATIENT: u32 = 30_000;

/// Sends a sale to an ingest that crashes between claiming and publishing the sale.
pub async fn sale_at_a_dying_ingest(stack: &Stack, program: &Program, body: &Value) {
    let edge = Edge::at(free_address());
    let process = stack.crashing("ingest", edge.address, "ingest.after_claim");
    edge.ready(stack).await;
    let answer = edge.try_post("sale", Some(&program.token), body).await;
    assert!(answer.is_err(), "{answer:?}");
    assert!(!ended(process).await.success());
}

/// Waits for a process to end by itself, without blocking the services in this process.
pub async fn ended(mut process: Process) -> ExitStatus {
    tokio::task::spawn_blocking(move || process.wait()).await.unwrap()
}

/// Raises the soft limit of open files: a thousand connections with both ends in this process exceed the
/// usual limit. Where the limit cannot be raised, the test fails to connect.
pub fn allow_open_files(count: u32) {
    let mut prlimit = Command::new("prlimit");
    prlimit
        .arg(format!("--pid={}", std::process::id()))
        .arg(format!("--nofile={count}:"));
    let _ = prlimit.stdout(Stdio::null()).stderr(Stdio::null()).status();
}
