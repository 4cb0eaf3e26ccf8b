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
        webhook_endpoints::list, webhook_endpoints::create;
        webhook_endpoints::read, webhook_endpoints::update, webhook_endpoints::remove;
        rotate_secret::rotate;
        example_event::send;
        webhook_deliveries::list;
        webhook_deliveries::read;
        replay::one;
        replay::many;
    }
}
