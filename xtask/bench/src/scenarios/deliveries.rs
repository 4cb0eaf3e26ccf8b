//! Webhooks: how fast a backlog for many endpoints is delivered, how long a delivery takes beside a dead endpoint, and what webhooks cost the
//! pipeline.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Result, ensure};
use domain::ids::{CustomerId, ProgramId};
use domain::outbound_event::OutboundEventType;
use domain::sealed::SealingKeys;
use domain::webhook::{SigningSecret, WebhookUrl};
use domain::webhook_endpoint::{EventTypes, MAX_ENDPOINTS};
use harness::process::in_own_session;
use harness::progress::{Step, note};
use harness::services::{DELIVERY, INGEST, program};
use runtime::clock::Clock;
use serde_json::json;
use storage::outbound_events::{self, NewOutboundEvent};
use storage::webhook_endpoints::{self, EndpointSettings, NewEndpoint};
use tokio::net::TcpListener;

use super::comparison::MANY;
use crate::effort::Effort;
use crate::environment::BenchEnvironment;
use crate::load::Load;
use crate::outcome::{float, median, milliseconds};
use crate::receivers::{Receivers, Seen};
use crate::report::{Goal, Report, Row, compact};
use crate::requests::{Sales, Target};

/// Deliveries a second.
const LEAST_RATE: f64 = 2_000.0;
/// Of the sales a second without subscribers.
const LEAST_SHARE: f64 = 0.9;
const MOST_DELAY: f64 = 1.1;
const DRAIN_LIMIT: Duration = Duration::from_mins(20);
/// Of each program: events of one customer are delivered one after the other.
const CUSTOMERS: usize = 200;
const ENDPOINTS_BESIDE_A_DEAD_ONE: usize = 100;
/// Between two events of a program, while delays are measured.
const PAUSE: Duration = Duration::from_millis(250);

#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    #[arg(long, default_value_t = 1_000)]
    endpoints: usize,
    /// Of each endpoint: 1,000 unless said otherwise, 50 if quick.
    #[arg(long)]
    events: Option<usize>,
}

pub(super) fn measure(
    bench: &mut BenchEnvironment<'_>,
    options: &Options,
    effort: Effort,
    report: &mut Report,
) -> Result<()> {
    backlog(bench, options, effort, report)?;
    delay(bench, effort, report)?;
    pipeline(bench, effort, report)
}

fn backlog(
    bench: &mut BenchEnvironment<'_>,
    options: &Options,
    effort: Effort,
    report: &mut Report,
) -> Result<()> {
    let events = options.events.unwrap_or(if effort.quick { 50 } else { 1_000 });
    let receivers = bench.runtime.block_on(Receivers::start(options.endpoints))?;
    let mut rates = Vec::new();
    for round in 1..=effort.rounds() {
        let programs = subscribe(bench, &receivers.addresses)?;
        let step = Step::start(format_args!(
            "Delivering {events} events to each of {} endpoints, round {round}",
            options.endpoints
        ));
        for number in 0..events {
            add_event(bench, &programs, number)?;
        }
        start(bench)?;
        let owed = u64::try_from(options.endpoints * events)?;
        let seen = drained(bench, &receivers, owed)?;
        rates.push(seen.rate());
        step.done(format_args!("{:.0} a second", seen.rate()));
        bench.stop(DELIVERY)?;
    }
    let name = format!(
        "webhooks: {} for each of {} endpoints",
        compact(float(events.try_into()?)),
        compact(float(options.endpoints.try_into()?))
    );
    report.add(Row::of(name, median(&rates), "/s").goal(Goal::AtLeast(LEAST_RATE)));
    Ok(())
}

