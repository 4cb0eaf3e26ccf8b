//! One request and its answer on a connection.

use bytes::Bytes;
use domain::programs::webhook::WebhookUrl;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HOST, HeaderValue, RETRY_AFTER, USER_AGENT};
use hyper::{Request, Response};
use url::Host;

use super::connect::{Connection, Origin};
use super::error::AttemptError;

/// The most bytes of an answer that are kept.
const MAX_ANSWER: usize = 2 << 10;
const AGENT: &str = concat!("referral-tracker/", env!("CARGO_PKG_VERSION"));

/// A signed webhook.
#[derive(Debug, Clone)]
pub struct Message {
    /// `webhook-id`: the same for every attempt.
    pub id: String,
    /// The time of the attempt, in seconds since 1970.
    pub timestamp: i64,
    /// `webhook-signature`.
    pub signatures: String,
    /// JSON.
    pub body: Bytes,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    pub retry_after: Option<String>,
    /// The first 2 KiB as text, without NUL.
    pub body: String,
}

pub(crate) struct Target {
    pub(crate) origin: Origin,
    /// Includes the port unless it is the scheme's default.
    host: HeaderValue,
    path: String,
}

impl Target {
    pub(crate) fn of(webhook_url: &WebhookUrl) -> Result<Self, AttemptError> {
        let url = webhook_url.get();
        let host = url.host().ok_or(AttemptError::Url)?;
        let shown = url
            .port()
            .map_or_else(|| host.to_string(), |port| format!("{host}:{port}"));
        Ok(Self {
            origin: Origin {
                tls: url.scheme() == "https",
                host: match host {
                    Host::Domain(name) => Host::Domain(name.to_owned()),
                    Host::Ipv4(address) => Host::Ipv4(address),
                    Host::Ipv6(address) => Host::Ipv6(address),
                },
                port: url.port_or_known_default().ok_or(AttemptError::Url)?,
            },
            host: HeaderValue::try_from(shown).map_err(|_| AttemptError::Url)?,
            path: url.query().map_or_else(
                || url.path().to_owned(),
                |query| format!("{}?{query}", url.path()),
            ),
        })
    }
}

/// Returns the answer, and whether it was read to its end.
pub(crate) async fn send(
    connection: &mut Connection,
    target: &Target,
    message: &Message,
) -> Result<(Answer, bool), AttemptError> {
    let request = Request::post(&target.path)
        .header(HOST, &target.host)
        .header(CONTENT_TYPE, "application/json")
        .header(USER_AGENT, AGENT)
        .header("webhook-id", &message.id)
        .header("webhook-timestamp", message.timestamp)
        .header("webhook-signature", &message.signatures)
        .body(Full::new(message.body.clone()))
        .map_err(|_| AttemptError::Url)?;
    connection
        .sender
        .ready()
        .await
        .map_err(|_| AttemptError::Closed)?;
    let response = connection.sender.send_request(request).await;
    read(response.map_err(|_| AttemptError::Closed)?).await
}

async fn read(response: Response<Incoming>) -> Result<(Answer, bool), AttemptError> {
    let status = response.status().as_u16();
    let retry_after = response
        .headers()
        .get(RETRY_AFTER)
        .and_then(|value| value.to_str().ok())
        .map(str::to_owned);
    let mut body = response.into_body();
    let mut text = Vec::new();
    let mut whole = true;
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| AttemptError::Closed)?.into_data() else {
            continue;
        };
        let room = MAX_ANSWER - text.len();
        if data.len() > room {
            text.extend(data.into_iter().take(room));
            whole = false;
            break;
        }
        text.extend_from_slice(&data);
    }
    Ok((
        Answer {
            status,
            retry_after,
            body: shown(&text),
        },
        whole,
    ))
}

/// A character that is cut off appears as U+FFFD. So does NUL, which PostgreSQL cannot store as text.
fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).replace('\0', "\u{fffd}")
}
