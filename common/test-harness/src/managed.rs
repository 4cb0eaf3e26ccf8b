//! A program made through the management API, for tests of that API.

use serde_json::{Value, json};
use sqlx::AssertSqlSafe;

use crate::people::{Person, Workspace};
use crate::requests::Answer;
use crate::stack::Stack;

pub const PROGRAMS: &str = "/api/advertiser/affiliate-programs";

/// A program made over HTTP, with the session of its workspace's owner. It pays 20 % of every payment for
/// ever.
#[derive(Debug)]
pub struct Managed {
    pub id: i64,
    pub api_token: String,
    pub owner: Person,
}

impl Stack {
    /// A running stack and a program of the workspace `acme`.
    pub async fn with_managed() -> (Self, Managed) {
        let (stack, acme) = Self::with_workspace().await;
        let program = Managed::new(&stack, &acme, "Acme").await;
        (stack, program)
    }
}

impl Managed {
    pub async fn new(stack: &Stack, workspace: &Workspace, name: &str) -> Self {
        let owner = workspace.owner.clone();
        let made = owner.submit(PROGRAMS, json!({ "name": name })).await.created();
        let program = Self {
            id: made.id(),
            api_token: made.string("api_token"),
            owner,
        };
        let policy = json!({ "commission_type": "cps_lifetime", "rate_bps": 2000 });
        program
            .submit(stack, "commission-policies", policy)
            .await
            .created();
        program
    }

    /// The path of something below the program, such as `partners`; of the program itself if `below` is empty.
    pub fn path(&self, below: &str) -> String {
        let path = format!("{PROGRAMS}/{}/{below}", self.id);
        path.trim_end_matches('/').to_owned()
    }

    pub async fn get(&self, stack: &Stack, below: &str) -> Answer {
        stack.get(&self.path(below), &self.owner.token).await
    }

    pub async fn submit(&self, stack: &Stack, below: &str, body: Value) -> Answer {
        let token = Some(self.owner.token.as_str());
        stack.submit(&self.path(below), token, body).await
    }

    pub async fn put(&self, stack: &Stack, below: &str, body: Value) -> Answer {
        stack.put(&self.path(below), &self.owner.token, body).await
    }

    pub async fn patch(&self, stack: &Stack, below: &str, body: Value) -> Answer {
        stack.patch(&self.path(below), &self.owner.token, body).await
    }

    pub async fn delete(&self, stack: &Stack, below: &str) -> Answer {
        stack.delete(&self.path(below), &self.owner.token).await
    }

    /// Adds a partner. Returns the partner in the answer.
    pub async fn partner(&self, stack: &Stack, email: &str, status: &str) -> Value {
        let body = json!({ "name": "Ada", "email": email, "status": status });
        let added = self.submit(stack, "partners", body).await.created();
        added.body["data"].clone()
    }

    /// Creates a link of a partner. Returns the link in the answer.
    pub async fn link(&self, stack: &Stack, partner: &Value, code: &str) -> Value {
        let body = json!({ "partner_program_id": partner["id"], "short_code": code });
        let made = self.submit(stack, "referral-links", body).await.created();
        made.body["data"].clone()
    }

    pub async fn sale(&self, stack: &Stack, transaction_id: &str, customer_key: &str) -> Answer {
        let body =
            json!({ "transaction_id": transaction_id, "amount_cents": 5000, "customer_key": customer_key });
        stack.post("sale", Some(&self.api_token), body).await
    }

    /// A customer with a click on a link and a confirmed lead.
    pub async fn customer(&self, stack: &Stack, code: &str, customer_key: &str) {
        let click_id = stack.click(code).await;
        let body = json!({ "click_id": click_id, "customer_key": customer_key });
        stack.post("lead", Some(&self.api_token), body).await.ok();
    }
}

/// Number of entries with this action in the audit log.
pub async fn audited(stack: &Stack, action: &str) -> i64 {
    sqlx::query_scalar("SELECT count(*) FROM audit_log WHERE action = $1")
        .bind(action)
        .fetch_one(stack.pool())
        .await
        .unwrap()
}

/// The details of the entries with this action in the audit log, oldest first.
pub async fn audit_details(stack: &Stack, action: &str) -> Vec<Value> {
    sqlx::query_scalar("SELECT details FROM audit_log WHERE action = $1 ORDER BY id")
        .bind(action)
        .fetch_all(stack.pool())
        .await
        .unwrap()
}

/// The actions of the entries that fit this condition on `audit_log`, oldest first.
pub async fn audit_actions(stack: &Stack, condition: &str) -> Vec<String> {
    let query = format!("SELECT action FROM audit_log WHERE {condition} ORDER BY id");
    sqlx::query_scalar(AssertSqlSafe(query))
        .fetch_all(stack.pool())
        .await
        .unwrap()
}

/// The token of an invitation's link.
pub fn token(invitation_url: &Value) -> String {
    let url = invitation_url.as_str().unwrap();
    let token = url.strip_prefix("http://127.0.0.1:8080/invitation#").unwrap();
    assert!(token.starts_with("affi_"), "{url}");
    token.to_owned()
}
