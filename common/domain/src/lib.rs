//! The rules of referral tracking, without I/O. Time, randomness and keys are arguments; results are values.
//!
//! - [`ids`]: internal ids of rows.
//! - [`tracking::click_id`]: the public, unguessable id of a customer.
//! - [`token`]: program tokens, management keys, sessions and invitations, and how they are distinguished.
//! - [`people::account`], [`people::permission`], [`people::management_key`]: accounts and sign-in, and the permissions of people and
//!   keys.
//! - [`people::email_content`], [`people::weekly_summary`]: the facts in e-mails; [`people::unsubscribe`]: how one click ends the
//!   e-mails.
//! - [`programs::tracking_token`]: the scopes of a tracking token.
//! - [`programs::key_rotation`]: the deadline after which a marked token is refused.
//! - [`tracking::affiliate_url`]: finds the referral link's short code in a landing URL.
//! - [`tracking::customer`]: the click → lead → conversion lifecycle.
//! - [`tracking::attribution`]: the referral links that a sale credits, and the attribution window.
//! - [`earnings::commission`]: the commission of a sale, its policy and its lifecycle.
//! - [`earnings::refund`]: refunds from two channels reverse commissions exactly once.
//! - [`tracking::reassessment`]: decides recorded sales again when an earlier event becomes known.
//! - [`earnings::ledger`]: how accruals, reversals and payouts move a partner's balance.
//! - [`earnings::adjustment`]: changes of commissions by hand.
//! - [`earnings::payout`]: the payable part of a commission, and how a debt is settled.
//! - [`tracking::click`], [`tracking::lead`], [`tracking::sale`]: reported events, and the decisions about them.
//! - [`tracking::visitor`]: device and location of a click's visitor.
//! - [`tracking::test_chain`]: whether a synthetic click, lead and sale reached the right partner.
//! - [`programs::program`]: a program's settings and their ranges; [`programs::program_identity`]: the program's look in its
//!   e-mails.
//! - [`processors::processor`], [`sealed`]: the payment processor of a program, and its secrets at rest.
//! - [`processors::event_types`]: the events that a processor must send.
//! - [`processors::payment`]: the names of a payment, and the part of it that the processor reversed.
//! - [`programs::outbound_event`], [`programs::event_stream`]: the types of outbound events, and a reader's position in the
//!   stream.
//! - [`programs::webhook_endpoint`], [`programs::webhook_address`]: the events of an endpoint, and the addresses that may receive
//!   webhooks.
//! - [`programs::webhook`], [`programs::webhook_attempt`]: signatures of webhooks, retries, and when an endpoint is disabled.
//! - [`programs::partner`]: memberships and referral links.
//! - [`programs::readiness`]: the progress of a program's set-up.
//! - [`reports::days`], [`reports::performance`], [`reports::partner_figures`]: ranges of UTC days, and their figures for the dashboard.
//! - [`reports::cohorts`]: customers by the month of their first sale.
//! - [`reports::program_events`]: a position in a program's list of events.
//! - [`text`]: strings from callers, with a maximum length.
//! - [`sorting`]: the columns by which a list can be sorted.
//! - [`name`]: names that people type, without invisible characters.
//! - [`money`]: cents, basis points, currencies and the one rounding rule.
//!
//! A sale passes through `attribution` → `commission` → `ledger`, a refund through `refund` → `ledger`, and a
//! payout through `payout` → `ledger`.

mod bounded;
pub mod data_subject;
pub mod earnings;
pub mod email;
pub mod ids;
pub mod money;
pub mod name;
pub mod people;
pub mod processors;
pub mod programs;
mod redacted;
pub mod reports;
pub mod sealed;
pub mod sorting;
mod stored;
pub mod text;
mod text_enum;
pub mod token;
pub mod tracking;
