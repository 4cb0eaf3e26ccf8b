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
        programs::list_partner_programs;
        referral_links::list_partner_referral_links, referral_links::create_partner_referral_link;
        referral_links::update_partner_referral_link;
        clicks::list_partner_clicks;
        commissions::list_partner_commissions;
        balances::list_partner_balances;
        report::report_on_partner;
        payouts::list_partner_payouts;
        payouts::read_partner_payout;
        notifications::list_partner_notifications;
        notifications::mark_partner_notifications_read;
    }
}
