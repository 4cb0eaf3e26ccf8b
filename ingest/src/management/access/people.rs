//! Turns sessions and management keys into callers and their rights.

use std::marker::PhantomData;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use chrono::{DateTime, TimeDelta, Utc};
use domain::ids::{SessionId, UserId, WorkspaceId};
use domain::people::account::UserKind;
use serde_json::Value;
use sqlx::PgConnection;
use storage::StorageResult;
use storage::operations::audit_log::AuditActor;
use storage::people::management_keys::{self, UsableKey};
use storage::people::second_factors::{self, OwnFactors};
use storage::people::sessions::{self, SessionKind, Whereabouts};
use storage::people::workspaces;

use super::refusals::{FORBIDDEN, UNAUTHENTICATED, WRONG_KIND};
use super::session::token_of_cookie;
use super::source::Source;
use crate::http::client_address::ClientAddress;
use crate::http::credential::Credential;
use crate::http::query::Query;
use crate::management::prelude::*;

const KEY_LACKS_SECOND_FACTOR: &str =
    "This workspace requires a second factor, and the creator of this API key has none";

const PROOF_LASTS: TimeDelta = TimeDelta::minutes(30);

#[derive(Debug, Clone, Copy)]
pub struct User {
    pub user_id: UserId,
    pub session_id: SessionId,
    /// When the user last entered the password in this session.
    proved_at: Option<DateTime<Utc>>,
    /// The user has shown a passkey in this session.
    by_passkey: bool,
    /// A workspace of the user requires a second factor, and this session has none.
    pub lacks_second_factor: bool,
}

impl User {
    pub const fn of(session: &sessions::Session) -> Self {
        Self {
            user_id: session.user_id,
            session_id: session.session_id,
            proved_at: session.proved_at,
            by_passkey: session.by_passkey,
            lacks_second_factor: session.lacks_second_factor,
        }
    }

    /// Fails unless the user entered the password within [`PROOF_LASTS`]. Keys and secrets, invitations,
    /// payouts, exports and erasure require this: an unattended session must not be enough for those.
    pub fn just_proved(&self, app: &App) -> Result<(), ApiError> {
        let is_recent = |at: DateTime<Utc>| app.clock.now() < at + PROOF_LASTS;
        if self.proved_at.is_some_and(is_recent) {
            Ok(())
        } else {
            Err(ApiError::PasswordRequired)
        }
    }

    /// Like [`Self::just_proved`], for adding or removing a factor: if the account has a factor, the password
    /// alone is not enough. Returns the account's factors, locked until the transaction ends.
    pub async fn proved_own_factor(
        &self,
        app: &App,
        connection: &mut PgConnection,
    ) -> Result<OwnFactors, ApiError> {
        self.just_proved(app)?;
        let own = second_factors::lock_own(connection, self.user_id).await?;
        // If an account has an authenticator app, every session of it began with a code or a passkey.
        if own.passkeys > 0 && !own.has_app && !self.by_passkey {
            return Err(ApiError::PasskeyRequired);
        }
        Ok(own)
    }

    /// Whether a later request of this session would still be accepted as an advertiser's. For work that
    /// outlives its request.
    pub async fn is_still_advertiser(
        &self,
        app: &App,
        connection: &mut PgConnection,
    ) -> Result<bool, ApiError> {
        let session = sessions::find(connection, self.session_id, app.clock.now()).await?;
        Ok(session
            .is_some_and(|session| dashboard(&Holder::Session(session), Some(UserKind::Advertiser)).is_ok()))
    }
}

/// The caller of a request: its name in the audit log, and the request's source.
pub trait Caller: FromRequestParts<App, Rejection = ApiError> + Send + Sync {
    fn actor(&self) -> AuditActor;
    fn source(&self) -> &Source;
    /// Like [`User::just_proved`]. A key passes, because its scopes limit it.
    fn just_proved(&self, app: &App) -> Result<(), ApiError>;
}

/// A dashboard session of users of one kind, or of any kind.
#[derive(Debug)]
pub struct Session<K> {
    pub user: User,
    pub source: Source,
    kind: PhantomData<K>,
}

pub type SignedIn = Session<OfAnybody>;
pub type AdvertiserUser = Session<OfAdvertiser>;
pub type PartnerUser = Session<OfPartner>;

/// The kind of users whose sessions a route serves.
pub trait SessionOf: Send + Sync {
    const KIND: Option<UserKind>;
}

#[derive(Debug)]
pub struct OfAnybody;
#[derive(Debug)]
pub struct OfAdvertiser;
#[derive(Debug)]
pub struct OfPartner;

impl SessionOf for OfAnybody {
    const KIND: Option<UserKind> = None;
}

impl SessionOf for OfAdvertiser {
    const KIND: Option<UserKind> = Some(UserKind::Advertiser);
}

impl SessionOf for OfPartner {
    const KIND: Option<UserKind> = Some(UserKind::Partner);
}

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

