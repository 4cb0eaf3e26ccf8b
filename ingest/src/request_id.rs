//! `X-Request-ID`: what a caller quotes when something went wrong.

use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;
use tracing::Instrument;

use crate::app::App;

pub const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const MAX_LENGTH: usize = 128;

/// The id of the request being answered.
#[derive(Debug, Clone)]
pub struct RequestId(pub HeaderValue);

/// Keeps the caller's id when it is sane, mints one otherwise; logs carry it, and so does the answer.
pub async fn identify(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let given = request
        .headers()
        .get(X_REQUEST_ID)
        .filter(|id| is_sane(id))
        .cloned();
    let id = given.unwrap_or_else(|| mint(&app));
    let span = tracing::info_span!("request", request_id = id.to_str().unwrap_or_default());
    request.extensions_mut().insert(RequestId(id.clone()));
    let mut response = next.run(request).instrument(span).await;
    response.headers_mut().insert(X_REQUEST_ID, id);
    response
}

fn mint(app: &App) -> HeaderValue {
    // Hexadecimal digits are always a header value.
    HeaderValue::from_str(&app.clock.mint().simple().to_string())
        .unwrap_or_else(|_| HeaderValue::from_static("unknown"))
}

/// Text that can go into logs, headers and support tickets as it is.
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
        for odd in ["", "a b", "a\tb", "<script>", &"x".repeat(129)] {
            assert!(!is_sane(&HeaderValue::from_str(odd).unwrap()), "{odd}");
        }
    }
}
