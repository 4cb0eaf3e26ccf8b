//! The source of a request, and entries of the audit log.

use axum::extract::FromRequestParts;
use axum::http::header;
use axum::http::request::Parts;
use domain::ids::{ProgramId, UserId, WorkspaceId};
use serde_json::{Value, json};
use sqlx::PgConnection;
use storage::StorageResult;
use storage::operations::audit_log::{self, AuditActor, NewAuditEntry};
use storage::people::sessions::Whereabouts;
use storage::people::workspaces;

use crate::http::client_address::ClientAddress;
use crate::http::request_id::RequestId;
use crate::management::prelude::*;

const USER_AGENT_CHARACTERS: usize = 200;

#[derive(Debug, Clone)]
pub struct Source {
    pub client: Option<ClientAddress>,
    pub whereabouts: Whereabouts,
    request_id: Option<String>,
}

/// The content of an audit entry, beside user, time and source.
#[derive(Debug)]
pub struct Audited {
    pub workspace_id: WorkspaceId,
    pub program_id: Option<ProgramId>,
    /// `<noun>.<past participle>`, such as `referral_link.created`.
    pub action: &'static str,
    pub subject_id: Option<i64>,
    /// Never a secret.
    pub details: Value,
}

impl Audited {
    /// An entry about the workspace as a whole, until [`Self::about`] and [`Self::in_program`] narrow it.
    pub fn new(workspace_id: WorkspaceId, action: &'static str) -> Self {
        Self {
            workspace_id,
            program_id: None,
            action,
            subject_id: None,
            details: json!({}),
        }
    }

    #[must_use]
    pub fn in_program(self, program_id: impl Into<Option<ProgramId>>) -> Self {
        Self {
            program_id: program_id.into(),
            ..self
        }
    }

    #[must_use]
    pub fn about(self, subject_id: i64) -> Self {
        Self {
            subject_id: Some(subject_id),
            ..self
        }
    }

    /// Must not contain a secret.
    #[must_use]
    pub fn with(self, details: Value) -> Self {
        Self { details, ..self }
    }
}

impl Source {
    pub(super) fn of(app: &App, parts: &Parts) -> Self {
        let client = parts.extensions.get::<ClientAddress>().copied();
        let user_agent = parts.headers.get(header::USER_AGENT);
        Self {
            client,
            whereabouts: Whereabouts {
                address: client.map(|client| client.ip),
                country: client.and_then(|client| app.origin.country(client, &parts.headers)),
                // A header that converts to text is ASCII.
                user_agent: user_agent
                    .and_then(|value| value.to_str().ok())
                    .map(|text| text.chars().take(USER_AGENT_CHARACTERS).collect()),
            },
            request_id: parts
                .extensions
                .get::<RequestId>()
                .and_then(|id| id.0.to_str().ok())
                .map(str::to_owned),
        }
    }

    /// Writes an entry, in the transaction of the action.
    pub async fn audit(
        &self,
        app: &App,
        connection: &mut PgConnection,
        actor: AuditActor,
        audited: Audited,
    ) -> StorageResult<()> {
        let address = self.client.map(|client| client.ip.to_string());
        let entry = NewAuditEntry {
            created_at: app.clock.now(),
            workspace_id: audited.workspace_id,
            program_id: audited.program_id,
            actor,
            action: audited.action,
            subject_id: audited.subject_id,
            details: audited.details,
            address: address.as_deref(),
            request_id: self.request_id.as_deref(),
        };
        audit_log::append(connection, &entry).await
    }

    /// Writes an entry about a user's own account, in every workspace in which the user works.
    pub async fn audit_account(
        &self,
        app: &App,
        connection: &mut PgConnection,
        user_id: UserId,
        action: &'static str,
        details: Value,
    ) -> StorageResult<()> {
        for membership in workspaces::of_user(connection, user_id).await? {
            let audited = Audited::new(membership.workspace_id, action)
                .about(user_id.get())
                .with(details.clone());
            self.audit(app, connection, AuditActor::User(user_id), audited)
                .await?;
        }
        Ok(())
    }
}

/// The source of a request that needs no credential.
impl FromRequestParts<App> for Source {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Self::Rejection> {
        Ok(Self::of(app, parts))
    }
}
