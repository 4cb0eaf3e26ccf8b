//! A change of a program's connection to its payment processor: what it must hold to, and who hears of it.

use domain::ids::ProgramId;
use runtime::metrics::PROCESSOR_ACCOUNTS_HELD_ELSEWHERE;
use serde_json::{Value, json};
use sqlx::{PgConnection, PgTransaction};
use storage::StorageResult;
use storage::audit_log::AuditActor;
use storage::notifications::{self, NewNotification};
use storage::processor_accounts::{self, HeldElsewhere};
use storage::processor_connections::{self, Connection};

use super::connection_settings::{ConnectionChanges, changed};
use crate::app::App;
use crate::http::error::ApiError;
use crate::management::access::{Audited, ProgramAccess, Source};

const HELD_ELSEWHERE: &str = "This account is connected by another workspace";
const CONNECTED_ALREADY: &str = "The program has a connection already: sign in to change it";

/// The refusal of an account that another workspace has.
pub const fn held_elsewhere() -> ApiError {
    ApiError::Conflict(HELD_ELSEWHERE)
}

/// The refusal of a program's key where there is a connection.
pub const fn connected_already() -> ApiError {
    ApiError::Forbidden(CONNECTED_ALREADY)
}

/// Who changes a connection.
#[derive(Debug)]
pub struct Changer<'a> {
    pub access: ProgramAccess,
    pub actor: AuditActor,
    pub source: &'a Source,
}

impl Changer<'_> {
    /// A program's key is in servers and scripts: it makes a connection, and replaces none. Else a stolen one would stop the
    /// real events, and sign sales of its own long after it was regenerated.
    const fn may_replace(&self) -> bool {
        !matches!(self.actor, AuditActor::Program(_))
    }

    pub async fn audit(
        &self,
        app: &App,
        connection: &mut PgConnection,
        audited: Audited,
    ) -> StorageResult<()> {
        self.source.audit(app, connection, self.actor, audited).await
    }
}

/// Makes the changes and commits them. A refused claim of another workspace's account commits what is told of it.
pub async fn change(
    app: &App,
    mut transaction: PgTransaction<'_>,
    by: &Changer<'_>,
    changes: ConnectionChanges,
) -> Result<Connection, ApiError> {
    let program_id = by.access.program_id;
    processor_connections::lock(&mut transaction, program_id).await?;
    let before = processor_connections::find(&mut transaction, program_id).await?;
    if before.is_some() && !by.may_replace() {
        return Err(connected_already());
    }
    let now = app.clock.now();
    let after = changes.apply(app, program_id, before.clone(), now)?;
    let is_another_account = before
        .as_ref()
        .is_none_or(|before| before.account_id != after.account_id);
    if is_another_account
        && let Some(held) = processor_accounts::claim(&mut transaction, program_id, &after.account_id).await?
    {
        report(app, &mut transaction, by, &held).await?;
        transaction.commit().await?;
        PROCESSOR_ACCOUNTS_HELD_ELSEWHERE.with([]).inc();
        tracing::warn!(
            program_id = held.program_id.get(),
            held_by = held.held_by.get(),
            account_id = held.account_id.as_str(),
            "a processor's account is held by a program of another workspace"
        );
        return Err(held_elsewhere());
    }
    processor_connections::save(&mut transaction, program_id, &after, now).await?;
    let details = changed(before.as_ref(), &after);
    notify_of_change(app, &mut transaction, program_id, &details).await?;
    let audited = by.access.audited("processor_connection.updated");
    let audited = audited.about(program_id.get()).with(details);
    by.audit(app, &mut transaction, audited).await?;
    transaction.commit().await?;
    Ok(after)
}

/// The owners of the account's program learn of each claim once a day, and not whose it was; the audit log of those who made
/// it has them all.
async fn report(
    app: &App,
    connection: &mut PgConnection,
    by: &Changer<'_>,
    held: &HeldElsewhere,
) -> Result<(), ApiError> {
    let details = json!({ "account_id": held.account_id });
    let audited = by.access.audited("processor_connection.claim_refused");
    let audited = audited.about(held.program_id.get()).with(details.clone());
    by.audit(app, connection, audited).await?;
    let notice = NewNotification {
        event_id: held.notice_id(app.clock.now().date_naive()),
        program_id: held.held_by.get(),
        partner_id: None,
        kind: "processor_account_claimed",
        message: format!(
            "Another workspace tried to connect {}, the payment processor's account of this program, and was refused",
            held.account_id
        ),
        details,
    };
    notifications::add(connection, &[notice]).await?;
    Ok(())
}

/// Another account or another secret decides whose word counts as a payment: owners learn of it, whoever did it.
pub async fn notify_of_change(
    app: &App,
    connection: &mut PgConnection,
    program_id: ProgramId,
    details: &Value,
) -> Result<(), ApiError> {
    let account = details.pointer("/account_id/after").and_then(Value::as_str);
    let secret = details.get("webhook_secret").and_then(Value::as_str);
    let what: Vec<String> = account
        .map(|account| format!("its account is {account}"))
        .into_iter()
        .chain(secret.map(|what| format!("its webhook secret was {what}")))
        .collect();
    if what.is_empty() {
        return Ok(());
    }
    let notice = NewNotification {
        event_id: app.clock.mint(),
        program_id: program_id.get(),
        partner_id: None,
        kind: "processor_connection_changed",
        message: format!(
            "The connection to the payment processor was changed: {}. The audit log says by whom",
            what.join(", ")
        ),
        details: details.clone(),
    };
    notifications::add(connection, &[notice]).await?;
    Ok(())
}
