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
        commissions::list_commissions, added_commissions::add_commission;
        commission_totals::read_commission_totals;
        review::list_flagged_commissions;
        review::hold_commissions;
        commissions::approve_commissions;
        commission_changes::reject_commissions;
        commission_changes::adjust_commission;
        exports::export_commissions;
        payouts::list_payouts, payouts::create_payout;
        payout_preview::preview_payout;
        payouts::read_payout;
        exports::export_payout;
    }
}
