//! The rules of referral tracking, without I/O. Time, randomness and keys are arguments; results are values.
//!
//! - [`ids`]: internal ids of rows.
//! - [`click_id`]: the public, unguessable id of a customer.
//! - [`token`]: program tokens, management keys, sessions and invitations, and how they are distinguished.
//! - [`account`], [`permission`], [`management_key`]: accounts and sign-in, and the permissions of people and
//!   keys.
//! - [`email_content`], [`weekly_summary`]: the facts in e-mails; [`unsubscribe`]: how one click ends the
//!   e-mails.
//! - [`tracking_token`]: the scopes of a tracking token.
//! - [`key_rotation`]: the deadline after which a marked token is refused.
//! - [`affiliate_url`]: finds the referral link's short code in a landing URL.
//! - [`customer`]: the click → lead → conversion lifecycle.
//! - [`attribution`]: the referral links that a sale credits, and the attribution window.
//! - [`commission`]: the commission of a sale, its policy and its lifecycle.
//! - [`refund`]: refunds from two channels reverse commissions exactly once.
//! - [`reassessment`]: decides recorded sales again when an earlier event becomes known.
//! - [`ledger`]: how accruals, reversals and payouts move a partner's balance.
//! - [`adjustment`]: changes of commissions by hand.
//! - [`payout`]: the payable part of a commission, and how a debt is settled.
//! - [`click`], [`lead`], [`sale`]: reported events, and the decisions about them.
//! - [`visitor`]: device and location of a click's visitor.
//! - [`test_chain`]: whether a synthetic click, lead and sale reached the right partner.
//! - [`program`]: a program's settings and their ranges; [`program_identity`]: the program's look in its
//!   e-mails.
//! - [`processor`], [`sealed`]: the payment processor of a program, and its secrets at rest.
//! - [`event_types`]: the events that a processor must send.
//! - [`payment`]: the names of a payment, and the part of it that the processor reversed.
//! - [`outbound_event`], [`event_stream`]: the types of outbound events, and a reader's position in the
//!   stream.
//! - [`webhook_endpoint`], [`webhook_address`]: the events of an endpoint, and the addresses that may receive
//!   webhooks.
//! - [`webhook`], [`webhook_attempt`]: signatures of webhooks, retries, and when an endpoint is disabled.
//! - [`partner`]: memberships and referral links.
//! - [`readiness`]: the progress of a program's set-up.
//! - [`days`], [`performance`], [`partner_figures`]: ranges of UTC days, and their figures for the dashboard.
//! - [`cohorts`]: customers by the month of their first sale.
//! - [`program_events`]: a position in a program's list of events.
//! - [`text`]: strings from callers, with a maximum length.
//! - [`sorting`]: the columns by which a list can be sorted.
//! - [`name`]: names that people type, without invisible characters.
//! - [`money`]: cents, basis points, currencies and the one rounding rule.
//!
//! A sale passes through `attribution` → `commission` → `ledger`, a refund through `refund` → `ledger`, and a
//! payout through `payout` → `ledger`.

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
