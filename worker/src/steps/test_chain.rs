//! Test chains: a synthetic click, lead and sale run through the same steps as real ones, and leave only test
//! rows.
//!
//! Phases of one chain:
//!
//! 1. Find a *link* of the program.
//! 2. Run the real steps in order within a *savepoint*, and look at the result of each.
//! 3. Roll back to the savepoint. This removes everything (customer, counters, claim, commission, ledger,
//!    balances) and releases the locked rows.
//! 4. Insert *test rows*, and the first proof that the chain works.
//!
//! The synthetic records have event ids of their own, so that a second delivery conflicts only with the test
//! rows of the first.

use std::collections::{HashMap, HashSet};

use bus::consume::Delivered;
use domain::ids::{CustomerId, EventId, PartnerId};
use domain::money::{AmountCents, Currency};
use domain::tracking::click::Visit;
use domain::tracking::lead::{Lead, LeadMode};
use domain::tracking::sale::{Sale, SaleType};
use domain::tracking::test_chain::{ChainVerdict, TestEventType, TestRun, Verdict};
use messages::click::ClickRecord;
use messages::lead::{LeadOutcome, LeadRecord};
use messages::sale::{NoCommission, SaleOutcome, SaleRecord};
use messages::subject::Subject;
use messages::test_chain::{TestChainOutcome, TestChainRecord};
use runtime::clock::Clock;
use sqlx::{Connection, PgConnection};
use storage::StorageResult;
use storage::program::links::{self, Memberships};
use storage::tracking::claims::{self, NewClaim};
use storage::tracking::customers;
use storage::tracking::test_chains::{self, ChainLink};

use super::lead::LeadStep;
use super::sale::SaleStep;
use super::transaction::{BatchResult, TransactionalStep, records};
use super::{StepContext, click};

/// The synthetic payment: ten dollars.
const AMOUNT: AmountCents = match AmountCents::new(1000) {
    Some(amount) => amount,
    None => unreachable!(),
};

#[derive(Debug)]
pub struct TestChainStep {
    context: StepContext,
    leads: LeadStep,
    sales: SaleStep,
}

impl TransactionalStep for TestChainStep {
    type Record = TestChainRecord;
    type Prepared = ();
    type Outcome = TestChainOutcome;
    const SUBJECT: Subject = Subject::TestChains;

    async fn process(
        &self,
        connection: &mut PgConnection,
        batch: &[Delivered<TestChainRecord>],
        (): (),
    ) -> StorageResult<BatchResult<TestChainOutcome>> {
        let mut outcomes = HashMap::new();
        for record in records(batch) {
            outcomes.insert(record.event_id, self.try_out(connection, record).await?);
        }
        Ok(BatchResult::of(outcomes))
    }
}

impl TestChainStep {
    pub fn new(context: StepContext) -> Self {
        Self {
            leads: LeadStep(context.clone()),
            sales: SaleStep(context.clone()),
            context,
        }
    }

    async fn try_out(
        &self,
        connection: &mut PgConnection,
        record: &TestChainRecord,
    ) -> StorageResult<TestChainOutcome> {
        let link = test_chains::link(connection, record.program_id).await?;
        match (record.run, link) {
            (TestRun::Chain, Some(link)) => self.chain(connection, record, link).await,
            (TestRun::Chain, None) => Ok(TestChainOutcome::Chain {
                short_code: None,
                verdict: ChainVerdict::uniform(Verdict::Unattributed),
            }),
            (TestRun::Event(kind), link) => {
                let received = single_event(connection, record, kind, link.as_ref()).await?;
                Ok(TestChainOutcome::Event { received })
            }
        }
    }

    async fn chain(
        &self,
        connection: &mut PgConnection,
        record: &TestChainRecord,
        link: ChainLink,
    ) -> StorageResult<TestChainOutcome> {
        let mut savepoint = connection.begin().await?;
        let verdict = self.run_steps(&mut savepoint, record, &link).await?;
        savepoint.rollback().await?;
        test_chains::insert_click(connection, record, link.referral_link_id).await?;
        test_chains::insert_lead(connection, record).await?;
        test_chains::insert_sale(connection, record, AMOUNT.get()).await?;
        if verdict.is_attributed() {
            test_chains::verified(connection, record.program_id, record.started_at).await?;
        }
        Ok(TestChainOutcome::Chain {
            short_code: Some(link.short_code),
            verdict,
        })
    }

