//! Takes webhooks, checks their signatures, and shows them on a page. It can be told to fail, so that retries and disabled endpoints can be
//! seen.

mod behaviour;
mod pages;
mod received;
mod secrets;

use std::future::pending;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::middleware::{Next, from_fn};
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use url::form_urlencoded;

use self::behaviour::Behaviour;
use self::received::Received;
use self::secrets::Secret;
use crate::newest::Newest;
use crate::page::{of_pages, or_missing};

/// Of the answer that is slow: less than the sender waits.
const SLOWLY: Duration = Duration::from_secs(5);

struct Receiver {
    /// The file of secrets.
    secrets: PathBuf,
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

    fn secrets(&self) -> Vec<Secret> {
        secrets::read(&self.secrets)
    }
}

type Shared = State<Arc<Receiver>>;

/// `secrets`: the file that secrets of endpoints are read from.
pub fn router(secrets: PathBuf) -> Router {
    let receiver = Receiver {
        secrets,
        now: Mutex::default(),
    };
    let router = Router::new()
        .route("/", get(list))
        .route("/received/{number}", get(one))
        .route("/webhooks", post(receive))
        .route("/webhooks/{*endpoint}", post(receive))
        .route(
            "/behaviour",
            post(set_behaviour).layer(from_fn(refuse_other_sites)),
        );
    of_pages(router.with_state(Arc::new(receiver)))
}

async fn list(State(receiver): Shared) -> Html<String> {
    let (behaviour, all) = receiver.with(|now| (now.behaviour, now.received.all()));
    Html(pages::list(behaviour, &all, &receiver.secrets()))
}

async fn one(State(receiver): Shared, Path(number): Path<u64>) -> Response {
    let found = receiver.with(|now| now.received.find(number));
    or_missing(found.map(|found| pages::one(&found, &receiver.secrets())))
}

async fn receive(State(receiver): Shared, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    let (behaviour, verdict) = receiver.with(|now| {
        let attempt = Received::new(uri.path().to_owned(), headers, body, seconds_now(), now.behaviour);
        let verdict = attempt.verdict(&receiver.secrets());
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

async fn set_behaviour(State(receiver): Shared, form: Bytes) -> Redirect {
    let mut fields = form_urlencoded::parse(&form);
    let answer = fields.find(|(name, _)| name == "answer");
    if let Some(behaviour) = answer.and_then(|(_, name)| Behaviour::of_name(&name)) {
        receiver.with(|now| now.behaviour = behaviour);
    }
    Redirect::to("/")
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use tower::ServiceExt;

    use super::*;

    #[tokio::test]
    async fn a_form_of_another_site_changes_nothing() {
        let receiver = router(PathBuf::from("/nowhere/secrets"));
        for (path, site, answer, status) in [
            ("/behaviour", "cross-site", "answer=500", StatusCode::FORBIDDEN),
            ("/webhooks/mine", "same-origin", "{}", StatusCode::OK),
            ("/behaviour", "same-origin", "answer=500", StatusCode::SEE_OTHER),
            (
                "/webhooks/mine",
                "same-origin",
                "{}",
                StatusCode::INTERNAL_SERVER_ERROR,
            ),
        ] {
            let request = Request::post(path).header("sec-fetch-site", site);
            let request = request.body(Body::from(answer)).unwrap();
            let answer = receiver.clone().oneshot(request).await.unwrap();
            assert_eq!(answer.status(), status, "{path} from {site}");
        }
    }
}
