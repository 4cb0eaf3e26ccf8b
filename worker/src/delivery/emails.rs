//! Sends e-mails: takes due rows of `emails`, hands each to the mail server, and finishes or postpones it.
//!
//! Taking a row postpones it by a lease that is longer than any attempt. A sender may die after the mail
//! server accepted the e-mail and before the row is finished. The row is then due again, and the second
//! delivery has the same `Message-ID`.

use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use domain::people::email_content::token_purpose;
use domain::sealed::SealingKeys;
use runtime::clock::Clock;
use runtime::crash_point::crash_point;
use runtime::lifecycle::Lifecycle;
use runtime::metrics::EMAILS;
use sqlx::PgPool;
use storage::StorageResult;
use storage::outbound::emails::{self, DueEmail, EmailEnd};
use tokio::task::JoinSet;

use crate::mail::smtp::{ATTEMPT_TAKES_AT_MOST, OutgoingEmail, SendError, SmtpSender};
use crate::mail::templates::wording;

const EVERY: Duration = Duration::from_secs(1);
/// Concurrent sessions with the mail server. If one hangs, a fourth of the e-mails is delayed.
const IN_FLIGHT: usize = 4;
const LEASE: Duration = Duration::from_secs(3 * ATTEMPT_TAKES_AT_MOST.as_secs());
/// How long a shutdown waits for attempts in flight.
const LAST_ATTEMPTS: Duration = Duration::from_secs(5);
/// Minutes of pause after each failed attempt. The last pause repeats until the e-mail expires.
const PAUSES: [u32; 6] = [1, 5, 15, 30, 60, 120];

#[derive(Debug)]
pub struct Emails {
    pub pool: PgPool,
    pub clock: Clock,
    pub sender: SmtpSender,
    /// Decrypt the tokens of links.
    pub sealing_keys: SealingKeys,
}

impl Emails {
    /// Runs until shutdown. Then it aborts attempts that do not end soon; their leases make them due again.
    pub async fn run(self, lifecycle: Lifecycle) {
        let this = Arc::new(self);
        let mut in_flight = JoinSet::new();
        let mut ticks = tokio::time::interval(EVERY);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = lifecycle.soft().cancelled() => break,
                _ = ticks.tick() => {}
                Some(_) = in_flight.join_next() => {}
            }
            for email in this.take(IN_FLIGHT.saturating_sub(in_flight.len())).await {
                let this = Arc::clone(&this);
                in_flight.spawn(async move { this.settle(email).await });
            }
        }
        let last = async { while in_flight.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(LAST_ATTEMPTS, last).await;
    }

    async fn take(&self, at_most: usize) -> Vec<DueEmail> {
        let limit = i64::try_from(at_most).unwrap_or_default();
        if limit == 0 {
            return Vec::new();
        }
        let taken = emails::take_due(&self.pool, self.clock.now(), LEASE, limit).await;
        let rows = taken.unwrap_or_else(|error| {
            tracing::warn!(%error, "taking due e-mails failed");
            Vec::new()
        });
        let readable = rows.into_iter().filter_map(|row| {
            row.inspect_err(|error| tracing::error!(%error, "e-mail cannot be read"))
                .ok()
        });
        readable.collect()
    }

    async fn settle(&self, email: DueEmail) {
        let (id, kind) = (email.id, email.content.kind().as_str());
        let settled = self.try_settle(email).await;
        if let Err(error) = settled {
            // The e-mail is due again when its lease ends.
            tracing::warn!(email_id = id, kind, %error, "storing what became of an e-mail failed");
        }
    }

    async fn try_settle(&self, email: DueEmail) -> StorageResult<()> {
        if email.stopped {
            return self.end(&email, EmailEnd::Stopped, None).await;
        }
        if email.expires_at <= self.clock.now() {
            return self.end(&email, EmailEnd::GivenUp, None).await;
        }
        let Ok(token) = self.token(&email) else {
            tracing::error!(
                email_id = email.id,
                "no key of SECRETS_KEYS opens the link of an e-mail"
            );
            return self.end(&email, EmailEnd::GivenUp, None).await;
        };
        let outgoing = OutgoingEmail {
            message_id: email.message_id,
            recipient: &email.recipient,
            wording: wording(&email.content, token.as_deref()),
            written_at: email.created_at,
        };
        match self.sender.send(&outgoing).await {
            Ok(()) => {
                crash_point("delivery.after_email_sent");
                self.end(&email, EmailEnd::Sent, None).await
            }
            Err(error) => self.failed(&email, error).await,
        }
    }

    async fn failed(&self, email: &DueEmail, error: SendError) -> StorageResult<()> {
        let kind = email.content.kind().as_str();
        tracing::warn!(email_id = email.id, kind, attempts = email.attempts, %error, "e-mail was not sent");
        match error {
            SendError::AddressRefused { reply_code } => {
                EMAILS.with([kind, EmailEnd::Stopped.as_str()]).inc();
                let now = self.clock.now();
                emails::stop(&self.pool, email.id, &email.recipient_hash, code(reply_code), now).await
            }
            SendError::Refused { reply_code, .. } => {
                self.end(email, EmailEnd::GivenUp, reply_code.map(code)).await
            }
            SendError::Later { reply_code, .. } => self.retry(email, reply_code.map(code)).await,
        }
    }

    async fn retry(&self, email: &DueEmail, reply_code: Option<i16>) -> StorageResult<()> {
        let due_at = self.clock.now() + pause(email.attempts, rand::random_range(0.8..1.2));
        if due_at >= email.expires_at {
            return self.end(email, EmailEnd::GivenUp, reply_code).await;
        }
        EMAILS.with([email.content.kind().as_str(), "later"]).inc();
        emails::postpone(&self.pool, email.id, due_at, reply_code).await
    }

    async fn end(&self, email: &DueEmail, end: EmailEnd, reply_code: Option<i16>) -> StorageResult<()> {
        EMAILS.with([email.content.kind().as_str(), end.as_str()]).inc();
        emails::finish(&self.pool, email.id, end, reply_code, self.clock.now()).await
    }

    /// Returns `None` for an e-mail without a link of its own.
    fn token(&self, email: &DueEmail) -> Result<Option<String>, ()> {
        let Some(sealed) = &email.token_sealed else {
            return Ok(None);
        };
        let opened = self.sealing_keys.open(sealed, &token_purpose(email.message_id));
        String::from_utf8(opened.map_err(drop)?).map(Some).map_err(drop)
    }
}

/// The pause after this many attempts. `jitter` is around 1.
fn pause(attempts: i16, jitter: f64) -> TimeDelta {
    let failed = usize::try_from(attempts).unwrap_or_default().saturating_sub(1);
    let minutes = PAUSES.get(failed).or(PAUSES.last()).copied().unwrap_or(1);
    let pause = Duration::from_secs(u64::from(minutes) * 60).mul_f64(jitter);
    TimeDelta::from_std(pause).unwrap_or(TimeDelta::minutes(1))
}

fn code(reply_code: u16) -> i16 {
    i16::try_from(reply_code).unwrap_or(i16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_end() {
        let minutes: Vec<i64> = (1..=8)
            .map(|attempts| pause(attempts, 1.0).num_minutes())
            .collect();
        assert_eq!(minutes, [1, 5, 15, 30, 60, 120, 120, 120]);
        assert_eq!(pause(1, 0.8).num_seconds(), 48);
    }

    /// With a shorter lease, two workers might send the same e-mail.
    #[test]
    fn a_lease_outlasts_an_attempt() {
        assert!(LEASE > ATTEMPT_TAKES_AT_MOST * 2);
    }
}
