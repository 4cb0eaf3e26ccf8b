//! Writes each partner's weekly summary e-mail. One process adds up the week, once, in one transaction. Then
//! each process takes some of the summaries and writes their e-mails, one transaction per batch. If a process
//! dies, its open batch stays for the others.

use std::time::Duration;

use chrono::{DateTime, Days, Utc};
use domain::email::EmailHasher;
use domain::people::account::EmailAddress;
use domain::people::email_content::{EmailContent, token_purpose};
use domain::people::unsubscribe::unsubscribe_token;
use domain::people::weekly_summary::Week;
use domain::sealed::SealingKeys;
use domain::tracking::lead::EmailHash;
use runtime::clock::Clock;
use runtime::config::PublicUrlConfig;
use runtime::crash_point::crash_point;
use runtime::lifecycle::Lifecycle;
use runtime::rounds::repeat;
use sqlx::PgPool;
use storage::StorageResult;
use storage::outbound::emails::{self, NewEmail};
use storage::outbound::weekly_summaries::{self, TakenSummary};
use uuid::Uuid;

const EVERY: Duration = Duration::from_secs(5);
/// E-mails per transaction.
const BATCH: i64 = 500;

#[derive(Debug)]
pub(super) struct WeeklySummaries {
    pub pool: PgPool,
    pub clock: Clock,
    pub hasher: EmailHasher,
    pub sealing_keys: SealingKeys,
    /// The address with which links begin.
    pub public: PublicUrlConfig,
}

impl WeeklySummaries {
    pub async fn run(self, lifecycle: Lifecycle) {
        repeat("writing weekly summaries", EVERY, &lifecycle, || {
            self.round(&lifecycle)
        })
        .await;
    }

    async fn round(&self, lifecycle: &Lifecycle) -> StorageResult<()> {
        let now = self.clock.now();
        let Some(week) = Week::to_tell(now) else {
            return Ok(());
        };
        if let Some(users) = weekly_summaries::add_up(&self.pool, week, now).await? {
            tracing::info!(week = %week.monday, users, "a week was added up for its summaries");
            crash_point("delivery.after_week_added_up");
        }
        while !lifecycle.soft().is_cancelled() && self.write_batch(now).await? {}
        Ok(())
    }

    /// Returns whether there was anything to write.
    async fn write_batch(&self, now: DateTime<Utc>) -> StorageResult<bool> {
        let mut transaction = self.pool.begin().await?;
        let taken = weekly_summaries::take(&mut transaction, BATCH).await?;
        let written: Vec<Written> = taken.iter().filter_map(|summary| self.written(summary)).collect();
        let new: Vec<NewEmail<'_>> = written.iter().map(|written| written.email(now)).collect();
        let added = emails::add_batch(&mut transaction, &new).await?;
        crash_point("delivery.before_summaries_written");
        transaction.commit().await?;
        if !taken.is_empty() {
            tracing::info!(
                summaries = taken.len(),
                emails = added,
                "weekly summaries written"
            );
        }
        Ok(!taken.is_empty())
    }

    /// Returns `None` when there is nothing to send.
    fn written(&self, summary: &TakenSummary) -> Option<Written> {
        let recipient = summary.recipient.clone()?;
        let message_id = self.clock.mint();
        let keys = &self.sealing_keys;
        let token = unsubscribe_token(keys, summary.user_id, rand::random());
        let sealed =
            token.and_then(|token| keys.seal(token.as_bytes(), &token_purpose(message_id), rand::random()));
        let token_sealed = sealed
            .inspect_err(
                |error| tracing::error!(%error, "the link that ends weekly summaries cannot be sealed"),
            )
            .ok()?;
        Some(Written {
            message_id,
            recipient_hashes: self.hasher.hashes(recipient.as_str()),
            recipient,
            content: EmailContent::WeeklySummary {
                first_day: summary.week,
                last_day: summary.week.checked_add_days(Days::new(6))?,
                lines: summary.lines.clone(),
                commissions_link: self.public.link("/app/partner/commissions"),
                unsubscribe_link: self.public.link("/unsubscribe"),
            },
            token_sealed,
        })
    }
}

/// The values that a [`NewEmail`] borrows.
struct Written {
    message_id: Uuid,
    recipient: EmailAddress,
    recipient_hashes: Vec<EmailHash>,
    content: EmailContent,
    token_sealed: Vec<u8>,
}

impl Written {
    fn email(&self, now: DateTime<Utc>) -> NewEmail<'_> {
        NewEmail {
            message_id: self.message_id,
            recipient: &self.recipient,
            recipient_hashes: &self.recipient_hashes,
            content: &self.content,
            token_sealed: Some(&self.token_sealed),
            invited_by: None,
            created_at: now,
        }
    }
}
