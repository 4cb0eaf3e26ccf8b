//! `ctl webhooks`: webhook endpoints and their deliveries: list, deliveries, replay, disable, enable.

use anyhow::{Context, ensure};
use chrono::{DateTime, Utc};
use clap::{Args, Subcommand, builder::PossibleValuesParser};
use domain::ids::{ProgramId, WebhookDeliveryId, WebhookEndpointId};
use domain::programs::outbound_event::OutboundEventType;
use domain::programs::webhook_endpoint::{DeliveryState, DisabledReason, EventTypes};
use runtime::clock::Clock;
use serde_json::{Value, json};
use sqlx::{PgConnection, PgPool};
use storage::outbound::webhook_deliveries::{self, DeliveryFilter, ReplayOfMany, StoredDelivery};
use storage::outbound::webhook_endpoints::{self, EndpointFilter, StoredEndpoint};
use storage::program::program_settings;

use crate::{output, program};

/// Maximum number of deliveries queued in one transaction.
const BATCH: i64 = 5_000;
/// Maximum length of a response in a list.
const SHOWN_CHARACTERS: usize = 80;

const ABOUT: &str = "\
What is sent again has the id it had, and does not count for the endpoint's health. It is sent to a disabled endpoint, too.

Examples:
    ctl webhooks replay 3 --delivery 41
    ctl webhooks replay 3 --since 2027-01-31T12:00:00Z --type sale.recorded --type sale.refunded";

#[derive(Debug, Subcommand)]
pub enum Webhooks {
    /// List endpoints, a line each: id, program, state, last success, URL
    List(List),
    /// List an endpoint's deliveries, newest first, a line each: id, time, type, state, attempts, status, answer
    Deliveries(Deliveries),
    /// Send one delivery's event once more, or all events since some time
    Replay(Replay),
    /// Send an endpoint nothing from now on; what waits for it is cancelled
    Disable(Endpoint),
    /// Send it events again, and forget that it failed
    Enable(Endpoint),
}

#[derive(Debug, Args)]
pub struct List {
    /// Only this program's
    #[arg(long, value_name = "PROGRAM_ID")]
    program: Option<i64>,
    /// Only those that are failing or disabled
    #[arg(long)]
    troubled: bool,
    /// So many at most
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(i64).range(1..=10_000))]
    limit: i64,
}

#[derive(Debug, Args)]
pub struct Deliveries {
    #[command(flatten)]
    endpoint: Endpoint,
    /// Only those in this state
    #[arg(long, value_parser = PossibleValuesParser::new(DeliveryState::ALL.map(DeliveryState::as_str)))]
    state: Option<String>,
    /// Only events of this type
    #[arg(long = "type", value_parser = type_parser())]
    event_type: Option<String>,
    /// So many at most
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(i64).range(1..=10_000))]
    limit: i64,
}

#[derive(Debug, Args)]
#[command(after_help = ABOUT)]
pub struct Replay {
    #[command(flatten)]
    endpoint: Endpoint,
    /// One delivery, as the list shows it
    #[arg(long, required_unless_present = "since", conflicts_with = "since")]
    delivery: Option<i64>,
    /// Everything that was written then or later, as an ISO 8601 instant; events are kept for 30 days
    #[arg(long)]
    since: Option<DateTime<Utc>>,
    /// Only events of this type, more than once for several; without it, those of the endpoint
    #[arg(long = "type", requires = "since", value_parser = type_parser())]
    types: Vec<String>,
}

#[derive(Debug, Args)]
pub struct Endpoint {
    /// As the list shows it
    #[arg(value_name = "ENDPOINT_ID")]
    endpoint_id: i64,
}

fn type_parser() -> PossibleValuesParser {
    PossibleValuesParser::new(OutboundEventType::ALL.map(OutboundEventType::as_str))
}

impl Webhooks {
    pub async fn run(self, pool: &PgPool) -> anyhow::Result<()> {
        match self {
            Self::List(list) => list.run(pool).await,
            Self::Deliveries(deliveries) => deliveries.run(pool).await,
            Self::Replay(replay) => replay.run(pool).await,
            Self::Disable(endpoint) => endpoint.set_enabled(pool, false).await,
            Self::Enable(endpoint) => endpoint.set_enabled(pool, true).await,
        }
    }
}

impl List {
    async fn run(self, pool: &PgPool) -> anyhow::Result<()> {
        let mut connection = pool.acquire().await?;
        let filter = EndpointFilter {
            program_id: self.program.map(ProgramId::new),
            endpoint_id: None,
            is_troubled: self.troubled,
        };
        let found = webhook_endpoints::overview(&mut connection, filter, self.limit).await?;
        output::list(&found, "no webhook endpoints", endpoint_line);
        Ok(())
    }
}

fn endpoint_line(endpoint: &StoredEndpoint) -> String {
    let state = match (endpoint.disabled, endpoint.failing_since) {
        (Some(disabled), _) => {
            format!(
                "disabled ({}) {}",
                disabled.reason.as_str(),
                output::instant(disabled.at)
            )
        }
        (None, Some(since)) => format!("failing since {}", output::instant(since)),
        (None, None) => "enabled".to_owned(),
    };
    let succeeded = endpoint
        .last_success_at
        .map_or_else(|| "never".to_owned(), output::instant);
    format!(
        "{}  program {}  {state}  last success {succeeded}  {}",
        endpoint.endpoint_id,
        endpoint.program_id,
        output::plain(&endpoint.url),
    )
}

