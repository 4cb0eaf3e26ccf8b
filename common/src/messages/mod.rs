//! What travels on the bus. Every record is versioned by its envelope, and carries the event_id and the time
//! minted at the edge: the keys by which a second delivery is recognised.
//!
//! New fields are optional with a default, so that the previous version's messages decode.

pub mod click;
pub mod envelope;
pub mod lead;
pub mod notification;
pub mod payment;
pub mod refund;
pub mod sale;
pub mod subject;
pub mod test_chain;
pub mod test_event;
pub mod trace_parent;
