//! `webhook_endpoints`: where the events of programs are sent, and the health of the endpoints.
//!
//! Every change of an endpoint locks its program first
//! ([`program_settings::lock`](crate::program::program_settings::lock)), because `programs.wanted_events` is the union
//! of what the endpoints want. Disabled endpoints count too: their missed events can be replayed.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::error::{StorageResult, expect_rows};
use domain::ids::{ProgramId, WebhookEndpointId};
use domain::programs::outbound_event::WantedEvents;
use domain::programs::webhook::WebhookUrl;
use domain::programs::webhook_endpoint::{DisabledReason, EndpointDescription, EventTypes};
use domain::text::Text;

/// An endpoint without its secrets.
#[derive(Debug, Clone)]
pub struct StoredEndpoint {
    pub endpoint_id: WebhookEndpointId,
    pub program_id: ProgramId,
    pub url: String,
    /// May be empty.
    pub description: String,
    pub event_types: EventTypes,
    pub created_at: DateTime<Utc>,
    /// Until this time the previous secret signs, too.
    pub previous_secret_until: Option<DateTime<Utc>>,
    /// The first failed attempt since the last success.
    pub failing_since: Option<DateTime<Utc>>,
    pub last_failure_at: Option<DateTime<Utc>>,
    pub last_success_at: Option<DateTime<Utc>>,
    pub disabled: Option<Disabled>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Disabled {
    pub at: DateTime<Utc>,
    pub reason: DisabledReason,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndpointSettings {
    pub url: WebhookUrl,
    pub description: Option<EndpointDescription>,
    pub event_types: EventTypes,
}

#[derive(Debug)]
pub struct NewEndpoint<'a> {
    /// Drawn by [`draw_id`].
    pub endpoint_id: WebhookEndpointId,
    pub program_id: ProgramId,
    pub settings: &'a EndpointSettings,
    /// Sealed for this endpoint's id.
    pub secret_sealed: &'a [u8],
    pub created_at: DateTime<Utc>,
}

/// Draws the id of a new endpoint. The endpoint's secret is sealed for this id.
pub async fn draw_id(connection: &mut PgConnection) -> StorageResult<WebhookEndpointId> {
    let id = fetch_scalar!(
        connection,
        r#"SELECT nextval(pg_get_serial_sequence('webhook_endpoints', 'id')) AS "id!""#
    );
    Ok(WebhookEndpointId::new(id))
}

/// Creates an endpoint. The caller holds the program's lock.
pub async fn create(connection: &mut PgConnection, new: &NewEndpoint<'_>) -> StorageResult<()> {
    execute!(
        &mut *connection,
        "INSERT INTO webhook_endpoints (id, program_id, url, description, event_types, secret_sealed, created_at)
         OVERRIDING SYSTEM VALUE VALUES ($1, $2, $3, $4, $5, $6, $7)",
        new.endpoint_id.get(),
        new.program_id.get(),
        new.settings.url.as_str(),
        new.settings.description.as_ref().map_or("", Text::as_str),
        &names(&new.settings.event_types),
        new.secret_sealed,
        new.created_at,
    );
    refresh_wanted_events(connection, new.program_id).await
}

#[derive(Debug, Clone, Copy, Default)]
pub struct EndpointFilter {
    pub program_id: Option<ProgramId>,
    pub endpoint_id: Option<WebhookEndpointId>,
    /// Only endpoints that are failing or disabled.
    pub is_troubled: bool,
}

pub async fn list(
    connection: &mut PgConnection,
    program_id: ProgramId,
) -> StorageResult<Vec<StoredEndpoint>> {
    let filter = EndpointFilter {
        program_id: Some(program_id),
        ..EndpointFilter::default()
    };
    overview(connection, filter, i64::MAX).await
}

pub async fn find(
    connection: &mut PgConnection,
    program_id: ProgramId,
    endpoint_id: WebhookEndpointId,
) -> StorageResult<Option<StoredEndpoint>> {
    let found = find_of_any(connection, endpoint_id).await?;
    Ok(found.filter(|endpoint| endpoint.program_id == program_id))
}

pub async fn find_of_any(
    connection: &mut PgConnection,
    endpoint_id: WebhookEndpointId,
) -> StorageResult<Option<StoredEndpoint>> {
    let filter = EndpointFilter {
        endpoint_id: Some(endpoint_id),
        ..EndpointFilter::default()
    };
    Ok(overview(connection, filter, 1).await?.pop())
}

pub async fn overview(
    connection: &mut PgConnection,
    filter: EndpointFilter,
    limit: i64,
) -> StorageResult<Vec<StoredEndpoint>> {
    Ok(sqlx::query!(
        r#"SELECT id AS "id: WebhookEndpointId", program_id AS "program_id: ProgramId", url, description,
                event_types AS "event_types: EventTypes", created_at, previous_secret_until, failing_since, last_failure_at,
                last_success_at, disabled_at, disabled_reason AS "disabled_reason: DisabledReason"
         FROM webhook_endpoints
         WHERE ($1::bigint IS NULL OR program_id = $1) AND ($2::bigint IS NULL OR id = $2)
           AND (NOT $3 OR failing_since IS NOT NULL OR disabled_at IS NOT NULL)
         ORDER BY id LIMIT $4"#,
        filter.program_id.map(ProgramId::get),
        filter.endpoint_id.map(WebhookEndpointId::get),
        filter.is_troubled,
        limit,
    )
    .map(|row| StoredEndpoint {
        endpoint_id: row.id,
        program_id: row.program_id,
        url: row.url,
        description: row.description,
        event_types: row.event_types,
        created_at: row.created_at,
        previous_secret_until: row.previous_secret_until,
        failing_since: row.failing_since,
        last_failure_at: row.last_failure_at,
        last_success_at: row.last_success_at,
        disabled: row
            .disabled_at
            .zip(row.disabled_reason)
            .map(|(at, reason)| Disabled { at, reason }),
    })
    .fetch_all(connection)
    .await?)
}

/// Stores the settings; the health stays, even for another URL. The caller holds the program's lock.
pub async fn change(
    connection: &mut PgConnection,
    endpoint: &StoredEndpoint,
    settings: &EndpointSettings,
) -> StorageResult<()> {
    let changed = execute!(
        &mut *connection,
        "UPDATE webhook_endpoints SET url = $2, description = $3, event_types = $4 WHERE id = $1",
        endpoint.endpoint_id.get(),
        settings.url.as_str(),
        settings.description.as_ref().map_or("", Text::as_str),
        &names(&settings.event_types),
    );
    expect_rows("webhook_endpoints", 1, changed)?;
    refresh_wanted_events(connection, endpoint.program_id).await
}

/// Enables a disabled endpoint and clears its failures. The caller holds the program's lock.
pub async fn enable(connection: &mut PgConnection, endpoint: &StoredEndpoint) -> StorageResult<()> {
    execute!(
        connection,
        "UPDATE webhook_endpoints
         SET disabled_at = NULL, disabled_reason = NULL, failing_since = NULL, last_failure_at = NULL
         WHERE id = $1 AND disabled_at IS NOT NULL",
        endpoint.endpoint_id.get(),
    );
    Ok(())
}

/// Disables an endpoint; the delivery role cancels what waits for it. The caller holds the program's lock.
pub async fn disable(
    connection: &mut PgConnection,
    endpoint: &StoredEndpoint,
    reason: DisabledReason,
    now: DateTime<Utc>,
) -> StorageResult<()> {
    execute!(
        connection,
        "UPDATE webhook_endpoints SET disabled_at = $2, disabled_reason = $3 WHERE id = $1 AND disabled_at IS NULL",
        endpoint.endpoint_id.get(),
        now,
        reason.as_str(),
    );
    Ok(())
}

/// Deletes an endpoint with its waiting deliveries. The caller holds the program's lock.
pub async fn remove(connection: &mut PgConnection, endpoint: &StoredEndpoint) -> StorageResult<()> {
    execute!(
        &mut *connection,
        "DELETE FROM webhook_endpoints WHERE id = $1",
        endpoint.endpoint_id.get()
    );
    refresh_wanted_events(connection, endpoint.program_id).await
}

/// Stores a new signing secret. The previous secret also signs until `previous_until`, if set.
pub async fn rotate(
    connection: &mut PgConnection,
    endpoint_id: WebhookEndpointId,
    secret_sealed: &[u8],
    previous_until: Option<DateTime<Utc>>,
) -> StorageResult<()> {
    let rotated = execute!(
        connection,
        "UPDATE webhook_endpoints
         SET previous_secret_sealed = CASE WHEN $3::timestamptz IS NOT NULL THEN secret_sealed END,
             previous_secret_until = $3, secret_sealed = $2
         WHERE id = $1",
        endpoint_id.get(),
        secret_sealed,
        previous_until,
    );
    expect_rows("webhook_endpoints", 1, rotated)
}

/// Stores the union of event types that the program's endpoints and the readers of its event stream want. The
/// caller holds the program's lock, or no other transaction changes its endpoints.
async fn refresh_wanted_events(connection: &mut PgConnection, program_id: ProgramId) -> StorageResult<()> {
    let found = fetch_one!(
        &mut *connection,
        r#"SELECT wanted_events AS "wanted_events: WantedEvents",
                  (SELECT array_agg(type) FROM webhook_endpoints, unnest(event_types) AS type
                   WHERE program_id = $1) AS "event_types: EventTypes"
           FROM programs WHERE id = $1"#,
        program_id.get(),
    );
    let wanted: WantedEvents = found.event_types.iter().flat_map(EventTypes::iter).collect();
    let before = found.wanted_events;
    let wanted = if before.has_stream() {
        wanted.with_stream()
    } else {
        wanted
    };
    if wanted != before {
        execute!(
            connection,
            "UPDATE programs SET wanted_events = $2 WHERE id = $1",
            program_id.get(),
            wanted.bits()
        );
    }
    Ok(())
}

fn names(types: &EventTypes) -> Vec<String> {
    types
        .iter()
        .map(|event_type| event_type.as_str().to_owned())
        .collect()
}
