//! A program's processor connection as requests change it and answers show it.

use chrono::{DateTime, Utc};
use domain::ids::ProgramId;
use domain::processors::processor::{ConnectionStatus, ProcessorId, WebhookSecret};
use messages::instant::as_instant_if_any;
use serde_json::{Value, json};
use storage::processor::processor_connections::{Connection, SealedSecret};

use crate::http::field::{Field, if_present, refused};
use crate::management::access::differences;
use crate::management::prelude::*;

/// What is there is changed; what is not stays as it is. An account must be there to begin with.
#[derive(Debug, Default, Deserialize, ToSchema)]
pub struct ConnectionChanges {
    #[serde(default, deserialize_with = "if_present")]
    #[schema(value_type = Option<String>, min_length = 1, max_length = 255)]
    account_id: Option<Field<String>>,
    #[serde(default, deserialize_with = "if_present")]
    #[schema(value_type = Option<String>, max_length = 255)]
    webhook_endpoint_id: Option<Field<String>>,
    /// Replaces the one before at once; to change it while webhooks arrive, rotate it. Null takes it away.
    #[serde(default, deserialize_with = "if_present")]
    #[schema(value_type = Option<String>, min_length = 16, max_length = 255)]
    webhook_secret: Option<Field<String>>,
    #[serde(default, deserialize_with = "if_present")]
    #[schema(value_type = Option<bool>)]
    charges_enabled: Option<Field<bool>>,
    #[serde(default, deserialize_with = "if_present")]
    #[schema(value_type = Option<bool>)]
    payouts_enabled: Option<Field<bool>>,
    /// `pending` (the first), `connected` or `disconnected`.
    #[serde(default, deserialize_with = "if_present")]
    #[schema(value_type = Option<String>)]
    status: Option<Field<String>>,
}

#[derive(Debug, Serialize, ToSchema)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "fields of an answer, each of its own"
)]
pub struct ConnectionView {
    account_id: String,
    #[schema(required = true)]
    webhook_endpoint_id: Option<String>,
    /// `pending`, `connected` or `disconnected`.
    #[schema(pattern = "^(pending|connected|disconnected)$")]
    status: &'static str,
    /// Whether an operator has confirmed the account. Until then, and while it is not connected, the platform's events of the
    /// account do not reach the program; its own endpoint needs no confirmation.
    confirmed: bool,
    charges_enabled: bool,
    payouts_enabled: bool,
    webhook_secret_set: bool,
    /// Its last four characters.
    #[schema(required = true)]
    webhook_secret_last4: Option<String>,
    /// Until then webhooks signed with the secret before are accepted, too.
    #[serde(serialize_with = "as_instant_if_any")]
    #[schema(required = true)]
    previous_secret_valid_until: Option<DateTime<Utc>>,
    #[serde(serialize_with = "as_instant_if_any")]
    #[schema(required = true)]
    connected_at: Option<DateTime<Utc>>,
}

impl ConnectionChanges {
    /// A completed connection.
    pub fn connected(account_id: String, webhook_endpoint_id: String, webhook_secret: String) -> Self {
        Self {
            account_id: Some(Field::Given(account_id)),
            webhook_endpoint_id: Some(Field::Given(webhook_endpoint_id)),
            webhook_secret: Some(Field::Given(webhook_secret)),
            status: Some(Field::Given(ConnectionStatus::Connected.as_str().to_owned())),
            ..Self::default()
        }
    }

