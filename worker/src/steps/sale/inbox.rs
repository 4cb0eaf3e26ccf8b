//! How the processor's events end whose sales are in the batch.

use std::collections::HashMap;

use chrono::{DateTime, TimeDelta, Utc};
use common::domain::ids::EventId;
use common::domain::sale::SaleRefusal;
use common::messages::sale::{SaleOutcome, SaleRecord};
use common::storage::StorageResult;
use common::storage::processor_events::{self, Ending, Part, Reason};
use sqlx::PgConnection;

/// How long a sale waits for what it refers to: as long as a processor repeats an event that was not answered, for that may
/// be the one that is missing.
const PATIENCE: TimeDelta = TimeDelta::days(3);

/// Pauses grow with the time an event has waited: they double.
const LONGEST_PAUSE: TimeDelta = TimeDelta::hours(6);
/// A lead comes when its customer does.
const PAUSE_FOR_CUSTOMER: TimeDelta = TimeDelta::minutes(1);
/// The first payment wakes its renewals. The pause is for one that was recorded at the very same time.
const PAUSE_FOR_FIRST_PAYMENT: TimeDelta = TimeDelta::seconds(5);

pub struct Inbox {
    now: DateTime<Utc>,
    arrived: HashMap<EventId, DateTime<Utc>>,
    endings: Vec<(EventId, Ending)>,
}

impl Inbox {
    pub async fn open(
        connection: &mut PgConnection,
        records: &[&SaleRecord],
        now: DateTime<Utc>,
    ) -> StorageResult<Self> {
        let events: Vec<EventId> = records
            .iter()
            .filter(|record| record.from_processor)
            .map(|record| record.event_id)
            .collect();
        Ok(Self {
            now,
            arrived: processor_events::received_at(connection, &events).await?,
            endings: Vec::new(),
        })
    }

    /// Whether what the processor reported may still wait for what it refers to.
    pub fn may_wait(&self, record: &SaleRecord) -> bool {
        record.from_processor && self.age(record) < PATIENCE
    }

    /// A renewal waits for the first payment of its subscription.
    pub fn first_payment_missing(&mut self, record: &SaleRecord) {
        let ending = Ending::Parked {
            reason: Reason::FirstPaymentMissing,
            waits_for: record
                .sale
                .subscription_id
                .as_ref()
                .map(|id| first_payment_of(id.as_str())),
            retry: self.pause(record, PAUSE_FOR_FIRST_PAYMENT),
        };
        self.endings.push((record.event_id, ending));
    }

    pub fn decided(&mut self, record: &SaleRecord, outcome: &SaleOutcome) {
        if !record.from_processor {
            return;
        }
        let ending = match outcome {
            SaleOutcome::Recorded { .. } => Ending::Done(None),
            SaleOutcome::Duplicate => Ending::Done(Some(Reason::Duplicate)),
            SaleOutcome::WindowExpired { .. } => Ending::Done(Some(Reason::WindowExpired)),
            SaleOutcome::Refused(SaleRefusal::NoAttribution) => Ending::Done(Some(Reason::NoAttribution)),
            SaleOutcome::Refused(SaleRefusal::ProgramArchived) => Ending::Done(Some(Reason::ProgramArchived)),
            SaleOutcome::Refused(SaleRefusal::NoRelationship) => Ending::Done(Some(Reason::NoRelationship)),
            SaleOutcome::Refused(SaleRefusal::CustomerNotFound) if self.may_wait(record) => Ending::Parked {
                reason: Reason::CustomerNotFound,
                waits_for: None,
                retry: self.pause(record, PAUSE_FOR_CUSTOMER),
            },
            SaleOutcome::Refused(SaleRefusal::CustomerNotFound) => Ending::Stuck(Reason::CustomerNotFound),
        };
        self.endings.push((record.event_id, ending));
    }

    pub async fn close(self, connection: &mut PgConnection) -> StorageResult<()> {
        processor_events::end(connection, Part::Sale, &self.endings).await
    }

    fn age(&self, record: &SaleRecord) -> TimeDelta {
        let arrived = self.arrived.get(&record.event_id).copied();
        self.now - arrived.unwrap_or(record.sold_at)
    }

    fn pause(&self, record: &SaleRecord, shortest: TimeDelta) -> Option<std::time::Duration> {
        self.age(record).clamp(shortest, LONGEST_PAUSE).to_std().ok()
    }
}

/// What renewals wait for.
pub fn first_payment_of(subscription_id: &str) -> String {
    format!("subscription:{subscription_id}")
}
