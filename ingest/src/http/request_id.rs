//! `X-Request-ID`: the id that a caller quotes when it reports a failure.

use axum::extract::{FromRef, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue};
use runtime::clock::Clock;

pub const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const MAX_LENGTH: usize = 128;

#[derive(Debug, Clone)]
pub struct RequestId(pub HeaderValue);

/// Keeps the caller's id if it is sane, mints one otherwise, and inserts it into the request's extensions.
pub fn insert_into(request: &mut Request, clock: &Clock) -> HeaderValue {
    let given = request
        .headers()
        .get(X_REQUEST_ID)
        .filter(|id| is_sane(id))
        .cloned();
    let id = given.unwrap_or_else(|| mint(clock));
    request.extensions_mut().insert(RequestId(id.clone()));
    id
}

impl<S: Sync> FromRequestParts<S> for RequestId
where
    Clock: FromRef<S>,
{
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Self::Rejection> {
        let assigned = parts.extensions.get().cloned();
        Ok(assigned.unwrap_or_else(|| Self(mint(&Clock::from_ref(state)))))
    }
}

fn mint(clock: &Clock) -> HeaderValue {
    // Hexadecimal digits are always a valid header value.
    HeaderValue::from_str(&clock.mint().simple().to_string())
        .unwrap_or_else(|_| HeaderValue::from_static("unknown"))
}

/// Whether the id can go into logs, headers and support tickets unchanged.
fn is_sane(id: &HeaderValue) -> bool {
    let bytes = id.as_bytes();
    (1..=MAX_LENGTH).contains(&bytes.len())
        && bytes
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.:".contains(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_short_plain_text_is_kept() {
        for sane in ["a", "0f9c-4.b_c:d", &"x".repeat(128)] {
            assert!(is_sane(&HeaderValue::from_str(sane).unwrap()), "{sane}");
        }
        for invalid in ["", "a b", "a\tb", "<script>", &"x".repeat(129)] {
            assert!(!is_sane(&HeaderValue::from_str(invalid).unwrap()), "{invalid}");
        }
    }
}
