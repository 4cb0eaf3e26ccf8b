//! The rules of referral tracking, without I/O: time, randomness and keys are arguments, results are values.
//!
//! - [`ids`]: internal ids of rows.
//! - [`click_id`]: the public, unguessable name of a customer.
//! - [`token`]: program tokens, management keys, sessions and invitations, and distinguishing them.
//! - [`account`], [`permission`], [`management_key`]: who signs in, and what people and keys may do.
//! - [`email_content`], [`weekly_summary`]: what e-mails to them tell; [`unsubscribe`]: how one click ends them.
//! - [`tracking_token`]: what a tracking token may be limited to.
//! - [`key_rotation`]: until when a marked token is accepted.
//! - [`affiliate_url`]: from a landing URL to the referral link's short code.
//! - [`customer`]: the click → lead → conversion lifecycle.
//! - [`attribution`]: which referral links a sale credits, and until when.
//! - [`commission`]: what a sale owes, under which policy, and the commission's own lifecycle.
//! - [`refund`]: refunds from two channels reverse commissions exactly once.
//! - [`reassessment`]: judging recorded sales again when something earlier becomes known.
//! - [`ledger`]: how accruals, reversals and payouts move a partner's balance.
//! - [`adjustment`]: commissions changed by hand.
//! - [`payout`]: what of a commission can be paid, and how a debt is settled.
//! - [`click`], [`lead`], [`sale`]: what a caller reports, and how it is decided.
//! - [`visitor`]: device and location of a click.
//! - [`test_chain`]: whether a synthetic click, lead and sale reached the right partner.
//! - [`program`]: a program's settings and their ranges; [`program_identity`]: how its e-mails present it.
//! - [`processor`], [`sealed`]: the payment processor of a program, and its secrets at rest.
//! - [`event_types`]: what a processor is to send.
//! - [`payment`]: the names of a payment, and what its processor took back of it.
//! - [`outbound_event`], [`event_stream`]: the types of outbound events, and how far a reader has read them.
//! - [`webhook_endpoint`], [`webhook_address`]: which events an endpoint wants, and where webhooks may be sent.
//! - [`webhook`], [`webhook_attempt`]: how a webhook is signed, when it is sent again, and when an endpoint is disabled.
//! - [`partner`]: memberships and referral links.
//! - [`readiness`]: how far a program's set-up has come.
//! - [`days`], [`performance`], [`partner_figures`]: ranges of UTC days, and their figures on the dashboard.
//! - [`cohorts`]: customers by the month of their first sale.
//! - [`program_events`]: a place in a program's list of events.
//! - [`text`]: strings a caller sends, bounded.
//! - [`sorting`]: by which column a list is sorted.
//! - [`name`]: names people type, without invisible characters.
//! - [`money`]: cents, basis points, currencies and the one rounding rule.
//!
//! A sale goes through `attribution` → `commission` → `ledger`; a refund walks `refund` → `ledger`, a payout
//! `payout` → `ledger`.

pub mod data_subject;
mod earnings;
pub mod email;
pub mod ids;
pub mod money;
pub mod name;
mod people;
mod processors;
mod programs;
mod redacted;
mod reports;
pub mod sealed;
pub mod sorting;
mod stored;
pub mod text;
mod text_enum;
pub mod token;
mod tracking;

pub use self::earnings::{adjustment, commission, ledger, payout, refund};
pub use self::people::{
    account, email_content, management_key, permission, second_factor, unsubscribe, user_code, weekly_summary,
};
pub use self::processors::{event_types, payer, payment, processor};
pub use self::programs::{
    event_stream, key_rotation, outbound_event, partner, program, program_identity, readiness,
    tracking_token, webhook, webhook_address, webhook_attempt, webhook_endpoint,
};
pub use self::reports::{breakdown, cohorts, days, figures, partner_figures, performance, program_events};
pub use self::tracking::{
    affiliate_url, attribution, click, click_id, customer, lead, reassessment, sale, signal, test_chain,
    visitor,
};
