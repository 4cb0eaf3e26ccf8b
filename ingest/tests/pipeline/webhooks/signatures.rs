//! Which signatures the service accepts.

use chrono::TimeDelta;
use futures::future::join_all;
use runtime::clock::Clock;
use serde_json::json;
use test_harness::{
    Edge, Stack,
    hooks::{
        ACCOUNT, DISTRIBUTOR, DISTRIBUTOR_SECRET, Hooks, SECRET, accepted, connect, connected, event, header,
        inbox, nothing_stored, path, signature,
    },
    noon,
};

const MISMATCH: &str = "Stripe-Signature does not match the request body";
const MALFORMED: &str = "Stripe-Signature header is malformed";
const NO_SIGNATURE: &str = "Stripe-Signature header has no v1 signature";
const OUTSIDE: &str = "Stripe-Signature header is older or newer than 300 seconds";

#[tokio::test]
async fn what_is_not_signed_as_it_must_be_is_refused_and_leaves_no_row() {
    let (stack, hooks) = Hooks::with_stack(Clock::manual(noon())).await;
    let program = connected(&stack).await;
    let now = stack.clock.now().timestamp();
    let body = event(&stack, "checkout.session.completed.basil", &program, "user-1").to_string();
    let good = header(SECRET, now, body.as_bytes());
    let v1 = signature(SECRET, now, body.as_bytes());
    let old = header(SECRET, now - 301, body.as_bytes());
    let future = header(SECRET, now + 301, body.as_bytes());
    let foreign = header("whsec_of_somebody_else", now, body.as_bytes());
    let v0 = good.replace("v1", "v0");
    let fifty = format!("t={now}{}", format!(",v1={v1}").repeat(50));
    let twice = format!("t={now},{good}");
    let timeless = format!("v1={v1}");
    let bare = format!("t={now}");
    let moved = good.replace(&now.to_string(), &(now - 1).to_string());
    let altered = body.replacen("4900", "4901", 1);
    for path in [path(&program), DISTRIBUTOR.to_owned()] {
        for (headers, body, message) in [
            (vec![], &body, "Stripe-Signature header is required"),
            (vec![""], &body, MALFORMED),
            (vec!["nonsense"], &body, MALFORMED),
            (vec![timeless.as_str()], &body, MALFORMED),
            (vec![twice.as_str()], &body, MALFORMED),
            (vec![good.as_str(), good.as_str()], &body, MALFORMED),
            (vec![bare.as_str()], &body, NO_SIGNATURE),
            (vec![v0.as_str()], &body, NO_SIGNATURE),
            (
                vec![fifty.as_str()],
                &body,
                "Stripe-Signature header has too many signatures",
            ),
            (vec![old.as_str()], &body, OUTSIDE),
            (vec![future.as_str()], &body, OUTSIDE),
            (vec![foreign.as_str()], &body, MISMATCH),
            (vec![moved.as_str()], &body, MISMATCH),
            (vec![good.as_str()], &altered, MISMATCH),
        ] {
            let answer = hooks.send(&path, &headers, body.clone()).await;
            answer.refused(400, message);
        }
    }
    // Each endpoint has its own secrets.
    let platforms = header(DISTRIBUTOR_SECRET, now, body.as_bytes());
    for (path, header) in [(DISTRIBUTOR, &good), (&path(&program), &platforms)] {
        let answer = hooks.send(path, &[header], body.clone()).await;
        answer.refused(400, MISMATCH);
    }
    nothing_stored(&stack).await;
    accepted(&hooks.send(&path(&program), &[&good], body.clone()).await);
    assert_eq!(inbox(&stack).await.len(), 1);
}

#[tokio::test]
async fn nobody_learns_which_programs_there_are() {
    let (stack, hooks) = Hooks::with_stack(Clock::system()).await;
    let (without_secret, without_connection) = (stack.program().await, stack.program().await);
    connect(&stack, without_secret.program_id, ACCOUNT, None).await;
    let body = event(&stack, "charge.refunded.basil", &without_secret, "user-1").to_string();
    let now = stack.clock.now().timestamp();
    let ids = "1000000 -1 0 shop 99999999999999999999 %00 1%2f2".split(' ');
    let mut paths: Vec<String> = ids.map(|id| format!("/webhooks/stripe/{id}")).collect();
    paths.extend([path(&without_secret), path(&without_connection)]);
    for path in paths {
        // Without a secret, an empty secret is not accepted either.
        for secret in [SECRET, ""] {
            let header = header(secret, now, body.as_bytes());
            let answer = hooks.send(&path, &[&header], body.clone()).await;
            answer.refused(400, MISMATCH);
        }
    }
    nothing_stored(&stack).await;
}

