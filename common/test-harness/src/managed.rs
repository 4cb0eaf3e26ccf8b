//! A program made through the management API, for tests of that API.

use reqwest::StatusCode;
use serde_json::{Value, json};

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

impl Managed {
    pub async fn new(stack: &Stack, workspace: &Workspace, name: &str) -> Self {
        let owner = workspace.owner.clone();
        let made = stack
            .submit(PROGRAMS, Some(&owner.token), json!({ "name": name }))
            .await;
        assert_eq!(made.status, StatusCode::CREATED, "{:?}", made.body);
        let program = Self {
            id: made.body["data"]["id"].as_i64().unwrap(),
            api_token: made.body["data"]["api_token"].as_str().unwrap().to_owned(),
            owner,
        };
        let policy = json!({ "commission_type": "cps_lifetime", "rate_bps": 2000 });
        let set = program.submit(stack, "commission-policies", policy).await;
        assert_eq!(set.status, StatusCode::CREATED, "{:?}", set.body);
        program
    }

    /// The path of something below the program, such as `partners`.
    pub fn path(&self, below: &str) -> String {
        format!("{PROGRAMS}/{}/{below}", self.id)
    }

    pub async fn get(&self, stack: &Stack, below: &str) -> Answer {
        stack.get(&self.path(below), &self.owner.token).await
    }

    pub async fn submit(&self, stack: &Stack, below: &str, body: Value) -> Answer {
        stack
            .submit(&self.path(below), Some(&self.owner.token), body)
            .await
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
        let added = self.submit(stack, "partners", body).await;
        assert_eq!(added.status, StatusCode::CREATED, "{:?}", added.body);
        added.body["data"].clone()
    }

    /// Creates a link of a partner. Returns the link in the answer.
    pub async fn link(&self, stack: &Stack, partner: &Value, code: &str) -> Value {
        let body = json!({ "partner_program_id": partner["id"], "short_code": code });
        let made = self.submit(stack, "referral-links", body).await;
        assert_eq!(made.status, StatusCode::CREATED, "{:?}", made.body);
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
        let lead = stack.post("lead", Some(&self.api_token), body).await;
        assert_eq!(lead.status, StatusCode::OK, "{lead:?}");
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

/// The token of an invitation's link.
pub fn token(invitation_url: &Value) -> String {
    let url = invitation_url.as_str().unwrap();
    let token = url.strip_prefix("http://127.0.0.1:8080/invitation#").unwrap();
    assert!(token.starts_with("affi_"), "{url}");
    token.to_owned()
}
