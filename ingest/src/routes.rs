//! The list of all endpoints. The router and the description of the API are both built from it.

use utoipa_axum::routes;

use crate::http::endpoint::Endpoint;
use crate::http::health;
use crate::{management, tracking};

/// Every endpoint, in the order of the description.
pub fn endpoints() -> Vec<Endpoint> {
    let mut endpoints = tracking::endpoints();
    let legacy = tracking::legacy::endpoints(&endpoints);
    endpoints.extend(tracking::set_up());
    endpoints.extend(management::endpoints());
    endpoints.extend(legacy);
    endpoints.extend(tracking::retired::endpoints());
    endpoints.extend([
        Endpoint::new(routes!(health::livez)),
        Endpoint::new(routes!(health::readyz)).examples(health::examples()),
    ]);
    endpoints
}
