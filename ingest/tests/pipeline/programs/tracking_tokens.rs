//! Tracking tokens beside a program's own: the scopes of each, two at once during a rotation, and when each
//! was last used.

use chrono::{DateTime, TimeDelta, Utc};
use reqwest::StatusCode;
use runtime::clock::Clock;
use serde_json::{Value, json};
use test_harness::{Answer, Person, Program, Stack, noon};

const PROGRAMS: &str = "/api/advertiser/affiliate-programs";

struct Shop {
    stack: Stack,
    program: Program,
    owner: Person,
}

impl Shop {
    async fn start() -> Self {
        Self::on(Stack::start().await).await
    }

    async fn on(stack: Stack) -> Self {
        let program = stack.program().await;
        let owner = stack.owner_of(&program).await;
        Self {
            stack,
            program,
            owner,
        }
    }

    fn path(&self, rest: &str) -> String {
        format!("{PROGRAMS}/{}/{rest}", self.program.program_id)
    }

    async fn submit(&self, rest: &str, body: Value) -> Answer {
        self.stack
            .submit(&self.path(rest), Some(&self.owner.token), body)
            .await
    }

    async fn token(&self, name: &str, scopes: &[&str]) -> (i64, String) {
        let made = self
            .submit("tracking-tokens", json!({ "name": name, "scopes": scopes }))
            .await;
        assert_eq!(made.status, StatusCode::CREATED, "{made:?}");
        let data = &made.body["data"];
        (
            data["id"].as_i64().unwrap(),
            data["api_token"].as_str().unwrap().to_owned(),
        )
    }

    async fn tokens(&self) -> Vec<Value> {
        let listed = self
            .stack
            .get(&self.path("tracking-tokens"), &self.owner.token)
            .await;
        assert_eq!(listed.status, StatusCode::OK, "{listed:?}");
        listed.body["data"].as_array().unwrap().clone()
    }

    /// The statuses of a sale, a refund, a lead and a connection: one call for each scope.
    async fn statuses(&self, token: &str) -> [u16; 4] {
        let id = self.program.program_id;
        let sale = json!({ "transaction_id": "t", "amount_cents": 1, "customer_key": "nobody" });
        let refund = json!({ "transaction_id": "t", "refund_id": "r", "refund_amount_cents": 1 });
        let lead = json!({ "customer_key": "nobody" });
        let connect = json!({ "program_id": id });
        let track = async |noun, body| self.stack.post(noun, Some(token), body).await.status.as_u16();
        let connected = self
            .stack
            .submit("/api/v1/cli/stripe-connect", Some(token), connect)
            .await;
        [
            track("sale", sale).await,
            track("refund", refund).await,
            track("lead", lead).await,
            connected.status.as_u16(),
        ]
    }
}

/// Each call passes the scope check, and is refused for its content.
const ALL_OPEN: [u16; 4] = [400, 404, 400, 400];

#[tokio::test]
async fn a_token_opens_what_it_was_made_for_and_nothing_else() {
    let shop = Shop::start().await;
    assert_eq!(shop.statuses(&shop.program.token).await, ALL_OPEN);
    let scopes = ["sale", "refund", "lead", "connect"];
    for (at, scope) in scopes.into_iter().enumerate() {
        let (_, token) = shop.token(scope, &[scope]).await;
        let mut expected = [403; 4];
        expected[at] = ALL_OPEN[at];
        assert_eq!(shop.statuses(&token).await, expected, "{scope}");
        // Every token may read, and send test events.
        let ready = shop.stack.get("/api/v1/programs/me/readiness", &token).await;
        assert_eq!(ready.status, StatusCode::OK, "{ready:?}");
    }
    let (_, all) = shop.token("all", &scopes).await;
    assert_eq!(shop.statuses(&all).await, ALL_OPEN);
    let sale = json!({ "transaction_id": "t", "amount_cents": 1, "customer_key": "nobody" });
    let (_, token) = shop.token("refunds only", &["refund"]).await;
    let refused = shop.stack.post("sale", Some(&token), sale).await;
    assert_eq!(refused.message(), "This API token has no scope sale");
}

