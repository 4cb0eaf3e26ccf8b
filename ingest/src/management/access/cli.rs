//! Who connects a command line, and who then acts through it: in one workspace, and only while they run it.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use domain::account::UserKind;
use domain::ids::{ProgramId, WorkspaceId};
use domain::permission::Permission;
use sqlx::PgConnection;
use storage::StorageResult;
use storage::audit_log::AuditActor;
use storage::sessions::SessionKind;

use super::people::{AdvertiserUser, Holder, User, dashboard, holder};
use super::program::ProgramAccess;
use super::refusals::{WRONG_KIND, forbidden, nobody};
use super::source::{Audited, Source};
use crate::app::App;
use crate::http::error::ApiError;

/// Somebody signed in at the dashboard who is to confirm a command line.
#[derive(Debug)]
pub struct CliConfirmer(pub AdvertiserUser);

/// Somebody behind a command line, and the workspace it was connected to.
#[derive(Debug)]
pub struct CliUser {
    user: AdvertiserUser,
    workspace_id: WorkspaceId,
}

impl CliUser {
    /// The workspace, which they must still run. To name another is to ask for what is not theirs.
    pub async fn workspace(
        &self,
        connection: &mut PgConnection,
        named: Option<WorkspaceId>,
    ) -> Result<WorkspaceId, ApiError> {
        if named.is_some_and(|named| named != self.workspace_id) {
            return Err(forbidden());
        }
        let membership = self.user.workspace(connection, Some(self.workspace_id)).await?;
        Ok(membership.workspace_id)
    }

    /// A program of the workspace, as [`AdvertiserUser::program`].
    pub async fn program(
        &self,
        connection: &mut PgConnection,
        program_id: ProgramId,
        permission: Permission,
    ) -> Result<ProgramAccess, ApiError> {
        let access = self.user.program(connection, program_id, permission).await?;
        if access.workspace_id == self.workspace_id {
            Ok(access)
        } else {
            Err(forbidden())
        }
    }

    /// As [`User::just_proved`]: a command line's login is proof for as long as a password given at the dashboard.
    pub fn just_proved(&self, app: &App) -> Result<(), ApiError> {
        self.user.user.just_proved(app)
    }

    pub const fn actor(&self) -> AuditActor {
        AuditActor::User(self.user.user.user_id)
    }

    pub const fn source(&self) -> &Source {
        &self.user.source
    }

    pub async fn audit(
        &self,
        app: &App,
        connection: &mut PgConnection,
        audited: Audited,
    ) -> StorageResult<()> {
        self.user.audit(app, connection, audited).await
    }
}

impl FromRequestParts<App> for CliConfirmer {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let holder = holder(app, parts).await?;
        if let Holder::Session(session) = &holder
            && session.suspended
        {
            return Err(ApiError::AccountBlocked);
        }
        let (user, _) = dashboard(&holder, Some(UserKind::Advertiser))?;
        Ok(Self(AdvertiserUser {
            user,
            source: Source::of(app, parts),
        }))
    }
}

impl FromRequestParts<App> for CliUser {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let Holder::Session(session) = holder(app, parts).await? else {
            return Err(ApiError::Unauthorized(WRONG_KIND));
        };
        let SessionKind::Cli(workspace_id) = session.kind else {
            return Err(ApiError::Unauthorized(WRONG_KIND));
        };
        if session.suspended {
            return Err(nobody());
        }
        if session.lacks_second_factor {
            return Err(ApiError::SecondFactorMissing);
        }
        Ok(Self {
            user: AdvertiserUser {
                user: User::of(&session),
                source: Source::of(app, parts),
            },
            workspace_id,
        })
    }
}
