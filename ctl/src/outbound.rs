//! Data that leaves the service: the outbox, webhooks, e-mails.

pub mod emails;
pub mod outbox;
pub mod webhooks;
