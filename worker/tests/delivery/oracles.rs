//! The Standard Webhooks libraries accept a webhook as it was sent, and refuse it after any change.

use chrono::TimeDelta;
use domain::programs::outbound_event::OutboundEventType::LeadCreated;
use domain::programs::webhook::SigningSecret;
use runtime::clock::Clock;
use serde_json::{Value, json};
use test_harness::{Receiver, Stack, Webhook, oracle, webhooks};

fn line(secret: &SigningSecret, webhook: &Webhook) -> Value {
    json!({
        "secret": secret.text(),
        "headers": {
            "webhook-id": webhook.id,
            "webhook-timestamp": webhook.timestamp,
            "webhook-signature": webhook.signature,
        },
        "body": webhook.body,
    })
}

/// The webhook with one thing changed.
fn altered(webhook: &Webhook) -> [Webhook; 4] {
    let timestamp: i64 = webhook.timestamp.parse().unwrap();
    [
        Webhook {
            body: webhook.body.replacen("lead", "sale", 1),
            ..webhook.clone()
        },
        Webhook {
            timestamp: (timestamp + 1).to_string(),
            ..webhook.clone()
        },
        Webhook {
            id: webhook.id.replacen("evt_", "evt_0", 1),
            ..webhook.clone()
        },
        Webhook {
            signature: String::new(),
            ..webhook.clone()
        },
    ]
}

#[tokio::test]
async fn the_libraries_of_receivers_verify_every_event_with_rotation_half_way() {
    let mut stack = Stack::without_services(Clock::system()).await;
    let (program, receiver) = (stack.program().await, Receiver::start().await);
    let (endpoint_id, old) = webhooks::endpoint(&stack, &program, &receiver.url(), &[LeadCreated]).await;
    stack.start_delivery();
    webhooks::leads(&stack, &program, 1..=20).await;
    webhooks::drained(&stack).await;
    let new = SigningSecret::generate(rand::random());
    webhooks::rotate(&stack, endpoint_id, &new, TimeDelta::hours(24)).await;
    webhooks::leads(&stack, &program, 21..=40).await;
    webhooks::drained(&stack).await;
    let arrived = receiver.received();
    assert_eq!(arrived.len(), 40);
    let (before, after) = arrived.split_at(20);
    let altered: Vec<Webhook> = arrived.iter().flat_map(altered).collect();
    let other = SigningSecret::generate(rand::random());
    for verifying in [
        || oracle::javascript("verify.cjs"),
        || oracle::python("verify.py"),
    ] {
        let all = |secret: &SigningSecret, webhooks: &[Webhook]| -> Vec<bool> {
            let lines: Vec<Value> = webhooks.iter().map(|webhook| line(secret, webhook)).collect();
            let verdicts = oracle::answers(verifying(), &lines);
            verdicts.iter().map(|verdict| verdict.parse().unwrap()).collect()
        };
        assert!(all(&old, &arrived).into_iter().all(|believed| believed));
        assert!(all(&new, after).into_iter().all(|believed| believed));
        assert!(all(&new, before).into_iter().all(|believed| !believed));
        assert!(all(&other, &arrived).into_iter().all(|believed| !believed));
        assert!(all(&old, &altered).into_iter().all(|believed| !believed));
    }
}