impl Deliveries {
    async fn run(self, pool: &PgPool) -> anyhow::Result<()> {
        let mut connection = pool.acquire().await?;
        let endpoint_id = self.endpoint.find(&mut connection).await?.endpoint_id;
        let filter = DeliveryFilter {
            before: None,
            state: self.state.as_deref().and_then(DeliveryState::parse),
            event_type: self.event_type.as_deref().and_then(OutboundEventType::parse),
        };
        let found = webhook_deliveries::list(&mut connection, endpoint_id, filter, self.limit).await?;
        output::list(&found, "no deliveries", delivery_line);
        Ok(())
    }
}

fn delivery_line(delivery: &StoredDelivery) -> String {
    let status = delivery.status.map(|status| status.to_string());
    let answer = delivery.failure.as_deref().or(delivery.answer.as_deref());
    let answer = output::shortened(answer.unwrap_or_default(), SHOWN_CHARACTERS);
    let kind = match (delivery.is_test, delivery.is_replay) {
        (true, _) => " (test)",
        (false, true) => " (replay)",
        (false, false) => "",
    };
    let line = format!(
        "{}  {}  {}{kind}  {}  {}  {}  {answer}",
        delivery.delivery_id,
        output::instant(delivery.created_at),
        output::plain(&delivery.event_type),
        delivery.state.as_str(),
        delivery.attempts,
        status.as_deref().unwrap_or("-"),
    );
    line.trim_end().to_owned()
}

impl Replay {
    async fn run(self, pool: &PgPool) -> anyhow::Result<()> {
        match (self.delivery, self.since) {
            (Some(id), _) => self.one(pool, WebhookDeliveryId::new(id)).await,
            (None, Some(since)) => self.many(pool, since).await,
            (None, None) => Ok(()),
        }
    }

    async fn one(&self, pool: &PgPool, delivery_id: WebhookDeliveryId) -> anyhow::Result<()> {
        let now = Clock::system().now();
        let mut transaction = pool.begin().await?;
        let endpoint = self.endpoint.lock(&mut transaction).await?;
        let endpoint_id = endpoint.endpoint_id;
        webhook_deliveries::find(&mut transaction, endpoint_id, delivery_id)
            .await?
            .with_context(|| format!("endpoint {endpoint_id} has no delivery {delivery_id}"))?;
        let replay_id = webhook_deliveries::replay(&mut transaction, endpoint_id, delivery_id, now)
            .await?
            .context("its event is not stored any more")?;
        let details = json!({ "delivery_id": delivery_id, "replay_delivery_id": replay_id });
        let done = ("webhook_delivery.replayed", details);
        write_down(&mut transaction, &endpoint, done, now).await?;
        transaction.commit().await?;
        output::lines([format!("delivery {replay_id} is on its way")]);
        Ok(())
    }

    async fn many(&self, pool: &PgPool, since: DateTime<Utc>) -> anyhow::Result<()> {
        let now = Clock::system().now();
        ensure!(since <= now, "{} is in the future", output::instant(since));
        let (mut after, mut count) = (Some(0), 0);
        while let Some(position) = after {
            let mut transaction = pool.begin().await?;
            let endpoint = self.endpoint.lock(&mut transaction).await?;
            let types = if self.types.is_empty() {
                endpoint.event_types.clone()
            } else {
                EventTypes::parse(self.types.iter().map(String::as_str))?
            };
            let replay = ReplayOfMany {
                program_id: endpoint.program_id,
                endpoint_id: endpoint.endpoint_id,
                since,
                after: position,
                types: &types,
                limit: BATCH,
            };
            let replayed = webhook_deliveries::replay_many(&mut transaction, &replay, now).await?;
            let details = json!({ "since": output::instant(since), "types": types.names(),
                                  "replayed_count": replayed.count });
            let done = ("webhook_endpoint.replayed", details);
            write_down(&mut transaction, &endpoint, done, now).await?;
            transaction.commit().await?;
            count += replayed.count;
            after = replayed.after;
        }
        output::lines([format!("{count} deliveries are on their way")]);
        Ok(())
    }
}

impl Endpoint {
    async fn find(&self, connection: &mut PgConnection) -> anyhow::Result<StoredEndpoint> {
        let endpoint_id = WebhookEndpointId::new(self.endpoint_id);
        webhook_endpoints::find_of_any(connection, endpoint_id)
            .await?
            .with_context(|| format!("there is no webhook endpoint {endpoint_id}"))
    }

    /// Locks the endpoint's program and finds the endpoint.
    async fn lock(&self, connection: &mut PgConnection) -> anyhow::Result<StoredEndpoint> {
        let found = self.find(connection).await?;
        program_settings::lock(connection, found.program_id).await?;
        self.find(connection).await
    }

    async fn set_enabled(self, pool: &PgPool, enabled: bool) -> anyhow::Result<()> {
        let now = Clock::system().now();
        let mut transaction = pool.begin().await?;
        let endpoint = self.lock(&mut transaction).await?;
        if enabled {
            webhook_endpoints::enable(&mut transaction, &endpoint).await?;
        } else {
            webhook_endpoints::disable(&mut transaction, &endpoint, DisabledReason::ByHand, now).await?;
        }
        let details = json!({ "enabled": { "before": endpoint.disabled.is_none(), "after": enabled } });
        let done = ("webhook_endpoint.updated", details);
        write_down(&mut transaction, &endpoint, done, now).await?;
        transaction.commit().await?;
        let state = if enabled { "enabled" } else { "disabled" };
        output::lines([format!("endpoint {} is {state}", endpoint.endpoint_id)]);
        Ok(())
    }
}

async fn write_down(
    connection: &mut PgConnection,
    endpoint: &StoredEndpoint,
    done: (&'static str, Value),
    at: DateTime<Utc>,
) -> anyhow::Result<()> {
    let subject_id = Some(endpoint.endpoint_id.get());
    program::append_to_audit_log(connection, endpoint.program_id, subject_id, done, at).await
}
