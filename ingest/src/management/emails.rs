//! Writes e-mails to users in the transaction of the change that they report. A worker sends them.

use std::sync::Arc;

use domain::ids::WorkspaceId;
use domain::people::account::EmailAddress;
use domain::people::email_content::{EmailContent, token_purpose};
use sqlx::PgConnection;
use storage::outbound::emails::{self, NewEmail};
use storage::people::users::User;
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

use crate::management::prelude::*;

/// The most jobs behind answers that wait or run at once.
const BEHIND_ANSWERS: usize = 256;

/// Whether e-mails are sent, and the jobs that must not affect the time of an answer.
#[derive(Debug, Clone)]
pub struct Emails {
    on: bool,
    tasks: TaskTracker,
    places: Arc<Semaphore>,
}

impl Emails {
    pub fn new(on: bool, tasks: TaskTracker) -> Self {
        let places = Arc::new(Semaphore::new(BEHIND_ANSWERS));
        Self { on, tasks, places }
    }

    pub const fn are_on(&self) -> bool {
        self.on
    }

    /// Refuses what cannot be offered while no e-mails are sent.
    pub fn require(&self, not_offered: ApiError) -> Result<(), ApiError> {
        if self.on { Ok(()) } else { Err(not_offered) }
    }

    /// Runs a job behind the answer, which does not depend on it. A client that disconnects does not cancel
    /// the job, and a shutdown waits for it. 503 if too many jobs wait.
    pub fn behind_the_answer(
        &self,
        work: impl Future<Output = Result<(), ApiError>> + Send + 'static,
    ) -> Result<(), ApiError> {
        let place = Arc::clone(&self.places)
            .try_acquire_owned()
            .map_err(|_| ApiError::Overloaded)?;
        self.tasks.spawn(async move {
            if let Err(error) = work.await {
                error.log();
            }
            drop(place);
        });
        Ok(())
    }
}

/// Writes an e-mail; `token` is the token of its link, `invited_by` the workspace of an invitation. `false` if
/// e-mail is off, or no e-mail may be sent to the address.
pub async fn write(
    app: &App,
    connection: &mut PgConnection,
    recipient: &EmailAddress,
    content: &EmailContent,
    token: Option<&str>,
    invited_by: Option<WorkspaceId>,
) -> Result<bool, ApiError> {
    if !app.emails.are_on() {
        return Ok(false);
    }
    let (now, message_id) = (app.clock.now(), app.clock.mint());
    let token_sealed = token
        .map(|token| {
            app.sealing_keys
                .seal(token.as_bytes(), &token_purpose(message_id), App::random())
        })
        .transpose()
        .map_err(ApiError::unexpected)?;
    let new = NewEmail {
        message_id,
        recipient,
        recipient_hashes: &app.email_hasher.hashes(recipient.as_str()),
        content,
        token_sealed: token_sealed.as_deref(),
        invited_by,
        created_at: now,
    };
    Ok(emails::add(connection, &new).await?)
}

pub async fn write_to_owner(
    app: &App,
    connection: &mut PgConnection,
    user: &User,
    content: &EmailContent,
) -> Result<(), ApiError> {
    // An address that only an earlier version accepted gets no e-mail.
    if let Ok(address) = EmailAddress::parse(&user.email) {
        write(app, connection, &address, content, None, None).await?;
    }
    Ok(())
}

pub fn link(app: &App, at: &str) -> String {
    format!("{}{at}", app.public_url.as_str().trim_end_matches('/'))
}

pub fn account_link(app: &App) -> String {
    link(app, "/app/account")
}
