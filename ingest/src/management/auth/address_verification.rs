//! `/api/auth/address-verification` and `/api/users/me/address-verification`: a link that is e-mailed to an
//! account's address proves that the account's owner reads that mailbox. The token comes in the body: paths
//! and queries end up in logs.
//!
//! No route here takes an address. A signed-in user can verify only the address of their own account.

use axum::http::StatusCode;
use chrono::{DateTime, TimeDelta, Utc};
use domain::ids::UserId;
use domain::people::account::EmailAddress;
use domain::people::email_content::EmailContent;
use domain::token::AddressVerification;
use messages::instant::as_instant;
use serde_json::json;
use sqlx::PgConnection;
use storage::people::one_time_links::{self, LinkPurpose};
use storage::people::users::{self, User};

use super::me::own_account;
use crate::http::body::RequestBody;
use crate::http::field::Field;
use crate::http::openapi::envelopes::RateLimited;
use crate::management::access::{SignedIn, Source, Write, commit};
use crate::management::one_time_links::{NONE, OneTimeLink, open, send};
use crate::management::prelude::*;

impl OneTimeLink for AddressVerification {
    const PURPOSE: LinkPurpose = LinkPurpose::AddressVerification;
    const LASTS: TimeDelta = TimeDelta::days(3);
    const PAGE: &'static str = "/verify-address";

    fn content(link: String, expires_at: DateTime<Utc>) -> EmailContent {
        EmailContent::AddressVerification { link, expires_at }
    }
}

#[derive(Debug, Serialize, ToSchema)]
pub struct VerificationRequested {
    /// `false`: this address has got several of these within an hour, or its mail server refuses it.
    emailed: bool,
}

#[derive(Debug, Deserialize, ToSchema)]
pub struct VerificationToken {
    /// The last part of the link.
    #[schema(value_type = String)]
    token: Field<String>,
}

/// What a link is for.
#[derive(Debug, Serialize, ToSchema)]
pub struct VerificationInspected {
    /// The account's address.
    email: String,
    #[serde(serialize_with = "as_instant")]
    expires_at: DateTime<Utc>,
}

/// Ask for a link that verifies one's address
///
/// It is sent to the account's address, and works once, for three days.
#[utoipa::path(
    post,
    path = "/api/users/me/address-verification",
    responses(
        (status = 200, description = "Whether it is on its way.", body = Data<VerificationRequested>),
        (status = 404, description = "E-mail is not set up here.", body = PlatformError),
        (status = 409, description = "The address is verified already.", body = PlatformError),
        (status = 429, description = "Too many requests of this account, or from this address.", body = RateLimited),
    ),
    extensions(("x-refusals" = json!([NOT_OFFERED, VERIFIED_ALREADY]))),
)]
pub async fn request_address_verification(mut write: Write<SignedIn>) -> Answer<VerificationRequested> {
    write.app.emails.require(NOT_OFFERED)?;
    let (app, user_id) = (write.app.clone(), write.caller.user.user_id);
    let (client, account) = (write.caller.source.client, format!("user:{user_id}"));
    app.limits
        .spend_on_account("address_verification", client, &account)
        .await?;
    let user = own_account(&mut write.db, user_id).await?;
    if user.verified {
        return Err(VERIFIED_ALREADY);
    }
    let emailed = send_link(&app, &mut write.db, &user).await?;
    write.answer(data(VerificationRequested { emailed })).await
}

/// Writes the e-mail with a link; `false` if e-mail is off, or no e-mail may be sent to the address.
pub async fn send_link(app: &App, connection: &mut PgConnection, user: &User) -> Result<bool, ApiError> {
    // An address that only an earlier version accepted gets no e-mail.
    let Ok(address) = EmailAddress::parse(&user.email) else {
        return Ok(false);
    };
    send::<AddressVerification>(app, connection, user.user_id, &address).await
}

/// What a link that verifies an address is for
#[utoipa::path(
    post,
    path = "/api/auth/address-verification/inspect",
    request_body = VerificationToken,
    responses(
        (status = 200, description = "It works.", body = Data<VerificationInspected>),
        (status = 404, description = "There is none, or it has ended.", body = PlatformError),
        (status = 429, description = "Too many unknown tokens from this address.", body = RateLimited),
    ),
    extensions(("x-refusals" = json!([NONE]))),
)]
pub async fn inspect_address_verification(
    State(app): State<App>,
    source: Source,
    body: RequestBody,
) -> Answer<VerificationInspected> {
    app.emails.require(NOT_OFFERED)?;
    let request: VerificationToken = body.json()?;
    let (found, _) = open::<AddressVerification>(&app, source.client, request.token).await?;
    Ok(data(VerificationInspected {
        email: found.email,
        expires_at: found.expires_at,
    }))
}

/// Verify an address
///
/// It does not sign in.
#[utoipa::path(
    post,
    path = "/api/auth/address-verification/complete",
    request_body = VerificationToken,
    responses(
        (status = 204, description = "The address is verified."),
        (status = 404, description = "There is no such link, or it has ended.", body = PlatformError),
        (status = 429, description = "Too many unknown tokens from this address.", body = RateLimited),
    ),
    extensions(("x-refusals" = json!([NONE]))),
)]
pub async fn complete_address_verification(
    State(app): State<App>,
    source: Source,
    body: RequestBody,
) -> Result<StatusCode, ApiError> {
    app.emails.require(NOT_OFFERED)?;
    let request: VerificationToken = body.json()?;
    let (found, _) = open::<AddressVerification>(&app, source.client, request.token).await?;
    let mut transaction = app.management.begin().await?;
    // Of two concurrent requests the second waits here, and finds no open link.
    let purpose = LinkPurpose::AddressVerification;
    if one_time_links::end_all(&mut transaction, purpose, found.user_id, app.clock.now()).await? == 0 {
        return Err(NONE);
    }
    verify(&app, &mut transaction, &source, found.user_id).await?;
    commit(transaction).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Records that the account's owner has read an e-mail to its address.
pub async fn verify(
    app: &App,
    connection: &mut PgConnection,
    source: &Source,
    user_id: UserId,
) -> Result<(), ApiError> {
    if users::verify(connection, user_id, app.clock.now()).await? {
        let details = json!({ "by": "email" });
        source
            .audit_account(app, connection, user_id, "user.address_verified", details)
            .await?;
    }
    Ok(())
}

const NOT_OFFERED: ApiError =
    ApiError::NotFound("E-mail is not set up here: whoever runs this installation can verify an address");
const VERIFIED_ALREADY: ApiError = ApiError::Conflict("This address is verified already");
