//! Who calls: the program key is looked up once, before the route, on every route that may carry one.
//!
//! A key marked for rotation works until its deadline and every answer says so; past it, every request with the key
//! is refused here.

use axum::extract::{FromRequestParts, Request};
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use domain::ids::ProgramId;
use domain::key_rotation::KeyRotation;
use domain::token::TokenHash;
use domain::tracking_token::{TokenScope, TokenScopes};

use crate::app::App;
use crate::http::credential::Credential;
use crate::http::error::ApiError;
use crate::http::rotation;
use crate::tracking::directory::Unavailable;

/// The refusal of a token that is no program's.
pub const INVALID_TOKEN: &str = "Invalid API token";

/// What the [`Credential`] came to.
#[derive(Debug, Clone)]
pub enum Caller {
    /// No bearer token: nothing, another scheme, or nonsense.
    Anonymous,
    EmptyToken,
    /// A token of no program, of another kind, or of no known form.
    Unknown,
    Program(ProgramCaller),
    /// What the program sold can still be refunded; to all else its tokens are invalid.
    Archived(ProgramCaller),
    /// Whose token it is could not be found out.
    Undecided(Unavailable),
}

/// A program, as one of its tokens opens it.
#[derive(Debug, Clone, Copy)]
pub struct ProgramCaller {
    pub program_id: ProgramId,
    scopes: TokenScopes,
}

impl ProgramCaller {
    /// The program, for what the token must be for.
    pub fn demand(self, scope: TokenScope) -> Result<ProgramId, ApiError> {
        if self.scopes.contain(scope) {
            Ok(self.program_id)
        } else {
            Err(out_of_scope(scope))
        }
    }
}

/// The refusal of a token that is for other calls.
pub const fn out_of_scope(scope: TokenScope) -> ApiError {
    ApiError::Forbidden(match scope {
        TokenScope::Sale => "This API token has no scope sale",
        TokenScope::Refund => "This API token has no scope refund",
        TokenScope::Lead => "This API token has no scope lead",
        TokenScope::Connect => "This API token has no scope connect",
    })
}

/// Finds the caller and leaves it with the request. What is returned is the rotation of its key, if one is due; a key
/// that was to be replaced by now is refused.
pub async fn identify(app: &App, request: &mut Request) -> Result<Option<KeyRotation>, ApiError> {
    let (caller, rotation) = match Credential::left_with(request) {
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
            Err(unavailable) => (Caller::Undecided(unavailable), heard_of_rotation(app, hash)),
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

/// What is answered to a request that is turned away before its key is looked up: by what this ingest has heard of the key,
/// its rotation is announced with the refusal, and a key that was to be replaced by now is refused as such.
pub async fn turn_away(app: &App, credential: Credential, refusal: ApiError) -> Response {
    let rotation = match credential {
        Credential::Program(hash) => heard_of_rotation(app, hash),
        _ => None,
    };
    match rotation {
        Some(rotation) if rotation.is_over(app.clock.now()) => ApiError::KeyRetired.into_response(),
        Some(rotation) => rotation::announce(&rotation, refusal.into_response()).await,
        None => refusal.into_response(),
    }
}

fn heard_of_rotation(app: &App, hash: TokenHash) -> Option<KeyRotation> {
    app.directory.heard_of(&hash)?.rotation
}

impl Caller {
    /// The program whose sales may be refunded: an archived one, too.
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

    /// The program with what its token is for, for a route that demands one. `empty_token` is the route's message for a token that is empty,
    /// `failed` the one for not having found out.
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
