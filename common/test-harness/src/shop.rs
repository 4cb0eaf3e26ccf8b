//! A program with an owner and a customer, for tests about money.

use domain::token::ManagementKey;
use reqwest::StatusCode;
use runtime::clock::Clock;
use serde_json::{Value, json};

use crate::people::Person;
use crate::program::Program;
use crate::requests::Answer;
use crate::stack::Stack;

const PROGRAMS: &str = "/api/advertiser/affiliate-programs";

/// A program with its owner and a customer on Ada's link.
#[derive(Debug)]
pub struct Shop {
    pub stack: Stack,
    pub program: Program,
    pub owner: Person,
}

impl Shop {
    pub async fn open() -> Self {
        Self::open_at(Clock::system()).await
    }

    pub async fn open_at(clock: Clock) -> Self {
        let stack = Stack::start_with(clock).await;
        let program = stack.program().await;
        let owner = stack.owner_of(&program).await;
        stack.customer(&program, &program.ada.code, "user-1").await;
        Self {
            stack,
            program,
            owner,
        }
    }

    pub fn path(&self, rest: &str) -> String {
        format!("{PROGRAMS}/{}/{rest}", self.program.program_id)
    }

    pub async fn get(&self, rest: &str) -> Answer {
        self.stack.get(&self.path(rest), &self.owner.token).await
    }

    pub async fn post(&self, rest: &str, body: Value) -> Answer {
        self.stack
            .submit(&self.path(rest), Some(&self.owner.token), body)
            .await
    }

    /// A sale, of 100.00 by default. Returns the id of its commission of 20 %.
    pub async fn sell(&self, transaction_id: &str, more: Value) -> i64 {
        let sale = sell(&self.stack, &self.program, transaction_id, 10_000, more).await;
        sale.body["commission_id"].as_i64().unwrap()
    }

    pub async fn approve(&self, ids: &[i64]) {
        let answer = self
            .post("commissions/approve", json!({ "commission_ids": ids }))
            .await;
        assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
        assert_eq!(answer.body, json!({ "data": { "approved": ids } }));
    }

    /// Pays, and returns the payout in the answer.
    pub async fn pay(&self, body: Value) -> Value {
        let answer = self.post("payouts", body).await;
        assert_eq!(answer.status, StatusCode::CREATED, "{answer:?}");
        answer.body["data"].clone()
    }

    pub async fn refund(&self, transaction_id: &str, amount_cents: i64) {
        let body = json!({ "transaction_id": transaction_id, "refund_amount_cents": amount_cents });
        let answer = self.stack.refund(&self.program, body).await;
        assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
    }

    pub async fn balance(&self) -> i64 {
        self.stack.balance(self.program.ada.membership).await
    }

    /// Creates a key of the program's workspace.
    pub async fn key(&self, scopes: &str) -> String {
        let key = ManagementKey::generate(rand::random());
        sqlx::query(
            "INSERT INTO management_keys (workspace_id, name, key_hash, prefix, key_masked, scopes, created_by)
             SELECT workspace_id, 'key', $2, $3, $4, $5::text[], $6 FROM programs WHERE id = $1",
        )
        .bind(self.program.program_id.get())
        .bind(key.hash().as_bytes().as_slice())
        .bind(key.prefix())
        .bind(key.masked())
        .bind(scopes)
        .bind(self.owner.user_id.get())
        .execute(self.stack.pool())
        .await
        .unwrap();
        key.expose().to_owned()
    }
}

/// The reasons in a refusal, by commission.
pub fn reasons(answer: &Answer) -> Vec<(i64, String)> {
    assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{answer:?}");
    let commissions = answer.body["error"]["details"]["commissions"].as_array().unwrap();
    commissions
        .iter()
        .map(|refused| {
            let reason = refused["reason"].as_str().unwrap().to_owned();
            (refused["commission_id"].as_i64().unwrap(), reason)
        })
        .collect()
}

/// A sale to the customer `user-1`.
pub async fn sell(
    stack: &Stack,
    program: &Program,
    transaction_id: &str,
    amount_cents: i64,
    more: Value,
) -> Answer {
    let mut body =
        json!({ "transaction_id": transaction_id, "amount_cents": amount_cents, "customer_key": "user-1" });
    body.as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    let sale = stack.sale(program, body).await;
    assert_eq!(sale.status, StatusCode::OK, "{sale:?}");
    sale
}
