//! The records that wait for a batch: fresh ones, postponed ones, and isolated ones, each of which forms a
//! batch of its own.

use std::collections::VecDeque;

use serde_json::value::RawValue;
use tokio::time::Instant;

use super::in_flight::Admission;
use super::step::Delivered;

/// One decoded record, its origin and its text.
#[derive(Debug)]
pub(super) struct Item<R> {
    pub(super) origin: Origin,
    pub(super) delivered: Delivered<R>,
}

#[derive(Debug)]
pub(super) struct Origin {
    pub(super) admission: Admission,
    pub(super) raw: Box<RawValue>,
}

/// The records of one transaction. Both lists have the same order.
#[derive(Debug)]
pub(super) struct Batch<R> {
    pub(super) records: Vec<Delivered<R>>,
    pub(super) origins: Vec<Origin>,
}

#[derive(Debug)]
pub(super) struct Queue<R> {
    fresh: VecDeque<Item<R>>,
    /// All delays are equal, so the order of arrival is the order of due times.
    later: VecDeque<(Instant, Item<R>)>,
    /// First in, first out, whatever the due times.
    isolated: VecDeque<(Instant, Item<R>)>,
}

impl<R> Queue<R> {
    pub(super) fn new() -> Self {
        Self {
            fresh: VecDeque::new(),
            later: VecDeque::new(),
            isolated: VecDeque::new(),
        }
    }

    pub(super) fn push(&mut self, item: Item<R>) {
        self.fresh.push_back(item);
    }

    pub(super) fn push_later(&mut self, due: Instant, item: Item<R>) {
        self.later.push_back((due, item));
    }

    pub(super) fn push_isolated(&mut self, due: Instant, item: Item<R>) {
        self.isolated.push_back((due, item));
    }

    pub(super) fn fresh(&self) -> usize {
        self.fresh.len()
    }

    pub(super) fn later(&self) -> usize {
        self.later.len()
    }

    pub(super) fn isolated(&self) -> usize {
        self.isolated.len()
    }

    /// When the next isolated record may be tried again.
    pub(super) fn isolated_due(&self) -> Option<Instant> {
        self.isolated.front().map(|(due, _)| *due)
    }

    /// Takes the next isolated record, if it is due, as a batch of one.
    pub(super) fn take_isolated(&mut self, now: Instant) -> Option<Batch<R>> {
        let (_, item) = self.isolated.pop_front_if(|(due, _)| *due <= now)?;
        Some(Batch {
            records: vec![item.delivered],
            origins: vec![item.origin],
        })
    }

    /// When the first postponed record is due.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.later.front().map(|(due, _)| *due)
    }

    /// Takes up to `max` records. Due postponed records go first, but get no more than half of the batch
    /// while fresh ones wait: records that keep waiting must not starve those that can be settled.
    pub(super) fn take(&mut self, now: Instant, max: usize) -> Batch<R> {
        let due = self.later.iter().take_while(|(due, _)| *due <= now).count();
        let due = due.min(max - self.fresh.len().min(max / 2));
        let fresh = self.fresh.len().min(max - due);
        let items = self
            .later
            .drain(..due)
            .map(|(_, item)| item)
            .chain(self.fresh.drain(..fresh));
        let (records, origins) = items.map(|item| (item.delivered, item.origin)).unzip();
        Batch { records, origins }
    }

    /// Drops the records of a message that was given back; a redelivery brings them again.
    pub(super) fn forget(&mut self, admission: Admission) {
        self.fresh.retain(|item| item.origin.admission != admission);
        self.later.retain(|(_, item)| item.origin.admission != admission);
        self.isolated
            .retain(|(_, item)| item.origin.admission != admission);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn item(sequence: u64, record: u32) -> Item<u32> {
        let raw = serde_json::value::to_raw_value(&record).unwrap();
        let delivered = Delivered {
            record,
            reply_to: None,
            deliveries: 1,
            stored_at: chrono::DateTime::UNIX_EPOCH,
            postponed: false,
        };
        Item {
            origin: Origin {
                admission: Admission::of(sequence),
                raw,
            },
            delivered,
        }
    }

    fn take(queue: &mut Queue<u32>, now: Instant, max: usize) -> Vec<u32> {
        queue
            .take(now, max)
            .records
            .into_iter()
            .map(|delivered| delivered.record)
            .collect()
    }

    #[test]
    fn postponed_records_wait_until_they_are_due() {
        let (mut queue, now) = (Queue::new(), Instant::now());
        let due = now + Duration::from_millis(100);
        queue.push_later(due, item(1, 1));
        assert!(take(&mut queue, now, 8).is_empty());
        assert_eq!(queue.next_due(), Some(due));
        assert_eq!(take(&mut queue, due, 8), [1]);
        assert_eq!(queue.next_due(), None);
    }

    #[test]
    fn postponed_records_leave_half_of_a_batch_to_fresh_ones() {
        let (mut queue, now) = (Queue::new(), Instant::now());
        (0..10).for_each(|n| queue.push_later(now, item(1, n)));
        (100..110).for_each(|n| queue.push(item(2, n)));
        assert_eq!(take(&mut queue, now, 4), [0, 1, 100, 101]);
        queue.forget(Admission::of(2));
        assert_eq!(take(&mut queue, now, 4), [2, 3, 4, 5]);
    }

    #[test]
    fn a_large_message_is_spread_over_batches() {
        let (mut queue, now) = (Queue::new(), Instant::now());
        (0..5).for_each(|n| queue.push(item(1, n)));
        assert_eq!(take(&mut queue, now, 2), [0, 1]);
        assert_eq!(take(&mut queue, now, 2), [2, 3]);
        assert_eq!(take(&mut queue, now, 2), [4]);
    }

    #[test]
    fn forgetting_a_message_takes_all_its_records() {
        let (mut queue, now) = (Queue::new(), Instant::now());
        queue.push(item(1, 1));
        queue.push(item(2, 2));
        queue.push_later(now, item(1, 3));
        queue.forget(Admission::of(1));
        assert_eq!(take(&mut queue, now, 8), [2]);
    }
}
