//! Notifies members of a program when it needs attention: webhook endpoints were disabled, or a payment
//! processor's events need review. Sends at most one e-mail per program, member and day; the next e-mail sums
//! up what happened meanwhile.

use std::time::Duration;

use domain::email::EmailHasher;
use domain::people::email_content::{EmailContent, EndpointNotice};
use domain::programs::webhook_endpoint::DisabledReason;
use runtime::clock::Clock;
use runtime::config::PublicUrlConfig;
use runtime::crash_point::crash_point;
use runtime::lifecycle::Lifecycle;
use runtime::rounds::repeat;
use sqlx::PgPool;
use storage::StorageResult;
use storage::outbound::emails::{self, NewEmail};
use storage::outbound::program_notices::{self, ProgramNotice};

use super::disable::host;

const EVERY: Duration = Duration::from_secs(5);
/// Programs per transaction.
const BATCH: i64 = 100;

#[derive(Debug)]
pub(super) struct ProgramNotices {
    pub pool: PgPool,
    pub clock: Clock,
    pub hasher: EmailHasher,
    /// The address with which links begin.
    pub public: PublicUrlConfig,
}

impl ProgramNotices {
    pub async fn run(self, lifecycle: Lifecycle) {
        repeat("writing notices about programs", EVERY, &lifecycle, || {
            self.round(&lifecycle)
        })
        .await;
    }

    async fn round(&self, lifecycle: &Lifecycle) -> StorageResult<()> {
        while !lifecycle.soft().is_cancelled() && self.write_batch().await? {}
        Ok(())
    }

    /// Returns whether there was anything to write.
    async fn write_batch(&self) -> StorageResult<bool> {
        let now = self.clock.now();
        let mut transaction = self.pool.begin().await?;
        let notices = program_notices::take(&mut transaction, now, BATCH).await?;
        if notices.is_empty() {
            return Ok(false);
        }
        let contents: Vec<EmailContent> = notices.iter().map(|notice| self.content(notice)).collect();
        let each = notices.iter().zip(&contents);
        let addressed: Vec<_> = each
            .flat_map(|(notice, content)| {
                notice
                    .recipients
                    .iter()
                    .map(move |recipient| (recipient, content))
            })
            .map(|(recipient, content)| (recipient, self.hasher.hashes(recipient.as_str()), content))
            .collect();
        let new: Vec<NewEmail<'_>> = addressed
            .iter()
            .map(|(recipient, recipient_hashes, content)| NewEmail {
                message_id: self.clock.mint(),
                recipient,
                recipient_hashes,
                content,
                token_sealed: None,
                invited_by: None,
                created_at: now,
            })
            .collect();
        let added = emails::add_batch(&mut transaction, &new).await?;
        crash_point("delivery.before_notices_written");
        transaction.commit().await?;
        tracing::info!(
            programs = notices.len(),
            emails = added,
            "notices about programs written"
        );
        Ok(true)
    }

    fn content(&self, notice: &ProgramNotice) -> EmailContent {
        let endpoints = notice.endpoints.iter().map(|endpoint| EndpointNotice {
            endpoint_id: endpoint.endpoint_id,
            host: host(&endpoint.url),
            gone: endpoint.reason == DisabledReason::Gone,
        });
        let page = |below| {
            self.public
                .link(&format!("/app/programs/{}/{below}", notice.program_id))
        };
        EmailContent::ProgramNotice {
            program: notice.program.clone(),
            endpoints: endpoints.collect(),
            to_review: notice.to_review,
            stuck: notice.stuck,
            endpoints_link: page("webhooks"),
            events_link: page("processor"),
        }
    }
}
