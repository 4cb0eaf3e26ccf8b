//! The middleware of a route, from the outside in: client address and request id; CORS; credential and rate
//! limit; for management routes the origin check and a task of its own; the lookup of the program key; the
//! compression of management answers.
//!
//! A route has some of these layers, always in this order: a request that an inner layer rejects has been
//! counted by an outer one. The layers are functions that call each other within one tower layer. Each tower
//! layer would cost every request a copy of all the layers inside it, and the router would make those copies
//! again for each layer around it.
//!
//! [`Layers::wrap`] adds the layers to a route, [`Layers::describe`] adds them to its description.

pub mod described;

use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::extract::Request;
use axum::http::{Extensions, HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, Route};
use futures::future::BoxFuture;
use runtime::metrics::requests::RouteRequests;
use runtime::trace::Span;
use tower::layer::layer_fn;
use tower::{Layer, Service, service_fn};
use tower_http::compression::predicate::{Predicate, SizeAbove};
use tower_http::compression::{CompressionLayer, CompressionLevel};
use tower_http::cors::{Any, CorsLayer};
use tracing::Instrument;

use crate::app::App;
use crate::http::client_address::{ClientAddress, TrustedProxies};
use crate::http::credential::Credential;
use crate::http::error::{ApiError, method_not_allowed};
use crate::http::limits::{Budget, Subject};
use crate::http::request_id::X_REQUEST_ID;
use crate::http::{client_address, request_id, rotation};
use crate::management::access;
use crate::tracking::caller;
use crate::tracking::concurrency_limit::ConcurrencyLimit;
use crate::tracking::pipeline::Noun;

/// Which answers carry the id of their request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Identified {
    #[default]
    Never,
    OnFailure,
    Always,
}

/// No layers by default.
#[derive(Debug, Clone, Copy, Default)]
pub struct Layers {
    pub identified: Identified,
    pub browsers: bool,
    /// The budget that counts the requests. The program key of a counted request is looked up too.
    pub budget: Option<Budget>,
    /// At this noun's concurrency limit a request is shed before its body is read.
    pub waits_with: Option<Noun>,
    /// Sessions and management keys call the route.
    pub managed: bool,
}

/// A route's layers and the parts of the application that they use.
#[derive(Debug)]
struct RouteContext {
    layers: Layers,
    app: App,
    proxies: TrustedProxies,
    cors: Option<CorsLayer>,
    requests: RouteRequests,
    route: Route,
}

#[derive(Debug, Clone)]
struct RouteService(Arc<RouteContext>);

impl Service<Request> for RouteService {
    type Response = Response;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        // Routes are always ready.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let context = Arc::clone(&self.0);
        Box::pin(async move {
            let started = context.requests.start(request.method());
            let span = Span::for_request(started.route(), request.headers());
            let response = span
                .clone()
                .scope(assign_request_id(Arc::clone(&context), &span, request))
                .await;
            span.record_status(response.status());
            started.answered(response.status());
            Ok(response)
        })
    }
}

