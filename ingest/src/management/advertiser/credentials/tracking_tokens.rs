//! `…/{program_id}/tracking-tokens`: tokens beside a program's own, one for each server, with the scopes that
//! the server needs.
//!
//! To replace a server's token without a gap: create another token, deploy it, and revoke the old one once it
//! is no longer used.

use axum::http::StatusCode;
use chrono::{DateTime, Utc};
use domain::ids::{ProgramId, TrackingTokenId};
use domain::programs::tracking_token::{TokenScopes, TokenScopesError};
use domain::token::ProgramToken;
use messages::instant::{as_instant, as_instant_if_any};
use serde_json::json;
use storage::program::program_settings;
use storage::program::tracking_tokens::{self, NewToken, StoredToken, TokenKind};

use crate::http::field::{Field, refused};
use crate::management::access::right::{IssueToken, Read, RevokeToken};
use crate::management::access::{ARCHIVED, ReadProgram, Rights, WriteProgram};
use crate::management::answers::{Created, created};
use crate::management::prelude::*;

/// Each server should have a token of its own, but not each request.
const MOST: usize = 20;

#[derive(Debug, Deserialize, ToSchema)]
pub struct NewTokenRequest {
    /// The server it is for.
    #[schema(value_type = String, max_length = 120)]
    name: Field<String>,
    /// What it may report, some of `sale`, `refund` and `lead`; `connect` is for a command line that sets up the payment processor.
    #[schema(value_type = Vec<String>, min_items = 1)]
    scopes: Field<Vec<String>>,
}

/// A tracking token as answers show it: the masked form only.
#[derive(Debug, Serialize, ToSchema)]
pub struct TokenView {
    /// Null for the program's own token.
    id: Option<i64>,
    /// `own`, `previous` (the own one before a regeneration that kept it for a while), or `named`.
    kind: &'static str,
    name: Option<String>,
    api_token_masked: String,
    scopes: Vec<&'static str>,
    /// From then on it is refused; each answer says so before.
    #[serde(serialize_with = "as_instant_if_any")]
    rotate_by: Option<DateTime<Utc>>,
    #[serde(serialize_with = "as_instant")]
    created_at: DateTime<Utc>,
    /// Null: with a management key, or with the program.
    created_by: Option<String>,
    /// To the hour; null: never so far.
    #[serde(serialize_with = "as_instant_if_any")]
    last_used_at: Option<DateTime<Utc>>,
}

/// A new token. It is shown here and never again.
#[derive(Debug, Serialize, ToSchema)]
pub struct CreatedToken {
    id: i64,
    name: String,
    scopes: Vec<&'static str>,
    api_token: String,
    api_token_masked: String,
}

/// List a program's tracking tokens
///
/// Those that are accepted: the program's own first.
#[utoipa::path(
    get,
    path = "/api/advertiser/affiliate-programs/{program_id}/tracking-tokens",
    responses((status = 200, description = "Of each the masked form.", body = Data<Vec<TokenView>>))
)]
pub async fn list_tracking_tokens(mut read: ReadProgram<Read>) -> Answer<Vec<TokenView>> {
    let program_id = read.ids;
    let tokens = tracking_tokens::list(&mut read.db, program_id).await?;
    Ok(data(tokens.into_iter().map(TokenView::new).collect()))
}

/// Create a tracking token for one server
///
/// Beside those there are: they go on working. At most 20 a program.
#[utoipa::path(
    post,
    path = "/api/advertiser/affiliate-programs/{program_id}/tracking-tokens",
    request_body = NewTokenRequest,
    responses(
        (status = 201, description = "Made. The token is shown here only.", body = Data<CreatedToken>),
        (status = 409, description = "The program is archived, or has 20 already.", body = PlatformError),
    ),
    extensions(("x-refusals" = json!([
        scopes_error(&TokenScopesError::Unknown("everything".to_owned())), ARCHIVED, TOO_MANY
    ]))),
)]
pub async fn create_tracking_token(mut write: WriteProgram<IssueToken>) -> Created<CreatedToken> {
    let program_id = write.on.ids;
    write.just_proved()?;
    let request: NewTokenRequest = write.body().json()?;
    let name = request.name.required_name("name", "name is required")?;
    let scopes = read_scopes(request.scopes)?;
    program_settings::lock(&mut write.db, program_id).await?;
    let tokens = tracking_tokens::list(&mut write.db, program_id).await?;
    if tokens.len() > MOST {
        return Err(TOO_MANY);
    }
    let token = ProgramToken::generate(App::random());
    let new = NewToken {
        program_id,
        name: &name,
        scopes,
        token: &token,
        created_by: match &write.caller.rights {
            Rights::User(user) => Some(user.user_id),
            Rights::Key(_) => None,
        },
        created_at: write.app.clock.now(),
    };
    let id = tracking_tokens::create(&mut write.db, &new).await?;
    let details =
        json!({ "name": name.as_str(), "scopes": scopes.names(), "api_token_masked": token.masked() });
    write.audit("tracking_token.created", id.get(), details);
    write.commit().await?;
    Ok(created(CreatedToken {
        id: id.get(),
        name: name.as_str().to_owned(),
        scopes: scopes.names(),
        api_token: token.expose().to_owned(),
        api_token_masked: token.masked(),
    }))
}

/// Revoke a tracking token
///
/// It is refused from now on. The program's own token is replaced by `regenerate-api-token` instead.
#[utoipa::path(
    delete,
    path = "/api/advertiser/affiliate-programs/{program_id}/tracking-tokens/{tracking_token_id}",
    responses(
        (status = 204, description = "Revoked."),
        (status = 404, description = "The program has no such token that is accepted.", body = PlatformError),
    ),
    extensions(("x-refusals" = json!([NOT_FOUND]))),
)]
pub async fn revoke_tracking_token(
    mut write: WriteProgram<RevokeToken, (ProgramId, TrackingTokenId)>,
) -> Result<StatusCode, ApiError> {
    let (program_id, tracking_token_id) = write.on.ids;
    let now = write.now();
    if !tracking_tokens::revoke(&mut write.db, program_id, tracking_token_id, now).await? {
        return Err(NOT_FOUND);
    }
    write.audit("tracking_token.revoked", tracking_token_id.get(), json!({}));
    write.answer(StatusCode::NO_CONTENT).await
}

fn read_scopes(field: Field<Vec<String>>) -> Result<TokenScopes, ApiError> {
    let names = field.optional(|| refused("scopes", "must be a list of scopes"))?;
    let names = names.ok_or(ApiError::bad_request("scopes is required"))?;
    TokenScopes::parse(names.iter().map(String::as_str)).map_err(|error| scopes_error(&error))
}

fn scopes_error(error: &TokenScopesError) -> ApiError {
    refused("scopes", &error.to_string())
}

const TOO_MANY: ApiError = ApiError::Conflict("A program has at most 20 tracking tokens: revoke one first");
const NOT_FOUND: ApiError = ApiError::NotFound("Tracking token not found");

impl TokenView {
    fn new(token: StoredToken) -> Self {
        let (id, kind, name) = match token.kind {
            TokenKind::Own => (None, "own", None),
            TokenKind::Previous(id) => (Some(id.get()), "previous", None),
            TokenKind::Named(id, name) => (Some(id.get()), "named", Some(name)),
        };
        Self {
            id,
            kind,
            name,
            api_token_masked: token.token_masked,
            scopes: token.scopes.names(),
            rotate_by: token.rotation.map(|rotation| rotation.rotate_by),
            created_at: token.created_at,
            created_by: token.creator_name,
            last_used_at: token.last_used_at,
        }
    }
}
