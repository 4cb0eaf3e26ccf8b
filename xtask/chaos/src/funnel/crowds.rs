//! Many visitors who all do the same.

use std::sync::Arc;

use super::{Simulation, Visitor};

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
