//! Stripe's own libraries sign, and are believed.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use domain::processor::WebhookSecret;
use serde_json::{Value, json};
use test_harness::hooks::{Hooks, SECRET, accepted, event, inbox, path};
use testing::from_environment;
use webhook_consumer::stripe::signature::SignatureHeader;

fn source(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests/oracles", name]
        .iter()
        .collect()
}

fn javascript() -> Command {
    let mut command = Command::new(from_environment("RT_NODE"));
    command
        .env("NODE_PATH", from_environment("RT_STRIPE_NODE_MODULES"))
        .arg(source("sign.cjs"));
    command
}

fn python() -> Command {
    let mut command = Command::new(from_environment("RT_STRIPE_PYTHON"));
    command.arg(source("sign.py"));
    command
}

/// One header a line.
fn sign(mut oracle: Command, lines: &[Value]) -> Vec<String> {
    let mut signing = oracle
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = signing.stdin.take().unwrap();
    for line in lines {
        writeln!(input, "{line}").unwrap();
    }
    drop(input);
    let output = signing.wait_with_output().unwrap();
    assert!(output.status.success());
    let headers: Vec<String> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect();
    assert_eq!(headers.len(), lines.len());
    headers
}

#[tokio::test]
async fn what_stripes_own_libraries_sign_is_accepted() {
    let (stack, hooks, program) = Hooks::with_program().await;
    for (id, oracle) in [("evt_javascript", javascript()), ("evt_python", python())] {
        let mut event = event(
            &stack,
            "charge.refunded.acacia",
            &program,
            "jäne, \"user\" 雨 \u{1f327}",
        );
        event["id"] = json!(id);
        let body = serde_json::to_string_pretty(&event).unwrap();
        let timestamp = stack.clock.now().timestamp();
        let signed = sign(
            oracle,
            &[json!({ "body": body, "secret": SECRET, "timestamp": timestamp })],
        );
        accepted(&hooks.send(&path(&program), &[&signed[0]], body.clone()).await);
        let altered = body.replacen("1000", "1001", 1);
        let answer = hooks.send(&path(&program), &[&signed[0]], altered).await;
        assert_eq!(answer.status.as_u16(), 400, "{id}");
    }
    assert_eq!(inbox(&stack).await.len(), 2);
}

/// Bodies and secrets of many kinds; both libraries and we agree on each.
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
    for oracle in [javascript(), python()] {
        for (line, header) in lines.iter().zip(sign(oracle, &lines)) {
            let secret = WebhookSecret::parse(line["secret"].as_str().unwrap()).unwrap();
            let parsed = SignatureHeader::parse(&header).unwrap();
            let body = line["body"].as_str().unwrap();
            assert_eq!(parsed.verify(body.as_bytes(), &[secret], at), Ok(()), "{header}");
        }
    }
}
