//! An endpoint as requests set it and answers show it.

use chrono::{DateTime, Utc};
use domain::programs::outbound_event::OutboundEventType;
use domain::programs::webhook::WebhookUrl;
use domain::programs::webhook_address::AllowedAddresses;
use domain::programs::webhook_endpoint::{EventTypes, EventTypesError};
use domain::text::Text;
use messages::instant::{as_instant, as_instant_if_any};
use serde_json::{Value, json};
use storage::outbound::webhook_endpoints::{EndpointSettings, StoredEndpoint};

use crate::http::field::{Field, if_present, refused};
use crate::management::answers::view;
use crate::management::prelude::*;

#[derive(Debug, Deserialize, ToSchema)]
pub struct NewEndpointRequest {
    /// https, at a public address. Redirects are not followed.
    #[schema(value_type = String, max_length = 2048)]
    url: Field<String>,
    /// In the owner's own words.
    #[schema(value_type = Option<String>, max_length = 200)]
    description: Field<String>,
    /// What it is sent.
    #[schema(value_type = Vec<String>, min_items = 1)]
    event_types: Field<Vec<String>>,
}

/// What is there is changed; what is not stays as it is.
#[derive(Debug, Deserialize, ToSchema)]
pub struct EndpointChanges {
    /// What waits for the endpoint is sent there, too.
    #[serde(default, deserialize_with = "if_present")]
    #[schema(value_type = String, required = false, max_length = 2048)]
    url: Option<Field<String>>,
    /// Null takes it away.
    #[serde(default, deserialize_with = "if_present")]
    #[schema(value_type = Option<String>, max_length = 200)]
    description: Option<Field<String>>,
    /// Of events from now on.
    #[serde(default, deserialize_with = "if_present")]
    #[schema(value_type = Vec<String>, required = false, min_items = 1)]
    event_types: Option<Field<Vec<String>>>,
    /// Off, it is sent nothing but what somebody asks for, and what waits for it is cancelled. On again, its failures are forgotten.
    #[serde(default, deserialize_with = "if_present")]
    #[schema(value_type = bool, required = false)]
    enabled: Option<Field<bool>>,
}

/// An endpoint with its health. Its secret is never shown again.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct EndpointView {
    id: i64,
    url: String,
    /// Empty when there is none.
    description: String,
    event_types: Vec<&'static str>,
    enabled: bool,
    /// `by_hand`, `gone` (it answered 410) or `failing` (it only failed, for five days); null while it is enabled.
    #[schema(required = true)]
    disabled_reason: Option<&'static str>,
    #[serde(serialize_with = "as_instant_if_any")]
    #[schema(required = true)]
    disabled_at: Option<DateTime<Utc>>,
    /// The first failure since the last success; null while it works. Tests and replays do not count.
    #[serde(serialize_with = "as_instant_if_any")]
    #[schema(required = true)]
    failing_since: Option<DateTime<Utc>>,
    #[serde(serialize_with = "as_instant_if_any")]
    #[schema(required = true)]
    last_failure_at: Option<DateTime<Utc>>,
    #[serde(serialize_with = "as_instant_if_any")]
    #[schema(required = true)]
    last_success_at: Option<DateTime<Utc>>,
    /// Until then deliveries are signed with the secret before, too.
    #[serde(serialize_with = "as_instant_if_any")]
    #[schema(required = true)]
    previous_secret_valid_until: Option<DateTime<Utc>>,
    #[serde(serialize_with = "as_instant")]
    created_at: DateTime<Utc>,
}

impl NewEndpointRequest {
    pub fn read(self, allowed: &AllowedAddresses) -> Result<EndpointSettings, ApiError> {
        Ok(EndpointSettings {
            url: url(self.url, allowed)?,
            description: self.description.text("description")?,
            event_types: required_types(self.event_types)?,
        })
    }
}

#[derive(Debug)]
pub struct EndpointChange {
    pub settings: EndpointSettings,
    pub changes_url: bool,
    pub enabled: Option<bool>,
}

impl EndpointChanges {
    /// The settings after the changes, or the refusal of the first invalid change.
    pub fn apply(
        self,
        before: &StoredEndpoint,
        allowed: &AllowedAddresses,
    ) -> Result<EndpointChange, ApiError> {
        let url = match self.url {
            Some(field) => url(field, allowed)?,
            // The stored URL may be one that was allowed when it was stored.
            None => WebhookUrl::parse(&before.url, true).map_err(ApiError::unexpected)?,
        };
        let description = match self.description {
            Some(field) => field.text("description")?,
            None => Text::parse(&before.description).ok(),
        };
        let event_types = match self.event_types {
            Some(field) => required_types(field)?,
            None => before.event_types.clone(),
        };
        let enabled = self.enabled.map(|field| {
            field
                .given()
                .ok_or_else(|| refused("enabled", "must be a boolean"))
        });
        Ok(EndpointChange {
            changes_url: url.as_str() != before.url,
            settings: EndpointSettings {
                url,
                description,
                event_types,
            },
            enabled: enabled.transpose()?,
        })
    }
}

fn url(field: Field<String>, allowed: &AllowedAddresses) -> Result<WebhookUrl, ApiError> {
    let url = field.parsed("url", |text| WebhookUrl::parse(text, allowed.loopback))?;
    let url = url.ok_or_else(|| refused("url", "is required"))?;
    match url.get().host() {
        Some(host) if allowed.permits_host(&host) && url.get().port() != Some(0) => Ok(url),
        _ => Err(refused("url", "must lead to a public address")),
    }
}

fn required_types(field: Field<Vec<String>>) -> Result<EventTypes, ApiError> {
    let types = event_types("event_types", field)?;
    types.ok_or_else(|| refused("event_types", "is required"))
}

/// `None` if the list is absent.
pub fn event_types(name: &str, field: Field<Vec<String>>) -> Result<Option<EventTypes>, ApiError> {
    let names = field.optional(|| refused(name, "must be a list of types of events"))?;
    names
        .map(|names| EventTypes::parse(names.iter().map(String::as_str)))
        .transpose()
        .map_err(|error| refused(name, &error.to_string()))
}

pub fn event_type(name: &str, field: Field<String>) -> Result<OutboundEventType, ApiError> {
    let parsed = field.parsed(name, |text| {
        OutboundEventType::parse(text)
            .ok_or_else(|| EventTypesError::Unknown(text.chars().take(60).collect()))
    })?;
    parsed.ok_or_else(|| refused(name, "is required"))
}

/// The settings as the audit log shows them.
pub fn described(endpoint: &StoredEndpoint) -> Value {
    json!({
        "url": without_query(&endpoint.url),
        "description": endpoint.description,
        "event_types": endpoint.event_types.names(),
        "enabled": endpoint.disabled.is_none(),
    })
}

/// For the audit log: the query of some receivers' URLs contains a token.
pub fn without_query(url: &str) -> &str {
    url.split('?').next().unwrap_or_default()
}

view! { |endpoint: StoredEndpoint, now: DateTime<Utc>| EndpointView {
    url, description, failing_since, last_failure_at, last_success_at, created_at;
    id: endpoint.endpoint_id.get(),
    event_types: endpoint.event_types.names(),
    enabled: endpoint.disabled.is_none(),
    disabled_reason: endpoint.disabled.map(|disabled| disabled.reason.as_str()),
    disabled_at: endpoint.disabled.map(|disabled| disabled.at),
    previous_secret_valid_until: endpoint.previous_secret_until.filter(|until| now < *until),
} }
