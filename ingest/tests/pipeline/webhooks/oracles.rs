//! Stripe's own libraries sign events, and the service accepts them.

use std::process::Command;

use domain::processors::processor::WebhookSecret;
use serde_json::json;
use test_harness::hooks::{Hooks, SECRET, accepted, event, inbox, path};
use test_harness::oracle;
use webhook_consumer::stripe::signature::SignatureHeader;

/// Commands that print one signature header for each line of input.
fn signing() -> [Command; 2] {
    [oracle::javascript("sign.cjs"), oracle::python("sign.py")]
}

#[tokio::test]
async fn what_stripes_own_libraries_sign_is_accepted() {
    let (stack, hooks, program) = Hooks::with_program().await;
    for (id, signing) in ["evt_javascript", "evt_python"].into_iter().zip(signing()) {
        let mut event = event(
            &stack,
            "charge.refunded.acacia",
            &program,
            "jäne, \"user\" 雨 \u{1f327}",
        );
        event["id"] = json!(id);
        let body = serde_json::to_string_pretty(&event).unwrap();
        let timestamp = stack.clock.now().timestamp();
        let signed = oracle::answers(
            signing,
            &[json!({ "body": body, "secret": SECRET, "timestamp": timestamp })],
        );
        accepted(&hooks.send(&path(&program), &[&signed[0]], body.clone()).await);
        let altered = body.replacen("1000", "1001", 1);
        let answer = hooks.send(&path(&program), &[&signed[0]], altered).await;
        assert_eq!(answer.status.as_u16(), 400, "{id}");
    }
    assert_eq!(inbox(&stack).await.len(), 2);
}

/// Compares signatures of both libraries and of the service over many bodies and secrets.
#[test]
fn stripes_own_libraries_and_we_sign_alike() {
    let bodies = [
        "",
        "{}",
        " ",
        "\n",
        "{\"a\":1}\r\n",
        "ä雨\u{1f327}",
        "\u{0}",
        "1700000000.{}",
        &"x".repeat(100_000),
    ];
    let secrets = [
        "whsec_0123456789",
        "another kind of secret".split(' ').next().unwrap(),
        "%$#&?=,.v1=t=",
    ];
    let secrets: Vec<String> = secrets
        .iter()
        .map(|secret| format!("{secret}{}", "_".repeat(16)))
        .collect();
    let mut lines = Vec::new();
    for body in bodies {
        for secret in &secrets {
            lines.push(json!({ "body": body, "secret": secret, "timestamp": 1_700_000_000 }));
        }
    }
    let at = chrono::DateTime::from_timestamp(1_700_000_000, 0).unwrap();
    for signing in signing() {
        for (line, header) in lines.iter().zip(oracle::answers(signing, &lines)) {
            let secret = WebhookSecret::parse(line["secret"].as_str().unwrap()).unwrap();
            let parsed = SignatureHeader::parse(&header).unwrap();
            let body = line["body"].as_str().unwrap();
            assert_eq!(parsed.verify(body.as_bytes(), &[secret], at), Ok(()), "{header}");
        }
    }
}
