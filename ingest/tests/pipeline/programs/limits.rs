//! Rate limits: which callers are counted, the headers of every answer, and counting without Redis.

use std::sync::atomic::{AtomicUsize, Ordering};

use domain::token::{InvitationToken, ManagementKey, ProgramToken, SessionToken};
use reqwest::{Method, StatusCode};
use runtime::clock::Clock;
use serde_json::json;
use test_harness::managed::{PROGRAMS, audited};
use test_harness::{Answer, Program, Stack, ctl, noon, succeeds};
use testing::{OwnRedis, free_address};

/// An address for each test, because tests share Redis.
fn address() -> String {
    let [a, b, c, ..] = rand::random::<[u8; 16]>();
    format!("198.{a}.{b}.{c}")
}

async fn click_from(stack: &Stack, program: &Program, client: &str) -> Answer {
    let body = json!({ "affiliate_url": format!("https://shop.example/?aff={}", program.ada.code) });
    let request = stack.tracking("click").header("x-forwarded-for", client);
    stack.send(request.json(&body)).await
}

/// Sends until a request is refused as one too many; the minute may end in between.
async fn limited(what: &str, send: impl AsyncFn() -> Answer) -> Answer {
    for _ in 0..12 {
        let answer = send().await;
        if answer.status == StatusCode::TOO_MANY_REQUESTS {
            answer.rate_limited(60);
            return answer;
        }
    }
    panic!("never refused: {what}");
}

#[tokio::test]
async fn every_answer_says_where_the_caller_stands() {
    let stack = Stack::start_set(&[("CLICK_LIMIT", "60")]).await;
    let program = stack.program().await;
    let client = address();
    let first = click_from(&stack, &program, &client).await;
    assert_eq!(first.header("x-ratelimit-limit"), "60");
    assert_eq!(first.header("x-ratelimit-remaining"), "59");
    assert_eq!(first.header("x-ratelimit-reset").parse::<i64>().unwrap() % 60, 0);
    let unauthorised = stack.post("sale", None, json!({})).await.is(401);
    assert!(!unauthorised.header("x-ratelimit-limit").is_empty());
}

#[tokio::test]
async fn a_request_over_the_limit_is_told_when_to_come_back_and_records_nothing() {
    let stack = Stack::start_set(&[("CLICK_LIMIT", "2")]).await;
    let program = stack.program().await;
    let client = address();
    let refused = limited("clicks", async || click_from(&stack, &program, &client).await).await;
    assert!(refused.body.get("data").is_none());
    assert_eq!(refused.header("x-ratelimit-remaining"), "0");
    // Another client has a count of its own.
    click_from(&stack, &program, &address()).await.ok();
    stack.verify().await;
    stack
        .eventually("each click event is counted", async || {
            let counted: i64 = stack
                .value("SELECT sum(clicks)::bigint FROM referral_links")
                .await;
            stack.count("click_events").await == counted
        })
        .await;
}

fn remaining(answer: &Answer) -> i64 {
    answer.header("x-ratelimit-remaining").parse().unwrap()
}

#[tokio::test]
async fn sales_and_refunds_share_one_count_a_key() {
    let stack = Stack::start_set(&[("SALE_REFUND_LIMIT", "1000")]).await;
    let program = stack.program().await;
    let other = stack.program().await;
    let sale = stack.sale(&program, json!({})).await;
    let refund = stack.refund(&program, json!({})).await;
    // Either the next in the same minute, or the first of a new one.
    assert!([remaining(&sale) - 1, 999].contains(&remaining(&refund)));
    assert_eq!(remaining(&stack.sale(&other, json!({})).await), 999);
}

#[tokio::test]
async fn a_program_may_have_a_limit_of_its_own() {
    let stack = Stack::start_set(&[("SALE_REFUND_LIMIT", "2")]).await;
    let (program, other) = (stack.program().await, stack.program().await);
    let id = program.program_id;
    let set = format!("limits set --program-id {id} --sales-and-refunds 1000");
    succeeds(&stack, &set).await;
    let limit = async |program: &Program| {
        let sale = stack.sale(program, json!({})).await;
        sale.header("x-ratelimit-limit").to_owned()
    };
    stack
        .eventually("the limit is known", async || limit(&program).await == "1000")
        .await;
    assert_eq!(limit(&other).await, "2");
    for _ in 0..3 {
        stack.refund(&program, json!({})).await.is(400);
    }
    succeeds(&stack, &format!("limits clear --program-id {id}")).await;
    stack
        .eventually("the installation's is back", async || {
            stack.sale(&program, json!({})).await.status == StatusCode::TOO_MANY_REQUESTS
        })
        .await;
    assert_eq!(audited(&stack, "program.limited").await, 2);
    assert!(!ctl(&stack, "limits clear --program-id 4711").await.ok);
}

