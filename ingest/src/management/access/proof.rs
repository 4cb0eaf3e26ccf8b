//! Proof of identity: the password, and a code if the account has a second factor.
//!
//! Every route that takes a password uses this module. An attempt is counted before anything is compared, and
//! a code is used up in the transaction of the action that it allows.

use domain::ids::UserId;
use domain::people::account::Password;
use domain::people::second_factor::{AuthenticatorSecret, RecoveryCode};
use serde_json::json;
use sqlx::PgConnection;
use storage::people::second_factors::{self, SecondFactor};
use storage::people::users::{self, User};

use super::source::Source;
use super::transaction::commit;
use crate::http::field::{Field, refused};
use crate::management::prelude::*;

const WRONG_CODE: &str = "The code is wrong, or was used already";

/// The password and the code that a user enters.
pub struct Proof {
    password: Option<Password>,
    code: Option<String>,
}

impl Proof {
    /// `code` may be missing: the account may not need one, which is known only after the password was right.
    pub fn of(password: String, code: Field<String>) -> Result<Self, ApiError> {
        Ok(Self {
            password: Password::claim(password),
            code: code.optional(|| refused("code", "must be a string"))?,
        })
    }

    /// Whether the password is the account's. Without an account the answer takes as long. A failure is
    /// recorded behind the answer, so that the record does not delay it.
    pub async fn has_password_of(
        &self,
        app: &App,
        source: &Source,
        account: Option<&User>,
    ) -> Result<bool, ApiError> {
        let Some(password) = &self.password else {
            return Ok(false);
        };
        let hash = account.map(|user| user.password_hash.clone());
        let matches = app.passwords.matches(password.clone(), hash).await?;
        if let Some(user) = account.filter(|_| !matches) {
            note_failure(app, source, user.user_id, "password");
        }
        Ok(matches)
    }

    /// Refuses an account with a second factor if the code is missing or wrong. Runs after the password
    /// check, and in the transaction of the action that the proof allows.
    pub async fn take_second_factor(
        &self,
        app: &App,
        connection: &mut PgConnection,
        source: &Source,
        user_id: UserId,
    ) -> Result<(), ApiError> {
        if self.code.is_some() {
            app.limits.spend_code(user_id).await?;
        }
        let factor = second_factors::lock(connection, user_id).await?;
        let Some(factor) = factor.filter(|factor| factor.enabled_at.is_some()) else {
            return Ok(());
        };
        let code = self.code.as_deref().ok_or(ApiError::SecondFactorRequired)?;
        if take_code(app, connection, user_id, &factor, code).await? {
            return Ok(());
        }
        let taken = take_recovery_code(app, connection, source, user_id, code).await;
        if matches!(taken, Err(ApiError::BadRequest(_))) {
            note_failure(app, source, user_id, "code");
        }
        taken
    }
}

/// Uses up a code of the app: each code is accepted once.
pub async fn take_code(
    app: &App,
    connection: &mut PgConnection,
    user_id: UserId,
    factor: &SecondFactor,
    code: &str,
) -> Result<bool, ApiError> {
    let secret = AuthenticatorSecret::open(&factor.secret_sealed, &app.sealing_keys, user_id)
        .map_err(ApiError::unexpected)?;
    match secret.step_of(code, app.clock.now()) {
        Some(step) if step > factor.last_step => {
            second_factors::take_step(connection, user_id, step).await?;
            Ok(true)
        }
        _ => Ok(false),
    }
}

async fn take_recovery_code(
    app: &App,
    connection: &mut PgConnection,
    source: &Source,
    user_id: UserId,
    code: &str,
) -> Result<(), ApiError> {
    let wrong = || ApiError::bad_request(WRONG_CODE);
    let code = RecoveryCode::parse(code).ok_or_else(wrong)?;
    let now = app.clock.now();
    if !second_factors::take_recovery_code(connection, user_id, code.hash(), now).await? {
        return Err(wrong());
    }
    source
        .audit_account(app, connection, user_id, "user.recovery_code_used", json!({}))
        .await?;
    Ok(())
}

/// Counts a failed attempt, and records it in the audit log, once an hour for each account.
fn note_failure(app: &App, source: &Source, user_id: UserId, wrong: &'static str) {
    let (app, source) = (app.clone(), source.clone());
    tokio::spawn(async move {
        let noted: Result<(), ApiError> = async {
            let mut transaction = app.management.begin().await?;
            if users::count_failed_sign_in(&mut transaction, user_id, app.clock.now()).await? {
                let details = json!({ "wrong": wrong });
                source
                    .audit_account(&app, &mut transaction, user_id, "user.sign_in_failed", details)
                    .await?;
            }
            commit(transaction).await
        }
        .await;
        if let Err(error) = noted {
            error.log();
        }
    });
}
