//! Making and checking password hashes: off the threads that serve requests, and only so many at once.
//!
//! Each takes a core for tens of milliseconds and 19 MiB. Beyond what may run at once a request waits a little, and is
//! then shed: whoever floods the sign-in with guesses slows the sign-in down, and nothing else.

use std::sync::Arc;
use std::time::Duration;

use domain::account::{Password, PasswordHash};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::http::error::ApiError;

const AT_ONCE: usize = 2;
const WAIT_AT_MOST: Duration = Duration::from_secs(2);

#[derive(Debug, Clone)]
pub struct Passwords {
    turns: Arc<Semaphore>,
    /// Of no password: checked where there is no account, so that the answer takes as long as where there is one.
    nobodys: PasswordHash,
}

impl Passwords {
    /// `random` makes the hash that stands in where there is no account.
    pub fn new(random: [u8; 16]) -> anyhow::Result<Self> {
        let nobody = Password::claim("nobody".to_owned()).ok_or_else(|| anyhow::anyhow!("a short text"))?;
        Ok(Self {
            turns: Arc::new(Semaphore::new(AT_ONCE)),
            nobodys: PasswordHash::of(&nobody, random)?,
        })
    }

    pub async fn hash(&self, password: Password, salt: [u8; 16]) -> Result<PasswordHash, ApiError> {
        let _turn = self.turn().await?;
        let hashing = tokio::task::spawn_blocking(move || PasswordHash::of(&password, salt));
        let hashed = hashing.await.map_err(ApiError::unexpected)?;
        hashed.map_err(ApiError::unexpected)
    }

    /// Whether the password is the account's; `None` has no account, and takes as long to say no.
    pub async fn matches(&self, password: Password, account: Option<PasswordHash>) -> Result<bool, ApiError> {
        let _turn = self.turn().await?;
        let exists = account.is_some();
        let hash = account.unwrap_or_else(|| self.nobodys.clone());
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
