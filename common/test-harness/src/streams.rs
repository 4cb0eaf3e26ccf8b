//! The streams of a stack: reads, publishes and repeats messages, and waits for acknowledgements.

use std::time::Duration;

use async_nats::jetstream::consumer::{self, PullConsumer};
use async_nats::jetstream::{self, Context};
use bus::topology::Topology;
use bytes::Bytes;
use futures::StreamExt;
use messages::subject::Subject;

use crate::stack::Stack;

#[derive(Debug)]
pub struct Streams {
    jetstream: Context,
    topology: Topology,
}

impl Streams {
    /// The streams of a stack. Its services must have created them.
    pub async fn of(stack: &Stack) -> Self {
        let setting = |name: &str| {
            let found = stack.settings.iter().find(|(setting, _)| *setting == name);
            found.unwrap().1.clone()
        };
        let client = async_nats::connect(setting("NATS_URL")).await.unwrap();
        let max_bytes = setting("STREAM_MAX_BYTES").parse().unwrap();
        Self {
            jetstream: jetstream::new(client),
            topology: Topology {
                prefix: setting("STREAM_PREFIX"),
                max_bytes_others: max_bytes,
                max_bytes_clicks: max_bytes,
                replicas: 1,
                ack_wait: Duration::from_secs(10),
            },
        }
    }

    /// The payloads of a stream, oldest first.
    pub async fn messages(&self, subject: Subject) -> Vec<Bytes> {
        let name = self.topology.stream_name(subject);
        let stream = self.jetstream.get_stream(name).await.unwrap();
        let last = stream.get_info().await.unwrap().state.last_sequence;
        let mut payloads = Vec::new();
        for sequence in 1..=last {
            payloads.push(stream.get_raw_message(sequence).await.unwrap().payload);
        }
        payloads
    }

    /// The sequence of a stream's last message.
    pub async fn end(&self, subject: Subject) -> u64 {
        let name = self.topology.stream_name(subject);
        let stream = self.jetstream.get_stream(name).await.unwrap();
        stream.cached_info().state.last_sequence
    }

    /// Publishes a message again. Does nothing if the stream has dropped the message.
    pub async fn repeat(&self, subject: Subject, sequence: u64) {
        let name = self.topology.stream_name(subject);
        let stream = self.jetstream.get_stream(name).await.unwrap();
        if let Ok(message) = stream.get_raw_message(sequence).await {
            self.publish(subject, message.payload).await;
        }
    }

    pub async fn publish(&self, subject: Subject, payload: impl Into<Bytes>) {
        let acknowledged = self
            .jetstream
            .publish(self.topology.subject(subject), payload.into());
        acknowledged.await.unwrap().await.unwrap();
    }

    /// Publishes every message twice more, first backwards and then in order. Waits until workers have
    /// consumed them.
    pub async fn replay(&self, stack: &Stack) {
        for subject in Subject::ALL {
            let messages = self.messages(subject).await;
            for message in messages.iter().rev().chain(&messages) {
                self.publish(subject, message.clone()).await;
            }
        }
        self.drained(stack).await;
    }

    /// Waits until workers have acknowledged all messages, including those that follow from them.
    pub async fn drained(&self, stack: &Stack) {
        stack
            .eventually("all messages are acknowledged", async || {
                for subject in Subject::ALL {
                    // Notifications are published later, through the outbox.
                    let unsent: i64 = match subject {
                        Subject::Notifications => stack.value("SELECT count(*) FROM outbox").await,
                        _ => 0,
                    };
                    if unsent > 0 || !self.is_drained(subject).await {
                        return false;
                    }
                }
                true
            })
            .await;
    }

    /// Number of messages that workers have received, but neither acknowledged nor returned.
    pub async fn in_hand(&self, subject: Subject) -> usize {
        self.consumer(subject).await.num_ack_pending
    }

    /// Number of messages that workers have and that were delivered more than once.
    pub async fn redelivered(&self, subject: Subject) -> usize {
        self.consumer(subject).await.num_redelivered
    }

    /// Waits until a consumer with this `ack_wait` has delivered a message three times without a progress
    /// report.
    pub async fn outlast(&self, subject: Subject, ack_wait: Duration) {
        let name = self.topology.stream_name(subject);
        let stream = self.jetstream.get_stream(name).await.unwrap();
        let config = consumer::pull::Config {
            ack_wait,
            ..Default::default()
        };
        let forgetful = stream.create_consumer(config).await.unwrap();
        for _ in 0..3 {
            let mut batch = forgetful.batch().max_messages(1).messages().await.unwrap();
            batch.next().await.unwrap().unwrap();
        }
    }

    async fn is_drained(&self, subject: Subject) -> bool {
        let info = self.consumer(subject).await;
        info.num_pending == 0 && info.num_ack_pending == 0
    }

    async fn consumer(&self, subject: Subject) -> consumer::Info {
        let (consumer, stream) = (subject.consumer_name(), self.topology.stream_name(subject));
        let consumer: PullConsumer = self
            .jetstream
            .get_consumer_from_stream(consumer, stream)
            .await
            .unwrap();
        consumer.cached_info().clone()
    }
}