    /// The connection after the changes, or the refusal of the first invalid change.
    pub fn apply(
        self,
        app: &App,
        program_id: ProgramId,
        before: Option<Connection>,
        now: DateTime<Utc>,
    ) -> Result<Connection, ApiError> {
        let account_id = self.account_id.map(|id| id.text("account_id")).transpose()?;
        let mut connection = match (before, account_id) {
            (None, Some(Some(account_id))) => new(account_id),
            (Some(before), Some(Some(account_id))) if before.account_id == account_id => before,
            // A new account starts unproved, and the old secret must not sign for it.
            (Some(before), Some(Some(account_id))) => Connection {
                status: before.status,
                charges_enabled: before.charges_enabled,
                payouts_enabled: before.payouts_enabled,
                connected_at: before.connected_at,
                ..new(account_id)
            },
            (Some(before), None) => before,
            (_, Some(None)) | (None, None) => return Err(refused("account_id", "is required")),
        };
        if let Some(id) = self.webhook_endpoint_id {
            connection.webhook_endpoint_id = id.text("webhook_endpoint_id")?;
        }
        if let Some(field) = self.webhook_secret {
            let secret = secret(field)?;
            connection.secret = secret.map(|secret| seal(app, program_id, &secret)).transpose()?;
            connection.previous = None;
        }
        if let Some(flag) = self.charges_enabled {
            connection.charges_enabled = flag.flag("charges_enabled")?;
        }
        if let Some(flag) = self.payouts_enabled {
            connection.payouts_enabled = flag.flag("payouts_enabled")?;
        }
        if let Some(field) = self.status {
            connection.status = status(&field)?;
        }
        connection.connected_at = match connection.status {
            ConnectionStatus::Connected => connection.connected_at.or(Some(now)),
            ConnectionStatus::Pending | ConnectionStatus::Disconnected => None,
        };
        Ok(connection)
    }
}

fn new(account_id: ProcessorId) -> Connection {
    Connection {
        account_id,
        webhook_endpoint_id: None,
        status: ConnectionStatus::Pending,
        charges_enabled: false,
        payouts_enabled: false,
        connected_at: None,
        confirmed_at: None,
        secret: None,
        previous: None,
    }
}

fn status(field: &Field<String>) -> Result<ConnectionStatus, ApiError> {
    let parsed = match field {
        Field::Given(text) => ConnectionStatus::parse(text),
        Field::Absent => Some(ConnectionStatus::Pending),
        Field::WrongType => None,
    };
    parsed.ok_or_else(|| refused("status", "must be one of pending, connected, disconnected"))
}

/// `None` for null and the empty string.
pub fn secret(field: Field<String>) -> Result<Option<WebhookSecret>, ApiError> {
    field.parsed("webhook_secret", WebhookSecret::parse)
}

pub fn seal(app: &App, program_id: ProgramId, secret: &WebhookSecret) -> Result<SealedSecret, ApiError> {
    SealedSecret::seal(&app.sealing_keys, program_id, secret, App::random()).map_err(ApiError::unexpected)
}

/// The changed fields for the audit log, before and after. Of the secret it says only that it changed.
pub fn changed(before: Option<&Connection>, after: &Connection) -> Value {
    let fields = |connection: Option<&Connection>| {
        json!({
            "account_id": connection.map(|its| &its.account_id),
            "webhook_endpoint_id": connection.map(|its| &its.webhook_endpoint_id),
            "status": connection.map(|its| its.status.as_str()),
            "charges_enabled": connection.map(|its| its.charges_enabled),
            "payouts_enabled": connection.map(|its| its.payouts_enabled),
        })
    };
    let mut changed = differences(fields(before), &fields(Some(after)));
    let secret_before = before.and_then(|before| before.secret.as_ref());
    if let Some(fields) = changed.as_object_mut()
        && secret_before != after.secret.as_ref()
    {
        let what = if after.secret.is_some() { "set" } else { "removed" };
        fields.insert("webhook_secret".to_owned(), what.into());
    }
    changed
}

impl ConnectionView {
    pub fn new(app: &App, program_id: ProgramId, connection: Connection) -> Self {
        let now = app.clock.now();
        let last_four = connection.secret.as_ref().and_then(|secret| {
            // Without a readable secret, the rest of the connection is still shown, and a new secret can be
            // set.
            secret
                .open(&app.sealing_keys, program_id)
                .inspect_err(
                    |error| tracing::error!(%program_id, %error, "webhook secret cannot be decrypted"),
                )
                .ok()
        });
        let valid_until = connection.previous.map(|(_, until)| until);
        Self {
            account_id: connection.account_id.to_string(),
            webhook_endpoint_id: connection.webhook_endpoint_id.map(|id| id.to_string()),
            status: connection.status.as_str(),
            confirmed: connection.confirmed_at.is_some(),
            charges_enabled: connection.charges_enabled,
            payouts_enabled: connection.payouts_enabled,
            webhook_secret_set: connection.secret.is_some(),
            webhook_secret_last4: last_four.map(|secret| secret.last_four().to_owned()),
            previous_secret_valid_until: valid_until.filter(|until| now < *until),
            connected_at: connection.connected_at,
        }
    }
}
