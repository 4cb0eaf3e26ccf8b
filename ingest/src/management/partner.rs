//! `/api/partner/*`: what is a partner's own, over all programs they take part in, and nothing of anybody else's.

mod balances;
mod clicks;
mod commissions;
mod notifications;
mod programs;
mod referral_links;

use utoipa_axum::routes;

use crate::http::endpoint::Endpoint;

pub fn endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::new(routes!(programs::list))
            .managed()
            .examples(programs::examples()),
        Endpoint::new(routes!(referral_links::list))
            .managed()
            .examples(referral_links::list_examples()),
        Endpoint::new(routes!(referral_links::update))
            .managed()
            .examples(referral_links::examples()),
        Endpoint::new(routes!(clicks::list))
            .managed()
            .examples(clicks::examples()),
        Endpoint::new(routes!(commissions::list))
            .managed()
            .examples(commissions::examples()),
        Endpoint::new(routes!(balances::list))
            .managed()
            .examples(balances::examples()),
        Endpoint::new(routes!(notifications::list))
            .managed()
            .examples(notifications::list_examples()),
        Endpoint::new(routes!(notifications::mark_read))
            .managed()
            .examples(notifications::mark_read_examples()),
    ]
}
