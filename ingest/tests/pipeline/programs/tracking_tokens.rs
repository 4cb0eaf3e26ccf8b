//! Tracking tokens beside a program's own: the scopes of each, two at once during a rotation, and when each
//! was last used.

use chrono::{DateTime, TimeDelta, Utc};
use runtime::clock::Clock;
use serde_json::{Value, json};
use test_harness::{Answer, Json, Person, Program, Stack, managed::audit_actions, noon, refused_each};

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

    async fn submit(&self, rest: &str, body: Value) -> Answer {
        self.owner.submit(&self.program.path(rest), body).await
    }

    async fn token(&self, name: &str, scopes: &[&str]) -> (i64, String) {
        let body = json!({ "name": name, "scopes": scopes });
        let made = self.submit("tracking-tokens", body).await.created();
        (made.id(), made.string("api_token"))
    }

    async fn regenerate(&self, body: &Value) -> String {
        let made = self.submit("regenerate-api-token", body.clone()).await;
        made.ok().string("api_token")
    }

    async fn tokens(&self) -> Value {
        let listed = self.owner.get(&self.program.path("tracking-tokens")).await;
        listed.data().clone()
    }

    /// A sale that passes the check of its token, and is refused for its customer.
    async fn sale(&self, token: &str) -> Answer {
        let body = json!({ "transaction_id": "t", "amount_cents": 1, "customer_key": "nobody" });
        self.stack.post("sale", Some(token), body).await
    }

    /// Asserts the statuses of a sale, a refund, a lead and a connection: one call for each scope.
    async fn answers(&self, token: &str, expected: [u16; 4]) {
        let refund = json!({ "transaction_id": "t", "refund_id": "r", "refund_amount_cents": 1 });
        let lead = json!({ "customer_key": "nobody" });
        let connect = json!({ "program_id": self.program.program_id });
        let (stack, key) = (&self.stack, Some(token));
        let answers = [
            self.sale(token).await,
            stack.post("refund", key, refund).await,
            stack.post("lead", key, lead).await,
            stack.submit("/api/v1/cli/stripe-connect", key, connect).await,
        ];
        let statuses = answers.each_ref().map(|answer| answer.status.as_u16());
        assert_eq!(statuses, expected, "{token}: {answers:?}");
    }
}

/// Each call passes the scope check, and is refused for its content.
const ALL_OPEN: [u16; 4] = [400, 404, 400, 400];
const ALL_CLOSED: [u16; 4] = [401; 4];

#[tokio::test]
async fn a_token_opens_what_it_was_made_for_and_nothing_else() {
    let shop = Shop::start().await;
    shop.answers(&shop.program.token, ALL_OPEN).await;
    let scopes = ["sale", "refund", "lead", "connect"];
    for (at, scope) in scopes.into_iter().enumerate() {
        let (_, token) = shop.token(scope, &[scope]).await;
        let mut expected = [403; 4];
        expected[at] = ALL_OPEN[at];
        shop.answers(&token, expected).await;
        // Every token may read, and send test events.
        shop.stack.get("/api/v1/programs/me/readiness", &token).await.ok();
    }
    let (_, all) = shop.token("all", &scopes).await;
    shop.answers(&all, ALL_OPEN).await;
    let (_, token) = shop.token("refunds only", &["refund"]).await;
    assert_eq!(
        shop.sale(&token).await.message(),
        "This API token has no scope sale"
    );
}

#[tokio::test]
async fn a_lead_with_a_token_for_other_calls_does_not_count_as_a_browsers() {
    let shop = Shop::start().await;
    let click_id = shop.stack.click(&shop.program.ada.code).await;
    let (_, token) = shop.token("sales", &["sale"]).await;
    let lead = json!({ "click_id": click_id, "customer_key": "user-1" });
    shop.stack.post("lead", Some(&token), lead).await.is(403);
    assert_eq!(shop.stack.count("lead_events").await, 0);
}

