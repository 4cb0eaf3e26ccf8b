//! Invalid and odd requests, as lists, for every route that reads a body. Each is answered as the caller's
//! mistake (4xx) or has no effect. None is answered as a failure of the service (5xx), and none adds a row
//! that it does not name.

mod bodies;
mod fields;
mod heads;
mod keys;
mod paths;
mod raw;
mod route;
mod urls;
mod wire;
