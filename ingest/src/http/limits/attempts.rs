//! Limits beside those of routes: sign-ins, codes, unknown tokens, management requests, test events, leads
//! without a key.

use domain::ids::{ProgramId, UserId};
use sha2::{Digest, Sha256};

use super::{Limits, Subject, admitted, rejected};
use crate::http::client_address::ClientAddress;
use crate::http::error::ApiError;

impl Limits {
    pub async fn spend_chain(&self, program_id: ProgramId) -> Result<(), ApiError> {
        let key = format!("chain:program:{program_id}");
        self.spend(key, &self.rules.chains).await
    }

    /// Counts a test event without a key against the program that it names, whether or not that program
    /// exists.
    pub async fn spend_keyless_test(&self, named: ProgramId) -> Result<(), ApiError> {
        let key = format!("keyless_test:program:{named}");
        self.spend(key, &self.rules.keyless_tests).await
    }

    /// Counts a lead without a key. Returns whether its address has used more than a quarter of the limit.
    pub fn spend_browser_lead(&self, client: Option<ClientAddress>) -> Result<bool, ApiError> {
        let rule = &self.rules.browser_leads;
        let count = self.count_shared(rule, Subject::client(client));
        admitted(rule, count)?;
        Ok(count.used > u64::from(rule.limit.div_ceil(4)))
    }

    /// Counts an attempt to sign in or to use a one-time secret, by address and by target account.
    pub async fn spend_sign_in(&self, client: Option<ClientAddress>, account: &str) -> Result<(), ApiError> {
        self.spend_on_account("sign_in", client, account).await
    }

    /// Counts an attempt by address and by account. Requests for links have counts of their own: they must not
    /// lock a user out.
    pub async fn spend_on_account(
        &self,
        what: &str,
        client: Option<ClientAddress>,
        account: &str,
    ) -> Result<(), ApiError> {
        let key = format!("{what}:{}", Subject::client(client));
        self.spend(key, &self.rules.sign_ins).await?;
        // The name is personal data and may have any length, so only its hash is kept.
        let account = Sha256::digest(account.trim().to_lowercase());
        let start = u64::from_be_bytes(account.first_chunk().copied().unwrap_or_default());
        let key = format!("{what}:account:{start:016x}");
        self.spend(key, &self.rules.account_sign_ins).await
    }

    /// Counts an attempt to use a passkey. It counts by address only, because the account is not known yet.
    pub async fn spend_passkey(&self, client: Option<ClientAddress>) -> Result<(), ApiError> {
        let key = format!("passkey:{}", Subject::client(client));
        self.spend(key, &self.rules.sign_ins).await
    }

    /// Counts a code of an authenticator app or a recovery code. An attacker who has the password can guess
    /// six digits, given time: with twenty attempts an hour, and three codes valid at any time, the chance is
    /// one in seven hundred a day.
    pub async fn spend_code(&self, user_id: UserId) -> Result<(), ApiError> {
        let key = format!("code:user:{user_id}");
        self.spend(key, &self.rules.codes).await
    }

    /// Counts a management request of a user or a key: `user:7`, `key:7`.
    pub async fn spend_management(&self, who: &str) -> Result<(), ApiError> {
        let key = format!("management:{who}");
        self.spend(key, &self.rules.management).await
    }

    /// Rejects a client that has sent too many unknown tokens this minute, before another token is looked up.
    /// Counted in this process, so that a valid token costs no round trip to Redis.
    pub fn admit_token(&self, client: Option<ClientAddress>) -> Result<(), ApiError> {
        let rule = &self.rules.unknown_tokens;
        let count = self
            .minutes
            .look(&unknown_tokens_key(client), self.clock.now().timestamp());
        if count.used < u64::from(rule.limit) {
            return Ok(());
        }
        Err(rejected(rule, count))
    }

    pub fn count_unknown_token(&self, client: Option<ClientAddress>) {
        self.minutes
            .count(&unknown_tokens_key(client), self.clock.now().timestamp());
    }

    /// Counts the token as unknown if `found` is `None`, and returns `found`.
    pub fn count_if_unknown<T>(&self, client: Option<ClientAddress>, found: Option<T>) -> Option<T> {
        if found.is_none() {
            self.count_unknown_token(client);
        }
        found
    }
}

fn unknown_tokens_key(client: Option<ClientAddress>) -> String {
    format!("unknown_token:{}", Subject::client(client))
}