#[tokio::test]
async fn the_secret_before_a_rotation_is_believed_until_its_end() {
    let clock = Clock::manual(noon());
    let (stack, hooks) = Hooks::with_stack(clock.clone()).await;
    let program = connected(&stack).await;
    let owner = stack.owner_of(&program).await;
    let new = "whsec_after_the_rotation_3333";
    let body = json!({ "webhook_secret": new, "previous_valid_hours": 1 });
    let rotate = program.path("processor-connection/rotate-secret");
    owner.submit(&rotate, body).await.ok();
    let body = event(&stack, "charge.succeeded.basil", &program, "user-1").to_string();
    let sent = async |secret: &str| {
        let header = header(secret, stack.clock.now().timestamp(), body.as_bytes());
        hooks.send(&path(&program), &[&header], body.clone()).await
    };
    accepted(&sent(SECRET).await);
    accepted(&sent(new).await);
    // One signature for each secret, as a sender sends while both are valid.
    let now = stack.clock.now().timestamp();
    let (old, new_one) = (
        header(SECRET, now, body.as_bytes()),
        signature(new, now, body.as_bytes()),
    );
    let both = format!("{old},v1={new_one}");
    accepted(&hooks.send(&path(&program), &[&both], body.clone()).await);
    clock.advance(TimeDelta::hours(1));
    sent(SECRET).await.refused(400, MISMATCH);
    accepted(&sent(new).await);
    assert_eq!(inbox(&stack).await.len(), 1);
}

#[tokio::test]
async fn the_platforms_endpoint_has_several_secrets_or_accepts_nothing() {
    let mut stack = Stack::start().await;
    let program = connected(&stack).await;
    let mut body = event(&stack, "account.updated.basil", &program, "user-1");
    body["account"] = json!(ACCOUNT);
    let body = body.to_string();
    let signed = |secret: &str| header(secret, stack.clock.now().timestamp(), body.as_bytes());
    let (first, second) = (signed(DISTRIBUTOR_SECRET), signed("whsec_of_the_platform_4444"));
    let without = Hooks::at(stack.start_webhook_consumer());
    Edge::at(without.address).ready(&stack).await;
    for header in [&first, &second] {
        let answer = without.send(DISTRIBUTOR, &[header], body.clone()).await;
        answer.refused(400, MISMATCH);
    }
    let both = format!("{DISTRIBUTOR_SECRET},whsec_of_the_platform_4444");
    stack.set("STRIPE_DISTRIBUTOR_SECRETS", &both);
    let with = Hooks::at(stack.start_webhook_consumer());
    Edge::at(with.address).ready(&stack).await;
    for header in [&first, &second] {
        accepted(&with.send(DISTRIBUTOR, &[header], body.clone()).await);
    }
}

#[tokio::test]
async fn a_secret_nobody_can_open_keeps_back_its_own_program_alone() {
    let (stack, hooks) = Hooks::with_stack(Clock::system()).await;
    let (broken, sound) = (connected(&stack).await, stack.program().await);
    connect(&stack, sound.program_id, "acct_sound", Some(SECRET)).await;
    stack
        .execute(&format!(
            "UPDATE processor_connections SET webhook_secret_sealed = '\\x00' WHERE program_id = {}",
            broken.program_id
        ))
        .await;
    let deliveries = (0..16).map(async |number| {
        let program = if number % 2 == 0 { &sound } else { &broken };
        let mut event = event(&stack, "checkout.session.completed.basil", program, "user-1");
        event["id"] = json!(format!("evt_{number}"));
        (number, hooks.deliver(&stack, program, &event).await.status)
    });
    // Delivered together, so that the secrets are looked up in one batch.
    for (number, status) in join_all(deliveries).await {
        let expected = if number % 2 == 0 { 200 } else { 503 };
        assert_eq!(status, expected, "delivery {number}");
    }
}
