//! A program with an owner and a customer, for tests about money.

use domain::token::ManagementKey;
use reqwest::{Method, StatusCode};
use runtime::clock::Clock;
use serde_json::{Value, json};

use crate::edge::sale_of;
use crate::json::Json;
use crate::people::Person;
use crate::program::Program;
use crate::requests::{Answer, refund_of};
use crate::stack::Stack;

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
        self.program.path(rest)
    }

    pub async fn get(&self, rest: &str) -> Answer {
        self.stack.get(&self.path(rest), &self.owner.token).await
    }

    pub async fn post(&self, rest: &str, body: Value) -> Answer {
        self.stack
            .submit(&self.path(rest), Some(&self.owner.token), body)
            .await
    }

    /// Reads something that must be there. Returns the data in the answer.
    pub async fn read(&self, rest: &str) -> Value {
        self.get(rest).await.data().clone()
    }

    /// A request with an idempotency key.
    pub async fn post_keyed(&self, rest: &str, key: &str, body: Value) -> Answer {
        let request = self.stack.request(Method::POST, &self.path(rest));
        let request = request
            .bearer_auth(&self.owner.token)
            .header("Idempotency-Key", key);
        self.stack.send(request.json(&body)).await
    }

    /// As [`Stack::lists`].
    pub async fn lists(&self, rest: &str, field: &str, by_query: Value) {
        let path = self.path(rest);
        self.stack.lists(&self.owner.token, &path, field, by_query).await;
    }

    /// As [`Stack::refuses`].
    pub async fn refuses(&self, rest: &str, by_query: Value) {
        let path = self.path(rest);
        self.stack.refuses(&self.owner.token, &path, by_query).await;
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

    /// A sale whose commission is approved. Returns the id of its commission.
    pub async fn earn(&self, transaction_id: &str, more: Value) -> i64 {
        let id = self.sell(transaction_id, more).await;
        self.approve(&[id]).await;
        id
    }

    pub async fn adjust(&self, id: i64, amount_cents: i64) -> Answer {
        let body = json!({ "amount_cents": amount_cents, "reason": "agreed" });
        self.post(&format!("commissions/{id}/adjust"), body).await
    }

    pub async fn reject(&self, ids: &[i64]) -> Answer {
        let body = json!({ "commission_ids": ids, "reason": "own purchase" });
        self.post("commissions/reject", body).await
    }

    /// Adds a commission of 25.00 for Ada by hand.
    pub async fn add_commission(&self, more: Value) -> Answer {
        let body = json!({
            "partner_program_id": self.program.ada.membership, "amount_cents": 2_500, "currency": "USD",
            "note": "Best of May",
        });
        self.post("commissions", body.with(more)).await
    }

    /// Pays everything that is approved, and returns the payout in the answer.
    pub async fn pay_all(&self) -> Value {
        self.pay(json!({ "all_approved": true })).await
    }

    /// Pays, and returns the payout in the answer.
    pub async fn pay(&self, body: Value) -> Value {
        let answer = self.post("payouts", body).await;
        assert_eq!(answer.status, StatusCode::CREATED, "{answer:?}");
        answer.body["data"].clone()
    }

    pub async fn refund(&self, transaction_id: &str, amount_cents: i64) {
        let refund = refund_of(transaction_id, amount_cents);
        self.stack.refunded(&self.program, refund).await;
    }

    pub async fn balance(&self) -> i64 {
        self.stack.balance(self.program.ada.membership).await
    }

    /// Creates a key of the program's workspace.
    pub async fn key(&self, scopes: &str) -> String {
        self.stack.key(&self.program, &self.owner, scopes).await
    }
}

impl Stack {
    /// Creates a management key with these scopes, such as `{events:read}`.
    pub async fn key(&self, program: &Program, created_by: &Person, scopes: &str) -> String {
        let key = ManagementKey::generate(rand::random());
        sqlx::query(
            "INSERT INTO management_keys (workspace_id, name, key_hash, prefix, key_masked, scopes, created_by)
             SELECT workspace_id, 'key', $2, $3, $4, $5::text[], $6 FROM programs WHERE id = $1",
        )
        .bind(program.program_id.get())
        .bind(key.hash().as_bytes().as_slice())
        .bind(key.prefix())
        .bind(key.masked())
        .bind(scopes)
        .bind(created_by.user_id.get())
        .execute(self.pool())
        .await
        .unwrap();
        key.expose().to_owned()
    }
}

impl Answer {
    /// Asserts that a request was refused for these commissions and reasons.
    #[track_caller]
    pub fn refuses_commissions(&self, expected: &[(i64, &str)]) {
        assert_eq!(self.status, StatusCode::BAD_REQUEST, "{self:?}");
        let refused = self.body["error"]["details"]["commissions"].columns(["commission_id", "reason"]);
        assert_eq!(refused, json!(expected));
    }
}

/// A sale to the customer `user-1`.
pub async fn sell(
    stack: &Stack,
    program: &Program,
    transaction_id: &str,
    amount_cents: i64,
    more: Value,
) -> Answer {
    let amount = json!({ "amount_cents": amount_cents });
    let body = sale_of(transaction_id, "user-1").with(amount).with(more);
    stack.sold(program, body).await
}
