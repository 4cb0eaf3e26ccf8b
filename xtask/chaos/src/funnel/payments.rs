//! Payments through the processor, which delivers its events until they are accepted, in any order.

use std::time::Duration;

use tokio::time::Instant;

use super::Visitor;
use crate::journal::{Asked, Event, Names, What};

/// A processor retries for days; here this is longer than any recovery.
const REDELIVERED_FOR: Duration = Duration::from_secs(40);

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
        let in_any_order = if self.rng.chance(50) {
            [named, nameless]
        } else {
            [nameless, named]
        };
        for event in in_any_order {
            self.deliver(&event).await;
            self.pause(0, 40).await;
        }
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
