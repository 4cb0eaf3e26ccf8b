//! `GET /.well-known/security.txt`: where to report a vulnerability (RFC 9116).

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use chrono::{SecondsFormat, TimeDelta};

use crate::app::App;
use crate::http::error::ApiError;

/// How long the file is valid from the time of the request: RFC 9116 requires an expiry date.
const LASTS: TimeDelta = TimeDelta::days(180);

/// 404 if no contact is configured.
pub async fn security_txt(State(app): State<App>) -> Response {
    let Some(contact) = &app.security_contact else {
        return ApiError::NotFound("Not Found").into_response();
    };
    let expires = (app.clock.now() + LASTS).to_rfc3339_opts(SecondsFormat::Secs, true);
    let text = format!("Contact: {contact}\nExpires: {expires}\nPreferred-Languages: en\n");
    ([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], text).into_response()
}
