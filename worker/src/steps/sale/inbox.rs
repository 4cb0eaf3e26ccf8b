//! Ends the processor events of a batch's sales.

use std::collections::HashMap;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use domain::ids::{EventId, ProgramId};
use domain::tracking::sale::SaleRefusal;
use messages::sale::{SaleOutcome, SaleRecord};
use sqlx::PgConnection;
use storage::StorageResult;
use storage::processor::processor_events::{
    self, Ending, PARTNER_APPROVED, Part, Reason, waits_for_key, waits_for_processor_customer, waits_for_sale,
};

use crate::outbound::OutboundEvents;

/// How long a sale waits for the lead that names its customer's key: as long as processors redeliver an
/// unanswered event. Most payments are from customers whom no partner referred. Each of these costs a row for
/// that time, and no further work.
const PATIENCE: TimeDelta = TimeDelta::days(3);
/// The lead wakes the sale. The second look covers a lead that was stored concurrently with the first look.
const SECOND_LOOK: Duration = Duration::from_secs(5);

/// The approval wakes the sale. This look covers an approval that was given concurrently.
const PARTNER_LOOK: Duration = Duration::from_hours(6);

pub struct Inbox<'a> {
    now: DateTime<Utc>,
    /// Only records that came from processors.
    records: Vec<&'a SaleRecord>,
    arrived: HashMap<EventId, DateTime<Utc>>,
    endings: Vec<(EventId, Ending)>,
    /// Recorded sales, for which other events may wait.
    sold: Vec<(ProgramId, String)>,
}

impl<'a> Inbox<'a> {
    pub async fn open(
        connection: &mut PgConnection,
        records: &[&'a SaleRecord],
        now: DateTime<Utc>,
    ) -> StorageResult<Self> {
        let records: Vec<&SaleRecord> = records
            .iter()
            .filter(|record| record.from_processor)
            .copied()
            .collect();
        let events: Vec<EventId> = records.iter().map(|record| record.event_id).collect();
        Ok(Self {
            now,
            records,
            arrived: processor_events::received_at(connection, &events).await?,
            endings: Vec::new(),
            sold: Vec::new(),
        })
    }

    pub async fn close(
        mut self,
        connection: &mut PgConnection,
        outcomes: &HashMap<EventId, SaleOutcome>,
        events: &mut OutboundEvents<'_>,
    ) -> StorageResult<()> {
        for record in std::mem::take(&mut self.records) {
            if let Some(outcome) = outcomes.get(&record.event_id) {
                self.decided(record, outcome);
            }
        }
        let for_review = processor_events::end(connection, Part::Sale, &self.endings).await?;
        events.add_for_review(for_review)?;
        processor_events::wake(connection, &self.sold).await
    }

    fn decided(&mut self, record: &SaleRecord, outcome: &SaleOutcome) {
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

    /// Waits for a lead that binds the key. If none arrives in time, the event ends as an organic payment,
    /// and nothing of it is kept.
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
