//! One attempt of a delivery, and its result.

use std::time::Instant;

use chrono::{DateTime, Utc};
use domain::programs::webhook::{SigningSecret, WebhookUrl, message_id, signatures};
use domain::programs::webhook_attempt::{Outcome, next_attempt};
use runtime::clock::Clock;
use runtime::crash_point::crash_point;
use runtime::metrics::{DELIVERY_ATTEMPTS, DELIVERY_SECONDS};
use storage::outbound::webhook_queue::{AttemptResult, DueDelivery, FinishedDelivery};

use super::client::{Answer, AttemptError, Client, Message};
use super::finish::Attempted;
use super::in_flight::Slot;

pub(super) struct Attempt {
    pub(super) delivery: DueDelivery,
    pub(super) url: String,
    pub(super) secrets: Vec<SigningSecret>,
    pub(super) client: Client,
    pub(super) clock: Clock,
    pub(super) loopback_allowed: bool,
    pub(super) slot: Slot,
}

impl Attempt {
    pub(super) async fn run(mut self) -> Attempted {
        let Some(body) = self.delivery.body.take() else {
            return self.without_event();
        };
        let (at, began) = (self.clock.now(), Instant::now());
        let sent = self.send(at, body).await;
        let took = began.elapsed();
        crash_point("delivery.after_send");
        let now = self.clock.now();
        let outcome = match &sent {
            Ok(answer) => Outcome::of_answer(answer.status, answer.retry_after.as_deref(), now),
            Err(_) => Outcome::UNANSWERED,
        };
        self.slot.ended(outcome == Outcome::Delivered, took);
        DELIVERY_SECONDS.with([]).observe(took.as_secs_f64());
        DELIVERY_ATTEMPTS.with([label(outcome, &sent)]).inc();
        let (answer, failure) = match sent {
            Ok(answer) => (Some(answer), None),
            Err(error) => (None, Some(error.to_string())),
        };
        Attempted {
            endpoint_id: self.delivery.endpoint_id,
            is_replay: self.delivery.is_replay,
            outcome: Some(outcome),
            finished: FinishedDelivery {
                id: self.delivery.id,
                leased_until: self.delivery.leased_until,
                result: result(outcome, self.delivery.attempts, now),
                attempted_at: Some(at),
                status: answer
                    .as_ref()
                    .and_then(|answer| i16::try_from(answer.status).ok()),
                failure,
                answer: answer.map(|answer| answer.body),
                duration_ms: Some(i32::try_from(took.as_millis()).unwrap_or(i32::MAX)),
            },
            slot: self.slot,
        }
    }

    async fn send(&self, at: DateTime<Utc>, body: String) -> Result<Answer, AttemptError> {
        // The URL was allowed when it was configured; the operator may have changed the settings since.
        let url = WebhookUrl::parse(&self.url, self.loopback_allowed).map_err(|_| AttemptError::Url)?;
        let id = message_id(self.delivery.event_id);
        let timestamp = at.timestamp();
        let message = Message {
            signatures: signatures(&self.secrets, &id, timestamp, &body),
            id,
            timestamp,
            body: body.into(),
        };
        self.client.send(&url, &message).await
    }

    fn without_event(self) -> Attempted {
        Attempted {
            endpoint_id: self.delivery.endpoint_id,
            is_replay: self.delivery.is_replay,
            outcome: None,
            finished: FinishedDelivery {
                id: self.delivery.id,
                leased_until: self.delivery.leased_until,
                result: AttemptResult::Cancelled,
                attempted_at: None,
                status: None,
                failure: None,
                answer: None,
                duration_ms: None,
            },
            slot: self.slot,
        }
    }
}

fn result(outcome: Outcome, attempts_before: i16, now: DateTime<Utc>) -> AttemptResult {
    let retry_after = match outcome {
        Outcome::Delivered => return AttemptResult::Delivered,
        Outcome::Gone => return AttemptResult::GivenUp,
        Outcome::Failed { retry_after } => retry_after,
    };
    let attempts = usize::try_from(attempts_before).unwrap_or(0) + 1;
    let jitter = rand::random_range(-1.0..=1.0);
    next_attempt(attempts, retry_after, jitter, now).map_or(AttemptResult::GivenUp, AttemptResult::Again)
}

fn label(outcome: Outcome, sent: &Result<Answer, AttemptError>) -> &'static str {
    match (outcome, sent) {
        (_, Err(error)) => error.as_str(),
        (Outcome::Delivered, Ok(_)) => "delivered",
        (Outcome::Gone, Ok(_)) => "gone",
        (Outcome::Failed { .. }, Ok(_)) => "refused",
    }
}