#[tokio::test]
async fn a_servers_token_is_replaced_without_a_gap() {
    let shop = Shop::start().await;
    let (first_id, first) = shop.token("Billing", &["sale", "refund"]).await;
    let (_, second) = shop.token("Billing", &["sale", "refund"]).await;
    let open = [400, 404, 403, 403];
    shop.answers(&first, open).await;
    shop.answers(&second, open).await;
    let first_token = shop.program.path(&format!("tracking-tokens/{first_id}"));
    shop.owner.delete(&first_token).await.is(204);
    // A removed scope no longer works once the removal is answered.
    shop.answers(&first, ALL_CLOSED).await;
    shop.answers(&second, open).await;
    shop.owner.delete(&first_token).await.is(404);
    let audited = audit_actions(&shop.stack, "action LIKE 'tracking_token.%'").await;
    let created = "tracking_token.created";
    assert_eq!(audited, [created, created, "tracking_token.revoked"]);
}

#[tokio::test]
async fn the_own_token_is_kept_for_a_while_when_it_is_regenerated_so() {
    let clock = Clock::manual(noon());
    let shop = Shop::on(Stack::start_with(clock.clone()).await).await;
    let oldest = shop.program.token.clone();
    let in_a_week = noon() + TimeDelta::days(7);
    let kept = json!({ "keep_previous_until": in_a_week.to_rfc3339() });
    let second = shop.regenerate(&kept).await;
    shop.answers(&oldest, ALL_OPEN).await;
    shop.answers(&second, ALL_OPEN).await;
    // Each answer to the old token announces its end.
    let sunset = in_a_week.format("%a, %d %b %Y %H:%M:%S GMT").to_string();
    assert_eq!(shop.sale(&oldest).await.header("sunset"), sunset);
    assert_eq!(shop.sale(&second).await.header("sunset"), "");
    assert_eq!(shop.tokens().await.column("kind"), json!(["own", "previous"]));
    // At most two own tokens are accepted.
    let third = shop.regenerate(&kept).await;
    shop.answers(&oldest, ALL_CLOSED).await;
    shop.answers(&second, ALL_OPEN).await;
    // A regeneration that does not keep the old token ends all earlier ones.
    let fourth = shop.regenerate(&json!({})).await;
    shop.answers(&second, ALL_CLOSED).await;
    shop.answers(&third, ALL_CLOSED).await;
    shop.answers(&fourth, ALL_OPEN).await;
    // A kept token ends by itself.
    let fifth = shop.regenerate(&kept).await;
    clock.set(in_a_week);
    let ended = shop.sale(&fourth).await.is(401);
    assert_eq!(ended.body["error"]["code"], "api_key_rotation_required");
    shop.answers(&fifth, ALL_OPEN).await;
}

#[tokio::test]
async fn a_deadline_that_was_set_holds_and_a_token_that_ended_stays_refused() {
    let clock = Clock::manual(noon());
    let shop = Shop::on(Stack::start_with(clock.clone()).await).await;
    let marked = shop.program.token.clone();
    let deadline = noon() + TimeDelta::minutes(10);
    let later = json!({ "keep_previous_until": (noon() + TimeDelta::days(7)).to_rfc3339() });
    let mark = async |at: DateTime<Utc>| {
        let body = json!({ "rotate_by": at.to_rfc3339() });
        shop.submit("key-rotation", body).await
    };
    mark(deadline).await.ok();
    let second = shop.regenerate(&later).await;
    shop.answers(&marked, ALL_OPEN).await;
    clock.set(deadline);
    shop.answers(&marked, ALL_CLOSED).await;
    // After the deadline the token stays invalid, even if the mark is removed or the token is kept.
    mark(deadline + TimeDelta::minutes(1)).await.ok();
    clock.set(deadline + TimeDelta::minutes(1));
    shop.answers(&second, ALL_CLOSED).await;
    shop.owner
        .delete(&shop.program.path("key-rotation"))
        .await
        .is(409);
    mark(noon() + TimeDelta::days(1)).await.is(409);
    shop.answers(&second, ALL_CLOSED).await;
    shop.regenerate(&later).await;
    shop.answers(&second, ALL_CLOSED).await;
}

