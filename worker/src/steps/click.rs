//! Clicks become customers, click events and counters.
//!
//! Phases: **customers** that the clicks create → **click events**, of which only those not seen before count from
//! here on → **journeys** of customers who came back (attribution follows the last click, whatever order the
//! batches arrive in) → **counters**, pre-summed, last because every other batch wants the same rows.

use std::collections::{BTreeMap, HashMap};

use common::bus::consume::{DeadLetter, Delivered, Processed, Step, StepError, Verdict};
use common::domain::attribution::Touch;
use common::domain::ids::CustomerId;
use common::messages::click::ClickRecord;
use common::messages::subject::Subject;
use common::storage::StorageResult;
use common::storage::clicks::{self, ClickCount};
use common::storage::customers::{self, Customer, NewCustomer};
use sqlx::PgConnection;

use super::{StepContext, storage_failed};

#[derive(Debug)]
pub struct ClickStep(pub StepContext);

impl Step for ClickStep {
    type Record = ClickRecord;
    const SUBJECT: Subject = Subject::Clicks;

    async fn run(&self, batch: &[Delivered<ClickRecord>]) -> Result<Processed, StepError> {
        let clicks: Vec<&ClickRecord> = batch.iter().map(|delivered| &delivered.record).collect();
        let mut transaction = self.0.pool.begin().await.map_err(storage_failed)?;
        store(&mut transaction, &clicks).await.map_err(storage_failed)?;
        transaction.commit().await.map_err(storage_failed)?;
        Ok(Processed {
            verdicts: vec![Verdict::Done; batch.len()],
            replies: Vec::new(),
        })
    }

    async fn bury(&self, letter: DeadLetter) -> Result<(), StepError> {
        self.0.bury(&letter).await
    }
}

pub(super) async fn store(connection: &mut PgConnection, clicks: &[&ClickRecord]) -> StorageResult<()> {
    let created: Vec<NewCustomer<'_>> = clicks
        .iter()
        .filter(|click| click.new_customer)
        .map(|click| new_customer(click))
        .collect();
    customers::insert(connection, &created).await?;
    let unseen = clicks::insert(connection, clicks).await?;
    let mut counted: Vec<&ClickRecord> = clicks
        .iter()
        .copied()
        .filter(|click| unseen.contains(&click.event_id))
        .collect();
    // A record can stand twice in one batch; it was inserted once.
    counted.sort_by_key(|click| click.event_id);
    counted.dedup_by_key(|click| click.event_id);
    extend_journeys(connection, &counted).await?;
    clicks::count(connection, &sums(&counted)).await
}

fn new_customer(click: &ClickRecord) -> NewCustomer<'_> {
    NewCustomer {
        customer_id: click.customer_id,
        program_id: click.program_id,
        click_id: click.click_id.as_str(),
        first_touch: touch(click),
    }
}

fn touch(click: &ClickRecord) -> Touch {
    Touch {
        referral_link_id: click.referral_link_id,
        clicked_at: click.clicked_at,
    }
}

async fn extend_journeys(connection: &mut PgConnection, clicks: &[&ClickRecord]) -> StorageResult<()> {
    let returning: Vec<&ClickRecord> = clicks
        .iter()
        .copied()
        .filter(|click| !click.new_customer)
        .collect();
    let ids: Vec<i64> = returning.iter().map(|click| click.customer_id.get()).collect();
    let mut customers: HashMap<CustomerId, Customer> = customers::lock(connection, &ids)
        .await?
        .into_iter()
        .map(|customer| (customer.customer_id, customer))
        .collect();
    for click in returning {
        if let Some(customer) = customers.get_mut(&click.customer_id) {
            customer.journey.touch(touch(click));
        }
    }
    customers::save_journeys(connection, &customers.values().collect::<Vec<_>>()).await
}

fn sums(clicks: &[&ClickRecord]) -> BTreeMap<i64, ClickCount> {
    let mut by_link: BTreeMap<i64, ClickCount> = BTreeMap::new();
    for click in clicks {
        let count = by_link.entry(click.referral_link_id.get()).or_insert(ClickCount {
            clicks: 0,
            last_clicked: click.clicked_at,
        });
        count.clicks += 1;
        count.last_clicked = count.last_clicked.max(click.clicked_at);
    }
    by_link
}
