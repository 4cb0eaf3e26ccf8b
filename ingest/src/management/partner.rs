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
        programs::list => programs::examples();
        referral_links::list, referral_links::create => referral_links::list_examples();
        referral_links::update => referral_links::examples();
        clicks::list => clicks::examples();
        commissions::list => commissions::examples();
        balances::list => balances::examples();
        report::report => report::examples();
        payouts::list => payouts::list_examples();
        payouts::read => payouts::examples();
        notifications::list => notifications::list_examples();
        notifications::mark_read => notifications::mark_read_examples();
    }
}
