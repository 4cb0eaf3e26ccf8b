//! Takes webhooks, checks their signatures, and shows them on a page. It can be told to fail, so that retries and disabled endpoints can be
//! seen.

mod behaviour;
mod pages;
mod received;
mod secrets;

use std::collections::HashMap;
use std::future::pending;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::middleware::{Next, from_fn};
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use url::form_urlencoded;

use self::behaviour::Behaviour;
use self::received::Received;
use self::secrets::Secrets;
use crate::newest::Newest;
use crate::page::{of_pages, or_missing};

/// Of the answer that is slow: less than the sender waits.
const SLOWLY: Duration = Duration::from_secs(5);

struct Receiver {
    secrets: Secrets,
    now: Mutex<Now>,
}

#[derive(Default)]
struct Now {
    behaviour: Behaviour,
    received: Newest<Received>,
}

impl Receiver {
    fn with<R>(&self, work: impl FnOnce(&mut Now) -> R) -> R {
        work(&mut self.now.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

type Shared = State<Arc<Receiver>>;

/// `secrets`: the file that secrets of endpoints are read from, and written to.
pub fn router(secrets: PathBuf) -> Router {
    let receiver = Receiver {
        secrets: Secrets::of(secrets),
        now: Mutex::default(),
    };
    let forms = Router::new()
        .route("/behaviour", post(set_behaviour))
        .route("/secrets", post(add_secret))
        .route_layer(from_fn(refuse_other_sites));
    let router = Router::new()
        .route("/", get(list))
        .route("/received/{number}", get(one))
        .route("/secrets", get(secrets_page))
        .route("/secrets/{*endpoint}", get(secrets_page))
        .route("/webhooks", post(receive))
        .route("/webhooks/{*endpoint}", post(receive))
        .merge(forms);
    of_pages(router.with_state(Arc::new(receiver)))
}

async fn list(State(receiver): Shared) -> Html<String> {
    let (behaviour, all) = receiver.with(|now| (now.behaviour, now.received.all()));
    Html(pages::list(behaviour, &all, &receiver.secrets.read()))
}

async fn one(State(receiver): Shared, Path(number): Path<u64>) -> Response {
    let (found, all) = receiver.with(|now| (now.received.find(number), now.received.all()));
    or_missing(found.map(|found| pages::one(&found, &all, &receiver.secrets.read())))
}

async fn secrets_page(State(receiver): Shared, uri: Uri, headers: HeaderMap) -> Html<String> {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let path = uri.path().strip_prefix("/secrets").unwrap_or_default();
    Html(pages::secrets(
        host.unwrap_or("127.0.0.1"),
        path,
        &receiver.secrets.read(),
    ))
}

async fn receive(State(receiver): Shared, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    let (behaviour, verdict) = receiver.with(|now| {
        let attempt = Received::new(uri.path().to_owned(), headers, body, seconds_now(), now.behaviour);
        let verdict = attempt.verdict(&receiver.secrets.read());
        now.received.add(attempt);
        (now.behaviour, verdict)
    });
    let said = format!("{}\n", verdict.text());
    match behaviour {
        Behaviour::Accept => said.into_response(),
        Behaviour::Slow => {
            tokio::time::sleep(SLOWLY).await;
            said.into_response()
        }
        Behaviour::Fail => (StatusCode::INTERNAL_SERVER_ERROR, "told to fail\n").into_response(),
        Behaviour::Gone => (StatusCode::GONE, "told to want nothing more\n").into_response(),
        // Until the sender has had enough.
        Behaviour::Hang => pending().await,
    }
}

/// Seconds since 1970.
#[expect(
    clippy::disallowed_methods,
    reason = "the service's clock would bring the service's dependencies along"
)]
fn seconds_now() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs().try_into().unwrap_or(i64::MAX))
}

/// What a page of another site makes the browser send changes nothing here.
async fn refuse_other_sites(request: Request, next: Next) -> Response {
    match request.headers().get("sec-fetch-site") {
        Some(site) if site != "same-origin" => (StatusCode::FORBIDDEN, "from another site\n").into_response(),
        _ => next.run(request).await,
    }
}

fn fields(form: &Bytes) -> HashMap<String, String> {
    form_urlencoded::parse(form)
        .map(|(name, value)| (name.into_owned(), value.trim().to_owned()))
        .collect()
}

async fn set_behaviour(State(receiver): Shared, form: Bytes) -> Redirect {
    if let Some(behaviour) = fields(&form)
        .get("answer")
        .and_then(|name| Behaviour::of_name(name))
    {
        receiver.with(|now| now.behaviour = behaviour);
    }
    Redirect::to("/")
}

async fn add_secret(State(receiver): Shared, form: Bytes) -> Result<Redirect, (StatusCode, String)> {
    let fields = fields(&form);
    let field = |name| fields.get(name).map(String::as_str).unwrap_or_default();
    match receiver.secrets.add(field("path"), field("secret")) {
        Ok(()) => Ok(Redirect::to("/")),
        Err(error) => Err((StatusCode::BAD_REQUEST, format!("{error:#}\n"))),
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use tower::ServiceExt;

    use super::*;

    #[tokio::test]
    async fn a_form_of_another_site_changes_nothing() {
        let receiver = router(PathBuf::from("/nowhere/secrets"));
        let send = async |path: &str, site: &str, body: &str| {
            let request = Request::post(path).header("sec-fetch-site", site);
            let request = request.body(Body::from(body.to_owned())).unwrap();
            receiver.clone().oneshot(request).await.unwrap().status()
        };
        let (ours, other) = ("same-origin", "cross-site");
        assert_eq!(
            send("/behaviour", other, "answer=500").await,
            StatusCode::FORBIDDEN
        );
        assert_eq!(
            send("/secrets", other, "path=/webhooks&secret=x").await,
            StatusCode::FORBIDDEN
        );
        assert_eq!(send("/webhooks/mine", ours, "{}").await, StatusCode::OK);
        assert_eq!(
            send("/behaviour", ours, "answer=500").await,
            StatusCode::SEE_OTHER
        );
        assert_eq!(
            send("/webhooks/mine", ours, "{}").await,
            StatusCode::INTERNAL_SERVER_ERROR
        );
        // Neither a path for webhooks nor a secret.
        assert_eq!(
            send("/secrets", ours, "path=/app&secret=x").await,
            StatusCode::BAD_REQUEST
        );
    }
}
