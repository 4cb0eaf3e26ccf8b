//! Users who connect a command line, and users who act through one. A command line acts in one workspace, and
//! only while its user runs that workspace.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use domain::ids::{ProgramId, WorkspaceId};
use domain::people::account::UserKind;
use domain::people::permission::Permission;
use sqlx::PgConnection;
use storage::operations::audit_log::AuditActor;
use storage::people::sessions::SessionKind;

use super::people::{AdvertiserUser, Caller, Holder, User, dashboard, holder};
use super::program::ProgramAccess;
use super::refusals::{FORBIDDEN, UNAUTHENTICATED, WRONG_KIND};
use super::source::Source;
use crate::management::prelude::*;

#[derive(Debug)]
pub struct CliConfirmer(pub AdvertiserUser);

/// The user of a command line, and the workspace that it was connected to.
#[derive(Debug)]
pub struct CliUser {
    user: AdvertiserUser,
    workspace_id: WorkspaceId,
}

impl CliUser {
    /// The connected workspace, which the user must still run. A request for any other workspace is refused.
    pub async fn workspace(
        &self,
        connection: &mut PgConnection,
        named: Option<WorkspaceId>,
    ) -> Result<WorkspaceId, ApiError> {
        if named.is_some_and(|named| named != self.workspace_id) {
            return Err(FORBIDDEN);
        }
        let membership = self.user.workspace(connection, Some(self.workspace_id)).await?;
        Ok(membership.workspace_id)
    }

    /// A program of the workspace, like [`AdvertiserUser::program`].
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
            Err(FORBIDDEN)
        }
    }
}

impl Caller for CliUser {
    fn actor(&self) -> AuditActor {
        self.user.actor()
    }

    fn source(&self) -> &Source {
        self.user.source()
    }

    /// The login of a command line counts as proof for as long as a password entered at the dashboard.
    fn just_proved(&self, app: &App) -> Result<(), ApiError> {
        self.user.just_proved(app)
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
        Ok(Self(AdvertiserUser::new(user, Source::of(app, parts))))
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
            return Err(UNAUTHENTICATED);
        }
        if session.lacks_second_factor {
            return Err(ApiError::SecondFactorMissing);
        }
        Ok(Self {
            user: AdvertiserUser::new(User::of(&session), Source::of(app, parts)),
            workspace_id,
        })
    }
}
