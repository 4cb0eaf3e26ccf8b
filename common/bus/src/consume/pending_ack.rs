//! Keeps messages in flight from being delivered again.
//!
//! A message is reported in progress from its arrival on, wherever it waits: in the fetch buffer, in the
//! queue, in a batch, or for its click. A [`PendingAck`] accompanies the message. Dropping it ends the
//! reports, however the message ends.
//!
//! Bounds: all messages in flight, each reported three times per ack timeout. A separate task sends the
//! reports, because the loop may have to wait for the store.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_nats::jetstream::AckKind;
use async_nats::jetstream::message::Acker;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

/// The messages in flight, in order of arrival.
#[derive(Default)]
pub(super) struct PendingAcks {
    in_hand: Mutex<BTreeMap<u64, Arc<Acker>>>,
    came: AtomicU64,
}

impl PendingAcks {
    pub(super) fn take(self: &Arc<Self>, acker: Acker) -> PendingAck {
        let number = self.came.fetch_add(1, Ordering::Relaxed);
        let acker = Arc::new(acker);
        self.in_hand().insert(number, Arc::clone(&acker));
        PendingAck {
            number,
            acker,
            pending_acks: Arc::clone(self),
        }
    }

    /// Reports all messages in flight until it is stopped.
    pub(super) async fn keep_alive(self: Arc<Self>, ack_wait: Duration, stop: CancellationToken) {
        let mut rounds = interval(ack_wait / 3);
        rounds.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while stop.run_until_cancelled(rounds.tick()).await.is_some() {
            self.report().await;
        }
    }

    async fn report(&self) {
        let numbers: Vec<u64> = self.in_hand().keys().copied().collect();
        for number in numbers {
            // The message may have been given back meanwhile: a report would delay its next delivery.
            let in_hand = self.in_hand().get(&number).cloned();
            if let Some(acker) = in_hand {
                send(&acker, AckKind::Progress).await;
            }
        }
    }

    fn in_hand(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Acker>>> {
        self.in_hand.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The acknowledgement of one message in flight.
pub(super) struct PendingAck {
    number: u64,
    acker: Arc<Acker>,
    pending_acks: Arc<PendingAcks>,
}

impl PendingAck {
    /// Ends the reports and sends the acknowledgement.
    pub(super) async fn acknowledge(self, kind: AckKind) {
        let acker = Arc::clone(&self.acker);
        drop(self);
        send(&acker, kind).await;
    }
}

impl Drop for PendingAck {
    fn drop(&mut self) {
        self.pending_acks.in_hand().remove(&self.number);
    }
}

/// If an ack is lost, the message is delivered again and changes nothing; so a warning is enough.
async fn send(acker: &Acker, kind: AckKind) {
    if let Err(error) = acker.ack_with(kind).await {
        tracing::warn!(error, "cannot acknowledge");
    }
}
