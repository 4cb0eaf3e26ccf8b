//! Request counts and durations of one route, by method and status.
//!
//! A metric is created by the first request it counts, so that unused routes export nothing. Later requests
//! find it by position, without looking up labels.

use std::sync::OnceLock;

use axum::http::{Method, StatusCode};
use tokio::time::Instant;

use super::{Counter, Histogram, REQUEST_SECONDS, REQUESTS};

/// The methods of routes. A request with any other method counts as OPTIONS, the last one.
const METHODS: [Method; 6] = [
    Method::POST,
    Method::GET,
    Method::PUT,
    Method::PATCH,
    Method::DELETE,
    Method::OPTIONS,
];

/// Frequent statuses, most frequent first. Other statuses are looked up for each request.
const STATUSES: [u16; 18] = [
    200, 429, 400, 401, 409, 503, 500, 404, 403, 201, 204, 410, 413, 405, 415, 422, 303, 304,
];

#[derive(Debug)]
pub struct RouteRequests {
    path: String,
    methods: [OnceLock<MethodRequests>; METHODS.len()],
}

#[derive(Debug)]
struct MethodRequests {
    route: String,
    seconds: Histogram,
    answered: [OnceLock<Counter>; STATUSES.len()],
}

#[derive(Debug)]
pub struct RequestTimer<'a> {
    method: Option<&'a MethodRequests>,
    started: Instant,
}

impl RouteRequests {
    /// `path` is the router's template, such as `/programs/{id}`.
    pub fn of(path: &str) -> Self {
        Self {
            path: path.to_owned(),
            methods: Default::default(),
        }
    }

    pub fn start(&self, method: &Method) -> RequestTimer<'_> {
        let position = METHODS.iter().position(|known| known == method);
        let requests = self.methods.get(position.unwrap_or(METHODS.len() - 1));
        RequestTimer {
            method: requests.map(|requests| requests.get_or_init(|| MethodRequests::of(method, &self.path))),
            started: Instant::now(),
        }
    }
}

impl MethodRequests {
    fn of(method: &Method, path: &str) -> Self {
        // Callers may invent methods, and each would become a new label value.
        let method = if METHODS.contains(method) {
            method.as_str()
        } else {
            "OPTIONS"
        };
        let route = format!("{method} {path}");
        Self {
            seconds: REQUEST_SECONDS.with([&route]),
            answered: Default::default(),
            route,
        }
    }

    fn answered(&self, status: StatusCode) {
        let count = || REQUESTS.with([&self.route, status.as_str()]);
        let position = STATUSES.iter().position(|known| *known == status.as_u16());
        match position.and_then(|position| self.answered.get(position)) {
            Some(counter) => counter.get_or_init(count).inc(),
            None => count().inc(),
        };
    }
}

impl RequestTimer<'_> {
    /// The method and the path template.
    pub fn route(&self) -> &str {
        self.method.map_or("", |requests| &requests.route)
    }

    pub fn answered(self, status: StatusCode) {
        if let Some(requests) = self.method {
            requests.seconds.observe(self.started.elapsed().as_secs_f64());
            requests.answered(status);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::export;

    #[test]
    fn requests_count_by_method_and_status() {
        let route = RouteRequests::of("/of/a/test/{id}");
        for (method, status) in [
            ("POST", 200),
            ("POST", 200),
            ("POST", 418),
            ("GET", 404),
            ("BREW", 405),
        ] {
            let method = Method::from_bytes(method.as_bytes()).unwrap();
            route
                .start(&method)
                .answered(StatusCode::from_u16(status).unwrap());
        }
        let exported = export();
        for line in [
            "referral_requests_total{route=\"POST /of/a/test/{id}\",status=\"200\"} 2",
            "referral_requests_total{route=\"POST /of/a/test/{id}\",status=\"418\"} 1",
            "referral_requests_total{route=\"GET /of/a/test/{id}\",status=\"404\"} 1",
            "referral_request_seconds_count{route=\"POST /of/a/test/{id}\"} 3",
        ] {
            assert!(
                exported.lines().any(|exported| exported == line),
                "{line} is not in {exported}"
            );
        }
        assert!(!exported.contains("BREW"), "{exported}");
    }
}
