//! E-mails to people: their wording, and the SMTP client that sends them.
//!
//! - [`templates`]: the wording of each kind, as text and HTML. Pure.
//! - [`smtp`]: one attempt to send an e-mail to the mail server, and the consequence of the server's answer.

pub mod smtp;
pub mod templates;
