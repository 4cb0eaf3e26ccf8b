//! One-time links that are e-mailed to an account's address. The token comes back in a body: paths and
//! queries end up in logs.

use chrono::{DateTime, TimeDelta, Utc};
use domain::ids::UserId;
use domain::people::account::EmailAddress;
use domain::people::email_content::EmailContent;
use domain::token::{Token, TokenKind};
use sqlx::PgConnection;
use storage::people::one_time_links::{self, LinkPurpose, NewLink, OpenLink};

use crate::http::client_address::ClientAddress;
use crate::http::field::Field;
use crate::management::emails;
use crate::management::prelude::*;

/// A kind of link, identified by the kind of its token.
pub trait OneTimeLink: TokenKind {
    const PURPOSE: LinkPurpose;
    const LASTS: TimeDelta;
    const PAGE: &'static str;

    fn content(link: String, expires_at: DateTime<Utc>) -> EmailContent;
}

/// The same refusal for every token that opens no link.
pub const NONE: ApiError = ApiError::NotFound("Link not found, or no longer valid");

/// Writes the e-mail with a new link; `false` if e-mail is off, or no e-mail may be sent to the address.
pub async fn send<K: OneTimeLink>(
    app: &App,
    connection: &mut PgConnection,
    user_id: UserId,
    address: &EmailAddress,
) -> Result<bool, ApiError> {
    let token = Token::<K>::generate(App::random());
    let created_at = app.clock.now();
    let new = NewLink {
        purpose: K::PURPOSE,
        user_id,
        token_hash: token.hash(),
        created_at,
        expires_at: created_at + K::LASTS,
    };
    let content = K::content(emails::link(app, K::PAGE), new.expires_at);
    let written = emails::write(app, connection, address, &content, Some(token.expose()), None).await?;
    if written {
        one_time_links::create(connection, &new).await?;
    }
    Ok(written)
}

pub async fn open<K: OneTimeLink>(
    app: &App,
    client: Option<ClientAddress>,
    token: Field<String>,
) -> Result<(OpenLink, Token<K>), ApiError> {
    let text = token.required("token is required")?;
    let token = Token::<K>::parse(&text).ok_or(NONE)?;
    app.limits.admit_token(client)?;
    let mut connection = app.management.acquire().await?;
    let found = one_time_links::find_open(&mut connection, K::PURPOSE, token.hash(), app.clock.now()).await?;
    let link = app.limits.count_if_unknown(client, found).ok_or(NONE)?;
    Ok((link, token))
}
