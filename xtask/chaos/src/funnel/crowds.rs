//! Many visitors who all do the same.

use std::sync::Arc;

use super::{Simulation, Visitor};

/// Clicks this often, each time at once; returns how many clicks were answered 200.
pub(crate) async fn click_often(simulation: Arc<Simulation>, number: u64, clicks: u64) -> u64 {
    let mut visitor = Visitor::new(simulation, 2_000 + number, &format!("c{number}"));
    let mut answered = 0;
    for _ in 0..clicks {
        answered += u64::from(visitor.click(None).await.is_some());
    }
    answered
}

/// Buys without a second attempt, until the load is over, and without a pause but after a 503: two cores have more to do than refuse.
pub(crate) async fn keep_buying(simulation: Arc<Simulation>, number: u64, customer_key: String) {
    let mut buyer = Visitor::new(simulation, 3_000 + number, &format!("b{number}"));
    while buyer.goes_on() {
        let sale = buyer.sale(&customer_key);
        if buyer.ask(&sale, None).await.status() == Some(503) {
            buyer.rest(100, 300).await;
        }
    }
}

/// Signs up once, and buys every few seconds until the load is over: what stops signups does not stop these sales.
pub(crate) async fn buy_regularly(simulation: Arc<Simulation>, number: u64) {
    let mut regular = Visitor::new(simulation, 4_000 + number, &format!("r{number}"));
    let Some(customer_key) = regular.sign_up(None).await else {
        return regular
            .simulation
            .complain("a regular customer could not sign up".to_owned());
    };
    while regular.goes_on() {
        regular.buy(&customer_key).await;
        regular.rest(1_000, 3_000).await;
    }
}
