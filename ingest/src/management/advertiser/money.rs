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

pub fn endpoints() -> Vec<Endpoint> {
    managed! { "payouts", SESSION_OR_KEY;
        commissions::list, added_commissions::create;
        commission_totals::read;
        review::list;
        review::hold;
        commissions::approve;
        commission_changes::reject;
        commission_changes::adjust;
        exports::commissions;
        payouts::list, payouts::create;
        payout_preview::preview;
        payouts::read;
        exports::payout;
    }
}
