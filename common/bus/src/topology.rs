//! The settings of the streams and durable consumers.
//!
//! One stream and one consumer per [`Subject`]. Services and workers call [`Topology::ensure`] at start, in
//! any order. It creates what is missing and corrects what differs, because the client library's
//! get-or-create leaves an outdated configuration as it is. Settings not named here (placement, say) stay as
//! the operator made them.
//!
//! - Limits retention, not interest: with interest retention, a publish without a consumer is acknowledged
//!   and not stored.
//! - A full stream refuses publishes (`discard: new`) instead of dropping its oldest records.
//! - Deliveries are unlimited: at a limit JetStream would drop a message silently. Only the consumer makes
//!   dead letters.

use std::time::Duration;

use async_nats::jetstream::consumer::{
    AckPolicy, DeliverPolicy, FromConsumer, PullConsumer, ReplayPolicy, pull,
};
use async_nats::jetstream::context::{
    CreateStreamError, CreateStreamErrorKind, GetStreamError, GetStreamErrorKind,
};
use async_nats::jetstream::stream::{
    self, ConsumerError, ConsumerErrorKind, DiscardPolicy, RetentionPolicy, StorageType,
};
use async_nats::jetstream::{self, Context, ErrorCode};
use serde::Serialize;
use uuid::Uuid;

use messages::subject::Subject;
use runtime::config::NatsConfig;
use runtime::retry::{RetryPolicy, retry};

/// Limit of messages in flight, over all workers of one subject.
pub const MAX_ACK_PENDING: i64 = 2_000;

/// Within this time a repeated `Nats-Msg-Id` is not stored again. This makes a publisher's retries cheap.
const DUPLICATE_WINDOW: Duration = Duration::from_mins(2);

/// Records are settled within seconds. A week covers an outage over holidays, and replays.
const MAX_AGE: Duration = Duration::from_hours(7 * 24);

/// A starting server answers API requests a little later than its port opens.
const STARTUP_RETRY: RetryPolicy = RetryPolicy {
    first_delay: Duration::from_millis(100),
    max_delay: Duration::from_secs(2),
    max_attempts: u32::MAX,
    max_elapsed: Some(Duration::from_secs(30)),
};

/// Names and sizes of all streams and subjects of this installation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topology {
    pub prefix: String,
    /// Bytes of each stream except the stream of clicks.
    pub max_bytes_others: i64,
    pub max_bytes_clicks: i64,
    pub replicas: usize,
    /// A message neither acknowledged nor reported in progress for this long is delivered to another worker.
    pub ack_wait: Duration,
}

/// Which stream or consumer could not be created or corrected.
#[derive(Debug, thiserror::Error)]
pub enum TopologyError {
    #[error("cannot look at stream {stream}: {source}")]
    Lookup { stream: String, source: GetStreamError },
    #[error("cannot create or update stream {stream}: {source}")]
    Stream {
        stream: String,
        source: CreateStreamError,
    },
    #[error("cannot create or update consumer {consumer} of {stream}: {source}")]
    Consumer {
        stream: String,
        consumer: String,
        source: ConsumerError,
    },
}

impl From<&NatsConfig> for Topology {
    fn from(config: &NatsConfig) -> Self {
        Self {
            prefix: config.stream_prefix.clone(),
            max_bytes_others: config.stream_max_bytes,
            max_bytes_clicks: config.stream_max_bytes_clicks.unwrap_or(config.stream_max_bytes),
            replicas: config.stream_replicas,
            ack_wait: Duration::from_millis(config.ack_wait_ms),
        }
    }
}

impl Topology {
    pub fn subject(&self, subject: Subject) -> String {
        subject.on_wire(&self.prefix)
    }

    pub fn stream_name(&self, subject: Subject) -> String {
        subject.stream_name(&self.prefix)
    }

    /// Size limit of the subject's stream. A full stream refuses publishes.
    pub const fn max_bytes(&self, subject: Subject) -> i64 {
        match subject {
            Subject::Clicks => self.max_bytes_clicks,
            _ => self.max_bytes_others,
        }
    }

    /// Where one ingest process waits for outcomes: plain NATS, in no stream.
    pub fn reply_subject(&self, instance: Uuid) -> String {
        let instance = instance.simple();
        if self.prefix.is_empty() {
            format!("replies.{instance}")
        } else {
            format!("{}.replies.{instance}", self.prefix)
        }
    }

    /// Creates or corrects all streams and consumers. Waits up to 30 s for a JetStream server that is still
    /// starting.
    pub async fn ensure(&self, jetstream: &Context) -> Result<(), TopologyError> {
        for subject in Subject::ALL {
            retry(
                &STARTUP_RETRY,
                || self.ensure_one(jetstream, subject),
                is_transient,
            )
            .await?;
        }
        Ok(())
    }

    /// Makes one attempt, for one subject.
    pub(crate) async fn ensure_one(
        &self,
        jetstream: &Context,
        subject: Subject,
    ) -> Result<(), TopologyError> {
        self.ensure_stream(jetstream, subject).await?;
        self.ensure_consumer(jetstream, subject).await
    }

    async fn ensure_stream(&self, jetstream: &Context, subject: Subject) -> Result<(), TopologyError> {
        let stream = self.stream_name(subject);
        let existing = match jetstream.get_stream(&stream).await {
            Ok(found) => Some(found.cached_info().config.clone()),
            Err(error) if stream_is_missing(&error) => None,
            Err(source) => return Err(TopologyError::Lookup { stream, source }),
        };
        let fail = |source| TopologyError::Stream {
            stream: stream.clone(),
            source,
        };
        let Some(existing) = existing else {
            let config = self.stream_config(subject, stream::Config::default());
            jetstream.create_stream(config).await.map_err(fail)?;
            tracing::info!(stream, "created stream");
            return Ok(());
        };
        let wanted = self.stream_config(subject, existing.clone());
        if wanted != existing {
            log_differences(&stream, &existing, &wanted);
            jetstream.update_stream(&wanted).await.map_err(fail)?;
        }
        Ok(())
    }

