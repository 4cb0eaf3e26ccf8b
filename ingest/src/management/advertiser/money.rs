//! What partners earned, and what was paid out.

pub mod added_commissions;
pub mod commission_changes;
pub mod commissions;
pub mod exports;
pub mod payouts;

use utoipa_axum::routes;

use crate::http::endpoint::Endpoint;

pub fn endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::new(routes!(commissions::list, added_commissions::create))
            .managed()
            .examples(added_commissions::examples(commissions::list_examples())),
        Endpoint::new(routes!(commissions::approve))
            .managed()
            .examples(commissions::approve_examples()),
        Endpoint::new(routes!(commission_changes::reject))
            .managed()
            .examples(commission_changes::reject_examples()),
        Endpoint::new(routes!(commission_changes::adjust))
            .managed()
            .examples(commission_changes::adjust_examples()),
        Endpoint::new(routes!(exports::commissions))
            .managed()
            .examples(commissions::filter_examples()),
        Endpoint::new(routes!(payouts::list, payouts::create))
            .managed()
            .examples(payouts::list_examples()),
        Endpoint::new(routes!(payouts::read))
            .managed()
            .examples(payouts::examples()),
        Endpoint::new(routes!(exports::payout)).managed(),
    ]
}
