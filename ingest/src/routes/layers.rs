//! What surrounds a route, from the outside in: the request id; CORS where browsers call; where requests are counted, the
//! credential and the limit; for a route of people the check where a write comes from, and a task of its own; where
//! requests are counted, whose program key it is.
//!
//! A route has any of them, always in this order: what is refused further in was counted further out.
//!
//! Each layer stands here twice: as it is put around a route ([`Layers::around`]), and as the route's description tells
//! of it ([`Layers::describe`]).

pub mod described;

use std::time::Duration;

use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, Method, header};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::MethodRouter;
use tower_http::cors::{Any, CorsLayer};
use tracing::Instrument;

use crate::app::App;
use crate::error::ApiError;
use crate::limits::{Budget, Enforced};
use crate::request_id::X_REQUEST_ID;
use crate::routes::method_not_allowed;
use crate::{access, caller, credential, limits, request_id};

/// Which answers carry the id of their request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Identified {
    #[default]
    Never,
    OnFailure,
    Always,
}

/// None of them unless said otherwise.
#[derive(Debug, Clone, Copy, Default)]
pub struct Layers {
    pub identified: Identified,
    /// Pages of any site may call.
    pub browsers: bool,
    /// What a request counts in. Where one counts, its program key is looked up too.
    pub budget: Option<Budget>,
    /// People and management keys call it.
    pub managed: bool,
}

impl Layers {
    pub fn around(self, mut route: MethodRouter<App>, app: &App) -> MethodRouter<App> {
        if self.budget.is_some() || self.managed {
            // A method that is none of the route's is inside the layers too: answers, preflights among them, are whole.
            route = route.fallback(method_not_allowed);
        }
        if self.budget.is_some() {
            route = route.layer(from_fn_with_state(app.clone(), caller::identify));
        }
        if self.managed {
            route = route
                .layer(from_fn(detached))
                .layer(from_fn_with_state(app.clone(), access::same_origin));
        }
        if let Some(budget) = self.budget {
            let enforced = Enforced {
                limits: app.limits.clone(),
                directory: app.directory.clone(),
                budget,
            };
            route = route
                .layer(from_fn_with_state(enforced, limits::enforce))
                .layer(from_fn(credential::read));
        }
        if self.browsers {
            route = route.layer(browsers());
        }
        match self.identified {
            Identified::Never => route,
            Identified::OnFailure => {
                route.layer(from_fn_with_state(app.clone(), request_id::identify_failures))
            }
            Identified::Always => route.layer(from_fn_with_state(app.clone(), request_id::identify)),
        }
    }
}

/// A management route works in a task of its own: somebody who hangs up must not leave a transaction half done. What it
/// answers is nobody else's to keep.
async fn detached(request: Request, next: Next) -> Response {
    let work = tokio::spawn(next.run(request).in_current_span());
    let mut response = work
        .await
        .unwrap_or_else(|error| ApiError::unexpected(error).into_response());
    response
        .headers_mut()
        .insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Any site may send clicks and leads from its pages. Preflights are answered here, before the limits count.
fn browsers() -> CorsLayer {
    let exposed = [
        "x-ratelimit-limit",
        "x-ratelimit-remaining",
        "x-ratelimit-reset",
        "retry-after",
        "deprecation",
        "sunset",
        "link",
        "x-request-id",
    ];
    CorsLayer::new()
        .allow_origin(Any)
        .allow_methods([Method::POST])
        .allow_headers([header::CONTENT_TYPE, header::AUTHORIZATION, X_REQUEST_ID])
        .expose_headers(exposed.map(HeaderName::from_static))
        .max_age(Duration::from_hours(24))
}
