//! One endpoint a file, read top to bottom: request, answer, handler, validation, refusals.

mod click;
mod health;
mod lead;
mod refund;
mod sale;
mod test_mode;

use axum::Router;
use axum::routing::{get, post};

use crate::app::App;

pub fn router(app: App) -> Router {
    Router::new()
        .route("/api/v1/track/click", post(click::click))
        .route("/api/v1/track/lead", post(lead::lead))
        .route("/api/v1/track/sale", post(sale::sale))
        .route("/api/v1/track/refund", post(refund::refund))
        .route("/livez", get(health::livez))
        .route("/readyz", get(health::readyz))
        .with_state(app)
}
