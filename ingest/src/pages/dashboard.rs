//! `/app`: the dashboard, a single-page application. `web/dashboard` is embedded in the binary.
//!
//! Every page's address is answered with the same document, whose script routes by the address. Other addresses are answered
//! 404: a missing script must not be answered with a page.

use axum::Router;
use axum::http::{HeaderName, HeaderValue, header};
use axum::middleware::map_response;
use axum::response::{Redirect, Response};
use axum::routing::get;
use memory_serve::CacheControl;

const DOCUMENT: &str = "/app/index.html";
/// Its pages: `ROUTES` in `web/dashboard/src/router/routes.ts` has them one by one. Invitations are named by the API.
const PAGES: [&str; 17] = [
    "/app",
    "/app/",
    "/app/sign-in",
    "/app/password-forgotten",
    "/app/programs",
    "/app/programs/{*page}",
    "/app/keys",
    "/app/audit-log",
    "/app/members",
    "/app/account",
    "/app/connect",
    "/app/partner",
    "/app/partner/{*page}",
    "/invitation",
    "/password-reset",
    "/verify-address",
    // The path in links of an earlier version; the last of them expires a week after the upgrade.
    "/invitations/{token}",
];
/// Only the page's own scripts, styles and requests; nothing inline, and no frame around it.
const POLICY: &str =
    "default-src 'self'; base-uri 'none'; form-action 'self'; object-src 'none'; frame-ancestors 'none'";
/// No referrer: an invitation's address contains its token.
const HEADERS: [(HeaderName, &str); 5] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
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
        // Revalidated each time, and answered 304 while unchanged; the files it loads have a content hash in their names.
        .html_cache_control(CacheControl::NoCache)
        .cache_control(CacheControl::Long);
    PAGES
        .into_iter()
        .fold(files, |files, page| files.add_alias(page, DOCUMENT))
        .into_router()
        .route("/", get(async || Redirect::to("/app")))
        .layer(map_response(with_headers))
}

async fn with_headers(mut response: Response) -> Response {
    let headers = HEADERS.map(|(name, value)| (name, HeaderValue::from_static(value)));
    response.headers_mut().extend(headers);
    response
}