#[tokio::test]
async fn a_lead_with_a_token_for_other_calls_does_not_count_as_a_browsers() {
    let shop = Shop::start().await;
    let click_id = shop.stack.click(&shop.program.ada.code).await;
    let (_, token) = shop.token("sales", &["sale"]).await;
    let lead = json!({ "click_id": click_id, "customer_key": "user-1" });
    let refused = shop.stack.post("lead", Some(&token), lead).await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN, "{refused:?}");
    let leads = shop.stack.count("lead_events").await;
    assert_eq!(leads, 0);
}

#[tokio::test]
async fn a_servers_token_is_replaced_without_a_gap() {
    let shop = Shop::start().await;
    let (first_id, first) = shop.token("Billing", &["sale", "refund"]).await;
    let (_, second) = shop.token("Billing", &["sale", "refund"]).await;
    let open = [400, 404, 403, 403];
    assert_eq!(shop.statuses(&first).await, open);
    assert_eq!(shop.statuses(&second).await, open);
    let revoke = shop.path(&format!("tracking-tokens/{first_id}"));
    let revoked = shop.stack.delete(&revoke, &shop.owner.token).await;
    assert_eq!(revoked.status, StatusCode::NO_CONTENT, "{revoked:?}");
    // A removed scope no longer works once the removal is answered.
    assert_eq!(shop.statuses(&first).await, [401; 4]);
    assert_eq!(shop.statuses(&second).await, open);
    let again = shop.stack.delete(&revoke, &shop.owner.token).await;
    assert_eq!(again.status, StatusCode::NOT_FOUND);
    let audited: Vec<String> =
        sqlx::query_scalar("SELECT action FROM audit_log WHERE action LIKE 'tracking_token.%' ORDER BY id")
            .fetch_all(shop.stack.pool())
            .await
            .unwrap();
    let created = "tracking_token.created";
    assert_eq!(audited, [created, created, "tracking_token.revoked"]);
}

#[tokio::test]
async fn the_own_token_is_kept_for_a_while_when_it_is_regenerated_so() {
    let clock = Clock::manual(noon());
    let shop = Shop::on(Stack::start_with(clock.clone()).await).await;
    let regenerate = async |body: Value| {
        let made = shop.submit("regenerate-api-token", body).await;
        assert_eq!(made.status, StatusCode::OK, "{made:?}");
        made.body["data"]["api_token"].as_str().unwrap().to_owned()
    };
    let oldest = shop.program.token.clone();
    let in_a_week = shop.stack.clock.now() + TimeDelta::days(7);
    let kept = json!({ "keep_previous_until": in_a_week.to_rfc3339() });
    let second = regenerate(kept.clone()).await;
    assert_eq!(shop.statuses(&oldest).await, ALL_OPEN);
    assert_eq!(shop.statuses(&second).await, ALL_OPEN);
    // Each answer to the old token announces its end.
    let sale = json!({ "transaction_id": "t", "amount_cents": 1, "customer_key": "nobody" });
    let warned = shop.stack.post("sale", Some(&oldest), sale.clone()).await;
    assert_eq!(
        warned.header("sunset"),
        in_a_week.format("%a, %d %b %Y %H:%M:%S GMT").to_string()
    );
    let current = shop.stack.post("sale", Some(&second), sale.clone()).await;
    assert_eq!(current.header("sunset"), "");
    let kinds: Vec<_> = shop
        .tokens()
        .await
        .iter()
        .map(|token| token["kind"].clone())
        .collect();
    assert_eq!(kinds, ["own", "previous"]);
    // At most two own tokens are accepted.
    let third = regenerate(kept).await;
    assert_eq!(shop.statuses(&oldest).await, [401; 4]);
    assert_eq!(shop.statuses(&second).await, ALL_OPEN);
    // A regeneration that does not keep the old token ends all earlier ones.
    let fourth = regenerate(json!({})).await;
    assert_eq!(shop.statuses(&second).await, [401; 4]);
    assert_eq!(shop.statuses(&third).await, [401; 4]);
    assert_eq!(shop.statuses(&fourth).await, ALL_OPEN);
    // A kept token ends by itself.
    let fifth = regenerate(json!({ "keep_previous_until": in_a_week.to_rfc3339() })).await;
    clock.set(in_a_week);
    let ended = shop.stack.post("sale", Some(&fourth), sale).await;
    assert_eq!(ended.status, StatusCode::UNAUTHORIZED);
    assert_eq!(ended.body["error"]["code"], "api_key_rotation_required");
    assert_eq!(shop.statuses(&fifth).await, ALL_OPEN);
}

