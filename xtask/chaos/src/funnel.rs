//! Concurrent visitors who click, sign up, pay and are refunded, and retry unknown outcomes.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::RequestBuilder;
use reqwest::header::CONTENT_TYPE;
use runtime::clock::Clock;
use serde_json::json;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use trials::signature;

use super::http;
use super::journal::{Answer, Asked, Event, Journal};
use super::market::Market;
use super::processor;
use super::rng::Rng;
use super::schedule::Plan;

mod payments;
mod receiver;
pub(super) mod subscriber;

pub(super) use self::receiver::TIMEOUT_MS;

/// Concurrent visitors.
const FEW: u64 = 10;
/// Enough to saturate two cores, and few enough that a debug build answers within its deadline.
const MANY: u64 = 48;
/// Of a client that hangs up: about as long as an answer takes.
const LONGEST_PATIENCE_MS: u64 = 20;
/// Attempts of one request.
const TRIES: u64 = 5;

/// The shared state of a round's visitors.
#[derive(Debug)]
pub(super) struct Simulation {
    pub(super) journal: Journal,
    pub(super) http: reqwest::Client,
    pub(super) ingests: [SocketAddr; 2],
    pub(super) webhook_consumer: SocketAddr,
    pub(super) market: Market,
    pub(super) seed: u64,
    /// How fast visitors send, how often they retry, and whether they hang up.
    pub(super) plan: Plan,
    /// Cancelled when the load is over: nothing new is started.
    pub(super) over: CancellationToken,
    /// Requests whose single retry failed.
    pub(super) complaints: Mutex<Vec<String>>,
}

/// Runs one visitor until the load is over.
pub(super) async fn visit(simulation: Arc<Simulation>, number: u64) {
    let mut visitor = Visitor::new(simulation, number + 1, &number.to_string());
    while visitor.goes_on() {
        visitor.be_a_customer().await;
    }
}

/// Creates one customer through each ingest, so that both know the program; returns a customer_key.
pub(super) async fn warm_up(simulation: &Arc<Simulation>) -> Option<String> {
    let mut known = None;
    for (number, ingest) in simulation.ingests.into_iter().enumerate() {
        let name = format!("w{number}");
        let mut visitor = Visitor::new(Arc::clone(simulation), 1_000 + number as u64, &name);
        known = visitor.sign_up(Some(ingest)).await;
    }
    known
}

/// Retries a sale until it is answered 200; returns how long that took.
pub(super) async fn probe(
    simulation: Arc<Simulation>,
    customer_key: String,
    limit: Duration,
) -> Option<Duration> {
    let started = Instant::now();
    for (number, ingest) in simulation.ingests.into_iter().cycle().enumerate() {
        let sale = Asked::Sale {
            transaction_id: format!("{}-probe-{number}", simulation.market.program_id),
            customer_key: customer_key.clone(),
            amount_cents: 1_000,
        };
        if simulation.ask(&sale, ingest, None).await.is_ok() {
            return Some(started.elapsed());
        }
        if started.elapsed() > limit {
            break;
        }
        sleep(Duration::from_millis(50)).await;
    }
    None
}

/// The user agent of every visitor: workers store it once.
const BROWSER: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0";

impl Simulation {
    /// How many come at once.
    pub(super) fn visitors(&self) -> u64 {
        if self.plan.is_full_load() { MANY } else { FEW }
    }

    /// Sends one request, and records it with its answer. `patience`: after this time, the client disconnects.
    async fn ask(&self, asked: &Asked, to: SocketAddr, patience: Option<Duration>) -> Answer {
        let sending = http::send(self.request(asked, to));
        let number = self.journal.ask(to, asked);
        let answer = match patience {
            Some(patience) => timeout(patience, sending).await.unwrap_or(Answer::HungUp),
            None => sending.await,
        };
        self.journal.answer(number, &answer);
        answer
    }

    fn request(&self, asked: &Asked, to: SocketAddr) -> RequestBuilder {
        let track = || {
            self.http
                .post(format!("http://{to}/api/v1/track/{}", asked.kind()))
        };
        match asked {
            Asked::Click { code } => track().json(&json!({
                "affiliate_url": format!("https://shop.example/?aff={code}"), "user_agent": BROWSER,
                "page_title": "Prices of the shop",
            })),
            Asked::Event(event) => self.event(event, to),
            _ => track().bearer_auth(&self.market.token).json(asked),
        }
    }

    fn event(&self, event: &Event, to: SocketAddr) -> RequestBuilder {
        let now = Clock::system().now().timestamp();
        let body = processor::body(event, now);
        self.http
            .post(format!("http://{to}/webhooks/stripe/{}", self.market.program_id))
            .header("Stripe-Signature", signature(&self.market.secret, now, &body))
            .header(CONTENT_TYPE, "application/json")
            .body(body)
    }

    pub(super) fn complain(&self, complaint: String) {
        let mut complaints = self.complaints.lock().unwrap_or_else(PoisonError::into_inner);
        complaints.push(complaint);
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
        !self.simulation.over.is_cancelled()
    }

    /// A unique name.
    fn name(&mut self) -> String {
        self.names += 1;
        format!("{}-{}", self.name, self.names)
    }

    /// Pauses between two requests.
    async fn pause(&mut self, low: u64, high: u64) {
        if !self.simulation.plan.is_full_load() {
            self.rest(low, high).await;
        }
    }

    /// Pauses before a retry.
    async fn rest(&mut self, low: u64, high: u64) {
        sleep(self.rng.millis(low, high)).await;
    }

