//! What surrounds a route, from the outside in: the client's address and the request id; CORS where browsers call; where
//! requests are counted, the credential and the limit; for a route of people the check where a write comes from, and a
//! task of its own; where requests are counted, whose program key it is.
//!
//! A route has any of them, always in this order: what is refused further in was counted further out. They are functions
//! that call each other, in two layers around CORS and not one each: a layer costs every request copies of all that it
//! surrounds.
//!
//! Each stands here twice: as it is put around a route ([`Layers::around`]), and as the route's description tells
//! of it ([`Layers::describe`]).

pub mod described;

use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::MethodRouter;
use tower_http::cors::{Any, CorsLayer};
use tracing::Instrument;

use crate::app::App;
use crate::client_address::{ClientAddress, TrustedProxies};
use crate::credential::Credential;
use crate::error::ApiError;
use crate::limits::Budget;
use crate::request_id::X_REQUEST_ID;
use crate::routes::method_not_allowed;
use crate::{access, caller, client_address, limits, request_id};

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

/// What the layers work with.
#[derive(Debug, Clone)]
struct Surroundings {
    layers: Layers,
    app: App,
    proxies: TrustedProxies,
}

impl Layers {
    pub fn around(
        self,
        mut route: MethodRouter<App>,
        app: &App,
        proxies: &TrustedProxies,
    ) -> MethodRouter<App> {
        let surroundings = Surroundings {
            layers: self,
            app: app.clone(),
            proxies: proxies.clone(),
        };
        if self.budget.is_some() || self.managed {
            // A method that is none of the route's is inside the layers too: answers, preflights among them, are whole.
            route = route
                .fallback(method_not_allowed)
                .layer(from_fn_with_state(surroundings.clone(), admit));
        }
        if self.browsers {
            route = route.layer(browsers());
        }
        route.layer(from_fn_with_state(surroundings, receive))
    }
}

/// Whose request it is and what it is called, in logs and in the answer.
async fn receive(State(around): State<Surroundings>, mut request: Request, next: Next) -> Response {
    client_address::leave_with(&mut request, &around.proxies);
    if around.layers.identified == Identified::Never {
        return next.run(request).await;
    }
    let id = request_id::leave_with(&mut request, &around.app.clock);
    let span = tracing::info_span!("request", request_id = id.to_str().unwrap_or_default());
    let mut response = next.run(request).instrument(span).await;
    let failed = response.status() == StatusCode::INTERNAL_SERVER_ERROR;
    if around.layers.identified == Identified::Always || failed {
        response.headers_mut().insert(X_REQUEST_ID, id);
    }
    response
}

/// Counts the request, answers 429 if it is too many, and gives every answer the limit's headers.
async fn admit(State(around): State<Surroundings>, mut request: Request, next: Next) -> Response {
    let Surroundings { layers, app, .. } = around;
    let Some(budget) = layers.budget else {
        return permit(layers, app, request, next).await;
    };
    let credential = Credential::of(request.headers());
    request.extensions_mut().insert(credential);
    let client = request.extensions().get::<ClientAddress>().copied();
    let counted = limits::count_request(&app, budget, credential, client).await;
    let mut response = match counted.refusal() {
        Some(refusal) => refusal.into_response(),
        None => permit(layers, app, request, next).await,
    };
    counted.announce(response.headers_mut());
    response
}

/// A management route works in a task of its own: somebody who hangs up must not leave a transaction half done. What it
/// answers is nobody else's to keep.
async fn permit(layers: Layers, app: App, request: Request, next: Next) -> Response {
    if !layers.managed {
        return call(layers, app, request, next).await;
    }
    if let Err(refusal) = access::same_origin(&app, &request) {
        return refusal.into_response();
    }
    let work = tokio::spawn(call(layers, app, request, next).in_current_span());
    let mut response = work
        .await
        .unwrap_or_else(|error| ApiError::unexpected(error).into_response());
    response
        .headers_mut()
        .insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

async fn call(layers: Layers, app: App, request: Request, next: Next) -> Response {
    if layers.budget.is_none() {
        return next.run(request).await;
    }
    caller::identify(&app, request, next).await
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