impl Layers {
    pub fn wrap(
        self,
        path: &str,
        mut route: MethodRouter<App>,
        app: &App,
        proxies: &TrustedProxies,
    ) -> MethodRouter<App> {
        if self.budget.is_some() || self.managed {
            // Inside the layers, so that a 405 carries their headers too.
            route = route.fallback(method_not_allowed);
        }
        if self.managed {
            route = route.layer(compression());
        }
        let (path, app, proxies) = (path.to_owned(), app.clone(), proxies.clone());
        route.layer(layer_fn(move |route| {
            RouteService(Arc::new(RouteContext {
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

/// Determines the client address and the request id, for the logs and the answer.
async fn assign_request_id(context: Arc<RouteContext>, traced: &Span, mut request: Request) -> Response {
    client_address::insert_into(&mut request, &context.proxies);
    let identified = context.layers.identified;
    if identified == Identified::Never {
        return apply_cors(context, request).await;
    }
    let id = request_id::insert_into(&mut request, &context.app.clock);
    let span = traced.log_span(id.to_str().unwrap_or_default());
    let mut response = apply_cors(context, request).instrument(span).await;
    let failed = response.status() == StatusCode::INTERNAL_SERVER_ERROR;
    if identified == Identified::Always || failed {
        response.headers_mut().insert(X_REQUEST_ID, id);
    }
    response
}

async fn apply_cors(context: Arc<RouteContext>, request: Request) -> Response {
    let Some(cors) = context.cors.clone() else {
        return rate_limit(context, request).await;
    };
    let inner = service_fn(move |request| {
        let context = Arc::clone(&context);
        async move { Ok::<_, Infallible>(rate_limit(context, request).await) }
    });
    let Ok(response) = cors.layer(inner).call(request).await;
    response
}

/// Counts the request, answers 429 over the limit, and sets the limit's headers on every answer. At the
/// concurrency limit, answers 503 before the body is read.
async fn rate_limit(context: Arc<RouteContext>, mut request: Request) -> Response {
    let Some(budget) = context.layers.budget else {
        return check_origin(context, request).await;
    };
    let app = &context.app;
    let credential = Credential::of(request.headers());
    request.extensions_mut().insert(credential);
    let client = request.extensions().get::<ClientAddress>().copied();
    let program = || match credential {
        Credential::Program(hash) => app.directory.cached_program(&hash),
        _ => None,
    };
    let limit = context.layers.waits_with.map(|noun| app.pipeline.limit(noun));
    let reached = limit.filter(|limit| limit.sheds(|| program().map(|program| program.program_id)));
    let counted = match (credential, budget.is_by_key().then(program).flatten()) {
        (Credential::Program(hash), Some(program)) => {
            let own_limit = program
                .sale_refund_limit
                .filter(|_| budget == Budget::SaleAndRefund);
            app.limits.count_request(budget, Subject::key(hash), own_limit)
        }
        // A key that is not in the directory counts by address, so that inventing keys gains nothing. A new
        // key counts by address too until its first request was answered.
        _ => app.limits.count_request(budget, Subject::client(client), None),
    };
    let refusal = counted.refusal().or_else(|| reached.map(ConcurrencyLimit::shed));
    let mut response = match refusal {
        Some(refusal) => caller::reject(app, credential, refusal).await,
        None => check_origin(context, request).await,
    };
    counted.set_headers(response.headers_mut());
    response
}

/// Rejects a write that a page of another site sends. A management route runs in a task of its own, so that a
/// client that disconnects cannot leave a transaction half done. The in-memory directory applies a
/// change before the route answers, so a replaced token is rejected, and a disabled link is off, as soon as the
/// caller has the answer. Answers are never cached.
async fn check_origin(context: Arc<RouteContext>, request: Request) -> Response {
    if !context.layers.managed {
        return authenticate(context, request).await;
    }
    if let Err(refusal) = access::same_origin(&context.app, &request) {
        return refusal.into_response();
    }
    let is_read = request.method().is_safe();
    let app = context.app.clone();
    let work = tokio::spawn(authenticate(context, request).in_current_span());
    let mut response = work
        .await
        .unwrap_or_else(|error| ApiError::unexpected(error).into_response());
    if !is_read && response.status().is_success() {
        app.directory.sync().await;
    }
    response
        .headers_mut()
        .insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Looks up the program key of a counted request. The answer announces the key's due rotation; an expired key
/// is rejected.
async fn authenticate(context: Arc<RouteContext>, mut request: Request) -> Response {
    if context.layers.budget.is_none() {
        return call(&context, request).await;
    }
    match caller::authenticate(&context.app, &mut request).await {
        Ok(None) => call(&context, request).await,
        Ok(Some(rotation)) => rotation::announce(&rotation, call(&context, request).await).await,
        Err(refusal) => refusal.into_response(),
    }
}

async fn call(context: &RouteContext, request: Request) -> Response {
    let Ok(response) = context.route.clone().call(request).await;
    response
}

/// Lists and reports weigh more than the page's code. The length of a compressed answer may reveal a secret
/// if another site chooses a text beside it. Only answers to writes contain secrets, and a cookie alone does
/// not authorize a write. Streams and files are not compressed.
fn compression() -> CompressionLayer<impl Predicate> {
    let is_json = |_, _, headers: &HeaderMap, _: &Extensions| {
        let content_type = headers.get(header::CONTENT_TYPE);
        content_type.is_some_and(|value| value.as_bytes().starts_with(b"application/json"))
    };
    CompressionLayer::new()
        .quality(CompressionLevel::Fastest)
        .compress_when(SizeAbove::new(1_024).and(is_json))
}

/// Pages of any site may send clicks and leads. Preflights are answered here, before the limits count.
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
