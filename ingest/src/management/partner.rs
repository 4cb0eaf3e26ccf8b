//! `/api/partner/*`: a partner's own data, across all their programs.

mod balances;
mod clicks;
mod commissions;
mod notifications;
mod payouts;
mod programs;
mod referral_links;
mod report;

use crate::http::endpoint::{Endpoint, SESSION, managed};

pub fn endpoints() -> Vec<Endpoint> {
    managed! { "partner accounts", SESSION;
        programs::list;
        referral_links::list, referral_links::create;
        referral_links::update;
        clicks::list;
        commissions::list;
        balances::list;
        report::report;
        payouts::list;
        payouts::read;
        notifications::list;
        notifications::mark_read;
    }
}
