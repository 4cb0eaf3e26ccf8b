//! Changes of a program's connection to its payment processor: their rules, and who is notified.

use domain::ids::ProgramId;
use runtime::metrics::PROCESSOR_ACCOUNTS_HELD_ELSEWHERE;
use serde_json::{Value, json};
use sqlx::PgConnection;
use storage::operations::audit_log::AuditActor;
use storage::operations::notifications::{self, NewNotification};
use storage::processor::processor_accounts::{self, HeldElsewhere};
use storage::processor::processor_connections::{self, Connection};

use super::connection_settings::{ConnectionChanges, changed};
use crate::management::access::{Caller, ProgramAccess, Write};
use crate::management::prelude::*;

pub const HELD_ELSEWHERE: ApiError = ApiError::Conflict("This account is connected by another workspace");
/// A program's key may not change a connection.
pub const CONNECTED_ALREADY: ApiError =
    ApiError::Forbidden("The program has a connection already: sign in to change it");

/// Makes the changes and commits them. If the account belongs to another workspace, the claim is refused, but
/// its audit entry and notification are committed.
pub async fn change<C: Caller, On: Send>(
    mut write: Write<C, On>,
    access: ProgramAccess,
    changes: ConnectionChanges,
) -> Result<Connection, ApiError> {
    let program_id = access.program_id;
    processor_connections::lock(&mut write.db, program_id).await?;
    let before = processor_connections::find(&mut write.db, program_id).await?;
    // A program's key may create a connection, but not replace one: servers and scripts hold the key. A thief
    // of the key could otherwise stop the real events, and sign forged sales long after the key was
    // regenerated.
    if before.is_some() && matches!(write.caller.actor(), AuditActor::Program(_)) {
        return Err(CONNECTED_ALREADY);
    }
    let now = write.now();
    let after = changes.apply(&write.app, program_id, before.clone(), now)?;
    let is_another_account = before
        .as_ref()
        .is_none_or(|before| before.account_id != after.account_id);
    if is_another_account
        && let Some(held) = processor_accounts::claim(&mut write.db, program_id, &after.account_id).await?
    {
        report(&mut write, &access, &held).await?;
        write.commit().await?;
        PROCESSOR_ACCOUNTS_HELD_ELSEWHERE.with([]).inc();
        tracing::warn!(
            program_id = held.program_id.get(),
            held_by = held.held_by.get(),
            account_id = held.account_id.as_str(),
            "processor account is held by another workspace"
        );
        return Err(HELD_ELSEWHERE);
    }
    processor_connections::save(&mut write.db, program_id, &after, now).await?;
    let details = changed(before.as_ref(), &after);
    notify_of_change(&write.app, &mut write.db, program_id, &details).await?;
    let audited = access.audited("processor_connection.updated");
    write.record(audited.about(program_id.get()).with(details));
    write.answer(after).await
}

/// Notifies the owners of the account's program once a day, without naming the claimant. The claimant's audit
/// log has every claim.
async fn report<C: Caller, On: Send>(
    write: &mut Write<C, On>,
    access: &ProgramAccess,
    held: &HeldElsewhere,
) -> Result<(), ApiError> {
    let details = json!({ "account_id": held.account_id });
    let audited = access.audited("processor_connection.claim_refused");
    write.record(audited.about(held.program_id.get()).with(details.clone()));
    let notice = NewNotification {
        event_id: held.notice_id(write.app.clock.now().date_naive()),
        program_id: held.held_by.get(),
        partner_id: None,
        kind: "processor_account_claimed",
        message: format!(
            "Another workspace tried to connect {}, the payment processor's account of this program, and was refused",
            held.account_id
        ),
        details,
    };
    notifications::add(&mut write.db, &[notice]).await?;
    Ok(())
}

/// Notifies owners of a new account or secret, because these decide whose events count as payments.
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