/// The delays of the others, with and without an endpoint that never answers.
fn delay(bench: &mut BenchEnvironment<'_>, effort: Effort, report: &mut Report) -> Result<()> {
    let length = Duration::from_secs(if effort.quick { 20 } else { 40 });
    let receivers = bench
        .runtime
        .block_on(Receivers::start(ENDPOINTS_BESIDE_A_DEAD_ONE))?;
    // Connections are accepted by the system, and nobody reads.
    let dead = bench.runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
    let (mut alone, mut beside) = (Vec::new(), Vec::new());
    for round in 1..=effort.rounds() {
        for (is_dead, delays) in [(false, &mut alone), (true, &mut beside)] {
            let step = Step::start(format_args!(
                "Delays to {ENDPOINTS_BESIDE_A_DEAD_ONE} endpoints, round {round}"
            ));
            let mut addresses = receivers.addresses.clone();
            if let (true, Some(first)) = (is_dead, addresses.first_mut()) {
                *first = dead.local_addr()?;
            }
            let programs = subscribe(bench, &addresses)?;
            start(bench)?;
            let pauses = usize::try_from(length.as_millis() / PAUSE.as_millis())?;
            for number in 0..pauses {
                add_event(bench, &programs, number)?;
                bench.interrupt.wait_until(PAUSE, || Ok(false))?;
            }
            bench.stop(DELIVERY)?;
            let seen = receivers.take();
            ensure!(seen.count > 0, "nothing arrived");
            let [p50, p99] = [0.5, 0.99]
                .map(|quantile| milliseconds(Duration::from_micros(seen.delays.value_at_quantile(quantile))));
            step.done(format_args!(
                "{}: p50 {p50:.0} ms, p99 {p99:.0} ms of {}",
                if is_dead { "one of them dead" } else { "all alive" },
                seen.count
            ));
            delays.push(p99);
        }
    }
    let name = "webhooks: delay with one of a hundred endpoints dead: p99";
    report.add(Row::of(name, median(&beside), "ms").against_rounds(
        "all alive",
        &beside,
        &alone,
        Goal::AtMost(MOST_DELAY),
    ));
    Ok(())
}

/// What becomes of the events of sales.
#[derive(Debug, Clone, Copy)]
enum Subscribers {
    None,
    Written,
    Delivered,
}

impl Subscribers {
    /// Each twice, the second time in reverse order: tables that grow meanwhile slow all of them alike.
    const ROUND: [Self; 6] = [
        Self::None,
        Self::Written,
        Self::Delivered,
        Self::Delivered,
        Self::Written,
        Self::None,
    ];
}

/// Sales a second: without subscribers, while events are written, and while they are delivered, too.
fn pipeline(bench: &mut BenchEnvironment<'_>, effort: Effort, report: &mut Report) -> Result<()> {
    let length = Duration::from_secs(if effort.quick { 4 } else { 8 });
    bench.start("worker", "worker")?;
    let ingest = bench.start(INGEST, INGEST)?;
    let receivers = bench
        .runtime
        .block_on(Receivers::start(bench.market.program_ids.len()))?;
    let mut rates: [Vec<f64>; 3] = Default::default();
    // The first tables are empty, and so is every cache.
    for round in 0..=effort.rounds() {
        let mut of_round = [0.0; 3];
        for (run, subscribers) in Subscribers::ROUND.into_iter().enumerate() {
            let load = Load::closed(ingest, MANY, length);
            let rate = sales(bench, &receivers, &load, subscribers, &format!("w{round}-{run}"))?;
            if let Some(mean) = of_round.get_mut(subscribers as usize) {
                *mean += rate / 2.0;
            }
        }
        if round > 0 {
            rates
                .iter_mut()
                .zip(of_round)
                .for_each(|(rates, rate)| rates.push(rate));
        }
    }
    let [without, written, delivered] = &rates;
    for (name, rates, goal) in [
        ("webhooks: sales while events are written", written, LEAST_SHARE),
        ("webhooks: sales while events are delivered, too", delivered, 0.0),
    ] {
        report.add(Row::of(name, median(rates), "/s").against_rounds(
            "without subscribers",
            rates,
            without,
            Goal::AtLeast(goal),
        ));
    }
    Ok(())
}

/// How many a second.
fn sales(
    bench: &mut BenchEnvironment<'_>,
    receivers: &Receivers,
    load: &Load,
    subscribers: Subscribers,
    run: &str,
) -> Result<f64> {
    let is_wanted = !matches!(subscribers, Subscribers::None);
    let is_sent = matches!(subscribers, Subscribers::Delivered);
    let addresses = if is_wanted { &receivers.addresses[..] } else { &[] };
    subscribe(bench, addresses)?;
    if is_sent {
        start(bench)?;
    }
    bench.settle()?;
    let market = bench.market.clone();
    let outcome = bench
        .run(load, &mut Sales::new(&market, Target::Spread, run))?
        .outcome;
    bench.settle()?;
    let events = bench.count("SELECT count(*) FROM outbound_events")?;
    ensure!(is_wanted == (events > 0), "{events} events were written");
    note(format_args!(
        "{subscribers:?}: {:.0} sales a second ({}), {events} events, {:.0} webhooks a second",
        outcome.rate(),
        outcome.losses(),
        receivers.take().rate()
    ));
    if is_sent {
        bench.stop(DELIVERY)?;
    }
    Ok(outcome.rate())
}

