//! Tracking: clicks, leads, sales, refunds, and the checks of an installation. Each route has a file of its
//! own. Read it top to bottom: request, answer, handler, validation, refusals, examples.

pub mod caller;
pub mod claims;
pub mod click;
pub mod concurrency_limit;
pub mod customer_ids;
pub mod directory;
pub mod existing_clicks;
pub mod lead;
pub mod legacy;
pub mod line_items;
pub mod pipeline;
pub mod program_status;
pub mod readiness;
pub mod refund;
pub mod retired;
pub mod sale;
pub mod test_event;
pub mod test_mode;
pub mod visitor_context;

use utoipa_axum::routes;

use crate::http::endpoint::Endpoint;
use crate::http::limits::Budget;
use crate::tracking::pipeline::Noun;

pub fn endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::new(routes!(click::click))
            .limited(Budget::Click)
            .waiting_with(Noun::Click)
            .open_to_browsers()
            .examples(click::examples()),
        Endpoint::new(routes!(lead::lead))
            .limited(Budget::Lead)
            .waiting_with(Noun::Lead)
            .open_to_browsers()
            .examples(lead::examples()),
        Endpoint::new(routes!(sale::sale))
            .limited(Budget::SaleAndRefund)
            .waiting_with(Noun::Sale)
            .examples(sale::examples()),
        Endpoint::new(routes!(refund::refund))
            .limited(Budget::SaleAndRefund)
            .waiting_with(Noun::Refund)
            .examples(refund::examples()),
    ]
}

/// The routes that check a program's set-up and whether its events arrive.
pub fn set_up() -> Vec<Endpoint> {
    vec![
        Endpoint::new(routes!(test_event::test_event))
            .limited(Budget::Cli)
            .examples(test_event::examples()),
        Endpoint::new(routes!(program_status::status))
            .limited(Budget::Cli)
            .identified_on_failure()
            .examples(program_status::examples()),
        Endpoint::new(routes!(readiness::readiness))
            .limited(Budget::Readiness)
            .examples(readiness::examples()),
    ]
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use domain::tracking::lead::LeadMode;

    use super::*;

    #[test]
    fn the_examples_are_requests_of_their_routes() {
        for body in click::examples().requests() {
            click::read(&body).unwrap();
        }
        for body in lead::examples().requests() {
            lead::read(&body, LeadMode::Browser, &[7; 32]).unwrap();
        }
        for body in sale::examples().requests() {
            sale::read(&body, DateTime::UNIX_EPOCH).unwrap();
        }
        for body in refund::examples().requests() {
            refund::read(&body).unwrap();
        }
    }
}