    /// Runs the real steps in order. The caller rolls back their rows.
    async fn run_steps(
        &self,
        connection: &mut PgConnection,
        record: &TestChainRecord,
        link: &ChainLink,
    ) -> StorageResult<ChainVerdict> {
        let SyntheticChain { click, lead, sale } = SyntheticChain::new(record, link, &self.context.clock);
        click::store(
            connection,
            &self.context,
            &[&click],
            &click::Prepared::of_nobody(),
        )
        .await?;
        let attribution = Verdict::of(
            link.partner_id,
            &last_click_partners(connection, record.customer_id).await?,
        );
        // The click is stored, so no record waits for it.
        let waited = HashSet::new();
        let led = self.leads.track(connection, &[&lead], &waited).await?;
        claims::claim(&mut *connection, &[claim(&sale)]).await?;
        let sold = self.sales.record(connection, &[&sale], &waited).await?;
        Ok(ChainVerdict {
            click: attribution,
            lead: match led.get(&lead.event_id) {
                Some(LeadOutcome::Tracked) => attribution,
                Some(LeadOutcome::Provisional) | None => Verdict::Pending,
                Some(LeadOutcome::Refused(_)) => Verdict::Unattributed,
            },
            sale: match sold.outcomes.get(&sale.event_id) {
                // A sale on which no commission is due names no partner; it gets the verdict of its click.
                Some(SaleOutcome::Recorded {
                    no_commission: Some(NoCommission::NothingDue(_)),
                    ..
                }) => attribution,
                Some(SaleOutcome::Recorded { sale_id, .. }) => Verdict::of(
                    link.partner_id,
                    &test_chains::commission_partners(connection, *sale_id).await?,
                ),
                Some(
                    SaleOutcome::WindowExpired { .. } | SaleOutcome::Refused(_) | SaleOutcome::Duplicate,
                ) => Verdict::Unattributed,
                None => Verdict::Pending,
            },
        })
    }
}

/// The partners of the customer's last click. The synthetic customer has one click, so every attribution
/// model credits the same link.
async fn last_click_partners(
    connection: &mut PgConnection,
    customer_id: CustomerId,
) -> StorageResult<Vec<PartnerId>> {
    let customers = customers::lock(connection, &[customer_id.get()]).await?;
    let clicked: Vec<i64> = customers
        .iter()
        .map(|customer| customer.journey.last().referral_link_id.get())
        .collect();
    let owners = links::owners(connection, &clicked, Memberships::Approved)
        .await?
        .links;
    Ok(owners
        .values()
        .filter_map(|owner| owner.membership?.partner_id)
        .collect())
}

/// A test event that is only stored. A click also needs a link.
async fn single_event(
    connection: &mut PgConnection,
    record: &TestChainRecord,
    kind: TestEventType,
    link: Option<&ChainLink>,
) -> StorageResult<bool> {
    match (kind, link) {
        (TestEventType::Click, None) => return Ok(false),
        (TestEventType::Click, Some(link)) => {
            test_chains::insert_click(connection, record, link.referral_link_id).await?;
        }
        (TestEventType::Lead, _) => test_chains::insert_lead(connection, record).await?,
        (TestEventType::Sale, _) => test_chains::insert_sale(connection, record, AMOUNT.get()).await?,
    }
    Ok(true)
}

/// The records that real calls would have published.
struct SyntheticChain {
    click: ClickRecord,
    lead: LeadRecord,
    sale: SaleRecord,
}

impl SyntheticChain {
    fn new(record: &TestChainRecord, link: &ChainLink, clock: &Clock) -> Self {
        let program_id = record.program_id;
        Self {
            click: ClickRecord {
                event_id: EventId::new(clock.mint()),
                clicked_at: record.started_at,
                program_id,
                referral_link_id: link.referral_link_id,
                customer_id: record.customer_id,
                click_id: record.click_id.clone(),
                new_customer: true,
                previous_click_id: None,
                client_ip: None,
                country_hint: None,
                visit: Visit::default(),
            },
            lead: LeadRecord {
                event_id: EventId::new(clock.mint()),
                led_at: record.started_at,
                lead: Lead {
                    mode: LeadMode::Server { program_id },
                    click_id: Some(record.click_id.clone()),
                    customer_key: Some(record.customer_key.clone()),
                    email_hash: None,
                    event_name: None,
                },
                one_of_many: false,
            },
            sale: SaleRecord {
                event_id: EventId::new(clock.mint()),
                sold_at: record.started_at,
                program_id,
                from_processor: false,
                sale: Sale {
                    transaction_id: record.transaction_id.clone(),
                    amount: AMOUNT,
                    commissionable: None,
                    currency: Currency::default(),
                    customer_key: Some(record.customer_key.clone()),
                    click_id: None,
                    processor_customer: None,
                    sale_type: SaleType::Payment,
                    is_recurring: false,
                    subscription_id: None,
                    subscription_interval: None,
                    product_id: None,
                    line_items: None,
                },
            },
        }
    }
}

/// The claim that ingest would have made. It is rolled back before a relay can see it.
fn claim(sale: &SaleRecord) -> NewClaim {
    NewClaim {
        transaction_id: sale.sale.transaction_id.as_str().to_owned(),
        program_id: sale.program_id,
        event_id: sale.event_id,
        reply_to: None,
        payload: String::new(),
    }
}