    async fn ensure_consumer(&self, jetstream: &Context, subject: Subject) -> Result<(), TopologyError> {
        let (stream, consumer) = (self.stream_name(subject), subject.consumer_name());
        let fail = |source| TopologyError::Consumer {
            stream: stream.clone(),
            consumer: consumer.clone(),
            source,
        };
        let existing = match jetstream.get_consumer_from_stream(&consumer, &stream).await {
            Ok(found) => Some(pull_config(&found).map_err(fail)?),
            Err(error) if consumer_is_missing(&error) => None,
            Err(source) => return Err(fail(source)),
        };
        let wanted = self.consumer_config(subject, existing.clone().unwrap_or_default());
        match existing {
            Some(existing) if existing == wanted => return Ok(()),
            Some(existing) => log_differences(&consumer, &existing, &wanted),
            None => tracing::info!(stream, consumer, "creating consumer"),
        }
        jetstream
            .create_consumer_on_stream(wanted, &stream)
            .await
            .map_err(fail)?;
        Ok(())
    }

    fn stream_config(&self, subject: Subject, base: stream::Config) -> stream::Config {
        stream::Config {
            name: self.stream_name(subject),
            subjects: vec![self.subject(subject)],
            retention: RetentionPolicy::Limits,
            storage: StorageType::File,
            discard: DiscardPolicy::New,
            max_bytes: self.max_bytes(subject),
            max_messages: -1,
            max_messages_per_subject: -1,
            max_age: MAX_AGE,
            duplicate_window: DUPLICATE_WINDOW,
            num_replicas: self.replicas,
            ..base
        }
    }

    fn consumer_config(&self, subject: Subject, base: pull::Config) -> pull::Config {
        pull::Config {
            durable_name: Some(subject.consumer_name()),
            filter_subject: self.subject(subject),
            deliver_policy: DeliverPolicy::All,
            replay_policy: ReplayPolicy::Instant,
            ack_policy: AckPolicy::Explicit,
            ack_wait: self.ack_wait,
            max_deliver: -1,
            max_ack_pending: MAX_ACK_PENDING,
            ..base
        }
    }
}

pub(crate) fn stream_is_missing(error: &GetStreamError) -> bool {
    matches!(error.kind(), GetStreamErrorKind::JetStream(error) if error.error_code() == ErrorCode::STREAM_NOT_FOUND)
}

pub(crate) fn consumer_is_missing(error: &ConsumerError) -> bool {
    matches!(error.kind(), ConsumerErrorKind::JetStream(error) if error.error_code() == ErrorCode::CONSUMER_NOT_FOUND)
}

fn pull_config(found: &PullConsumer) -> Result<pull::Config, ConsumerError> {
    pull::Config::try_from_consumer_config(found.cached_info().config.clone())
        .map_err(|error| ConsumerError::with_source(ConsumerErrorKind::InvalidConsumerType, error))
}

/// The server did not answer, as while it starts, or its cluster has no leader yet. A refusal is final.
fn is_transient(error: &TopologyError) -> bool {
    match error {
        TopologyError::Lookup { source, .. } => match source.kind() {
            GetStreamErrorKind::Request => true,
            GetStreamErrorKind::JetStream(error) => is_unavailable(&error),
            _ => false,
        },
        TopologyError::Stream { source, .. } => match source.kind() {
            CreateStreamErrorKind::TimedOut
            | CreateStreamErrorKind::JetStreamUnavailable
            | CreateStreamErrorKind::Response => true,
            CreateStreamErrorKind::JetStream(error) => is_unavailable(&error),
            _ => false,
        },
        TopologyError::Consumer { source, .. } => match source.kind() {
            ConsumerErrorKind::TimedOut | ConsumerErrorKind::Request => true,
            ConsumerErrorKind::JetStream(error) => is_unavailable(&error),
            _ => false,
        },
    }
}

fn is_unavailable(error: &jetstream::Error) -> bool {
    error.code() == 503
}

fn log_differences<T: Serialize>(name: &str, existing: &T, wanted: &T) {
    for difference in differences(existing, wanted) {
        tracing::warn!(name, difference, "correcting configuration");
    }
}

/// One line per setting, with the server's names.
fn differences<T: Serialize>(existing: &T, wanted: &T) -> Vec<String> {
    let (Ok(existing), Ok(wanted)) = (serde_json::to_value(existing), serde_json::to_value(wanted)) else {
        return vec!["not comparable".to_owned()];
    };
    let (Some(existing), Some(wanted)) = (existing.as_object(), wanted.as_object()) else {
        return vec!["not comparable".to_owned()];
    };
    let show = |value: Option<&serde_json::Value>| value.map_or("unset".to_owned(), ToString::to_string);
    let names: std::collections::BTreeSet<_> = existing.keys().chain(wanted.keys()).collect();
    names
        .into_iter()
        .map(|name| (name, existing.get(name), wanted.get(name)))
        .filter(|(_, is, should_be)| is != should_be)
        .map(|(name, is, should_be)| format!("{name}: {} becomes {}", show(is), show(should_be)))
        .collect()
}

#[cfg(test)]
mod tests;
