//! A receiver of webhooks that treats some of them badly when it sees them first: it answers 500, redirects,
//! closes, or answers after the sender's time. Seen again, they are answered 200.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::programs::webhook::{SigningSecret, signatures};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::header::{HeaderValue, LOCATION};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

/// For an attempt: the services' setting, so that what hangs is repeated within a round.
pub(crate) const TIMEOUT_MS: u64 = 1_000;
const LATE: Duration = Duration::from_millis(TIMEOUT_MS * 3 / 2);

/// What the receiver saw of a webhook, and did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    Request {
        is_signed: bool,
    },
    /// A 200 within the sender's time.
    Acknowledged,
    /// A 200 after the sender's time. A sender that was frozen meanwhile reads it as an answer; any other has
    /// gone.
    AcknowledgedLate,
}

/// In the order of time, each with the webhook's id.
pub(super) type Steps = Vec<(String, Step)>;

#[derive(Debug, Clone)]
pub(super) struct Receiver {
    secret: SigningSecret,
    /// Which events are treated badly.
    salt: u64,
    steps: Arc<Mutex<Steps>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Treatment {
    Well,
    Error,
    Redirect,
    Close,
    Late,
}

impl Receiver {
    /// Ends with the runtime. Returns its address, too.
    pub(super) async fn start(secret: SigningSecret, salt: u64) -> io::Result<(Self, SocketAddr)> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let receiver = Self {
            secret,
            salt,
            steps: Arc::default(),
        };
        tokio::spawn(receiver.clone().accept(listener));
        Ok((receiver, address))
    }

    pub(super) fn steps(&self) -> MutexGuard<'_, Steps> {
        self.steps.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn accept(self, listener: TcpListener) {
        while let Ok((stream, _)) = listener.accept().await {
            let receiver = self.clone();
            let service = service_fn(move |request| {
                let receiver = receiver.clone();
                async move {
                    // After an error, the connection is closed.
                    let answer = receiver.answer(request).await;
                    answer.ok_or_else(|| io::Error::from(io::ErrorKind::ConnectionAborted))
                }
            });
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
        }
    }

    async fn answer(self, request: Request<Incoming>) -> Option<Response<String>> {
        let (head, body) = request.into_parts();
        let header = |name| head.headers.get(name)?.to_str().ok();
        let id = header("webhook-id")?;
        let body = body.collect().await.ok()?.to_bytes();
        let expected = signatures(
            std::slice::from_ref(&self.secret),
            id,
            header("webhook-timestamp")?.parse().ok()?,
            std::str::from_utf8(&body).ok()?,
        );
        let mut answer = Response::new(String::new());
        match self.see(id, header("webhook-signature") == Some(&expected)) {
            Treatment::Well => {}
            Treatment::Error => *answer.status_mut() = StatusCode::INTERNAL_SERVER_ERROR,
            Treatment::Redirect => {
                *answer.status_mut() = StatusCode::FOUND;
                let elsewhere = HeaderValue::from_static("http://127.0.0.1:1/");
                answer.headers_mut().insert(LOCATION, elsewhere);
            }
            Treatment::Close => return None,
            Treatment::Late => {
                // Once the sender has closed the connection, this goes no further.
                tokio::time::sleep(LATE).await;
                self.steps().push((id.to_owned(), Step::AcknowledgedLate));
            }
        }
        Some(answer)
    }

    fn see(&self, id: &str, is_signed: bool) -> Treatment {
        let mut steps = self.steps();
        let treatment = if steps.iter().all(|(other, _)| other != id) {
            treatment(self.salt, id)
        } else {
            Treatment::Well
        };
        steps.push((id.to_owned(), Step::Request { is_signed }));
        if treatment == Treatment::Well {
            steps.push((id.to_owned(), Step::Acknowledged));
        }
        treatment
    }
}

/// One of sixteen is treated badly.
fn treatment(salt: u64, id: &str) -> Treatment {
    let mut hasher = DefaultHasher::new();
    (salt, id).hash(&mut hasher);
    match hasher.finish() % 64 {
        0 => Treatment::Error,
        1 => Treatment::Redirect,
        2 => Treatment::Close,
        3 => Treatment::Late,
        _ => Treatment::Well,
    }
}
