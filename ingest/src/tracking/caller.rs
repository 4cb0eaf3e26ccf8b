//! Authenticates program keys. Every route that takes a key looks it up once, before the handler.
//!
//! A key that is marked for rotation works until its deadline, and every answer announces the rotation. After
//! the deadline every request with the key is rejected here.

use axum::extract::{FromRequestParts, Request};
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use domain::ids::ProgramId;
use domain::programs::key_rotation::KeyRotation;
use domain::programs::tracking_token::{TokenScope, TokenScopes};
use domain::token::TokenHash;

use crate::app::App;
use crate::http::credential::Credential;
use crate::http::error::ApiError;
use crate::http::rotation;
use crate::tracking::directory::Unavailable;

pub const INVALID_TOKEN: &str = "Invalid API token";

/// The caller that the [`Credential`] identifies.
#[derive(Debug, Clone)]
pub enum Caller {
    /// No bearer token: no header, another scheme, or a malformed header.
    Anonymous,
    EmptyToken,
    /// A token that belongs to no program, is of another kind, or has no known form.
    Unknown,
    Program(ProgramCaller),
    /// Sales of an archived program can still be refunded; for everything else its tokens are invalid.
    Archived(ProgramCaller),
    /// The lookup failed.
    Undecided(Unavailable),
}

/// A program, and the scopes of its token.
#[derive(Debug, Clone, Copy)]
pub struct ProgramCaller {
    pub program_id: ProgramId,
    scopes: TokenScopes,
}

impl ProgramCaller {
    /// The program, if the token has the scope.
    pub fn demand(self, scope: TokenScope) -> Result<ProgramId, ApiError> {
        if self.scopes.contain(scope) {
            Ok(self.program_id)
        } else {
            Err(out_of_scope(scope))
        }
    }
}

pub const fn out_of_scope(scope: TokenScope) -> ApiError {
    ApiError::Forbidden(match scope {
        TokenScope::Sale => "This API token has no scope sale",
        TokenScope::Refund => "This API token has no scope refund",
        TokenScope::Lead => "This API token has no scope lead",
        TokenScope::Connect => "This API token has no scope connect",
    })
}

/// Inserts the caller into the request's extensions, and returns the rotation of its key if one is due. A key
/// past its deadline is rejected.
pub async fn authenticate(app: &App, request: &mut Request) -> Result<Option<KeyRotation>, ApiError> {
    let (caller, rotation) = match Credential::from_extensions(request) {
        Credential::MissingOrMalformed => (Caller::Anonymous, None),
        Credential::EmptyToken => (Caller::EmptyToken, None),
        Credential::Unusable | Credential::Management(_) | Credential::Session(_) => (Caller::Unknown, None),
        Credential::Program(hash) => match app.directory.program_of_token(hash).await {
            Ok(None) => (Caller::Unknown, None),
            Ok(Some(key)) => {
                let (program_id, scopes) = (key.program_id, key.scopes);
                let caller = ProgramCaller { program_id, scopes };
                let caller = if key.archived {
                    Caller::Archived(caller)
                } else {
                    Caller::Program(caller)
                };
                (caller, key.rotation)
            }
            Err(unavailable) => (Caller::Undecided(unavailable), cached_rotation(app, hash)),
        },
    };
    if rotation
        .as_ref()
        .is_some_and(|rotation| rotation.is_over(app.clock.now()))
    {
        return Err(ApiError::KeyRetired);
    }
    request.extensions_mut().insert(caller);
    Ok(rotation)
}

/// Answers a request that is rejected before its key is looked up. The refusal announces the rotation of a
/// cached key. A key past its deadline gets the refusal for expired keys instead.
pub async fn reject(app: &App, credential: Credential, refusal: ApiError) -> Response {
    let rotation = match credential {
        Credential::Program(hash) => cached_rotation(app, hash),
        _ => None,
    };
    match rotation {
        Some(rotation) if rotation.is_over(app.clock.now()) => ApiError::KeyRetired.into_response(),
        Some(rotation) => rotation::announce(&rotation, refusal.into_response()).await,
        None => refusal.into_response(),
    }
}

fn cached_rotation(app: &App, hash: TokenHash) -> Option<KeyRotation> {
    app.directory.cached_program(&hash)?.rotation
}

impl Caller {
    /// The program whose sales may be refunded, even if it is archived.
    pub fn refunding_program(
        self,
        empty_token: &'static str,
        failed: &'static str,
    ) -> Result<ProgramId, ApiError> {
        let program = match self {
            Self::Archived(program) => program,
            caller => caller.program(empty_token, failed)?,
        };
        program.demand(TokenScope::Refund)
    }

    /// The program, for a route that requires one. `empty_token` and `failed` are the route's messages for an
    /// empty token and for a failed lookup.
    pub fn program(self, empty_token: &'static str, failed: &'static str) -> Result<ProgramCaller, ApiError> {
        match self {
            Self::Program(program) => Ok(program),
            Self::Anonymous => Err(ApiError::Unauthorized(
                "Missing or malformed Authorization header. Expected: Bearer <PROGRAM_API_KEY>",
            )),
            Self::EmptyToken => Err(ApiError::Unauthorized(empty_token)),
            Self::Unknown | Self::Archived(_) => Err(ApiError::Unauthorized(INVALID_TOKEN)),
            Self::Undecided(unavailable) => Err(ApiError::internal(failed, unavailable)),
        }
    }
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        Ok(parts.extensions.get().cloned().unwrap_or(Self::Anonymous))
    }
}
