//! `GET /cli/login`: where somebody in a browser confirms a command line that waits to be signed in.
//!
//! Nothing is loaded from elsewhere, and nobody can put the page into a frame: one click on it hands over an account.

use axum::http::{HeaderName, header};
use axum::response::{Html, IntoResponse};

const PAGE: &str = include_str!("page.html");
const SCRIPT: &str = include_str!("page.js");
const STYLE: &str = include_str!("page.css");
/// The page may run its own script, use its own style and call us, and nothing else.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'";
const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");

pub async fn page() -> impl IntoResponse {
    (
        [
            (header::CONTENT_SECURITY_POLICY, POLICY),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (header::X_FRAME_OPTIONS, "DENY"),
            (header::REFERRER_POLICY, "no-referrer"),
            (header::CACHE_CONTROL, "no-store"),
            (OPENER_POLICY, "same-origin"),
        ],
        Html(PAGE),
    )
}

/// `GET /cli/login.js`.
pub async fn script() -> impl IntoResponse {
    file("text/javascript; charset=utf-8", SCRIPT)
}

/// `GET /cli/login.css`.
pub async fn style() -> impl IntoResponse {
    file("text/css; charset=utf-8", STYLE)
}

fn file(content_type: &'static str, text: &'static str) -> impl IntoResponse {
    (
        [
            (header::CONTENT_TYPE, content_type),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (header::CACHE_CONTROL, "no-cache"),
        ],
        text,
    )
}
