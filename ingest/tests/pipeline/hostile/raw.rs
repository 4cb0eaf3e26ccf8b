//! Requests written as bytes, and their expected answers.

use reqwest::StatusCode;
use serde_json::json;

use super::route::{Route, Scene, refused};

/// The expected answer.
#[derive(Debug, Clone, Copy)]
pub enum Expected {
    /// The route's answer to `{}`: the request was understood.
    Route,
    /// A status without a body: refused before routing, and the connection ends.
    Bare(u16),
    /// The platform envelope.
    Refused(u16, &'static str),
}

/// A request with a valid key and the body `{}`, and these further headers.
pub fn keyed(token: &str, headers: &str) -> String {
    format!("Authorization: Bearer {token}\r\n{headers}Content-Length: 2\r\n\r\n{{}}")
}

pub fn request(line: &str, rest: &[u8]) -> Vec<u8> {
    [line.as_bytes(), b"\r\nHost: a\r\n", rest].concat()
}

impl Scene {
    pub async fn check(&self, route: &Route, bytes: &[u8], expected: Expected, what: &str) {
        let what = format!("{} {what}", route.path);
        let answer = self.exchange(bytes).await;
        let answer = answer.unwrap_or_else(|| panic!("{what}: no answer"));
        match (expected, route.empty) {
            (Expected::Route, Some(message)) => refused(&answer, 400, message, &what),
            (Expected::Route, None) => assert_eq!(answer.status, StatusCode::OK, "{what}: {answer:?}"),
            (Expected::Refused(status, message), _) => refused(&answer, status, message, &what),
            (Expected::Bare(status), _) => {
                assert_eq!(
                    (answer.status.as_u16(), &answer.body),
                    (status, &json!("")),
                    "{what}"
                );
                assert_eq!(answer.header("connection"), "close", "{what}");
            }
        }
    }
}