#[tokio::test]
async fn a_deadline_that_was_set_holds_and_a_token_that_ended_stays_refused() {
    let clock = Clock::manual(noon());
    let shop = Shop::on(Stack::start_with(clock.clone()).await).await;
    let marked = shop.program.token.clone();
    let deadline = noon() + TimeDelta::minutes(10);
    let later = json!({ "keep_previous_until": (noon() + TimeDelta::days(7)).to_rfc3339() });
    let mark = async |at: DateTime<Utc>| {
        let done = shop
            .submit("key-rotation", json!({ "rotate_by": at.to_rfc3339() }))
            .await;
        assert_eq!(done.status, StatusCode::OK, "{done:?}");
    };
    mark(deadline).await;
    let made = shop.submit("regenerate-api-token", later.clone()).await;
    let second = made.body["data"]["api_token"].as_str().unwrap().to_owned();
    assert_eq!(shop.statuses(&marked).await, ALL_OPEN);
    clock.set(deadline);
    assert_eq!(shop.statuses(&marked).await, [401; 4]);
    // After the deadline the token stays invalid, even if the mark is removed or the token is kept.
    mark(deadline + TimeDelta::minutes(1)).await;
    clock.set(deadline + TimeDelta::minutes(1));
    assert_eq!(shop.statuses(&second).await, [401; 4]);
    let path = format!(
        "/api/advertiser/affiliate-programs/{}/key-rotation",
        shop.program.program_id
    );
    let unmarked = shop.stack.delete(&path, &shop.owner.token).await;
    assert_eq!(unmarked.status, StatusCode::CONFLICT, "{unmarked:?}");
    let tomorrow = json!({ "rotate_by": (noon() + TimeDelta::days(1)).to_rfc3339() });
    let marked_again = shop.submit("key-rotation", tomorrow).await;
    assert_eq!(marked_again.status, StatusCode::CONFLICT, "{marked_again:?}");
    assert_eq!(shop.statuses(&second).await, [401; 4]);
    let made = shop.submit("regenerate-api-token", later).await;
    assert_eq!(made.status, StatusCode::OK, "{made:?}");
    assert_eq!(shop.statuses(&second).await, [401; 4]);
}

#[tokio::test]
async fn two_regenerations_at_once_leave_one_of_both_accepted_and_the_one_it_replaced() {
    let shop = Shop::start().await;
    let in_a_week = shop.stack.clock.now() + TimeDelta::days(7);
    let kept = json!({ "keep_previous_until": in_a_week.to_rfc3339() });
    let (one, other) = tokio::join!(
        shop.submit("regenerate-api-token", kept.clone()),
        shop.submit("regenerate-api-token", kept),
    );
    let mut open = Vec::new();
    for made in [&one, &other] {
        assert_eq!(made.status, StatusCode::OK, "{made:?}");
        let token = made.body["data"]["api_token"].as_str().unwrap();
        open.push(shop.statuses(token).await);
    }
    // The later token is the program's own, and the earlier one is kept.
    assert_eq!(open, [ALL_OPEN; 2]);
    assert_eq!(shop.statuses(&shop.program.token).await, [401; 4]);
}

