//! The shared parts of tests of the whole service: an ingest and a worker in this process, their clients, and
//! fixtures.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod ctl;
mod edge;
mod fixtures;
pub mod hooks;
mod json;
pub mod leads;
mod logged_services;
mod mail_server;
pub mod managed;
pub mod oracle;
pub mod outbound_events;
mod people;
mod program;
mod receiver;
pub mod recomputation;
mod requests;
pub mod rows;
mod shop;
mod stack;
mod streams;
pub mod webhooks;

pub use self::ctl::{Ran, ctl, ctl_reading, succeeds};
pub use self::edge::{
    Edge, PATIENT, allow_open_files, answering_within, ended, sale_at_a_dying_ingest, sale_of,
};
pub use self::fixtures::{digests, mark_for_rotation, pay_out, two_clicks};
pub use self::json::Json;
pub use self::logged_services::LoggedServices;
pub use self::mail_server::{MAIL_PASSWORD, MailServer, Manner, ReceivedEmail};
pub use self::people::{PASSWORD, Person, Workspace};
pub use self::program::{Partner, Program, noon, percentage};
pub use self::receiver::{Receiver, Reply, Webhook};
pub use self::requests::{Answer, BOT, platform_error, refund_of, refused_each, statuses, test_mode};
pub use self::shop::{Shop, sell};
pub use self::stack::Stack;
pub use self::streams::Streams;
