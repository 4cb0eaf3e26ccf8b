//! Test events become rows with `is_test` set, and nothing else: no customer, no claim, no counter, no commission.

use std::collections::HashMap;
use std::sync::Arc;

use bus::consume::{DeadLetter, Delivered, Processed, Step, StepError, Verdict};
use domain::ids::EventId;
use domain::visitor::Visitor;
use messages::subject::Subject;
use messages::test_event::{TestClick, TestEvent, TestEventOutcome, TestEventRecord};
use sqlx::PgConnection;
use storage::test_events::NewTestClick;
use storage::{StorageResult, test_events};

use super::click::without_address;
use super::{StepContext, reply, storage_failed};
use crate::visitor::{Traces, Visitors};

#[derive(Debug)]
pub struct TestEventStep {
    pub context: StepContext,
    pub visitors: Arc<Visitors>,
}

impl Step for TestEventStep {
    type Record = TestEventRecord;
    const SUBJECT: Subject = Subject::TestEvents;

    async fn run(&self, batch: &[Delivered<TestEventRecord>]) -> Result<Processed, StepError> {
        let visitors = self
            .visitors
            .of(clicks(batch).map(|(_, click)| Traces::from(click)))
            .await;
        let visitors = visitors.map_err(|error| StepError::Transient(error.into()))?;
        let mut transaction = self.context.pool.begin().await.map_err(storage_failed)?;
        let stored = store(&mut transaction, batch, &visitors)
            .await
            .map_err(storage_failed)?;
        transaction.commit().await.map_err(storage_failed)?;
        let mut processed = Processed {
            verdicts: vec![Verdict::Done; batch.len()],
            replies: Vec::new(),
        };
        for Delivered { record, reply_to, .. } in batch {
            if let Some(row_id) = stored.get(&record.event_id) {
                let outcome = TestEventOutcome { row_id: *row_id };
                let reply = reply(reply_to.as_ref(), record.event_id, &outcome)?;
                processed.replies.extend(reply);
            }
        }
        Ok(processed)
    }

    async fn dead_letter(&self, letter: DeadLetter) -> Result<(), StepError> {
        self.context.dead_letter(&without_address(letter)).await
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

/// `visitors` are the clicks', in their order. The ids of the rows by event; one stored by an earlier delivery has the id it had.
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
