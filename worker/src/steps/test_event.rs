//! Test events become rows with `is_test` set. They create no customer, claim, counter or commission.

use std::collections::HashMap;
use std::sync::Arc;

use bus::consume::{DeadLetter, Delivered, StepError};
use domain::ids::EventId;
use domain::tracking::visitor::Visitor;
use messages::subject::Subject;
use messages::test_event::{TestClick, TestEvent, TestEventOutcome, TestEventRecord};
use sqlx::PgConnection;
use storage::StorageResult;
use storage::tracking::test_events;
use storage::tracking::test_events::NewTestClick;

use super::click::without_address;
use super::transaction::{BatchResult, TransactionalStep};
use crate::visitor::{Traces, Visitors};

#[derive(Debug)]
pub struct TestEventStep(pub Arc<Visitors>);

impl TransactionalStep for TestEventStep {
    type Record = TestEventRecord;
    /// In the order of the clicks.
    type Prepared = Vec<Visitor>;
    type Outcome = TestEventOutcome;
    const SUBJECT: Subject = Subject::TestEvents;

    async fn prepare(&self, batch: &[Delivered<TestEventRecord>]) -> Result<Vec<Visitor>, StepError> {
        let traces = clicks(batch).map(|(_, click)| Traces::from(click));
        let visitors = self.0.of(traces).await;
        visitors.map_err(|error| StepError::Transient(error.into()))
    }

    async fn process(
        &self,
        connection: &mut PgConnection,
        batch: &[Delivered<TestEventRecord>],
        visitors: Vec<Visitor>,
    ) -> StorageResult<BatchResult<TestEventOutcome>> {
        let stored = store(connection, batch, &visitors).await?;
        let outcome = |(event_id, row_id)| (event_id, TestEventOutcome { row_id });
        Ok(BatchResult::of(stored.into_iter().map(outcome).collect()))
    }

    fn redact(letter: DeadLetter) -> DeadLetter {
        without_address(letter)
    }
}

fn clicks(batch: &[Delivered<TestEventRecord>]) -> impl Iterator<Item = (&TestEventRecord, &TestClick)> {
    batch
        .iter()
        .filter_map(|Delivered { record, .. }| match &record.event {
            TestEvent::Click(click) => Some((record, click)),
            TestEvent::Lead(_) | TestEvent::Sale(_) => None,
        })
}

/// Stores test events. `visitors` are in the order of the clicks. Returns the ids of the rows by event; an
/// event that an earlier delivery stored keeps its id.
async fn store(
    connection: &mut PgConnection,
    batch: &[Delivered<TestEventRecord>],
    visitors: &[Visitor],
) -> StorageResult<HashMap<EventId, i64>> {
    let clicks: Vec<NewTestClick<'_>> = clicks(batch)
        .zip(visitors)
        .map(|((record, click), visitor)| NewTestClick {
            record,
            click,
            visitor,
        })
        .collect();
    let (mut leads, mut sales) = (Vec::new(), Vec::new());
    for Delivered { record, .. } in batch {
        match &record.event {
            TestEvent::Click(_) => {}
            TestEvent::Lead(lead) => leads.push((record, lead)),
            TestEvent::Sale(sale) => sales.push((record, sale.as_ref())),
        }
    }
    let mut stored = test_events::insert_clicks(connection, &clicks).await?;
    stored.extend(test_events::insert_leads(connection, &leads).await?);
    stored.extend(test_events::insert_sales(connection, &sales).await?);
    Ok(stored)
}
