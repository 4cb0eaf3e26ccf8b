//! Sessions and management keys, read into who asks and what they may do.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use chrono::{DateTime, TimeDelta, Utc};
use domain::account::UserKind;
use domain::ids::{SessionId, UserId, WorkspaceId};
use domain::token::TokenHash;
use sqlx::PgConnection;
use storage::audit_log::AuditActor;
use storage::management_keys::{self, UsableKey};
use storage::sessions::{self, SessionKind, Whereabouts};
use storage::{StorageResult, workspaces};

use super::refusals::{WRONG_KIND, forbidden, nobody};
use super::session::token_of_cookie;
use super::source::{Audited, Source};
use crate::app::App;
use crate::http::client_address::ClientAddress;
use crate::http::credential::Credential;
use crate::http::error::ApiError;
use crate::http::query::Query;

/// For so long after somebody gave their password they are not asked for it again.
const PROOF_LASTS: TimeDelta = TimeDelta::minutes(30);

/// Who is behind a session.
#[derive(Debug, Clone, Copy)]
pub struct User {
    pub user_id: UserId,
    pub session_id: SessionId,
    /// When they last gave their password in this session.
    proved_at: Option<DateTime<Utc>>,
    /// A workspace of theirs demands a second factor, and this session has none.
    pub lacks_second_factor: bool,
}

impl User {
    pub const fn of(session: &sessions::Session) -> Self {
        Self {
            user_id: session.user_id,
            session_id: session.session_id,
            proved_at: session.proved_at,
            lacks_second_factor: session.lacks_second_factor,
        }
    }

    /// For what a session left open must not be enough for: keys and secrets, who is let in, payouts, files of data, erasure.
    pub fn just_proved(&self, app: &App) -> Result<(), ApiError> {
        let is_recent = |at: DateTime<Utc>| app.clock.now() < at + PROOF_LASTS;
        if self.proved_at.is_some_and(is_recent) {
            Ok(())
        } else {
            Err(ApiError::PasswordRequired)
        }
    }
}

/// Any dashboard session.
#[derive(Debug)]
pub struct SignedIn {
    pub user: User,
    pub source: Source,
}

/// Who manages programs.
#[derive(Debug)]
pub struct Advertiser {
    pub rights: Rights,
    pub source: Source,
}

#[derive(Debug)]
pub enum Rights {
    User(User),
    Key(UsableKey),
}

#[derive(Debug)]
pub struct AdvertiserUser {
    pub user: User,
    pub source: Source,
}

#[derive(Debug)]
pub struct PartnerUser {
    pub user: User,
    pub source: Source,
}

impl Advertiser {
    /// As [`User::just_proved`]. A key has its scopes.
    pub fn just_proved(&self, app: &App) -> Result<(), ApiError> {
        match &self.rights {
            Rights::User(user) => user.just_proved(app),
            Rights::Key(_) => Ok(()),
        }
    }

    pub const fn actor(&self) -> AuditActor {
        match &self.rights {
            Rights::User(user) => AuditActor::User(user.user_id),
            Rights::Key(key) => AuditActor::Key(key.key_id),
        }
    }

    pub async fn audit(
        &self,
        app: &App,
        connection: &mut PgConnection,
        audited: Audited,
    ) -> StorageResult<()> {
        self.source.audit(app, connection, self.actor(), audited).await
    }
}

impl AdvertiserUser {
    pub async fn audit(
        &self,
        app: &App,
        connection: &mut PgConnection,
        audited: Audited,
    ) -> StorageResult<()> {
        let actor = AuditActor::User(self.user.user_id);
        self.source.audit(app, connection, actor, audited).await
    }

    /// The workspace a request is about: the one it names, or else the only one they run. Whoever does not run it, as
    /// its owner or admin, is refused.
    pub async fn workspace(
        &self,
        connection: &mut PgConnection,
        named: Option<WorkspaceId>,
    ) -> Result<workspaces::Membership, ApiError> {
        let memberships = workspaces::of_user(connection, self.user.user_id).await?;
        let mut run = memberships
            .into_iter()
            .filter(|membership| membership.role.runs_the_workspace())
            .filter(|membership| named.is_none_or(|named| named == membership.workspace_id));
        match (run.next(), run.next()) {
            (Some(membership), None) => Ok(membership),
            (None, _) => Err(forbidden()),
            (Some(_), Some(_)) => Err(ApiError::bad_request(
                "workspace_id is required: you run several workspaces",
            )),
        }
    }

