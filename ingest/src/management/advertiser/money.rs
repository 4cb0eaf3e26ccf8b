//! The money of partners: what they earned, and what was paid out.

pub mod added_commissions;
pub mod commission_changes;
pub mod commission_totals;
pub mod commissions;
pub mod expected_amounts;
pub mod exports;
pub mod payout_preview;
pub mod payouts;
pub mod review;

use crate::http::endpoint::{Endpoint, SESSION_OR_KEY, managed};
use crate::http::openapi::examples::Examples;

pub fn endpoints() -> Vec<Endpoint> {
    managed! { "payouts", SESSION_OR_KEY;
        commissions::list, added_commissions::create => added_commissions::examples(commissions::list_examples());
        commission_totals::read => commission_totals::examples();
        review::list => review::list_examples();
        review::hold => review::hold_examples();
        commissions::approve => commissions::approve_examples();
        commission_changes::reject => commission_changes::reject_examples();
        commission_changes::adjust => commission_changes::adjust_examples();
        exports::commissions => commissions::filter_examples();
        payouts::list, payouts::create => payouts::list_examples();
        payout_preview::preview => payout_preview::examples();
        payouts::read => payouts::examples();
        exports::payout => Examples::default();
    }
}
