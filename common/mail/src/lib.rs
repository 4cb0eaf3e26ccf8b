//! E-mails to people: what they say, and the SMTP client that sends them.
//!
//! - [`templates`]: the wording of each kind, as text and HTML. Pure.
//! - [`smtp`]: one attempt to hand an e-mail to the mail server, and what its answer means for the next one.

pub mod smtp;
pub mod templates;
