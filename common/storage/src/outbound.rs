//! Data that leaves the service: outbound events in reading order, webhook deliveries, and e-mails.

pub mod emails;
pub mod event_streams;
pub mod outbound_commissions;
pub mod outbound_events;
pub mod outbound_partners;
pub mod outbound_sales;
pub mod program_notices;
pub mod stream_events;
pub mod webhook_deliveries;
pub mod webhook_endpoints;
pub mod webhook_health;
pub mod webhook_queue;
pub mod weekly_summaries;
