//! `ctl feed-demo`: gives the demo program a history. It publishes records of earlier days to the streams,
//! and the workers process them like all others. So the ledger is consistent, whatever the history contains.
//!
//! Clicks, leads, sales and refunds follow each other, because a lead needs its click and a refund its sale.
//! After each noun the command waits until the rollups contain all of its records.

use std::time::Duration;

use anyhow::{Context, ensure};
use bus::connect::connect;
use bus::publish::Publisher;
use bus::topology::Topology;
use chrono::{DateTime, Utc};
use clap::Args;
use domain::earnings::refund::{RefundKey, RefundRequest};
use domain::ids::{CustomerId, EventId, ProgramId, ReferralLinkId};
use domain::money::{AmountCents, Currency};
use domain::text::{CustomerKey, LongText, RefundReason, SubscriptionId, TransactionId};
use domain::token::ProgramToken;
use domain::tracking::click::Visit;
use domain::tracking::click_id::{ClickId, ClickIdCodec};
use domain::tracking::lead::{Lead, LeadMode};
use domain::tracking::sale::{Sale, SaleType, SubscriptionInterval};
use domain::tracking::visitor::CountryCode;
use messages::click::ClickRecord;
use messages::lead::LeadRecord;
use messages::refund::RefundRecord;
use messages::sale::SaleRecord;
use messages::subject::Subject;
use runtime::clock::Clock;
use runtime::config::{KeysConfig, NatsConfig};
use runtime::lifecycle::Lifecycle;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use sqlx::PgPool;
use storage::money::commissions;
use storage::operations::partitions;
use storage::page::Window;
use storage::program::{directory, links};
use storage::reads::rollups;
use storage::tracking::claims::{self, NewClaim};
use storage::tracking::customer_ids;

use super::chance::Chance;
use super::past::{PastSale, Traffic, Visitor, visitors};

const SEED: u64 = 20_261_121;
/// Number of records published together.
const PACK: usize = 256;
const LOOK_EVERY: Duration = Duration::from_millis(200);
const SETTLED_WITHIN: Duration = Duration::from_mins(2);
/// Each link's share of the traffic in percent, oldest link first.
const SHARES: [u32; 6] = [34, 22, 16, 13, 9, 6];
const COUNTRIES: [(&str, u32); 8] = [
    ("US", 30),
    ("DE", 18),
    ("GB", 14),
    ("AT", 9),
    ("FR", 9),
    ("NL", 7),
    ("CA", 7),
    ("BR", 6),
];
const AGENTS: [(&str, u32); 5] = [
    (
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36",
        34,
    ),
    (
        "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1",
        28,
    ),
    (
        "Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Mobile Safari/537.36",
        20,
    ),
    (
        "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Safari/605.1.15",
        12,
    ),
    (
        "Mozilla/5.0 (X11; Linux x86_64; rv:142.0) Gecko/20100101 Firefox/142.0",
        6,
    ),
];
const REASONS: [&str; 3] = ["Requested by the customer", "Duplicate order", "Not as expected"];

#[derive(Debug, Args)]
pub struct FeedDemo {
    /// The demo program's tracking token
    #[arg(long, env = "DEMO_API_KEY", hide_env_values = true)]
    api_key: String,
    /// Length of the history in days
    #[arg(long, default_value_t = 90, value_parser = clap::value_parser!(u32).range(1..=365))]
    days: u32,
    #[command(flatten, next_help_heading = "Message bus")]
    nats: NatsConfig,
    #[command(flatten, next_help_heading = "Keys")]
    keys: KeysConfig,
}

impl FeedDemo {
    /// Returns one line that describes the result. A program that already has events stays unchanged.
    pub async fn run(self, pool: &PgPool) -> anyhow::Result<Vec<String>> {
        let now = Clock::system().now();
        let token = ProgramToken::parse(&self.api_key).context("DEMO_API_KEY is no program's key")?;
        let found = directory::program_ids_by_token(pool, &[token.hash()]).await?;
        let program_id = ProgramId::new(*found.first().context("no program has this key")?);
        if settled(pool, program_id, now).await?.clicks > 0 {
            return Ok(vec!["the demo program has events already".to_owned()]);
        }
        let first_day = (now - chrono::TimeDelta::days(i64::from(self.days) + 1)).date_naive();
        let months = i32::try_from(self.days / 28 + 3)?;
        partitions::ensure(pool, first_day, months).await?;
        let links = links_of(pool, program_id).await?;
        let traffic = Traffic {
            links: SHARES.get(..links.len().min(SHARES.len())).unwrap_or_default(),
            agents: &AGENTS.map(|(_, weight)| weight),
            countries: &COUNTRIES.map(|(_, weight)| weight),
        };
        let visitors = visitors(&traffic, self.days, now, &mut Chance::new(SEED));
        let past = self.records(pool, program_id, &links, &visitors).await?;
        let feed = Feed::open(&self.nats, pool.clone(), program_id, now).await?;
        feed.all(&past).await
    }

