//! Concurrent visitors who click, sign up, pay and are refunded, and retry unknown outcomes.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;
use runtime::clock::Clock;
use serde_json::json;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use super::http::{self, Request};
use super::journal::{Answer, Asked, Event, Journal};
use super::market::Market;
use super::processor;
use super::rng::Rng;

mod crowds;
mod payments;
pub(super) mod subscriber;

pub(super) use self::crowds::{buy_regularly, click_often, keep_buying};
pub(super) use self::payments::resend;

/// Concurrent visitors.
const FEW: u64 = 10;
/// Enough to saturate two cores, and few enough that a debug build answers within its deadline.
const MANY: u64 = 48;
/// Attempts of one request.
const TRIES: u64 = 5;

/// How visitors handle an unknown outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RetryBehaviour {
    /// Most retry after a while.
    Patient,
    /// They retry once, at the other ingest.
    OnceMore,
}

/// The rate of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Load {
    /// Visitors pause between two requests.
    Leisurely,
    /// The next request follows the answer at once.
    Full,
}

impl Load {
    pub(super) const fn visitors(self) -> u64 {
        match self {
            Self::Leisurely => FEW,
            Self::Full => MANY,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    Load,
    /// Nothing new is started.
    Closing,
}

/// The shared state of a round's visitors.
#[derive(Debug)]
pub(super) struct Simulation {
    pub(super) journal: Journal,
    pub(super) ingests: [SocketAddr; 2],
    pub(super) webhook_consumer: SocketAddr,
    pub(super) market: Market,
    pub(super) seed: u64,
    pub(super) hang_ups: u64,
    pub(super) retries: RetryBehaviour,
    pub(super) load: Load,
    pub(super) phase: watch::Receiver<Phase>,
    /// Requests whose single retry failed.
    pub(super) complaints: Mutex<Vec<String>>,
}

/// Runs one visitor until the load is over.
pub(super) async fn visit(simulation: Arc<Simulation>, number: u64) -> Result<()> {
    let mut visitor = Visitor::new(simulation, number + 1, &number.to_string());
    while visitor.goes_on() {
        visitor.be_a_customer().await?;
    }
    Ok(())
}

/// Creates one customer through each ingest, so that both know the program; returns a customer_key.
pub(super) async fn warm_up(simulation: Arc<Simulation>) -> Result<Option<String>> {
    let mut known = None;
    for (number, ingest) in simulation.ingests.into_iter().enumerate() {
        let mut visitor = Visitor::new(
            Arc::clone(&simulation),
            1_000 + number as u64,
            &format!("w{number}"),
        );
        known = visitor.sign_up(Some(ingest)).await?;
    }
    Ok(known)
}

/// Retries a sale until it is answered 200; returns how long that took.
pub(super) async fn probe(
    simulation: Arc<Simulation>,
    customer_key: String,
    limit: Duration,
) -> Result<Option<Duration>> {
    let started = Instant::now();
    let mut number: usize = 0;
    while started.elapsed() < limit {
        let sale = Asked::Sale {
            transaction_id: format!("{}-probe-{number}", simulation.market.program_id),
            customer_key: customer_key.clone(),
            amount_cents: 1_000,
        };
        let ingest = simulation
            .ingests
            .get(number % 2)
            .copied()
            .unwrap_or(simulation.ingests[0]);
        if simulation.ask(&sale, ingest, None).await?.is_ok() {
            return Ok(Some(started.elapsed()));
        }
        number += 1;
        sleep(Duration::from_millis(50)).await;
    }
    Ok(None)
}

/// Everybody's: workers store it once.
const BROWSER: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0";

impl Simulation {
    /// Sends one request, and records it with its answer.
    async fn ask(&self, asked: &Asked, to: SocketAddr, hangs_up_at: Option<u64>) -> Result<Answer> {
        let request = self.request(asked, hangs_up_at);
        let call = self.journal.ask(&to.to_string(), asked)?;
        let answer = http::send(to, &request).await;
        self.journal.answer(call, &answer)?;
        Ok(answer)
    }

    fn request(&self, asked: &Asked, hangs_up_at: Option<u64>) -> Request {
        let (route, body) = match asked {
            Asked::Click { code } => (
                "click",
                json!({
                    "affiliate_url": format!("https://shop.example/?aff={code}"), "user_agent": BROWSER, "page_title": "Prices of the shop",
                }),
            ),
            Asked::Lead {
                click_id,
                customer_key,
            } => (
                "lead",
                json!({ "click_id": click_id, "customer_key": customer_key }),
            ),
            Asked::Sale {
                transaction_id,
                customer_key,
                amount_cents,
            } => (
                "sale",
                json!({
                    "transaction_id": transaction_id, "customer_key": customer_key, "amount_cents": amount_cents,
                }),
            ),
            Asked::Refund {
                transaction_id,
                refund_id,
                amount_cents,
            } => (
                "refund",
                json!({
                    "transaction_id": transaction_id, "refund_id": refund_id,
                    "refund_amount_cents": amount_cents.unwrap_or(0),
                }),
            ),
            Asked::Event(event) => return self.event(event, hangs_up_at),
        };
        let headers = match asked {
            Asked::Click { .. } => Vec::new(),
            _ => vec![format!("Authorization: Bearer {}", self.market.token)],
        };
        Request {
            path: format!("/api/v1/track/{route}"),
            headers,
            body: body.to_string(),
            hangs_up_at,
        }
    }

    fn event(&self, event: &Event, hangs_up_at: Option<u64>) -> Request {
        let now = Clock::system().now().timestamp();
        let body = processor::body(event, now);
        Request {
            path: format!("/webhooks/stripe/{}", self.market.program_id),
            headers: processor::signature(&self.market.secret, now, &body)
                .into_iter()
                .collect(),
            body,
            hangs_up_at,
        }
    }
}

struct Visitor {
    simulation: Arc<Simulation>,
    rng: Rng,
    name: String,
    names: u64,
}

impl Visitor {
    /// `sequence`: of the round's random numbers. `name`: unlike any other visitor's.
    fn new(simulation: Arc<Simulation>, sequence: u64, name: &str) -> Self {
        Self {
            rng: Rng::of(simulation.seed, sequence),
            name: format!("{}-{name}", simulation.market.program_id),
            names: 0,
            simulation,
        }
    }

    fn goes_on(&self) -> bool {
        *self.simulation.phase.borrow() == Phase::Load
    }

    /// A unique name.
    fn name(&mut self) -> String {
        self.names += 1;
        format!("{}-{}", self.name, self.names)
    }

    /// Pauses between two requests.
    async fn pause(&mut self, low: u64, high: u64) {
        if self.simulation.load == Load::Leisurely {
            self.rest(low, high).await;
        }
    }

    /// Pauses before a retry.
    async fn rest(&mut self, low: u64, high: u64) {
        sleep(self.rng.millis(low, high)).await;
    }

    async fn ask(&mut self, asked: &Asked, ingest: Option<SocketAddr>) -> Result<Answer> {
        let to = match (asked, ingest) {
            (Asked::Event(_), _) => self.simulation.webhook_consumer,
            (_, Some(ingest)) => ingest,
            (_, None) => self.rng.pick(&self.simulation.ingests),
        };
        let hangs_up_at = self
            .rng
            .chance(self.simulation.hang_ups)
            .then(|| self.rng.between(0, 100));
        self.simulation.ask(asked, to, hangs_up_at).await
    }

    /// Retries until the outcome is known, or attempts are exhausted.
    async fn ask_until_known(&mut self, asked: &Asked, ingest: Option<SocketAddr>) -> Result<Answer> {
        if self.simulation.retries == RetryBehaviour::OnceMore {
            return self.ask_twice(asked).await;
        }
        let mut answer = self.ask(asked, ingest).await?;
        for _ in 1..TRIES {
            let is_settled = !answer.is_unknown() && answer != Answer::Refused;
            if is_settled || (ingest.is_none() && self.rng.chance(15)) {
                break;
            }
            self.rest(30, 300).await;
            answer = self.ask(asked, ingest).await?;
        }
        Ok(answer)
    }

    async fn ask_twice(&mut self, asked: &Asked) -> Result<Answer> {
        let [one, other] = self.simulation.ingests;
        let (first, second) = if self.rng.chance(50) {
            (one, other)
        } else {
            (other, one)
        };
        let answer = self.ask(asked, Some(first)).await?;
        if answer.is_unknown() || answer == Answer::Refused {
            let again = self.ask(asked, Some(second)).await?;
            if again.is_unknown() || again == Answer::Refused {
                let complaint = format!("the retry failed: {asked:?}: {answer:?}, then {again:?}");
                let mut complaints = self
                    .simulation
                    .complaints
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner);
                complaints.push(complaint);
            }
            return Ok(again);
        }
        Ok(answer)
    }

    async fn be_a_customer(&mut self) -> Result<()> {
        for _ in 0..self.rng.between(0, 3) {
            self.click(None).await?;
            self.pause(2, 15).await;
        }
        let Some(customer_key) = self.sign_up(None).await? else {
            return Ok(());
        };
        if self.rng.chance(15) {
            return self.pay_invoices(&customer_key).await;
        }
        for _ in 0..self.rng.between(1, 4) {
            if !self.goes_on() {
                break;
            }
            match self.rng.below(100) {
                0..17 => self.pay(&customer_key).await?,
                17..25 => self.pay_as_processor_customer(&customer_key).await?,
                25..35 => self.buy_twice_at_once(&customer_key).await?,
                _ => self.buy(&customer_key).await?,
            }
            self.pause(2, 25).await;
        }
        Ok(())
    }

    async fn click(&mut self, ingest: Option<SocketAddr>) -> Result<Option<String>> {
        let codes = self.simulation.market.codes.each_ref().map(String::as_str);
        let click = Asked::Click {
            code: self.rng.pick(&codes).to_owned(),
        };
        let answer = self.ask_until_known(&click, ingest).await?;
        Ok(answer.text("click_id").map(str::to_owned))
    }

    /// A click and a lead; returns the customer_key once the lead is recorded.
    async fn sign_up(&mut self, ingest: Option<SocketAddr>) -> Result<Option<String>> {
        let Some(click_id) = self.click(ingest).await? else {
            return Ok(None);
        };
        self.pause(0, 40).await;
        let customer_key = format!("user-{}", self.name());
        let lead = Asked::Lead {
            click_id,
            customer_key: customer_key.clone(),
        };
        for _ in 0..TRIES {
            let answer = self.ask_until_known(&lead, ingest).await?;
            // A repeat of a recorded lead whose answer was lost.
            if answer.is_ok() || answer.message().contains("cannot be updated to lead") {
                return Ok(Some(customer_key));
            }
            self.rest(50, 300).await;
        }
        Ok(None)
    }

    fn sale(&mut self, customer_key: &str) -> Asked {
        Asked::Sale {
            transaction_id: format!("order-{}", self.name()),
            customer_key: customer_key.to_owned(),
            amount_cents: i64::try_from(self.rng.between(100, 30_000)).unwrap_or(100),
        }
    }

    async fn buy(&mut self, customer_key: &str) -> Result<()> {
        let sale = self.sale(customer_key);
        let answer = self.ask_until_known(&sale, None).await?;
        if !matches!(answer.status(), Some(200 | 409)) {
            return Ok(());
        }
        if self.rng.chance(15) {
            self.ask(&sale, None).await?;
        }
        if self.rng.chance(45) {
            self.pause(0, 60).await;
            self.refund(&sale).await?;
        }
        Ok(())
    }

    /// Two concurrent sales with the same id and two amounts: one of them is recorded.
    async fn buy_twice_at_once(&mut self, customer_key: &str) -> Result<()> {
        let sale = self.sale(customer_key);
        let mut other = sale.clone();
        if let Asked::Sale { amount_cents, .. } = &mut other {
            *amount_cents += 1;
        }
        let [first, second] = self.simulation.ingests;
        let (one, other) = tokio::join!(
            self.simulation.ask(&sale, first, None),
            self.simulation.ask(&other, second, None)
        );
        one?;
        other?;
        Ok(())
    }

    async fn refund(&mut self, sale: &Asked) -> Result<()> {
        let Asked::Sale {
            transaction_id,
            amount_cents,
            ..
        } = sale
        else {
            return Ok(());
        };
        for _ in 0..self.rng.between(1, 3) {
            let part = i64::try_from(self.rng.between(1, 15_000)).unwrap_or(1);
            let refund = Asked::Refund {
                transaction_id: transaction_id.clone(),
                refund_id: format!("refund-{}", self.name()),
                amount_cents: (part < *amount_cents && self.rng.chance(80)).then_some(part),
            };
            let answer = self.ask_until_known(&refund, None).await?;
            if answer.is_ok() && self.rng.chance(25) {
                self.ask(&refund, None).await?;
            }
        }
        Ok(())
    }
}
