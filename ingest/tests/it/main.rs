//! The pipeline as its users see it: HTTP answers and rows, on real PostgreSQL and NATS.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod access;
mod accounts;
mod adjustments;
mod api_keys;
mod app_pages;
mod approvals;
mod archived;
mod attribution;
mod audit_log;
mod backup;
mod claimed_keys;
mod cli_login;
mod cli_setup;
mod clicks;
mod clocks;
mod commission_policies;
mod commissions;
mod concurrency;
mod configuration;
mod contract;
mod crashes;
mod credentials;
mod dashboard;
mod dead_letters;
mod debts;
mod delivery;
mod deployment;
mod derived;
mod edge;
mod funnel;
mod health;
mod held_rows;
mod hostile;
mod invitations;
mod leads;
mod legacy;
mod limits;
mod members;
mod metrics;
mod model;
mod models;
mod operator;
mod outages;
mod overload;
mod partner_view;
mod partners;
mod passkeys;
mod payouts;
mod people;
mod privacy;
mod processor_claims;
mod processor_connection;
mod program_status;
mod programs;
mod provisional;
mod recomputation;
mod referral_links;
mod refunds;
mod reports;
mod reversals;
mod roles;
mod rollups;
mod room;
mod rows;
mod sabotage;
mod second_factor;
mod secrets;
mod security;
mod sessions;
mod signals;
mod stack;
mod streams;
mod subscriptions;
mod talkative;
mod test_chain;
mod test_mode;
mod traces;
mod tracker_script;
mod tracking_tokens;
mod transport;
mod visitors;
mod webhooks;
mod window;