    async fn ask(&mut self, asked: &Asked, ingest: Option<SocketAddr>) -> Answer {
        let to = match (asked, ingest) {
            (Asked::Event(_), _) => self.simulation.webhook_consumer,
            (_, Some(ingest)) => ingest,
            (_, None) => self.rng.pick(&self.simulation.ingests),
        };
        let hangs_up = self.rng.chance(self.simulation.plan.hang_ups());
        let patience = hangs_up.then(|| self.rng.millis(0, LONGEST_PATIENCE_MS));
        self.simulation.ask(asked, to, patience).await
    }

    /// Retries until the outcome is known, or attempts are exhausted; while services are replaced, once at
    /// the other ingest.
    async fn ask_until_known(&mut self, asked: &Asked, ingest: Option<SocketAddr>) -> Answer {
        if self.simulation.plan == Plan::Rolling {
            return self.ask_twice(asked).await;
        }
        let mut answer = self.ask(asked, ingest).await;
        for _ in 1..TRIES {
            if !answer.is_retryable() || (ingest.is_none() && self.rng.chance(15)) {
                break;
            }
            self.rest(30, 300).await;
            answer = self.ask(asked, ingest).await;
        }
        answer
    }

    async fn ask_twice(&mut self, asked: &Asked) -> Answer {
        let [mut first, mut second] = self.simulation.ingests;
        if self.rng.chance(50) {
            std::mem::swap(&mut first, &mut second);
        }
        let answer = self.ask(asked, Some(first)).await;
        if !answer.is_retryable() {
            return answer;
        }
        let again = self.ask(asked, Some(second)).await;
        if again.is_retryable() {
            let complaint = format!("the retry failed: {asked:?}: {answer:?}, then {again:?}");
            self.simulation.complain(complaint);
        }
        again
    }

    async fn be_a_customer(&mut self) {
        for _ in 0..self.rng.between(0, 3) {
            self.click(None).await;
            self.pause(2, 15).await;
        }
        let Some(customer_key) = self.sign_up(None).await else {
            return;
        };
        for _ in 0..self.rng.between(1, 4) {
            if !self.goes_on() {
                break;
            }
            match self.rng.below(100) {
                0..17 => self.pay(&customer_key).await,
                17..25 => self.pay_as_processor_customer(&customer_key).await,
                25..35 => self.buy_twice_at_once(&customer_key).await,
                _ => self.buy(&customer_key).await,
            }
            self.pause(2, 25).await;
        }
    }

    async fn click(&mut self, ingest: Option<SocketAddr>) -> Option<String> {
        let codes = self.simulation.market.codes.each_ref().map(String::as_str);
        let click = Asked::Click {
            code: self.rng.pick(&codes).to_owned(),
        };
        let answer = self.ask_until_known(&click, ingest).await;
        answer.body()["click_id"].as_str().map(str::to_owned)
    }

    /// A click and a lead; returns the customer_key once the lead is recorded.
    async fn sign_up(&mut self, ingest: Option<SocketAddr>) -> Option<String> {
        let click_id = self.click(ingest).await?;
        self.pause(0, 40).await;
        let customer_key = format!("user-{}", self.name());
        let lead = Asked::Lead {
            click_id,
            customer_key: customer_key.clone(),
        };
        for _ in 0..TRIES {
            let answer = self.ask_until_known(&lead, ingest).await;
            // A repeat of a recorded lead whose answer was lost.
            if answer.is_ok() || answer.message().contains("cannot be updated to lead") {
                return Some(customer_key);
            }
            self.rest(50, 300).await;
        }
        None
    }

    fn sale(&mut self, customer_key: &str) -> Asked {
        Asked::Sale {
            transaction_id: format!("order-{}", self.name()),
            customer_key: customer_key.to_owned(),
            amount_cents: self.rng.cents(100, 30_000),
        }
    }

    async fn buy(&mut self, customer_key: &str) {
        let sale = self.sale(customer_key);
        let answer = self.ask_until_known(&sale, None).await;
        if !matches!(answer.status(), Some(200 | 409)) {
            return;
        }
        if self.rng.chance(15) {
            self.ask(&sale, None).await;
        }
        if self.rng.chance(45) {
            self.pause(0, 60).await;
            self.refund(&sale).await;
        }
    }

    /// Two concurrent sales with the same id and two amounts: one of them is recorded.
    async fn buy_twice_at_once(&mut self, customer_key: &str) {
        let sale = self.sale(customer_key);
        let mut other = sale.clone();
        if let Asked::Sale { amount_cents, .. } = &mut other {
            *amount_cents += 1;
        }
        let [first, second] = self.simulation.ingests;
        tokio::join!(
            self.simulation.ask(&sale, first, None),
            self.simulation.ask(&other, second, None)
        );
    }

    async fn refund(&mut self, sale: &Asked) {
        let Some((transaction_id, _, amount_cents)) = sale.sale() else {
            return;
        };
        for _ in 0..self.rng.between(1, 3) {
            let part = self.rng.cents(1, 15_000);
            let refund = Asked::Refund {
                transaction_id: transaction_id.to_owned(),
                refund_id: format!("refund-{}", self.name()),
                amount_cents: (part < amount_cents && self.rng.chance(80)).then_some(part),
            };
            let answer = self.ask_until_known(&refund, None).await;
            if answer.is_ok() && self.rng.chance(25) {
                self.ask(&refund, None).await;
            }
        }
    }
}
