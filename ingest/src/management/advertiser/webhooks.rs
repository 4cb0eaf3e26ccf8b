//! A program's webhook endpoints, their deliveries, and replays.

pub mod endpoint_settings;
pub mod example_event;
pub mod replay;
pub mod rotate_secret;
pub mod signing_secret;
pub mod webhook_deliveries;
pub mod webhook_endpoints;

use crate::http::endpoint::{Endpoint, SESSION_OR_KEY, managed};

pub fn endpoints() -> Vec<Endpoint> {
    managed! { "webhook endpoints", SESSION_OR_KEY;
        webhook_endpoints::list, webhook_endpoints::create => webhook_endpoints::list_examples();
        webhook_endpoints::read, webhook_endpoints::update, webhook_endpoints::remove => webhook_endpoints::examples();
        rotate_secret::rotate => rotate_secret::examples();
        example_event::send => example_event::examples();
        webhook_deliveries::list => webhook_deliveries::list_examples();
        webhook_deliveries::read => webhook_deliveries::examples();
        replay::one => replay::examples_of_one();
        replay::many => replay::examples_of_many();
    }
}