#[tokio::test]
async fn two_regenerations_at_once_leave_one_of_both_accepted_and_the_one_it_replaced() {
    let shop = Shop::start().await;
    let in_a_week = shop.stack.clock.now() + TimeDelta::days(7);
    let kept = json!({ "keep_previous_until": in_a_week.to_rfc3339() });
    let (one, other) = tokio::join!(shop.regenerate(&kept), shop.regenerate(&kept));
    // The later token is the program's own, and the earlier one is kept.
    shop.answers(&one, ALL_OPEN).await;
    shop.answers(&other, ALL_OPEN).await;
    shop.answers(&shop.program.token, ALL_CLOSED).await;
}

#[tokio::test]
async fn tokens_are_listed_masked_with_their_last_use() {
    let shop = Shop::start().await;
    let (id, token) = shop.token("Billing", &["sale"]).await;
    let (_, unused) = shop.token("Spare", &["refund"]).await;
    shop.sale(&token).await;
    let last_use = async || shop.tokens().await[1]["last_used_at"].clone();
    shop.stack
        .eventually("its use is noted", async || !last_use().await.is_null())
        .await;
    let tokens = shop.tokens().await;
    tokens[0].has(json!({ "kind": "own", "id": null }));
    tokens[1].has(json!({ "id": id, "name": "Billing", "kind": "named", "scopes": ["sale"] }));
    assert_eq!(tokens[2]["last_used_at"], Value::Null);
    let text = tokens.to_string();
    assert!(!text.contains(&token) && !text.contains(&unused), "{text}");
}

#[tokio::test]
async fn a_token_that_says_nothing_or_too_much_is_not_made() {
    let shop = Shop::start().await;
    let table = json!({
        "name is required": [{ "scopes": ["sale"] }],
        "scopes is required": [{ "name": "A" }],
        "scopes must not be empty": [{ "name": "A", "scopes": [] }],
        "scopes names no scope: *": [{ "name": "A", "scopes": ["*"] }],
        "scopes must be a list of scopes": [
            { "name": "A", "scopes": "sale" }, { "name": "A", "scopes": [1] },
            { "name": "A", "scopes": [null] },
        ],
    });
    refused_each(400, table, async |body| {
        shop.submit("tracking-tokens", body).await
    })
    .await;
    let table = json!({
        "keep_previous_until must be in the future": ["2020-01-01T00:00:00Z"],
        "keep_previous_until must be within 30 days": ["2999-01-01T00:00:00Z"],
        "keep_previous_until must be an ISO 8601 instant such as 2027-01-31T12:00:00Z": ["soon"],
    });
    refused_each(400, table, async |until| {
        let body = json!({ "keep_previous_until": until });
        shop.submit("regenerate-api-token", body).await
    })
    .await;
    shop.answers(&shop.program.token, ALL_OPEN).await;
    for at in 0..20 {
        shop.token(&format!("Server {at}"), &["sale"]).await;
    }
    let one_more = json!({ "name": "One more", "scopes": ["sale"] });
    shop.submit("tracking-tokens", one_more).await.is(409);
}

#[tokio::test]
async fn another_programs_token_is_not_there_to_be_revoked() {
    let shop = Shop::start().await;
    let (id, token) = shop.token("Billing", &["sale"]).await;
    let other = shop.stack.program().await;
    let stranger = shop.stack.owner_of(&other).await;
    let through_its_own = other.path(&format!("tracking-tokens/{id}"));
    stranger.delete(&through_its_own).await.is(404);
    shop.sale(&token).await.is(400);
}