/// The second ingest has counted only its own requests, but refuses because of those of the first.
#[tokio::test]
async fn several_ingests_keep_one_limit_a_key() {
    const LIMIT: usize = 32;
    // The clock stands still, so no minute ends.
    let mut stack = Stack::without_services(Clock::manual(noon())).await;
    let redis = OwnRedis::start();
    stack.set("REDIS_URL", &redis.url());
    stack.set("SALE_REFUND_LIMIT", &LIMIT.to_string());
    stack.start_services().await;
    let program = stack.program().await;
    redis_counts(&stack, &program, &redis).await;
    let second = stack.start_ingest();
    for _ in 0..LIMIT {
        let sale = stack.sale(&program, json!({})).await;
        assert_ne!(sale.status, StatusCode::TOO_MANY_REQUESTS);
    }
    stack.sale(&program, json!({})).await.is(429);
    stack.use_ingest(second);
    stack.ready().await;
    let sent = AtomicUsize::new(0);
    stack
        .eventually("the second ingest refuses", async || {
            sent.fetch_add(1, Ordering::Relaxed);
            stack.sale(&program, json!({})).await.status == StatusCode::TOO_MANY_REQUESTS
        })
        .await;
    assert!(sent.load(Ordering::Relaxed) < LIMIT, "it counted for itself");
}

/// Also keys that are right in form.
#[tokio::test]
async fn invented_keys_count_by_address() {
    let stack = Stack::start_set(&[("SALE_REFUND_LIMIT", "2")]).await;
    let generated = || ProgramToken::generate(rand::random()).expose().to_owned();
    let invented = || format!("aff_invented{}", rand::random::<u32>());
    for key in [&generated as &dyn Fn() -> String, &invented] {
        let client = address();
        limited("key", async || {
            let request = stack.tracking("sale").header("x-forwarded-for", &client);
            stack.send(request.bearer_auth(key()).body("{}")).await
        })
        .await;
    }
}

#[tokio::test]
async fn management_requests_have_a_limit_for_each_user_and_each_key() {
    let stack = Stack::start_set(&[("MANAGEMENT_LIMIT", "5")]).await;
    let acme = stack.workspace("acme").await;
    let rival = stack.workspace("rival").await;
    let key = acme
        .owner
        .api_key(json!({ "name": "Backend", "scopes": ["program:list"] }))
        .await;
    let key = key["key"].as_str().unwrap();
    limited("user", async || acme.owner.get(PROGRAMS).await).await;
    // A new session belongs to the same user.
    let again = stack.signed_in(acme.owner.user_id, "owner@acme.example").await;
    limited("user again", async || again.get(PROGRAMS).await).await;
    stack.get(PROGRAMS, key).await.ok();
    limited("key", async || stack.get(PROGRAMS, key).await).await;
    rival.owner.get(PROGRAMS).await.ok();
}

#[tokio::test]
async fn tokens_of_nobody_are_looked_up_so_often_for_each_address() {
    let stack = Stack::start_set(&[("UNKNOWN_TOKEN_LIMIT", "3")]).await;
    let acme = stack.workspace("acme").await;
    let invented = |kind: &str| match kind {
        "session" => SessionToken::generate(rand::random()).expose().to_owned(),
        "key" => ManagementKey::generate(rand::random()).expose().to_owned(),
        _ => InvitationToken::generate(rand::random()).expose().to_owned(),
    };
    for kind in ["session", "key", "invitation"] {
        let client = address();
        limited(kind, async || {
            let token = invented(kind);
            let request = if kind == "invitation" {
                stack
                    .request(Method::POST, "/api/auth/invitations/inspect")
                    .json(&json!({ "token": token }))
            } else {
                stack.request(Method::GET, PROGRAMS).bearer_auth(token)
            };
            stack.send(request.header("x-forwarded-for", &client)).await
        })
        .await;
    }
    // A valid token elsewhere is not counted at all.
    for _ in 0..5 {
        let request = stack
            .request(Method::GET, PROGRAMS)
            .bearer_auth(&acme.owner.token);
        stack
            .send(request.header("x-forwarded-for", address()))
            .await
            .ok();
    }
}

