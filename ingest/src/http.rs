//! HTTP for tracking and management: middleware, request ids, limits, credentials, client addresses, bodies,
//! fields, errors.

pub mod accept;
pub mod body;
pub mod client_address;
pub mod credential;
pub mod endpoint;
pub mod error;
pub mod field;
pub mod free_form;
pub mod health;
pub mod layers;
pub mod limits;
pub mod openapi;
pub mod query;
pub mod request_id;
pub mod rotation;
