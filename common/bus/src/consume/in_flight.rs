//! The messages in flight, and how many of their records are open.

use std::collections::HashMap;

use chrono::{DateTime, Utc};

/// Identifies a message across redeliveries. A recreated stream reuses sequence numbers; the time tells such
/// messages apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct MessageId {
    pub(super) sequence: u64,
    pub(super) stored_at: DateTime<Utc>,
}

/// One admission of a message. A message that was given back is admitted again when it is redelivered.
/// Results of an earlier admission do not count for a later one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Admission {
    message: MessageId,
    admission: u64,
}

impl Admission {
    pub(super) const fn stored_at(self) -> DateTime<Utc> {
        self.message.stored_at
    }
}

#[cfg(test)]
impl Admission {
    /// The admission of the message with this sequence number.
    pub(super) const fn of(sequence: u64) -> Self {
        Self {
            message: MessageId {
                sequence,
                stored_at: DateTime::UNIX_EPOCH,
            },
            admission: 0,
        }
    }
}

/// Counts down the open records of each message. Generic over the handle that acknowledges a message, so that
/// it depends on no transport.
#[derive(Debug)]
pub(super) struct InFlightMessages<H> {
    messages: HashMap<MessageId, Held<H>>,
    admissions: u64,
}

#[derive(Debug)]
struct Held<H> {
    handle: H,
    open_records: usize,
    admission: u64,
}

impl<H> InFlightMessages<H> {
    pub(super) fn new() -> Self {
        Self {
            messages: HashMap::new(),
            admissions: 0,
        }
    }

    /// Whether this is the message's current admission. A redelivery gets a new one.
    pub(super) fn holds(&self, admission: Admission) -> bool {
        self.messages
            .get(&admission.message)
            .is_some_and(|held| held.admission == admission.admission)
    }

    /// A redelivery of a message in flight only replaces its handle: its records are already being processed.
    /// Returns the new handle if the message is not in flight.
    pub(super) fn renew(&mut self, id: MessageId, handle: H) -> Option<H> {
        match self.messages.get_mut(&id) {
            Some(held) => {
                held.handle = handle;
                None
            }
            None => Some(handle),
        }
    }

    /// Admits a message that is not in flight. It must have at least one record.
    pub(super) fn admit(&mut self, message: MessageId, handle: H, records: usize) -> Admission {
        self.admissions += 1;
        let held = Held {
            handle,
            open_records: records,
            admission: self.admissions,
        };
        self.messages.insert(message, held);
        Admission {
            message,
            admission: self.admissions,
        }
    }

    /// Marks one record as done. After the last one it returns the handle: the message may be acknowledged.
    pub(super) fn done(&mut self, admission: Admission) -> Option<H> {
        let held = self.messages.get_mut(&admission.message)?;
        if held.admission != admission.admission {
            return None;
        }
        held.open_records = held.open_records.saturating_sub(1);
        if held.open_records == 0 {
            self.release(admission)
        } else {
            None
        }
    }

    /// Releases a message, so that the whole message is delivered again.
    pub(super) fn release(&mut self, admission: Admission) -> Option<H> {
        if !self.holds(admission) {
            return None;
        }
        self.messages.remove(&admission.message).map(|held| held.handle)
    }

    /// Releases every message.
    pub(super) fn release_all(&mut self) -> impl Iterator<Item = H> {
        self.messages.drain().map(|(_, held)| held.handle)
    }
}

#[cfg(test)]
mod tests;