#[tokio::test]
async fn without_redis_the_process_counts_with_the_same_headers() {
    let nobody = format!("redis://{}", free_address());
    let stack = Stack::start_set(&[("REDIS_URL", &nobody), ("CLICK_LIMIT", "2")]).await;
    let program = stack.program().await;
    let client = address();
    let refused = limited("clicks", async || click_from(&stack, &program, &client).await).await;
    assert_eq!(refused.header("x-ratelimit-limit"), "2");
}

/// Whether this Redis has counted the client; false while Redis does not answer.
async fn has_counted(redis: &OwnRedis, client: &str) -> bool {
    let connection = redis::Client::open(redis.url()).unwrap();
    let Ok(mut connection) = connection.get_multiplexed_async_connection().await else {
        return false;
    };
    let mut keys = redis::cmd("KEYS");
    let keys: Result<Vec<String>, _> = keys.arg(format!("*{client}*")).query_async(&mut connection).await;
    keys.is_ok_and(|keys| !keys.is_empty())
}

/// Clicks until Redis has counted one.
async fn redis_counts(stack: &Stack, program: &Program, redis: &OwnRedis) {
    let client = address();
    stack
        .eventually("Redis counts", async || {
            click_from(stack, program, &client).await;
            has_counted(redis, &client).await
        })
        .await;
}

/// A service that is connected to this Redis.
async fn counted_by(redis: &OwnRedis) -> (Stack, Program) {
    let stack = Stack::start_set(&[("REDIS_URL", &redis.url()), ("CLICK_LIMIT", "60")]).await;
    let program = stack.program().await;
    redis_counts(&stack, &program, redis).await;
    (stack, program)
}

/// Sends clicks of a new client: each answer is complete, and the process counts.
async fn the_process_counts(stack: &Stack, program: &Program) {
    let client = address();
    let mut remaining = Vec::new();
    for _ in 0..4 {
        let answer = click_from(stack, program, &client).await.ok();
        assert_eq!(answer.header("x-ratelimit-limit"), "60");
        assert!(!answer.header("x-ratelimit-reset").is_empty());
        remaining.push(answer.header("x-ratelimit-remaining").parse::<u32>().unwrap());
    }
    assert_eq!(remaining[0], 59);
    // The minute may end once in between.
    let counted = remaining.windows(2).filter(|pair| pair[1] + 1 == pair[0]).count();
    assert!(counted >= 2, "{remaining:?}");
}

#[tokio::test]
async fn a_redis_that_stops_is_no_failure_and_one_that_is_back_counts_again() {
    let mut redis = OwnRedis::start();
    let (stack, program) = counted_by(&redis).await;
    redis.kill();
    the_process_counts(&stack, &program).await;
    redis.start_again();
    redis_counts(&stack, &program, &redis).await;
}

#[tokio::test]
async fn a_redis_that_hangs_is_no_failure_and_one_that_goes_on_counts_again() {
    let redis = OwnRedis::start();
    let (stack, program) = counted_by(&redis).await;
    for _ in 0..2 {
        // The kernel still accepts connections and data, but Redis never answers.
        redis.hang();
        the_process_counts(&stack, &program).await;
        redis.go_on();
        redis_counts(&stack, &program, &redis).await;
    }
}

#[tokio::test]
async fn a_full_redis_is_no_failure_and_one_with_space_counts_again() {
    let redis = OwnRedis::start();
    let (stack, program) = counted_by(&redis).await;
    let client = redis::Client::open(redis.url()).unwrap();
    let mut connection = client.get_multiplexed_async_connection().await.unwrap();
    for bytes in [1, 0] {
        let mut limit_memory = redis::cmd("CONFIG");
        limit_memory.arg("SET").arg("maxmemory").arg(bytes);
        limit_memory.exec_async(&mut connection).await.unwrap();
        the_process_counts(&stack, &program).await;
    }
    redis_counts(&stack, &program, &redis).await;
}

#[tokio::test]
async fn a_redis_that_never_answered_is_no_failure() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("redis://{}", silent.local_addr().unwrap());
    let stack = Stack::start_set(&[("REDIS_URL", &url), ("CLICK_LIMIT", "60")]).await;
    let program = stack.program().await;
    the_process_counts(&stack, &program).await;
}
