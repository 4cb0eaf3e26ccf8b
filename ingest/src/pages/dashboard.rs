//! `/app`: the dashboard, a single-page application. `web/dashboard` is embedded in the binary.
//!
//! Every page has the same document, whose script routes by the address. Any other address below `/app` is
//! answered 404 with this document too, and the script says that the page does not exist. A missing script is
//! answered without a page.

use axum::Router;
use axum::extract::MatchedPath;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::map_response;
use axum::response::{Redirect, Response};
use axum::routing::get;
use memory_serve::CacheControl;

use crate::http::error::ApiError;

const DOCUMENT: &str = "/app/index.html";
const UNKNOWN: &str = "/app/{*unknown}";
/// The pages, as the build lists them: path and document.
const PAGES: &str = include_str!("../../../web/dashboard/dist/app/pages.txt");
/// Allows only the page's own scripts, styles and requests; nothing inline, and no frame around it. Images
/// may come from any HTTPS server, because advertisers host the logos of their programs.
const POLICY: &str = "default-src 'self'; img-src 'self' https:; base-uri 'none'; form-action 'self'; object-src 'none'; frame-ancestors 'none'";
/// Headers of every file. No referrer: the address of an invitation contains its token.
const OF_FILES: [(HeaderName, &str); 2] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
];
/// Headers of the files that a browser opens by itself. On scripts, styles and pictures, a dozen for each
/// page, they would only cost bytes.
const OF_DOCUMENTS: [(HeaderName, &str); 3] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_FRAME_OPTIONS, "DENY"),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
];

pub fn router<S: Clone + Send + Sync + 'static>() -> Router<S> {
    #[expect(
        unused_qualifications,
        reason = "the list that the build script writes names its types in full"
    )]
    let files = memory_serve::load!()
        .index_file(None)
        // Documents are revalidated each time, and answered 304 while unchanged. The files that they load
        // have a content hash in their names.
        .html_cache_control(CacheControl::NoCache)
        .cache_control(CacheControl::Long)
        // The default depends on how the dependency is built.
        .enable_brotli(true)
        .enable_gzip(true);
    pages()
        .fold(files, |files, (path, document)| files.add_alias(path, document))
        .add_alias("/app/", DOCUMENT)
        .add_alias(UNKNOWN, DOCUMENT)
        .into_router()
        .route(
            "/app/assets/{*missing}",
            get(async || ApiError::NotFound("Not Found")),
        )
        .route("/", get(async || Redirect::to("/app")))
        .layer(map_response(with_headers))
}

/// Path and document of each page.
fn pages() -> impl Iterator<Item = (&'static str, &'static str)> {
    PAGES
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(path, document)| {
            let document = match document {
                // Also draws a page that precedes the sign-in, while its script loads.
                "doorway.html" => "/app/doorway.html",
                _ => DOCUMENT,
            };
            (path, document)
        })
}

async fn with_headers(path: MatchedPath, mut response: Response) -> Response {
    if path.as_str() == UNKNOWN && response.status() == StatusCode::OK {
        *response.status_mut() = StatusCode::NOT_FOUND;
    }
    let headers = response.headers_mut();
    headers.extend(OF_FILES.map(fixed));
    let content_type = headers
        .get(header::CONTENT_TYPE)
        .map(HeaderValue::as_bytes)
        .unwrap_or_default();
    if content_type.starts_with(b"text/html") {
        headers.extend(OF_DOCUMENTS.map(fixed));
    }
    if let Some(weak) = headers.get(header::ETAG).and_then(weakened) {
        headers.insert(header::ETAG, weak);
    }
    response
}

fn fixed((name, value): (HeaderName, &'static str)) -> (HeaderName, HeaderValue) {
    (name, HeaderValue::from_static(value))
}

/// The plain file and its compressed forms share a tag. Their bytes differ, so the tag must be weak.
fn weakened(tag: &HeaderValue) -> Option<HeaderValue> {
    HeaderValue::from_str(&format!("W/{}", tag.to_str().ok()?)).ok()
}
