//! How the pages look, and their headers. They run no script; whatever arrived is shown as text.

use axum::Router;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::map_response;
use axum::response::{Html, IntoResponse, Response};

const STYLE: &str = "body{margin:2rem auto;max-width:72rem;padding:0 1rem;font:15px/1.5 system-ui,sans-serif;color:#17211d;background:#f6f7f5}\
    table{border-collapse:collapse;width:100%;background:#fff}td,th{padding:.5rem;border:1px solid #e2e6e0;text-align:left;vertical-align:top}\
    a{color:#0f6259}pre{white-space:pre-wrap;overflow-wrap:anywhere;padding:1rem;background:#fff;border:1px solid #e2e6e0}\
    code{font-size:13px;overflow-wrap:anywhere}iframe{width:100%;height:36rem;border:1px solid #e2e6e0;background:#fff}\
    button{font:inherit;padding:.3rem .7rem;border:1px solid #8fa099;border-radius:4px;background:#fff;color:inherit}\
    button[aria-pressed=true]{background:#0f6259;border-color:#0f6259;color:#fff}\
    .good{color:#0b6b3a}.bad{color:#a3161a}";

const HEADERS: [(HeaderName, &str); 4] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
];

/// For pages that show what arrives.
pub const LIVE: &str = "<meta http-equiv=\"refresh\" content=\"3\">";

/// `title` is text; `head` and `body` are HTML.
pub fn page(title: &str, head: &str, body: &str) -> String {
    let title = escaped(title);
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>{head}<style>{STYLE}</style></head>\
         <body><main><h1>{title}</h1>{body}</main></body></html>"
    )
}

pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// A page, or that there is none.
pub fn or_missing(page: Option<String>) -> Response {
    page.map_or_else(missing, |page| Html(page).into_response())
}

fn missing() -> Response {
    let text = page(
        "There is no such page",
        "",
        "<p><a href=\"/\">All of them</a></p>",
    );
    (StatusCode::NOT_FOUND, Html(text)).into_response()
}

/// Every other address has no page; every answer has the headers.
pub fn of_pages(router: Router) -> Router {
    router
        .fallback(async || missing())
        .layer(map_response(async |mut response: Response| {
            let fixed = |(name, value)| (name, HeaderValue::from_static(value));
            response.headers_mut().extend(HEADERS.map(fixed));
            response
        }))
}