    /// [`Self::workspace`], as the query of a list names it.
    pub async fn workspace_asked_for(
        &self,
        connection: &mut PgConnection,
        query: &Query,
    ) -> Result<WorkspaceId, ApiError> {
        let named = query.integer("workspace_id")?.map(WorkspaceId::new);
        Ok(self.workspace(connection, named).await?.workspace_id)
    }
}

impl PartnerUser {
    pub async fn audit(
        &self,
        app: &App,
        connection: &mut PgConnection,
        audited: Audited,
    ) -> StorageResult<()> {
        let actor = AuditActor::User(self.user.user_id);
        self.source.audit(app, connection, actor, audited).await
    }
}

/// Whose credential a request carries.
pub enum Holder {
    Session(sessions::Session),
    Key(UsableKey),
}

pub async fn holder(app: &App, parts: &Parts) -> Result<Holder, ApiError> {
    let token = match Credential::of(&parts.headers) {
        Credential::Session(token_hash) => Token::Session(token_hash),
        // Without the header, a browser's cookie counts; `same_origin` has looked at where the request comes from.
        Credential::MissingOrMalformed => {
            Token::Session(token_of_cookie(&parts.headers).ok_or(nobody())?.hash())
        }
        Credential::Management(key_hash) => Token::Key(key_hash),
        Credential::Program(_) => return Err(ApiError::Unauthorized(WRONG_KIND)),
        Credential::EmptyToken | Credential::Unusable => return Err(nobody()),
    };
    let client = parts.extensions.get::<ClientAddress>().copied();
    app.limits.admit_token(client)?;
    let whereabouts = Source::of(app, parts).whereabouts;
    let Some(holder) = find(app, token, &whereabouts).await? else {
        app.limits.count_unknown_token(client);
        return Err(nobody());
    };
    let who = match &holder {
        Holder::Session(session) => format!("user:{}", session.user_id),
        Holder::Key(key) => format!("key:{}", key.key_id),
    };
    app.limits.spend_management(&who).await?;
    Ok(holder)
}

enum Token {
    Session(TokenHash),
    Key(TokenHash),
}

async fn find(app: &App, token: Token, whereabouts: &Whereabouts) -> Result<Option<Holder>, ApiError> {
    let now = app.clock.now();
    let mut connection = app.management.acquire().await?;
    Ok(match token {
        Token::Session(hash) => sessions::find_used(&mut connection, hash, whereabouts, now)
            .await?
            .map(Holder::Session),
        Token::Key(hash) => management_keys::find_used(&mut connection, hash, now)
            .await?
            .map(Holder::Key),
    })
}

/// A session of the dashboard's, and of people of one kind if one is named; those must have the second factor that a workspace
/// of theirs demands.
pub fn dashboard(holder: &Holder, kind: Option<UserKind>) -> Result<(User, UserKind), ApiError> {
    match holder {
        Holder::Session(session) if session.kind == SessionKind::Dashboard => {
            if session.suspended {
                return Err(nobody());
            }
            if kind.is_some_and(|kind| kind != session.user_kind) {
                return Err(forbidden());
            }
            if kind.is_some() && session.lacks_second_factor {
                return Err(ApiError::SecondFactorMissing);
            }
            Ok((User::of(session), session.user_kind))
        }
        _ => Err(ApiError::Unauthorized(WRONG_KIND)),
    }
}

impl FromRequestParts<App> for SignedIn {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let (user, _) = dashboard(&holder(app, parts).await?, None)?;
        Ok(Self {
            user,
            source: Source::of(app, parts),
        })
    }
}

impl FromRequestParts<App> for Advertiser {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let rights = match holder(app, parts).await? {
            Holder::Key(key) => Rights::Key(key),
            session @ Holder::Session(_) => Rights::User(dashboard(&session, Some(UserKind::Advertiser))?.0),
        };
        Ok(Self {
            rights,
            source: Source::of(app, parts),
        })
    }
}

impl FromRequestParts<App> for AdvertiserUser {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let (user, _) = dashboard(&holder(app, parts).await?, Some(UserKind::Advertiser))?;
        Ok(Self {
            user,
            source: Source::of(app, parts),
        })
    }
}

impl FromRequestParts<App> for PartnerUser {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let (user, _) = dashboard(&holder(app, parts).await?, Some(UserKind::Partner))?;
        Ok(Self {
            user,
            source: Source::of(app, parts),
        })
    }
}
