//! One attempt that arrived, and what its signature is worth (Standard Webhooks).

use axum::body::Bytes;
use axum::http::HeaderMap;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::Value;
use sha2::Sha256;

use super::behaviour::Behaviour;
use super::secrets::Secret;

/// Between signing and arriving, either way.
const TOLERANCE_SECONDS: i64 = 300;

pub struct Received {
    pub path: String,
    pub headers: HeaderMap,
    /// Seconds since 1970.
    pub at: i64,
    /// What it was answered.
    pub behaviour: Behaviour,
    body: Bytes,
    /// The body, where it is JSON.
    event: Option<Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Good,
    Bad(&'static str),
    /// The receiver has no secret of this path, and no other one fits.
    UnknownSecret,
}

impl Verdict {
    pub const fn word(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Bad(_) => "bad",
            Self::UnknownSecret => "unknown secret",
        }
    }

    pub fn text(self) -> String {
        match self {
            Self::Good => "the signature is good".to_owned(),
            Self::Bad(why) => format!("the signature is bad: {why}"),
            Self::UnknownSecret => "the receiver does not know the secret of this endpoint".to_owned(),
        }
    }
}

impl Received {
    pub fn new(path: String, headers: HeaderMap, body: Bytes, at: i64, behaviour: Behaviour) -> Self {
        let event = serde_json::from_slice(&body).ok();
        Self {
            path,
            headers,
            at,
            behaviour,
            body,
            event,
        }
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    pub fn id(&self) -> &str {
        self.header("webhook-id").unwrap_or_default()
    }

    pub fn event_type(&self) -> &str {
        let found = self.event.as_ref().and_then(|body| body.get("type")?.as_str());
        found.unwrap_or("no event")
    }

    pub fn is_test(&self) -> bool {
        let found = self.event.as_ref().and_then(|body| body.get("is_test"));
        found == Some(&Value::Bool(true))
    }

    /// Indented where it is JSON.
    pub fn pretty_body(&self) -> String {
        let as_it_came = || String::from_utf8_lossy(&self.body).into_owned();
        self.event
            .as_ref()
            .map_or_else(as_it_came, |event| format!("{event:#}"))
    }

    /// Computed each time it is shown: a secret that was added later counts, too.
    pub fn verdict(&self, secrets: &[Secret]) -> Verdict {
        let (Some(id), Some(timestamp), Some(signatures)) = (
            self.header("webhook-id"),
            self.header("webhook-timestamp"),
            self.header("webhook-signature"),
        ) else {
            return Verdict::Bad("webhook-id, webhook-timestamp or webhook-signature is missing");
        };
        let Ok(signed_at) = timestamp.parse::<i64>() else {
            return Verdict::Bad("webhook-timestamp is no number");
        };
        let is_by = |secret: &Secret| {
            signatures
                .split(' ')
                .filter_map(|signature| STANDARD.decode(signature.strip_prefix("v1,")?).ok())
                .any(|signature| is_signature(&signature, secret, &format!("{id}.{timestamp}."), &self.body))
        };
        let is_of_path = |secret: &Secret| secret.path == self.path;
        if !secrets.iter().any(is_by) {
            return if secrets.iter().any(is_of_path) {
                Verdict::Bad("no secret of this endpoint that is known here has signed this text")
            } else {
                Verdict::UnknownSecret
            };
        }
        if (self.at - signed_at).abs() > TOLERANCE_SECONDS {
            return Verdict::Bad("it is more than five minutes away from when it arrived");
        }
        Verdict::Good
    }
}

fn is_signature(signature: &[u8], secret: &Secret, head: &str, body: &[u8]) -> bool {
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&secret.key) else {
        return false;
    };
    mac.update(head.as_bytes());
    mac.update(body);
    mac.verify_slice(signature).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &[u8] = b"a secret of twenty-four.";
    const BODY: &str =
        r#"{"type":"sale.recorded","timestamp":"2026-11-26T09:00:00.000Z","data":{"program_id":1}}"#;
    const SIGNED_AT: i64 = 1_795_683_600;
    /// By openssl: `printf '%s' "evt_1.$SIGNED_AT.$BODY" | openssl dgst -sha256 -hmac "$KEY" -binary | base64`.
    const SIGNATURE: &str = "diIVfVJFHHli8IxLkMzNhWy5cI5nKZLM1+zVjFaTdvg=";

    fn received(path: &str, signature: &str, at: i64, body: &str) -> Received {
        let mut headers = HeaderMap::new();
        headers.insert("webhook-id", "evt_1".parse().unwrap());
        headers.insert("webhook-timestamp", SIGNED_AT.into());
        headers.insert("webhook-signature", signature.parse().unwrap());
        let body = body.to_owned().into();
        Received::new(path.to_owned(), headers, body, at, Behaviour::Accept)
    }

    fn secrets(path: &str, key: &[u8]) -> Vec<Secret> {
        let (path, key) = (path.to_owned(), key.to_owned());
        vec![Secret { path, key }]
    }

    #[test]
    fn a_signature_is_good_by_any_known_secret_and_any_of_its_versions() {
        let signature = format!("v1,{SIGNATURE}");
        let good = received("/webhooks/a", &signature, SIGNED_AT + 300, BODY);
        assert_eq!(good.verdict(&secrets("/webhooks/a", KEY)), Verdict::Good);
        assert_eq!(good.verdict(&secrets("/webhooks/b", KEY)), Verdict::Good);
        assert_eq!(good.event_type(), "sale.recorded");
        let rotated = format!("v1,{} v1a,x {signature}", STANDARD.encode([7; 32]));
        let rotated = received("/webhooks/a", &rotated, SIGNED_AT, BODY);
        assert_eq!(rotated.verdict(&secrets("/webhooks/a", KEY)), Verdict::Good);
    }

    #[test]
    fn what_is_altered_old_or_unsigned_is_bad() {
        let signature = format!("v1,{SIGNATURE}");
        let of = |signature: &str, at, body: &str| {
            let received = received("/webhooks/a", signature, at, body);
            received.verdict(&secrets("/webhooks/a", KEY)).word()
        };
        assert_eq!(of(&signature, SIGNED_AT, &BODY.replace(":1", ":2")), "bad");
        assert_eq!(of(&signature, SIGNED_AT + 301, BODY), "bad");
        assert_eq!(of(&signature, SIGNED_AT - 301, BODY), "bad");
        assert_eq!(of(SIGNATURE, SIGNED_AT, BODY), "bad");
        let mut unsigned = received("/webhooks/a", "", SIGNED_AT, BODY);
        unsigned.headers.remove("webhook-signature");
        assert_eq!(unsigned.verdict(&secrets("/webhooks/a", KEY)).word(), "bad");
    }

    #[test]
    fn without_a_secret_of_its_path_nobody_knows() {
        let received = received("/webhooks/a", &format!("v1,{SIGNATURE}"), SIGNED_AT, BODY);
        assert_eq!(received.verdict(&[]), Verdict::UnknownSecret);
        let others = secrets("/webhooks/b", b"another secret");
        assert_eq!(received.verdict(&others), Verdict::UnknownSecret);
    }
}
