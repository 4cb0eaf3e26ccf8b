//! `ctl secrets reseal`: an installation's key is replaced, and the old key is thrown away.

use chrono::TimeDelta;
use domain::ids::UserId;
use domain::people::account::UserKind;
use domain::people::second_factor::AuthenticatorSecret;
use domain::programs::outbound_event::OutboundEventType::LeadCreated;
use domain::programs::webhook::SigningSecret;
use domain::sealed::SealingKeys;
use sqlx::Row;
use storage::outbound::webhook_health;
use storage::people::second_factors;
use test_harness::hooks::{self, Hooks};
use test_harness::{Stack, ctl, succeeds, webhooks};

/// The stack's own key; another key replaces it.
const BEFORE: &str = "3333333333333333333333333333333333333333333333333333333333333333";
const AFTER: &str = "4444444444444444444444444444444444444444444444444444444444444444";

async fn app_of_a_user(stack: &Stack, keys: &SealingKeys, email: &str) -> i64 {
    let user_id = stack.user(UserKind::Advertiser, email).await;
    let sealed = keys
        .seal(
            b"twenty bytes of base",
            &AuthenticatorSecret::purpose(user_id),
            [9; 24],
        )
        .unwrap();
    let mut connection = stack.pool().acquire().await.unwrap();
    second_factors::begin(&mut connection, user_id, &sealed, stack.clock.now())
        .await
        .unwrap();
    user_id.get()
}

#[tokio::test]
async fn what_a_replaced_key_had_sealed_opens_without_it() {
    let mut stack = Stack::start().await;
    let program = hooks::connected(&stack).await;
    let before = SealingKeys::new(&[0x33; 32], &[]);
    // The endpoint also has a previous secret, which still signs.
    let (endpoint_id, _) =
        webhooks::endpoint(&stack, &program, "https://shop.example/", &[LeadCreated]).await;
    let signing = SigningSecret::generate([8; 32]);
    webhooks::rotate(&stack, endpoint_id, &signing, TimeDelta::hours(24)).await;
    app_of_a_user(&stack, &before, "olive@shop.example").await;
    // Sealed with the key of another installation: it cannot be opened, and stays unchanged.
    let lost = app_of_a_user(&stack, &SealingKeys::new(&[0x55; 32], &[]), "sam@shop.example").await;

    stack.set("SECRETS_KEYS", &format!("{AFTER},{BEFORE}"));
    let ran = ctl(&stack, "secrets reseal").await;
    let said = "4 secrets sealed with the first key, 0 were before, 1 cannot be opened with any\n";
    assert_eq!((ran.ok, ran.out.as_str()), (false, said));
    stack
        .execute(&format!("DELETE FROM second_factors WHERE user_id = {lost}"))
        .await;
    stack.set("SECRETS_KEYS", AFTER);
    let again = succeeds(&stack, "secrets reseal").await;
    let said = "0 secrets sealed with the first key, 4 were before, 0 cannot be opened with any\n";
    assert_eq!(again.out, said);

    // The new key alone opens the two secrets that sign webhooks.
    let mut connection = stack.pool().acquire().await.unwrap();
    let after = SealingKeys::new(&[0x44; 32], &[]);
    let ids = [endpoint_id.get()];
    let targets = webhook_health::targets(&mut connection, &after, &ids, stack.clock.now())
        .await
        .unwrap();
    let secrets = targets[&endpoint_id].secrets.clone().unwrap();
    assert!(secrets.len() == 2 && secrets[0] == signing);
    drop(connection);

    // It also opens a processor's secret and the user's app.
    let consumer = Hooks::start(&mut stack).await;
    let event = hooks::event(&stack, "checkout.session.completed.acacia", &program, "user-1");
    hooks::accepted(&consumer.deliver(&stack, &program, &event).await);
    let row = sqlx::query("SELECT user_id, secret_sealed FROM second_factors")
        .fetch_one(stack.pool())
        .await
        .unwrap();
    let sealed: Vec<u8> = row.get("secret_sealed");
    let user_id = UserId::new(row.get("user_id"));
    let opened = SealingKeys::new(&[0x44; 32], &[]).open(&sealed, &AuthenticatorSecret::purpose(user_id));
    assert_eq!(opened.unwrap(), b"twenty bytes of base");
}
