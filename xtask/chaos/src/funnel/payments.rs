//! Payments through the processor, which delivers its events until they are accepted, in any order.

use std::sync::Arc;
use std::time::Duration;

use runtime::clock::Clock;
use tokio::time::{Instant, sleep};

use super::{Simulation, Visitor};
use crate::journal::{Asked, Event, Names, What, accepted_events};

/// A processor retries for days; here this is longer than any recovery.
const REDELIVERED_FOR: Duration = Duration::from_secs(40);
const RESEND_PAUSE: Duration = Duration::from_millis(200);
/// Invoices are paid after the customer's click, also by a shifted clock.
const AFTER_THE_CLICK: i64 = 1_200;

/// What a processor does on request: it sends every event again that it was answered 200 for.
pub(crate) async fn resend(simulation: Arc<Simulation>) {
    for event in accepted_events(&simulation.journal.calls()) {
        let started = Instant::now();
        let to = simulation.webhook_consumer;
        while !simulation.ask(&event, to, None).await.is_ok() && started.elapsed() < REDELIVERED_FOR {
            sleep(RESEND_PAUSE).await;
        }
    }
}

impl Visitor {
    /// One payment; some of them are refunded.
    pub(super) async fn pay(&mut self, customer_key: &str) {
        let paid = self.payment(customer_key, Names::Key);
        self.deliver(&paid).await;
        if self.rng.chance(40) {
            let cents = self.rng.cents(1, paid.amount_cents);
            let refunded = Event {
                id: format!("{}_{cents}", paid.id),
                what: What::Refunded { cents },
                ..paid
            };
            self.deliver(&refunded).await;
        }
    }

    /// Two payments, one of which names only the processor's customer; if it arrives first, it waits.
    pub(super) async fn pay_as_processor_customer(&mut self, customer_key: &str) {
        let customer = format!("cus_{}", self.name());
        let named = self.payment(customer_key, Names::KeyAndCustomer(customer.clone()));
        let nameless = self.payment(customer_key, Names::Customer(customer));
        self.deliver_in_any_order(vec![named, nameless]).await;
    }

    /// The only payments of a customer: the earliest by its own time earns a commission.
    pub(super) async fn pay_invoices(&mut self, customer_key: &str) {
        let now = Clock::system().now().timestamp();
        let invoices = (1..=3).map(|number| {
            let payment = self.payment(customer_key, Names::Key);
            let at = now + AFTER_THE_CLICK + 20 * number;
            Event {
                transaction_id: payment.transaction_id.replacen("pi", "in", 1),
                what: What::Invoiced { at },
                ..payment
            }
        });
        let invoices = invoices.collect();
        self.deliver_in_any_order(invoices).await;
    }

    fn payment(&mut self, customer_key: &str, names: Names) -> Event {
        let name = self.name();
        Event {
            id: format!("evt_{name}"),
            transaction_id: format!("pi_{name}"),
            customer_key: customer_key.to_owned(),
            amount_cents: self.rng.cents(100, 30_000),
            what: What::Paid(names),
        }
    }

    async fn deliver_in_any_order(&mut self, mut events: Vec<Event>) {
        while !events.is_empty() {
            let next = self.rng.below(events.len() as u64);
            let event = events.swap_remove(usize::try_from(next).unwrap_or(0));
            self.deliver(&event).await;
            self.pause(0, 40).await;
        }
    }

    async fn deliver(&mut self, event: &Event) {
        let event = Asked::Event(event.clone());
        let started = Instant::now();
        while started.elapsed() < REDELIVERED_FOR {
            if self.ask(&event, None).await.is_ok() {
                // Processors deliver at least once.
                if self.rng.chance(10) {
                    self.ask(&event, None).await;
                }
                break;
            }
            self.rest(100, 400).await;
        }
    }
}
