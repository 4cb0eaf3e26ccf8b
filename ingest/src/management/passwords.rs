//! Computes and checks password hashes outside the threads that serve requests, with a concurrency limit.
//!
//! Each hash takes a core for tens of milliseconds and 19 MiB. Above the limit a request waits up to two
//! seconds and is then shed: a flood of guesses slows down only sign-ins.

use std::sync::Arc;
use std::time::Duration;

use domain::people::account::{Password, PasswordHash};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::management::prelude::*;

const AT_ONCE: usize = 2;
const WAIT_AT_MOST: Duration = Duration::from_secs(2);

#[derive(Debug, Clone)]
pub struct Passwords {
    turns: Arc<Semaphore>,
    /// Checked if there is no account, so that the answer takes as long as with an account.
    decoy: PasswordHash,
}

impl Default for Passwords {
    fn default() -> Self {
        Self {
            turns: Arc::new(Semaphore::new(AT_ONCE)),
            decoy: PasswordHash::decoy(),
        }
    }
}

impl Passwords {
    pub async fn hash(&self, password: Password, salt: [u8; 16]) -> Result<PasswordHash, ApiError> {
        let _turn = self.turn().await?;
        let hashing = tokio::task::spawn_blocking(move || PasswordHash::of(&password, salt));
        let hashed = hashing.await.map_err(ApiError::unexpected)?;
        hashed.map_err(ApiError::unexpected)
    }

    /// Whether the password is the account's. `None` stands for no account: the check takes as long, and
    /// fails.
    pub async fn matches(&self, password: Password, account: Option<PasswordHash>) -> Result<bool, ApiError> {
        let _turn = self.turn().await?;
        let exists = account.is_some();
        let hash = account.unwrap_or_else(|| self.decoy.clone());
        let checking = tokio::task::spawn_blocking(move || hash.matches(&password));
        Ok(checking.await.map_err(ApiError::unexpected)? && exists)
    }

    async fn turn(&self) -> Result<SemaphorePermit<'_>, ApiError> {
        tokio::time::timeout(WAIT_AT_MOST, self.turns.acquire())
            .await
            .map_err(|_| ApiError::Overloaded)?
            .map_err(ApiError::unexpected)
    }
}
