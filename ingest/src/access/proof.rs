//! That somebody is who they say: the password, and a code where the account has a second factor.
//!
//! Every route that takes a password asks here. Guesses are counted before anything is compared, and a code is taken in the
//! transaction of what it opens.

use common::domain::account::Password;
use common::domain::ids::UserId;
use common::domain::second_factor::{AuthenticatorSecret, RecoveryCode};
use common::storage::second_factors::{self, SecondFactor};
use common::storage::users::User;
use sqlx::PgConnection;

use super::Source;
use crate::app::App;
use crate::error::ApiError;
use crate::field::{Field, refused};

const WRONG_CODE: &str = "The code is wrong, or was used already";

/// What somebody shows.
pub struct Proof {
    password: Option<Password>,
    code: Option<String>,
}

impl Proof {
    /// `code` may be missing: whether it is needed is known once the password was right.
    pub fn of(password: String, code: Field<String>) -> Result<Self, ApiError> {
        Ok(Self {
            password: Password::claim(password),
            code: match code {
                Field::Absent => None,
                Field::Given(code) => Some(code),
                Field::WrongType => return Err(refused("code", "must be a string")),
            },
        })
    }

    /// Whether the password is the account's; where there is no account, the answer takes as long.
    pub async fn has_password_of(&self, app: &App, account: Option<&User>) -> Result<bool, ApiError> {
        match &self.password {
            Some(password) => {
                let hash = account.map(|user| user.password_hash.clone());
                app.passwords.matches(password.clone(), hash).await
            }
            None => Ok(false),
        }
    }

    /// Refuses an account with a second factor if the code is missing or wrong. After the password, before what it opens, and in
    /// its transaction.
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
        take_recovery_code(app, connection, source, user_id, code).await
    }
}

/// Takes a code of the app, which is good once.
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
        .audit_account(app, connection, user_id, "user.recovery_code_used")
        .await?;
    Ok(())
}
