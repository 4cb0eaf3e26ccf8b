//! How the processor's events end whose sales are in the batch.

use std::collections::HashMap;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use domain::ids::{EventId, ProgramId};
use domain::sale::SaleRefusal;
use messages::sale::{SaleOutcome, SaleRecord};
use sqlx::PgConnection;
use storage::StorageResult;
use storage::processor_events::{
    self, Ending, PARTNER_APPROVED, Part, Reason, waits_for_key, waits_for_processor_customer, waits_for_sale,
};

/// How long a sale waits for the lead that names its customer's key: as long as a processor repeats an event that was not
/// answered. Most payments of most shops are of customers whom no partner brought: they cost a row until then, and no work.
const PATIENCE: TimeDelta = TimeDelta::days(3);
/// The lead wakes it. One more look is for a lead that was stored at the very same time as the first, however late that was.
const SECOND_LOOK: Duration = Duration::from_secs(5);

/// The approval wakes it. The look is for one that was given at the very same time.
const PARTNER_LOOK: Duration = Duration::from_hours(6);

pub struct Inbox {
    now: DateTime<Utc>,
    arrived: HashMap<EventId, DateTime<Utc>>,
    endings: Vec<(EventId, Ending)>,
    /// Sales of which other events may have waited.
    sold: Vec<(ProgramId, String)>,
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
            sold: Vec::new(),
        })
    }

    /// Ends the events of these records, as far as they have outcomes.
    pub async fn close(
        mut self,
        connection: &mut PgConnection,
        records: &[&SaleRecord],
        outcomes: &HashMap<EventId, SaleOutcome>,
    ) -> StorageResult<()> {
        for record in records {
            if let Some(outcome) = outcomes.get(&record.event_id) {
                self.decided(record, outcome);
            }
        }
        processor_events::end(connection, Part::Sale, &self.endings).await?;
        processor_events::wake(connection, &self.sold).await
    }

    fn decided(&mut self, record: &SaleRecord, outcome: &SaleOutcome) {
        if !record.from_processor {
            return;
        }
        if matches!(outcome, SaleOutcome::Recorded { .. } | SaleOutcome::Duplicate) {
            let sale = waits_for_sale(&record.sale.transaction_id);
            self.sold.push((record.program_id, sale));
        }
        let ending = match outcome {
            SaleOutcome::Recorded { .. } => Ending::Done(None),
            SaleOutcome::Duplicate => Ending::Done(Some(Reason::Duplicate)),
            SaleOutcome::WindowExpired { .. } => Ending::Done(Some(Reason::WindowExpired)),
            SaleOutcome::Refused(SaleRefusal::NoAttribution) => Ending::Done(Some(Reason::NoAttribution)),
            SaleOutcome::Refused(SaleRefusal::ProgramArchived) => Ending::Done(Some(Reason::ProgramArchived)),
            SaleOutcome::Refused(SaleRefusal::BeforeFirstClick) => {
                Ending::Done(Some(Reason::BeforeFirstClick))
            }
            SaleOutcome::Refused(SaleRefusal::NoRelationship) => Ending::Parked {
                reason: Reason::PartnerNotApproved,
                waits_for: Some(PARTNER_APPROVED.to_owned()),
                look_again: None,
                retry: Some(PARTNER_LOOK),
            },
            SaleOutcome::Refused(SaleRefusal::CustomerNotFound) => self.customer_not_found(record),
        };
        self.endings.push((record.event_id, ending));
    }

    /// A key may still be bound by a lead. An organic payment ends when that has not happened in time, and nothing of it is kept.
    fn customer_not_found(&self, record: &SaleRecord) -> Ending {
        let key = record
            .sale
            .customer_key
            .as_ref()
            .map(|key| waits_for_key(key.as_str()));
        let waits_for = key.or_else(|| {
            record
                .sale
                .processor_customer
                .as_ref()
                .map(waits_for_processor_customer)
        });
        let arrived = self.arrived.get(&record.event_id).copied();
        let age = self.now - arrived.unwrap_or(record.sold_at);
        match (waits_for, (PATIENCE - age).to_std()) {
            (Some(waits_for), Ok(retry)) => Ending::Parked {
                reason: Reason::CustomerNotFound,
                waits_for: Some(waits_for),
                look_again: Some(SECOND_LOOK),
                retry: Some(retry),
            },
            _ => Ending::Done(Some(Reason::CustomerNotFound)),
        }
    }
}
