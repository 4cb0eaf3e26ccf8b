//! Programs that use third-party libraries such as Stripe's. They read one JSON value per line and answer
//! each with a line.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;
use testing::from_environment;

/// A Node script in `ingest/tests/oracles`.
pub fn javascript(script: &str) -> Command {
    let mut command = Command::new(from_environment("RT_NODE"));
    command
        .env("NODE_PATH", from_environment("RT_STRIPE_NODE_MODULES"))
        .arg(source(script));
    command
}

/// A Python script in `ingest/tests/oracles`.
pub fn python(script: &str) -> Command {
    let mut command = Command::new(from_environment("RT_STRIPE_PYTHON"));
    command.arg(source(script));
    command
}

fn source(script: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "../../ingest/tests/oracles", script]
        .iter()
        .collect()
}

/// The oracle's answers, one for each line.
pub fn answers(mut oracle: Command, lines: &[Value]) -> Vec<String> {
    let mut running = oracle
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = running.stdin.take().unwrap();
    // The oracle alternates between reading and answering. Writing everything first would fill both pipes and
    // block.
    let lines_in: Vec<String> = lines.iter().map(Value::to_string).collect();
    let writer = std::thread::spawn(move || writeln!(input, "{}", lines_in.join("\n")).unwrap());
    let output = running.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success());
    let answers: Vec<String> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect();
    assert_eq!(answers.len(), lines.len());
    answers
}
