//! Many visitors who all do the same.

use std::sync::Arc;

use anyhow::Result;

use super::{Simulation, Visitor};
use crate::rng::Rng;

/// Clicks this often, each time at once; returns how many clicks were answered 200.
pub(crate) async fn click_often(simulation: Arc<Simulation>, number: u64, clicks: u64) -> Result<u64> {
    let mut visitor = Visitor {
        rng: Rng::of(simulation.seed, 2_000 + number),
        name: String::new(),
        names: 0,
        simulation,
    };
    let mut answered = 0;
    for _ in 0..clicks {
        answered += u64::from(visitor.click(None).await?.is_some());
    }
    Ok(answered)
}

/// Buys without a second attempt, until the load is over, and without a pause but after a 503: two cores have more to do than refuse.
pub(crate) async fn buy_without_pause(
    simulation: Arc<Simulation>,
    number: u64,
    customer_key: String,
) -> Result<()> {
    let mut buyer = Visitor {
        rng: Rng::of(simulation.seed, 3_000 + number),
        name: format!("{}-b{number}", simulation.market.program_id),
        names: 0,
        simulation,
    };
    while buyer.goes_on() {
        let sale = buyer.sale(&customer_key);
        let answer = buyer.ask(&sale, None).await?;
        if answer.status() == Some(503) {
            buyer.rest(100, 300).await;
        }
    }
    Ok(())
}
