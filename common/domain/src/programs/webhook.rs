//! Outgoing webhooks by the Standard Webhooks specification: secret, signature and URL.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use url::{Host, Url};
use uuid::Uuid;

use crate::ids::WebhookEndpointId;

#[derive(Clone, PartialEq, Eq)]
pub struct SigningSecret([u8; Self::BYTES]);

crate::redacted!(SigningSecret);

impl SigningSecret {
    pub const BYTES: usize = 32;

    pub const fn generate(random: [u8; Self::BYTES]) -> Self {
        Self(random)
    }

    /// The form in which receivers configure the secret.
    pub fn text(&self) -> String {
        format!("whsec_{}", STANDARD.encode(self.0))
    }

    /// The bytes to be [sealed](crate::sealed).
    pub const fn expose(&self) -> &[u8] {
        &self.0
    }

    pub fn from_opened(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// Context under which an endpoint's secret is [sealed](crate::sealed).
    pub fn purpose(endpoint_id: WebhookEndpointId) -> Vec<u8> {
        format!("signing secret of webhook endpoint {endpoint_id}").into_bytes()
    }

    /// One signature of a message, with its version. `timestamp` is the attempt's, in seconds since 1970.
    fn sign(&self, message_id: &str, timestamp: i64, body: &str) -> Option<String> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).ok()?;
        for part in [message_id, ".", &timestamp.to_string(), ".", body] {
            mac.update(part.as_bytes());
        }
        Some(format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes())))
    }
}

/// The URL of an endpoint: https, or http on loopback where that is allowed (development). The sender checks
/// the IP address when it connects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookUrl(Url);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WebhookUrlError {
    #[error("must be an https URL")]
    NotHttps,
    #[error("must have at most 2,048 characters")]
    TooLong,
    #[error("must not have a user name, a password or a fragment")]
    HasMore,
}

impl WebhookUrl {
    const MAX_LENGTH: usize = 2_048;

    pub fn parse(text: &str, loopback_allowed: bool) -> Result<Self, WebhookUrlError> {
        if text.len() > Self::MAX_LENGTH {
            return Err(WebhookUrlError::TooLong);
        }
        let url = Url::parse(text).map_err(|_| WebhookUrlError::NotHttps)?;
        if url.scheme() != "https" && !(loopback_allowed && url.scheme() == "http" && is_loopback(&url)) {
            return Err(WebhookUrlError::NotHttps);
        }
        if !url.username().is_empty() || url.password().is_some() || url.fragment().is_some() {
            return Err(WebhookUrlError::HasMore);
        }
        Ok(Self(url))
    }

    pub const fn get(&self) -> &Url {
        &self.0
    }

    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

/// The `webhook-id` of an event: the same for all endpoints, attempts and replays.
pub fn message_id(event_id: Uuid) -> String {
    format!("evt_{event_id}")
}

/// The `webhook-signature` of an attempt: one signature for each valid secret, separated by spaces.
pub fn signatures(secrets: &[SigningSecret], message_id: &str, timestamp: i64, body: &str) -> String {
    let each = secrets
        .iter()
        .filter_map(|secret| secret.sign(message_id, timestamp, body));
    each.collect::<Vec<_>>().join(" ")
}
