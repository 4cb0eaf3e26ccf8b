//! What Stripe sends: is it Stripe's ([`signature`]), what is it ([`event`]), what does it mean ([`translate`]), and for
//! whom ([`recipients`])? None of these touches anything; [`handler`] puts them together.

pub mod event;
pub mod handler;
pub mod metadata;
pub mod recipients;
pub mod signature;
pub mod translate;
