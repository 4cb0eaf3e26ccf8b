//! A program's webhook endpoints, their deliveries, and replays.

pub mod endpoint_settings;
pub mod example_event;
pub mod replay;
pub mod rotate_secret;
pub mod webhook_deliveries;
pub mod webhook_endpoints;

use crate::http::endpoint::{Endpoint, SESSION_OR_KEY, managed};

pub fn endpoints() -> Vec<Endpoint> {
    managed! { "webhook endpoints", SESSION_OR_KEY;
        webhook_endpoints::list_webhook_endpoints, webhook_endpoints::create_webhook_endpoint;
        webhook_endpoints::read_webhook_endpoint, webhook_endpoints::update_webhook_endpoint,
            webhook_endpoints::delete_webhook_endpoint;
        rotate_secret::rotate_webhook_secret;
        example_event::test_webhook_endpoint;
        webhook_deliveries::list_webhook_deliveries;
        webhook_deliveries::read_webhook_delivery;
        replay::replay_webhook_delivery;
        replay::replay_webhook_events;
    }
}
