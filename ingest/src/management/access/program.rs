//! Rights over one program.

use chrono::{DateTime, Utc};
use domain::ids::{ProgramId, UserId, WorkspaceId};
use domain::money::Currency;
use domain::people::permission::{Permission, Role};
use domain::programs::outbound_event::WantedEvents;
use domain::programs::program::ProgramStatus;
use sqlx::PgConnection;
use storage::people::workspaces::{self, ProgramForUser};

use super::people::{Advertiser, AdvertiserUser, Rights};
use super::refusals::FORBIDDEN;
use super::source::Audited;
use crate::management::prelude::*;

const UNKNOWN: &str = "Program not found";
pub const ARCHIVED: ApiError = ApiError::Conflict("This program is archived");

#[derive(Debug, Clone, Copy)]
pub struct ProgramAccess {
    pub program_id: ProgramId,
    pub workspace_id: WorkspaceId,
    /// The currency of the program's totals.
    pub currency: Currency,
    pub created_at: DateTime<Utc>,
    /// The types of outbound events that the program wants.
    pub wanted_events: WantedEvents,
    status: ProgramStatus,
}

impl ProgramAccess {
    fn new(program_id: ProgramId, found: &ProgramForUser) -> Self {
        Self {
            program_id,
            workspace_id: found.workspace_id,
            currency: found.currency,
            created_at: found.created_at,
            wanted_events: found.wanted_events,
            status: found.status,
        }
    }

    pub fn audited(self, action: &'static str) -> Audited {
        Audited::new(self.workspace_id, action).in_program(self.program_id)
    }

    /// Refuses changes of an archived program. Paying commissions is not such a change.
    pub fn for_change(self) -> Result<Self, ApiError> {
        match self.status {
            ProgramStatus::Archived => Err(ARCHIVED),
            ProgramStatus::Draft | ProgramStatus::Live => Ok(self),
        }
    }
}

async fn find(
    connection: &mut PgConnection,
    program_id: ProgramId,
    user_id: Option<UserId>,
) -> Result<ProgramForUser, ApiError> {
    let found = workspaces::program_for_user(connection, program_id, user_id).await?;
    found.ok_or(ApiError::NotFound(UNKNOWN))
}

pub async fn own_program(
    connection: &mut PgConnection,
    program_id: ProgramId,
) -> Result<ProgramAccess, ApiError> {
    let found = find(connection, program_id, None).await?;
    Ok(ProgramAccess::new(program_id, &found))
}

impl Rights {
    /// The program, if the caller has this permission for it: 404 if it does not exist, 403 if it belongs to
    /// another workspace or the permission is missing.
    pub async fn program(
        &self,
        connection: &mut PgConnection,
        program_id: ProgramId,
        permission: Permission,
    ) -> Result<ProgramAccess, ApiError> {
        let user_id = match self {
            Self::User(user) => Some(user.user_id),
            Self::Key(_) => None,
        };
        let found = find(connection, program_id, user_id).await?;
        let may = match self {
            Self::User(_) => found
                .role
                .is_some_and(|role| role.may(&found.permissions, permission)),
            Self::Key(key) => {
                key.workspace_id == found.workspace_id
                    && key.program_scope.contains(program_id)
                    && key.scopes.allow(permission)
            }
        };
        if may {
            Ok(ProgramAccess::new(program_id, &found))
        } else {
            Err(FORBIDDEN)
        }
    }
}

impl Advertiser {
    /// Checks a permission that concerns no single program. Keys need it in their scopes; users always pass,
    /// each with the programs within their reach.
    pub fn demand(&self, permission: Permission) -> Result<(), ApiError> {
        match &self.rights {
            Rights::Key(key) if !key.scopes.allow(permission) => Err(FORBIDDEN),
            Rights::Key(_) | Rights::User(_) => Ok(()),
        }
    }

    pub fn reach(&self, permission: Permission) -> workspaces::Reach {
        match &self.rights {
            Rights::User(user) => workspaces::Reach::User {
                user_id: user.user_id,
                permission,
            },
            Rights::Key(key) => workspaces::Reach::Key {
                workspace_id: key.workspace_id,
                program_scope: key.program_scope.clone(),
            },
        }
    }

    /// The workspace of a new program: a key's own, or the one that [`AdvertiserUser::workspace`] finds. A
    /// key that is limited to existing programs creates none.
    pub async fn workspace_for_programs(
        &self,
        connection: &mut PgConnection,
        named: Option<WorkspaceId>,
    ) -> Result<WorkspaceId, ApiError> {
        self.demand(Permission::ProgramCreate)?;
        match &self.rights {
            Rights::Key(key) => {
                let is_its_own = named.is_none_or(|named| named == key.workspace_id);
                if is_its_own && key.program_scope.is_everything() {
                    Ok(key.workspace_id)
                } else {
                    Err(FORBIDDEN)
                }
            }
            Rights::User(user) => {
                let user = AdvertiserUser::new(*user, self.source.clone());
                Ok(user.workspace(connection, named).await?.workspace_id)
            }
        }
    }
}

impl AdvertiserUser {
    /// Like [`Rights::program`], for actions that no key may do.
    pub async fn program(
        &self,
        connection: &mut PgConnection,
        program_id: ProgramId,
        permission: Permission,
    ) -> Result<ProgramAccess, ApiError> {
        Rights::User(self.user)
            .program(connection, program_id, permission)
            .await
    }

    /// Like [`program`](Self::program), on a connection of its own.
    pub async fn permitted(
        &self,
        app: &App,
        program_id: ProgramId,
        permission: Permission,
    ) -> Result<ProgramAccess, ApiError> {
        let mut connection = app.management.acquire().await?;
        self.program(&mut connection, program_id, permission).await
    }

    /// Like [`program`](Self::program); also returns whether the user has the second permission.
    pub async fn program_and(
        &self,
        connection: &mut PgConnection,
        program_id: ProgramId,
        permission: Permission,
        another: Permission,
    ) -> Result<(ProgramAccess, bool), ApiError> {
        let found = find(connection, program_id, Some(self.user.user_id)).await?;
        let [may, may_more] = [permission, another].map(|permission| {
            found
                .role
                .is_some_and(|role| role.may(&found.permissions, permission))
        });
        if may {
            Ok((ProgramAccess::new(program_id, &found), may_more))
        } else {
            Err(FORBIDDEN)
        }
    }

    /// The program, for any member of its workspace.
    pub async fn member_of(&self, app: &App, program_id: ProgramId) -> Result<ProgramAccess, ApiError> {
        let mut connection = app.management.acquire().await?;
        self.program_as(&mut connection, program_id, |_| true).await
    }

    /// The program, for members of its workspace whose role passes: 404 if it does not exist, 403 for all
    /// other users.
    pub async fn program_as(
        &self,
        connection: &mut PgConnection,
        program_id: ProgramId,
        may: impl Fn(Role) -> bool + Send,
    ) -> Result<ProgramAccess, ApiError> {
        let found = find(connection, program_id, Some(self.user.user_id)).await?;
        if found.role.is_some_and(may) {
            Ok(ProgramAccess::new(program_id, &found))
        } else {
            Err(FORBIDDEN)
        }
    }
}