impl Caller for Advertiser {
    fn actor(&self) -> AuditActor {
        match &self.rights {
            Rights::User(user) => AuditActor::User(user.user_id),
            Rights::Key(key) => AuditActor::Key(key.key_id),
        }
    }

    fn source(&self) -> &Source {
        &self.source
    }

    fn just_proved(&self, app: &App) -> Result<(), ApiError> {
        match &self.rights {
            Rights::User(user) => user.just_proved(app),
            Rights::Key(_) => Ok(()),
        }
    }
}

impl<K: SessionOf> Caller for Session<K> {
    fn actor(&self) -> AuditActor {
        AuditActor::User(self.user.user_id)
    }

    fn source(&self) -> &Source {
        &self.source
    }

    fn just_proved(&self, app: &App) -> Result<(), ApiError> {
        self.user.just_proved(app)
    }
}

impl<K> Session<K> {
    pub(super) const fn new(user: User, source: Source) -> Self {
        Self {
            user,
            source,
            kind: PhantomData,
        }
    }
}

impl SignedIn {
    /// Writes an entry about the account to the audit log of every workspace in which the user works.
    pub async fn audit(
        &self,
        app: &App,
        connection: &mut PgConnection,
        action: &'static str,
        details: Value,
    ) -> StorageResult<()> {
        self.source
            .audit_account(app, connection, self.user.user_id, action, details)
            .await
    }
}

impl AdvertiserUser {
    /// The workspace that the request names, or else the only one that the user runs. Only owners and admins
    /// of the workspace pass.
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
            (None, _) => Err(FORBIDDEN),
            (Some(_), Some(_)) => Err(ApiError::bad_request(
                "workspace_id is required: you run several workspaces",
            )),
        }
    }

    /// The id of [`Self::workspace`], for a list. The list's query may name it as `workspace_id`.
    pub async fn workspace_asked_for(
        &self,
        connection: &mut PgConnection,
        query: &Query,
    ) -> Result<WorkspaceId, ApiError> {
        let named = query.integer("workspace_id")?.map(WorkspaceId::new);
        Ok(self.workspace(connection, named).await?.workspace_id)
    }
}

pub enum Holder {
    Session(sessions::Session),
    Key(UsableKey),
}

pub async fn holder(app: &App, parts: &Parts) -> Result<Holder, ApiError> {
    let credential = match Credential::of(&parts.headers) {
        // Without the header a browser's cookie counts; `same_origin` has checked where the request comes
        // from.
        Credential::MissingOrMalformed => {
            Credential::Session(token_of_cookie(&parts.headers).ok_or(UNAUTHENTICATED)?.hash())
        }
        Credential::Program(_) => return Err(ApiError::Unauthorized(WRONG_KIND)),
        Credential::EmptyToken | Credential::Unusable => return Err(UNAUTHENTICATED),
        credential => credential,
    };
    let client = parts.extensions.get::<ClientAddress>().copied();
    app.limits.admit_token(client)?;
    let whereabouts = Source::of(app, parts).whereabouts;
    let Some(holder) = find(app, credential, &whereabouts).await? else {
        app.limits.count_unknown_token(client);
        return Err(UNAUTHENTICATED);
    };
    let who = match &holder {
        Holder::Session(session) => format!("user:{}", session.user_id),
        Holder::Key(key) => format!("key:{}", key.key_id),
    };
    app.limits.spend_management(&who).await?;
    match holder {
        Holder::Key(key) if key.lacks_second_factor => Err(ApiError::Forbidden(KEY_LACKS_SECOND_FACTOR)),
        holder => Ok(holder),
    }
}

async fn find(
    app: &App,
    credential: Credential,
    whereabouts: &Whereabouts,
) -> Result<Option<Holder>, ApiError> {
    let now = app.clock.now();
    let mut connection = app.management.acquire().await?;
    Ok(match credential {
        Credential::Session(hash) => sessions::find_used(&mut connection, hash, whereabouts, now)
            .await?
            .map(Holder::Session),
        Credential::Management(hash) => management_keys::find_used(&mut connection, hash, now)
            .await?
            .map(Holder::Key),
        _ => None,
    })
}

/// Accepts a dashboard session only. If `kind` is given, the user must be of that kind, and must have a
/// second factor if one of the user's workspaces requires it.
pub fn dashboard(holder: &Holder, kind: Option<UserKind>) -> Result<(User, UserKind), ApiError> {
    match holder {
        Holder::Session(session) if session.kind == SessionKind::Dashboard => {
            if session.suspended {
                return Err(UNAUTHENTICATED);
            }
            if kind.is_some_and(|kind| kind != session.user_kind) {
                return Err(FORBIDDEN);
            }
            if kind.is_some() && session.lacks_second_factor {
                return Err(ApiError::SecondFactorMissing);
            }
            Ok((User::of(session), session.user_kind))
        }
        _ => Err(ApiError::Unauthorized(WRONG_KIND)),
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

impl<K: SessionOf> FromRequestParts<App> for Session<K> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let (user, _) = dashboard(&holder(app, parts).await?, K::KIND)?;
        Ok(Self::new(user, Source::of(app, parts)))
    }
}