    async fn records(
        &self,
        pool: &PgPool,
        program_id: ProgramId,
        links: &[ReferralLinkId],
        visitors: &[Visitor],
    ) -> anyhow::Result<Past> {
        let codec = ClickIdCodec::from(self.keys.click_id_keys());
        let ids = customer_ids::lease(pool).await?;
        let mut past = Past::default();
        for (visitor, id) in visitors.iter().zip(ids) {
            let customer_id = CustomerId::new(id);
            let click_id = codec.encode(customer_id, visitor.clicked_at.timestamp_millis());
            let link = links.get(visitor.link).context("a link is missing")?;
            past.clicks
                .push(click(program_id, *link, customer_id, &click_id, visitor)?);
            let Some(led_at) = visitor.led_at else { continue };
            let number = past.leads.len() + 1;
            let customer_key = CustomerKey::parse(&format!("customer-{number}"))?;
            past.leads.push(LeadRecord {
                event_id: event_id(led_at),
                led_at,
                lead: Lead {
                    mode: LeadMode::Server { program_id },
                    click_id: Some(click_id),
                    customer_key: Some(customer_key.clone()),
                    email_hash: None,
                    event_name: None,
                },
                one_of_many: false,
            });
            for (payment, sale) in visitor.sales.iter().enumerate() {
                past.sell(program_id, &customer_key, number, payment, sale)?;
            }
        }
        past.sales.sort_by_key(|sale| sale.sold_at);
        Ok(past)
    }
}

#[derive(Debug, Default)]
struct Past {
    clicks: Vec<ClickRecord>,
    leads: Vec<LeadRecord>,
    sales: Vec<SaleRecord>,
    refunds: Vec<RefundRecord>,
}

impl Past {
    fn sell(
        &mut self,
        program_id: ProgramId,
        customer_key: &CustomerKey,
        customer: usize,
        payment: usize,
        sale: &PastSale,
    ) -> anyhow::Result<()> {
        let transaction_id = TransactionId::parse(&format!("order-{program_id}-{customer}-{}", payment + 1))?;
        let subscription = format!("subscription-{program_id}-{customer}");
        let subscription_id = sale
            .subscribes
            .then(|| SubscriptionId::parse(&subscription))
            .transpose()?;
        self.sales.push(SaleRecord {
            event_id: event_id(sale.sold_at),
            sold_at: sale.sold_at,
            program_id,
            sale: Sale {
                transaction_id: transaction_id.clone(),
                amount: AmountCents::new(sale.cents).context("an amount out of range")?,
                commissionable: None,
                currency: Currency::default(),
                customer_key: Some(customer_key.clone()),
                click_id: None,
                processor_customer: None,
                sale_type: if sale.subscribes {
                    SaleType::Subscription
                } else {
                    SaleType::Payment
                },
                is_recurring: payment > 0,
                subscription_interval: subscription_id.is_some().then_some(SubscriptionInterval::Monthly),
                subscription_id,
                product_id: None,
                line_items: None,
            },
            from_processor: false,
        });
        if let Some(refund) = &sale.refund {
            let amount = refund.cents.and_then(AmountCents::new);
            let reason = REASONS.get(customer % REASONS.len()).copied().unwrap_or_default();
            self.refunds.push(RefundRecord {
                event_id: event_id(refund.refunded_at),
                refunded_at: refund.refunded_at,
                program_id,
                transaction_id,
                request: RefundRequest::Delta {
                    key: RefundKey::for_delta(None, amount),
                    amount,
                },
                refund_reason: Some(RefundReason::parse(reason)?),
            });
        }
        Ok(())
    }
}

fn click(
    program_id: ProgramId,
    referral_link_id: ReferralLinkId,
    customer_id: CustomerId,
    click_id: &ClickId,
    visitor: &Visitor,
) -> anyhow::Result<ClickRecord> {
    let (agent, _) = AGENTS.get(visitor.agent).copied().unwrap_or_default();
    let (country, _) = COUNTRIES.get(visitor.country).copied().unwrap_or_default();
    Ok(ClickRecord {
        event_id: event_id(visitor.clicked_at),
        clicked_at: visitor.clicked_at,
        program_id,
        referral_link_id,
        customer_id,
        click_id: click_id.clone(),
        new_customer: true,
        previous_click_id: None,
        visit: Visit {
            page_url: Some(LongText::parse("https://shop.example/")?),
            user_agent: Some(LongText::parse(agent)?),
            ..Visit::default()
        },
        client_ip: None,
        country_hint: CountryCode::parse(country),
    })
}

fn event_id(at: DateTime<Utc>) -> EventId {
    EventId::new(Clock::manual(at).mint())
}

