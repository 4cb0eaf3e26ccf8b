//! Payment processors' webhooks as their senders see them: HTTP answers, and the rows they leave.

mod accounts;
mod delivery;
mod event_types;
mod hostile;
mod late_names;
mod operator;
mod oracles;
mod outbound_events;
mod payments;
mod permutations;
mod processor_customers;
mod shop;
mod signatures;
mod time_order;
mod waiting;
