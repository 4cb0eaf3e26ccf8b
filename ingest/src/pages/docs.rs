//! `GET /docs`: the description of the API for people. One page that loads nothing from other sites.

use axum::http::header;
use axum::response::{Html, IntoResponse};

const PAGE: &str = include_str!("docs.html");
const SCRIPT: &str = include_str!("docs.js");
/// The page may run its own script, use its inline style and fetch the description, and nothing else.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

pub async fn docs() -> impl IntoResponse {
    (
        [
            (header::CONTENT_SECURITY_POLICY, POLICY),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        ],
        Html(PAGE),
    )
}

/// `GET /docs.js`: the page's script. It is a file of its own so that the policy can forbid all other
/// scripts.
pub async fn script() -> impl IntoResponse {
    (
        [
            (header::CONTENT_TYPE, "text/javascript; charset=utf-8"),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        ],
        SCRIPT,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_needs_nobody_else() {
        for text in [PAGE, SCRIPT] {
            assert!(
                !text.contains("://") && !text.contains("\"//"),
                "nothing is loaded from elsewhere"
            );
            assert!(!text.contains("innerHTML"), "what is described stays text");
        }
    }
}
