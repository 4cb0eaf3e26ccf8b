//! Rules for every answer of a limited route, whatever the entry tests.

use reqwest::{Method, StatusCode};
use test_harness::Answer;

const STATUS: &str = "/api/v1/cli/status";

const LIMITED: [&str; 13] = [
    "/api/v1/track/click",
    "/api/v1/track/lead",
    "/api/v1/track/sale",
    "/api/v1/track/refund",
    "/api/v1/programs/me/readiness",
    "/api/v1/cli/test-event",
    STATUS,
    "/api/tracking/click",
    "/api/tracking/lead",
    "/api/tracking/sale",
    "/api/tracking/refund",
    "/api/tracking/test",
    "/api/tracking/check-test-events",
];

/// Every answer is JSON, shows the caller's limit, and has the request's id; a program's status has the id in
/// failures only.
pub fn differences(method: &Method, path: &str, answer: &Answer) -> Vec<String> {
    let mut differences = Vec::new();
    if method != Method::HEAD && answer.header("content-type") != "application/json" {
        differences.push(format!(
            "header content-type: was {:?}",
            answer.header("content-type")
        ));
    }
    if !LIMITED.contains(&path) {
        return differences;
    }
    for name in ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"] {
        if answer.header(name).parse::<u64>().is_err() {
            differences.push(format!(
                "header {name}: a number expected, was {:?}",
                answer.header(name)
            ));
        }
    }
    let has_id = !answer.header("x-request-id").is_empty();
    if has_id != (path != STATUS || answer.status == StatusCode::INTERNAL_SERVER_ERROR) {
        differences.push(format!(
            "header x-request-id: was {:?}",
            answer.header("x-request-id")
        ));
    }
    differences
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderMap;
    use serde_json::Value;

    use super::*;

    fn found(path: &str, status: StatusCode, headers: &[(&'static str, &'static str)]) -> usize {
        let headers: HeaderMap = headers
            .iter()
            .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
            .collect();
        let answer = Answer {
            status,
            headers,
            body: Value::Null,
        };
        differences(&Method::GET, path, &answer).len()
    }

    #[test]
    fn every_header_that_is_missing_is_missed() {
        let json = ("content-type", "application/json");
        let stand = [
            ("x-ratelimit-limit", "60"),
            ("x-ratelimit-remaining", "59"),
            ("x-ratelimit-reset", "60"),
        ];
        let all = [&[json, ("x-request-id", "r-1")][..], &stand].concat();
        assert_eq!(found("/api/v1/track/sale", StatusCode::OK, &[]), 5);
        assert_eq!(found("/api/v1/track/sale", StatusCode::OK, &all), 0);
        assert_eq!(found("/elsewhere", StatusCode::OK, &[json]), 0);
        assert_eq!(found(STATUS, StatusCode::OK, &all), 1);
        assert_eq!(found(STATUS, StatusCode::INTERNAL_SERVER_ERROR, &all), 0);
    }
}
