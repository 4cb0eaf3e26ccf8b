//! What no client should send, as lists, over every route that reads a body: each is the caller's mistake (4xx) or has no
//! effect, never our failure (5xx), and leaves no row that it does not name.

mod bodies;
mod fields;
mod heads;
mod keys;
mod paths;
mod raw;
mod route;
mod urls;
mod wire;
