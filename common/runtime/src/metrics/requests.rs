//! The requests of one route, by method: how many, how answered, how fast.
//!
//! A number is made when the first request that belongs to it is answered, so that routes nobody calls show nothing, and is
//! found by position from then on.

use std::sync::OnceLock;

use axum::http::{Method, StatusCode};
use tokio::time::Instant;

use super::{Counter, Histogram, REQUEST_SECONDS, REQUESTS};

/// What routes answer to; a request with another method counts as the last.
const METHODS: [Method; 6] = [
    Method::POST,
    Method::GET,
    Method::PUT,
    Method::PATCH,
    Method::DELETE,
    Method::OPTIONS,
];

/// What is answered often, the commonest first; another is looked up each time.
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

/// A request that is being answered.
#[derive(Debug)]
pub struct Begun<'a> {
    method: Option<&'a MethodRequests>,
    at: Instant,
}

impl RouteRequests {
    /// `path` as routers have it, with names for its variable parts.
    pub fn of(path: &str) -> Self {
        Self {
            path: path.to_owned(),
            methods: Default::default(),
        }
    }

    pub fn begin(&self, method: &Method) -> Begun<'_> {
        let position = METHODS.iter().position(|known| known == method);
        let requests = self.methods.get(position.unwrap_or(METHODS.len() - 1));
        Begun {
            method: requests.map(|requests| requests.get_or_init(|| MethodRequests::of(method, &self.path))),
            at: Instant::now(),
        }
    }
}

impl MethodRequests {
    fn of(method: &Method, path: &str) -> Self {
        // Strangers may invent methods.
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

impl Begun<'_> {
    /// Method and path.
    pub fn route(&self) -> &str {
        self.method.map_or("", |requests| &requests.route)
    }

    pub fn answered(self, status: StatusCode) {
        if let Some(requests) = self.method {
            requests.seconds.observe(self.at.elapsed().as_secs_f64());
            requests.answered(status);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::shown;

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
                .begin(&method)
                .answered(StatusCode::from_u16(status).unwrap());
        }
        let shown = shown();
        for line in [
            "referral_requests_total{route=\"POST /of/a/test/{id}\",status=\"200\"} 2",
            "referral_requests_total{route=\"POST /of/a/test/{id}\",status=\"418\"} 1",
            "referral_requests_total{route=\"GET /of/a/test/{id}\",status=\"404\"} 1",
            "referral_request_seconds_count{route=\"POST /of/a/test/{id}\"} 3",
        ] {
            assert!(
                shown.lines().any(|shown| shown == line),
                "{line} is not in {shown}"
            );
        }
        assert!(!shown.contains("BREW"), "{shown}");
    }
}