/// Links of approved partners, oldest first.
async fn links_of(pool: &PgPool, program_id: ProgramId) -> anyhow::Result<Vec<ReferralLinkId>> {
    let window = Window {
        limit: i64::try_from(SHARES.len())?,
        ..Window::EVERYTHING
    };
    let filter = links::list::Filter::default();
    let (listed, _) =
        links::list::page(&mut *pool.acquire().await?, program_id, &filter, None, window).await?;
    let mut ids: Vec<ReferralLinkId> = listed.into_iter().map(|link| link.referral_link_id).collect();
    ids.sort_unstable();
    ensure!(!ids.is_empty(), "the demo program has no link");
    Ok(ids)
}

/// The sums of a program's rollups.
#[derive(Debug, Default, Clone, Copy)]
struct Settled {
    clicks: i64,
    leads: i64,
    sales: i64,
}

async fn settled(pool: &PgPool, program_id: ProgramId, now: DateTime<Utc>) -> anyhow::Result<Settled> {
    let mut connection = pool.acquire().await?;
    let first = (now - chrono::TimeDelta::days(400)).date_naive();
    let days = rollups::program_days(&mut connection, &[program_id.get()], first, now.date_naive()).await?;
    Ok(days.iter().fold(Settled::default(), |sum, day| Settled {
        clicks: sum.clicks + day.sums.clicks,
        leads: sum.leads + day.sums.leads,
        sales: sum.sales + day.sums.sales,
    }))
}

struct Feed {
    pool: PgPool,
    program_id: ProgramId,
    now: DateTime<Utc>,
    bus: bus::connect::Bus,
    topology: Topology,
    lifecycle: Lifecycle,
}

impl Feed {
    async fn open(
        nats: &NatsConfig,
        pool: PgPool,
        program_id: ProgramId,
        now: DateTime<Utc>,
    ) -> anyhow::Result<Self> {
        Ok(Self {
            pool,
            program_id,
            now,
            bus: connect(nats, "ctl").await?,
            topology: Topology::from(nats),
            lifecycle: Lifecycle::new(),
        })
    }

    async fn all(&self, past: &Past) -> anyhow::Result<Vec<String>> {
        let count = |records: usize| i64::try_from(records).unwrap_or(i64::MAX);
        let (clicks, leads, sales) = (
            count(past.clicks.len()),
            count(past.leads.len()),
            count(past.sales.len()),
        );
        self.publish(Subject::Clicks, &past.clicks).await?;
        self.wait("clicks", |settled| settled.clicks >= clicks).await?;
        self.publish(Subject::Leads, &past.leads).await?;
        self.wait("leads", |settled| settled.leads >= leads).await?;
        let mut sold = 0;
        // In sequence: commissions are listed in the order in which they were recorded.
        for pack in past.sales.chunks(PACK) {
            let claims: Vec<NewClaim> = pack.iter().map(claim).collect::<Result<_, _>>()?;
            claims::claim(&self.pool, &claims).await?;
            self.publish(Subject::Sales, pack).await?;
            sold += count(pack.len());
            self.wait("sales", |settled| settled.sales >= sold).await?;
        }
        // A worker would approve them within a minute, but the demo pays some of them earlier.
        let clock = Clock::system();
        commissions::approve_held(&self.pool, self.now, sales, || EventId::new(clock.mint())).await?;
        self.publish(Subject::Refunds, &past.refunds).await?;
        Ok(vec![format!(
            "{clicks} clicks, {leads} leads, {sales} sales and {} refunds",
            past.refunds.len()
        )])
    }

    async fn publish<R: Serialize>(&self, subject: Subject, records: &[R]) -> anyhow::Result<()> {
        let tasks = self.lifecycle.tasks();
        let publisher = Publisher::spawn(tasks, self.bus.jetstream.clone(), &self.topology, subject, None);
        for pack in records.chunks(PACK) {
            let encoded: Vec<Box<RawValue>> = pack.iter().map(to_raw_value).collect::<Result<_, _>>()?;
            publisher.publish_packed(&encoded, None).await?;
        }
        Ok(())
    }

    async fn wait(&self, noun: &str, is_done: impl Fn(Settled) -> bool) -> anyhow::Result<()> {
        let looks = SETTLED_WITHIN.as_millis() / LOOK_EVERY.as_millis();
        for _ in 0..looks {
            if is_done(settled(&self.pool, self.program_id, self.now).await?) {
                return Ok(());
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        anyhow::bail!("the {noun} of the demo are not settled: is a worker running?")
    }
}

fn claim(record: &SaleRecord) -> anyhow::Result<NewClaim> {
    Ok(NewClaim {
        transaction_id: record.sale.transaction_id.as_str().to_owned(),
        program_id: record.program_id,
        event_id: record.event_id,
        reply_to: None,
        payload: serde_json::to_string(record)?,
    })
}
