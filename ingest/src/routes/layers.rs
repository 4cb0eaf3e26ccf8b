//! What surrounds a route, from the outside in: the client's address and the request id; CORS where browsers call; where
//! requests are counted, the credential and the limit; for a route of people the check where a write comes from, and a
//! task of its own; where requests are counted, whose program key it is.
//!
//! A route has any of them, always in this order: what is refused further in was counted further out. They are functions
//! that call each other, in one layer and not one each: a layer costs every request a copy of all that it surrounds, and
//! of those the router itself makes it again for each one around it.
//!
//! Each stands here twice: as it is put around a route ([`Layers::around`]), and as the route's description tells
//! of it ([`Layers::describe`]).

pub mod described;

use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, Route};
use futures::future::BoxFuture;
use runtime::metrics::requests::RouteRequests;
use runtime::trace::Span;
use tower::layer::layer_fn;
use tower::{Layer, Service, service_fn};
use tower_http::cors::{Any, CorsLayer};
use tracing::Instrument;

use crate::app::App;
use crate::client_address::{ClientAddress, TrustedProxies};
use crate::credential::Credential;
use crate::error::ApiError;
use crate::limits::{Budget, Store};
use crate::pipeline::Noun;
use crate::request_id::X_REQUEST_ID;
use crate::routes::method_not_allowed;
use crate::waiting::Places;
use crate::{access, caller, client_address, limits, request_id, rotation};

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
    /// Whose callers wait in places: without one left, a request is turned away before it is read.
    pub waits_with: Option<Noun>,
    /// People and management keys call it.
    pub managed: bool,
}

/// What the layers work with.
#[derive(Debug)]
struct Surroundings {
    layers: Layers,
    app: App,
    proxies: TrustedProxies,
    cors: Option<CorsLayer>,
    requests: RouteRequests,
    route: Route,
}

/// A route with all that surrounds it.
#[derive(Debug, Clone)]
struct Surrounded(Arc<Surroundings>);

impl Service<Request> for Surrounded {
    type Response = Response;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        // As routes are, always.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let around = Arc::clone(&self.0);
        Box::pin(async move {
            let begun = around.requests.begin(request.method());
            let span = Span::for_request(begun.route(), request.headers());
            let response = span
                .clone()
                .scope(receive(Arc::clone(&around), &span, request))
                .await;
            span.record_status(response.status());
            begun.answered(response.status());
            Ok(response)
        })
    }
}

impl Layers {
    pub fn around(
        self,
        path: &str,
        mut route: MethodRouter<App>,
        app: &App,
        proxies: &TrustedProxies,
    ) -> MethodRouter<App> {
        if self.budget.is_some() || self.managed {
            // A method that is none of the route's is inside the layers too: answers, preflights among them, are whole.
            route = route.fallback(method_not_allowed);
        }
        let (path, app, proxies) = (path.to_owned(), app.clone(), proxies.clone());
        route.layer(layer_fn(move |route| {
            Surrounded(Arc::new(Surroundings {
                layers: self,
                app: app.clone(),
                proxies: proxies.clone(),
                cors: self.browsers.then(browsers),
                requests: RouteRequests::of(&path),
                route,
            }))
        }))
    }
}

/// Whose request it is and what it is called, in logs and in the answer.
async fn receive(around: Arc<Surroundings>, traced: &Span, mut request: Request) -> Response {
    client_address::leave_with(&mut request, &around.proxies);
    let identified = around.layers.identified;
    if identified == Identified::Never {
        return share(around, request).await;
    }
    let id = request_id::leave_with(&mut request, &around.app.clock);
    let span = traced.log_span(id.to_str().unwrap_or_default());
    let mut response = share(around, request).instrument(span).await;
    let failed = response.status() == StatusCode::INTERNAL_SERVER_ERROR;
    if identified == Identified::Always || failed {
        response.headers_mut().insert(X_REQUEST_ID, id);
    }
    response
}

/// Lets pages of other sites read the answer, where they may call.
async fn share(around: Arc<Surroundings>, request: Request) -> Response {
    let Some(cors) = around.cors.clone() else {
        return admit(around, request).await;
    };
    let admit = service_fn(move |request| {
        let around = Arc::clone(&around);
        async move { Ok::<_, Infallible>(admit(around, request).await) }
    });
    let Ok(response) = cors.layer(admit).call(request).await;
    response
}

/// Counts the request, answers 429 if it is too many, and gives every answer the limit's headers.
async fn admit(around: Arc<Surroundings>, mut request: Request) -> Response {
    let Some(budget) = around.layers.budget else {
        return permit(around, request).await;
    };
    let credential = Credential::of(request.headers());
    request.extensions_mut().insert(credential);
    let client = request.extensions().get::<ClientAddress>().copied();
    let places = around
        .layers
        .waits_with
        .map(|noun| around.app.pipeline.places(noun));
    let full = places.filter(|places| places.are_taken());
    let store = if full.is_some() {
        Store::Here
    } else {
        Store::Shared
    };
    let counted = limits::count_request(&around.app, budget, credential, client, store).await;
    let refusal = counted.refusal().or_else(|| full.map(Places::turn_away));
    let mut response = match refusal {
        Some(refusal) => caller::turn_away(&around.app, credential, refusal).await,
        None => permit(around, request).await,
    };
    counted.announce(response.headers_mut());
    response
}

/// A management route works in a task of its own: somebody who hangs up must not leave a transaction half done. A change is
/// heard of before it is answered: a token that was replaced is refused here from then on, a link that was turned off is off.
/// What it answers is nobody else's to keep.
async fn permit(around: Arc<Surroundings>, request: Request) -> Response {
    if !around.layers.managed {
        return identify(around, request).await;
    }
    if let Err(refusal) = access::same_origin(&around.app, &request) {
        return refusal.into_response();
    }
    let is_read = request.method().is_safe();
    let app = around.app.clone();
    let work = tokio::spawn(identify(around, request).in_current_span());
    let mut response = work
        .await
        .unwrap_or_else(|error| ApiError::unexpected(error).into_response());
    if !is_read && response.status().is_success() {
        app.directory.hear().await;
    }
    response
        .headers_mut()
        .insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Finds out whose key a request carries, where requests are counted. A key that is due for rotation is announced in the
/// answer; one whose time is over is refused.
async fn identify(around: Arc<Surroundings>, mut request: Request) -> Response {
    if around.layers.budget.is_none() {
        return answer(&around, request).await;
    }
    match caller::identify(&around.app, &mut request).await {
        Ok(None) => answer(&around, request).await,
        Ok(Some(rotation)) => rotation::announce(&rotation, answer(&around, request).await).await,
        Err(refusal) => refusal.into_response(),
    }
}

async fn answer(around: &Surroundings, request: Request) -> Response {
    let Ok(response) = around.route.clone().call(request).await;
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
