//! Which messages are in hand, and how many of their records are still open.

use std::collections::HashMap;

use chrono::{DateTime, Utc};

/// Identifies a message over redeliveries. The time distinguishes it from the message with its sequence number after a
/// stream was lost and recreated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct MessageId {
    pub(super) sequence: u64,
    pub(super) stored_at: DateTime<Utc>,
}

/// A message as it was admitted: given back and delivered again, it is held anew. What a batch makes of the records of an
/// earlier admission counts for nothing in the later one.
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
    /// For the message with this sequence number.
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

/// Counts a message's records down; generic over the handle that acknowledges it, so that it knows no transport.
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

    /// Whether it is held still, and has not been given back since.
    pub(super) fn holds(&self, admission: Admission) -> bool {
        self.messages
            .get(&admission.message)
            .is_some_and(|held| held.admission == admission.admission)
    }

    /// A redelivery of a message in flight only replaces its acknowledgement: its records are already being processed.
    /// Gives the handle back when the message is not held.
    pub(super) fn renew(&mut self, id: MessageId, handle: H) -> Option<H> {
        match self.messages.get_mut(&id) {
            Some(held) => {
                held.handle = handle;
                None
            }
            None => Some(handle),
        }
    }

    /// Takes a message that is not held, with at least one record.
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

    /// One record is done; returns the handle once it was the message's last, and the message may be acknowledged.
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

    /// Gives a message up, so that it is delivered again as a whole.
    pub(super) fn release(&mut self, admission: Admission) -> Option<H> {
        if !self.holds(admission) {
            return None;
        }
        self.messages.remove(&admission.message).map(|held| held.handle)
    }

    /// Gives everything up.
    pub(super) fn release_all(&mut self) -> impl Iterator<Item = H> {
        self.messages.drain().map(|(_, held)| held.handle)
    }
}

#[cfg(test)]
mod tests;