#[tokio::test]
async fn tokens_are_listed_masked_with_their_last_use() {
    let shop = Shop::start().await;
    let (id, token) = shop.token("Billing", &["sale"]).await;
    let (_, unused) = shop.token("Spare", &["refund"]).await;
    shop.statuses(&token).await;
    let last_use = async || shop.tokens().await[1]["last_used_at"].clone();
    shop.stack
        .eventually("its use is noted", async || !last_use().await.is_null())
        .await;
    let tokens = shop.tokens().await;
    assert_eq!(tokens[0]["kind"], "own");
    assert_eq!(tokens[0]["id"], Value::Null);
    let billing = &tokens[1];
    assert_eq!(
        [
            &billing["id"],
            &billing["name"],
            &billing["kind"],
            &billing["scopes"]
        ],
        [&json!(id), &json!("Billing"), &json!("named"), &json!(["sale"])]
    );
    assert_eq!(tokens[2]["last_used_at"], Value::Null);
    let text = Value::from(tokens).to_string();
    assert!(!text.contains(&token) && !text.contains(&unused), "{text}");
}

#[tokio::test]
async fn a_token_that_says_nothing_or_too_much_is_not_made() {
    let shop = Shop::start().await;
    for (body, message) in [
        (json!({ "scopes": ["sale"] }), "name is required"),
        (json!({ "name": "A" }), "scopes is required"),
        (json!({ "name": "A", "scopes": [] }), "scopes must not be empty"),
        (
            json!({ "name": "A", "scopes": ["*"] }),
            "scopes names no scope: *",
        ),
        (
            json!({ "name": "A", "scopes": "sale" }),
            "scopes must be a list of scopes",
        ),
        (
            json!({ "name": "A", "scopes": [1] }),
            "scopes must be a list of scopes",
        ),
        (
            json!({ "name": "A", "scopes": [null] }),
            "scopes must be a list of scopes",
        ),
    ] {
        let refused = shop.submit("tracking-tokens", body.clone()).await;
        assert_eq!(
            (refused.status, refused.message()),
            (StatusCode::BAD_REQUEST, message),
            "{body}"
        );
    }
    for (until, message) in [
        (
            "2020-01-01T00:00:00Z",
            "keep_previous_until must be in the future",
        ),
        (
            "2999-01-01T00:00:00Z",
            "keep_previous_until must be within 30 days",
        ),
        (
            "soon",
            "keep_previous_until must be an ISO 8601 instant such as 2027-01-31T12:00:00Z",
        ),
    ] {
        let body = json!({ "keep_previous_until": until });
        let refused = shop.submit("regenerate-api-token", body).await;
        assert_eq!(
            (refused.status, refused.message()),
            (StatusCode::BAD_REQUEST, message)
        );
    }
    assert_eq!(shop.statuses(&shop.program.token).await, ALL_OPEN);
    for at in 0..20 {
        shop.token(&format!("Server {at}"), &["sale"]).await;
    }
    let full = shop
        .submit(
            "tracking-tokens",
            json!({ "name": "One more", "scopes": ["sale"] }),
        )
        .await;
    assert_eq!(full.status, StatusCode::CONFLICT, "{full:?}");
}

#[tokio::test]
async fn another_programs_token_is_not_there_to_be_revoked() {
    let shop = Shop::start().await;
    let (id, token) = shop.token("Billing", &["sale"]).await;
    let other = shop.stack.program().await;
    let stranger = shop.stack.owner_of(&other).await;
    let through_its_own = format!("{PROGRAMS}/{}/tracking-tokens/{id}", other.program_id);
    let refused = shop.stack.delete(&through_its_own, &stranger.token).await;
    assert_eq!(refused.status, StatusCode::NOT_FOUND, "{refused:?}");
    assert_eq!(shop.statuses(&token).await[0], 400);
}
