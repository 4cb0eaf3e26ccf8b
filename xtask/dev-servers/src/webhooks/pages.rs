//! The pages of the receiver. Everything that came is shown as text.

use std::fmt::Write;
use std::sync::Arc;

use chrono::DateTime;

use super::behaviour::Behaviour;
use super::received::{Received, Verdict};
use super::secrets::Secret;
use crate::page::{LIVE, escaped, page};

type Numbered = (u64, Arc<Received>);

pub fn list(behaviour: Behaviour, newest_first: &[Numbered], secrets: &[Secret]) -> String {
    let mut rows = String::new();
    for (at, (number, received)) in newest_first.iter().enumerate() {
        let older = newest_first.get(at + 1..).unwrap_or_default();
        let id = received.id();
        let before = older.iter().filter(|(_, one)| !id.is_empty() && one.id() == id);
        // Writing to a string cannot fail.
        let _ = write!(
            rows,
            "<tr><td>{}</td><td><a href=\"/received/{number}\">{}</a>{}{}</td><td><code>{}</code></td><td>{}</td><td>{}</td></tr>",
            time(received.at),
            escaped(received.event_type()),
            if received.is_test() { " (test)" } else { "" },
            match before.count() {
                0 => String::new(),
                count => format!(" <b>again, time {}</b>", count + 1),
            },
            escaped(id),
            verdict(received, secrets),
            received.behaviour.name(),
        );
    }
    if rows.is_empty() {
        rows.push_str("<tr><td colspan=\"5\">None yet.</td></tr>");
    }
    page(
        "Webhooks",
        LIVE,
        &format!(
            "{}<p>The newest first, times in UTC.</p>\
             <table><tr><th>Time</th><th>Type</th><th>webhook-id</th><th>Signature</th><th>Answered</th></tr>{rows}</table>",
            switch(behaviour)
        ),
    )
}

/// A button for each behaviour.
fn switch(behaviour: Behaviour) -> String {
    let mut buttons = String::new();
    for one in Behaviour::ALL {
        let _ = write!(
            buttons,
            "<button name=\"answer\" value=\"{0}\" aria-pressed=\"{1}\">{0}</button> ",
            one.name(),
            one == behaviour
        );
    }
    format!(
        "<form method=\"post\" action=\"/behaviour\" aria-label=\"Answer\">Answer from now on: {buttons}</form>"
    )
}

fn verdict(received: &Received, secrets: &[Secret]) -> String {
    let verdict = received.verdict(secrets);
    let class = if verdict == Verdict::Good { "good" } else { "bad" };
    format!("<span class=\"{class}\">{}</span>", verdict.word())
}

pub fn one(received: &Received, secrets: &[Secret]) -> String {
    let mut headers = String::new();
    for (name, value) in &received.headers {
        let _ = write!(
            headers,
            "<tr><th>{}</th><td><code>{}</code></td></tr>",
            name,
            escaped(&String::from_utf8_lossy(value.as_bytes()))
        );
    }
    page(
        received.event_type(),
        "",
        &format!(
            "<p><a href=\"/\">All webhooks</a></p><p>To <code>{}</code>, {}. Answered: {}.</p><h2>Body</h2><pre>{}</pre>\
             <h2>Headers</h2><table>{headers}</table>",
            escaped(&received.path),
            escaped(&received.verdict(secrets).text()),
            received.behaviour.name(),
            escaped(&received.pretty_body()),
        ),
    )
}

/// In UTC.
fn time(at: i64) -> String {
    let time = DateTime::from_timestamp(at, 0).unwrap_or_default();
    time.format("%Y-%m-%d %H:%M:%S").to_string()
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderMap;

    use super::*;

    fn received(id: &str, body: &str) -> Arc<Received> {
        let path = "/webhooks/\"><script>".to_owned();
        let mut headers = HeaderMap::new();
        headers.insert("webhook-id", id.parse().unwrap());
        headers.insert("x-script", "<script>".parse().unwrap());
        let (body, at) = (body.to_owned().into(), 1_795_683_600);
        Arc::new(Received::new(path, headers, body, at, Behaviour::Fail))
    }

    #[test]
    fn what_came_is_text() {
        let bodies = [
            r#"{"type":"<script>","data":{"a":"</pre><script>"}}"#,
            "<script>alert(1)</script>",
        ];
        for body in bodies {
            let one_of_them = received("\"><script>", body);
            let all = [(2, Arc::clone(&one_of_them)), (1, Arc::clone(&one_of_them))];
            let shown = list(Behaviour::Accept, &all, &[]) + &one(&one_of_them, &[]);
            assert!(!shown.contains("<script"), "{shown}");
        }
    }

    #[test]
    fn an_event_that_came_before_is_marked() {
        let all = [
            (3, received("evt_1", "{}")),
            (2, received("evt_2", "{}")),
            (1, received("evt_1", "{}")),
        ];
        let shown = list(Behaviour::Fail, &all, &[]);
        assert_eq!(shown.matches("again, time 2").count(), 1);
        assert!(shown.contains("2026-11-26 09:00:00"), "{shown}");
        assert!(shown.contains("value=\"500\" aria-pressed=\"true\""));
    }
}
