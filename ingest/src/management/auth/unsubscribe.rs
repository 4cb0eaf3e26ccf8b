//! `/unsubscribe/{token}`: ends a partner's weekly summaries without a sign-in (RFC 8058). The token is in
//! the path, because mail programs call the address themselves. The token allows nothing else.
//!
//! `GET` changes nothing, because mail scanners open every link. A token is verified without reading any
//! account.

use axum::extract::Path;
use axum::http::{StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use domain::ids::UserId;
use domain::people::unsubscribe::unsubscribes;
use serde_json::json;
use storage::people::users;

use crate::http::client_address::ClientAddress;
use crate::http::openapi::envelopes::RateLimited;
use crate::management::access::{Source, commit};
use crate::management::prelude::*;

/// Allows only the page's own form and inline style.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";
const SETTINGS: &str = "<p>The <a href=\"/app/account\">settings of your account</a> turn them on again.</p>";

/// A page with a button that ends weekly summaries
///
/// Nothing changes yet.
#[utoipa::path(
    get,
    path = "/unsubscribe/{token}",
    params(("token" = String, Path, description = "The last part of the link.")),
    responses(
        (status = 200, description = "The page.", body = String, content_type = "text/html"),
        (status = 404, description = "A page: the link is none of ours.", body = String, content_type = "text/html"),
        (status = 429, description = "Too many unknown tokens from this address.", body = RateLimited),
    )
)]
pub async fn show_unsubscribe(
    State(app): State<App>,
    source: Source,
    Path(token): Path<String>,
) -> Result<Response, ApiError> {
    Ok(match whose(&app, source.client, &token)? {
        Some(_) => page(
            StatusCode::OK,
            "Weekly summaries",
            "<p>Once a week we tell you what your partner programs gave.</p>\
             <form method=\"post\"><input type=\"hidden\" name=\"List-Unsubscribe\" value=\"One-Click\">\
             <button>Get no more of these e-mails</button></form>",
        ),
        None => none(),
    })
}

/// End weekly summaries
///
/// As mail programs do it (RFC 8058), or the page's button. Again, it changes nothing more. The body is not read.
#[utoipa::path(
    post,
    path = "/unsubscribe/{token}",
    params(("token" = String, Path, description = "The last part of the link.")),
    responses(
        (status = 200, description = "A page: none will be sent any more.", body = String, content_type = "text/html"),
        (status = 404, description = "A page: the link is none of ours.", body = String, content_type = "text/html"),
        (status = 429, description = "Too many unknown tokens from this address.", body = RateLimited),
    )
)]
pub async fn unsubscribe(
    State(app): State<App>,
    source: Source,
    Path(token): Path<String>,
) -> Result<Response, ApiError> {
    let Some(user_id) = whose(&app, source.client, &token)? else {
        return Ok(none());
    };
    let mut transaction = app.management.begin().await?;
    let (_, changed) = users::want_emails(&mut transaction, user_id, Some(false), None).await?;
    if changed {
        let details = json!({ "weekly_summary": false, "by": "link" });
        let action = "user.notifications_changed";
        source
            .audit_account(&app, &mut transaction, user_id, action, details)
            .await?;
    }
    commit(transaction).await?;
    Ok(page(StatusCode::OK, "You get no more weekly summaries", SETTINGS))
}

fn whose(app: &App, client: Option<ClientAddress>, token: &str) -> Result<Option<UserId>, ApiError> {
    app.limits.admit_token(client)?;
    let user_id = unsubscribes(&app.sealing_keys, token);
    Ok(app.limits.count_if_unknown(client, user_id))
}

fn none() -> Response {
    page(StatusCode::NOT_FOUND, "This link does not work", SETTINGS)
}

/// All parts of the page are constants: no part of the request gets into it.
fn page(status: StatusCode, title: &str, body: &str) -> Response {
    let html = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n\
         <meta name=\"robots\" content=\"noindex\">\n<title>{title}</title>\n\
         <style>body {{ margin: 15vh auto; max-width: 26rem; padding: 0 1rem; font: 16px/1.5 system-ui, sans-serif; color: #17211d; background: #f6f7f5 }}\n\
         button {{ padding: 10px 18px; border: 0; border-radius: 8px; background: #0f6259; color: #fff; font: inherit; font-weight: 600 }}\n\
         a {{ color: #0f6259 }}</style>\n</head>\n<body>\n<main><h1>{title}</h1>\n{body}\n</main>\n</body>\n</html>\n"
    );
    let headers = [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // The address holds the token, which no other site may learn. Without any referrer, browsers would
        // send the form with a null origin.
        (header::REFERRER_POLICY, "same-origin"),
    ];
    (status, headers, Html(html)).into_response()
}