/// Replaces all endpoints, and all outbound events, by endpoints of every type of event at these addresses. Returns their programs.
fn subscribe(bench: &BenchEnvironment<'_>, addresses: &[SocketAddr]) -> Result<Vec<ProgramId>> {
    let keys = bench.sealing_keys()?;
    let programs: Vec<ProgramId> = bench
        .market
        .program_ids
        .iter()
        .copied()
        .map(ProgramId::new)
        .collect();
    ensure!(
        addresses.len() <= programs.len() * MAX_ENDPOINTS,
        "the market has programs for {} endpoints",
        programs.len() * MAX_ENDPOINTS
    );
    bench.runtime.block_on(async {
        let mut transaction = bench.pool.begin().await?;
        sqlx::raw_sql(
            "TRUNCATE outbound_events, webhook_queue, webhook_deliveries;
             DELETE FROM webhook_endpoints;
             UPDATE programs SET wanted_events = 0 WHERE wanted_events <> 0",
        )
        .execute(&mut *transaction)
        .await?;
        for (address, program_id) in addresses.iter().zip(programs.iter().cycle()) {
            add_endpoint(&mut transaction, &keys, *program_id, *address).await?;
        }
        transaction.commit().await?;
        sqlx::raw_sql("VACUUM (ANALYZE) webhook_endpoints, programs, outbound_events, webhook_queue, webhook_deliveries")
            .execute(&bench.pool)
            .await?;
        anyhow::Ok(())
    })?;
    bench.checkpoint()?;
    Ok(programs.into_iter().take(addresses.len()).collect())
}

async fn add_endpoint(
    connection: &mut sqlx::PgConnection,
    keys: &SealingKeys,
    program_id: ProgramId,
    address: SocketAddr,
) -> Result<()> {
    let every_type = OutboundEventType::ALL.map(OutboundEventType::as_str);
    let settings = EndpointSettings {
        url: WebhookUrl::parse(&format!("http://{address}/"), true)?,
        description: None,
        event_types: EventTypes::parse(every_type)?,
    };
    let endpoint_id = webhook_endpoints::draw_id(connection).await?;
    let secret = SigningSecret::generate([7; 32]);
    // A fixed nonce: the secret is public.
    let sealed = keys.seal(secret.expose(), &SigningSecret::purpose(endpoint_id), [7; 24])?;
    let endpoint = NewEndpoint {
        endpoint_id,
        program_id,
        settings: &settings,
        secret_sealed: &sealed,
        created_at: Clock::system().now(),
    };
    Ok(webhook_endpoints::create(connection, &endpoint).await?)
}

/// Adds an event to each program, of its customers in turn.
fn add_event(bench: &BenchEnvironment<'_>, programs: &[ProgramId], number: usize) -> Result<()> {
    let clock = Clock::system();
    let now = clock.now();
    let customer = i64::try_from(number % CUSTOMERS)?;
    let events: Vec<NewOutboundEvent> = programs
        .iter()
        .map(|program_id| NewOutboundEvent {
            event_id: clock.mint(),
            program_id: *program_id,
            event_type: OutboundEventType::SaleRecorded,
            customer_id: Some(CustomerId::new(program_id.get() * 1_000 + customer)),
            occurred_at: now,
            body: json!({
                "type": "sale.recorded",
                "timestamp": now,
                "data": {
                    "program_id": program_id,
                    "partner_id": 1_234_567,
                    "customer_key": "customer-4711",
                    "transaction_id": "order-00007-00001234",
                    "amount_cents": 4_900,
                    "currency": "USD",
                    "metadata": { "plan": "pro", "seats": 5, "note": "as long as usual metadata of a sale" },
                }
            })
            .to_string(),
        })
        .collect();
    bench.runtime.block_on(async {
        let mut connection = bench.pool.acquire().await?;
        outbound_events::add(&mut connection, &events).await?;
        anyhow::Ok(())
    })
}

fn start(bench: &mut BenchEnvironment<'_>) -> Result<()> {
    let worker = in_own_session(bench.checkout.bin_dir.join(program(DELIVERY)));
    bench.start_by(DELIVERY, worker)?;
    Ok(())
}

/// Waits until everything has arrived, and is written down as delivered.
fn drained(bench: &mut BenchEnvironment<'_>, receivers: &Receivers, owed: u64) -> Result<Seen> {
    let has_arrived = bench.interrupt.wait_until(DRAIN_LIMIT, || {
        bench.running.check()?;
        Ok(receivers.count() >= owed && bench.count("SELECT count(*) FROM webhook_queue")? == 0)
    })?;
    let seen = receivers.take();
    ensure!(has_arrived, "{} of {owed} webhooks arrived", seen.count);
    let delivered = bench.count("SELECT count(*) FROM webhook_deliveries WHERE state = 'delivered'")?;
    ensure!(delivered == owed, "{delivered} of {owed} were delivered");
    Ok(seen)
}
