//! Outages that Prometheus watches, and which alerts each of them explains: the one table of both.

use anyhow::{Result, ensure};

use super::observer::Alert;
use crate::schedule::{Fault, Service};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outage {
    IngestsAway,
    WebhookConsumerAway,
    WorkersAway,
    PostgresAway,
    NatsAway,
    RedisAway,
    DeliveriesAway,
    /// The round's subscriber closes each connection without an answer.
    ReceiverDead,
}

/// An alert, by its name and some of its labels.
#[derive(Debug, Clone, Copy)]
pub(super) struct Expected {
    pub(super) name: &'static str,
    pub(super) labels: &'static [(&'static str, &'static str)],
}

impl Expected {
    pub(super) fn is(&self, alert: &Alert) -> bool {
        let has = |(label, value): &(&str, &str)| alert.get(*label).is_some_and(|found| found == value);
        has(&("alertname", self.name)) && self.labels.iter().all(has)
    }
}

const fn alert(name: &'static str, labels: &'static [(&'static str, &'static str)]) -> Expected {
    Expected { name, labels }
}

const PAGE: (&str, &str) = ("severity", "page");
const TICKET: (&str, &str) = ("severity", "ticket");
const CLICKS: (&str, &str) = ("route", "POST /api/v1/track/click");
const LEADS: (&str, &str) = ("route", "POST /api/v1/track/lead");
const SALES: (&str, &str) = ("route", "POST /api/v1/track/sale");
const FAILING_SLOWLY: Expected = alert("FailingSlowly", &[TICKET]);

impl Outage {
    pub(crate) const ALL: [Self; 8] = [
        Self::IngestsAway,
        Self::WebhookConsumerAway,
        Self::WorkersAway,
        Self::PostgresAway,
        Self::NatsAway,
        Self::RedisAway,
        Self::DeliveriesAway,
        Self::ReceiverDead,
    ];

    /// Those with `only` in their names.
    pub(crate) fn named(only: Option<&str>) -> Result<Vec<Self>> {
        let only = only.unwrap_or_default().to_lowercase();
        let mut named = Vec::from(Self::ALL);
        named.retain(|outage| format!("{outage:?}").to_lowercase().contains(&only));
        ensure!(!named.is_empty(), "no outage has `{only}` in its name");
        Ok(named)
    }

    pub(super) fn faults(self) -> Vec<Fault> {
        match self {
            Self::IngestsAway => Service::INGESTS.map(Fault::Kill).into(),
            Self::WebhookConsumerAway => vec![Fault::Kill(Service::WEBHOOK_CONSUMER)],
            Self::WorkersAway => Service::WORKERS.map(Fault::Kill).into(),
            Self::PostgresAway => vec![Fault::PostgresStop],
            Self::NatsAway => vec![Fault::NatsKill],
            Self::RedisAway => vec![Fault::RedisKill],
            Self::DeliveriesAway => Service::DELIVERIES.map(Fault::Kill).into(),
            Self::ReceiverDead => Vec::new(),
        }
    }

    /// What fires.
    pub(super) fn fires(self) -> Vec<Expected> {
        match self {
            Self::IngestsAway => vec![
                alert("NoIngest", &[PAGE]),
                alert("ServiceDown", &[PAGE, ("service", "ingest")]),
            ],
            Self::WebhookConsumerAway => vec![
                alert("NoWebhookConsumer", &[PAGE]),
                alert("ServiceDown", &[PAGE, ("service", "webhook-consumer")]),
            ],
            Self::WorkersAway => vec![
                alert("NoWorker", &[PAGE]),
                alert("ServiceDown", &[PAGE, ("service", "worker")]),
                alert("Unanswered", &[PAGE, ("noun", "sales")]),
                alert("Unanswered", &[PAGE, ("noun", "leads")]),
                alert("Failing", &[PAGE, SALES]),
                alert("Failing", &[PAGE, LEADS]),
                FAILING_SLOWLY,
            ],
            Self::PostgresAway => vec![
                alert("PostgresDown", &[PAGE]),
                alert("DirectoryDeaf", &[TICKET]),
                alert("StepsFailing", &[TICKET, ("kind", "transient")]),
                alert("Failing", &[PAGE, SALES]),
                FAILING_SLOWLY,
            ],
            Self::NatsAway => vec![
                alert("JetStreamDown", &[PAGE]),
                alert(
                    "PublishFailing",
                    &[PAGE, ("subject", "clicks"), ("reason", "unacknowledged")],
                ),
                alert("Failing", &[PAGE, CLICKS]),
                FAILING_SLOWLY,
                alert("ClaimsOpen", &[PAGE]),
            ],
            Self::RedisAway => vec![alert("LimiterInMemory", &[TICKET])],
            Self::DeliveriesAway => vec![
                alert("NoDelivery", &[TICKET]),
                alert("ServiceDown", &[PAGE, ("service", "delivery")]),
            ],
            Self::ReceiverDead => vec![alert("WebhooksUnanswered", &[TICKET])],
        }
    }

    /// What may fire beside: it depends on which requests were under way, and on how long the outage lasts on this machine.
    pub(super) fn may_fire(self) -> Vec<Expected> {
        // Other routes than those above: whether enough of their requests were under way.
        let of_callers = [alert("Failing", &[PAGE]), alert("Unanswered", &[PAGE])];
        // Redelivering: messages that were with a worker or could not be settled come again afterwards, all at once.
        // ClaimsOpen counts real seconds: only an outage of more than a minute has a claim so old.
        let of_backlog = [alert("Redelivering", &[TICKET]), alert("ClaimsOpen", &[PAGE])];
        match self {
            Self::WorkersAway | Self::PostgresAway => [of_callers, of_backlog].concat(),
            // PublishFailing: of other subjects than clicks. ClicksSlow: they wait for an acknowledgement before they fail. OutboxStuck counts real
            // seconds, as ClaimsOpen does.
            Self::NatsAway => [
                &of_callers[..],
                &of_backlog,
                &[
                    alert("PublishFailing", &[PAGE]),
                    alert("ClicksSlow", &[TICKET]),
                    alert("OutboxStuck", &[TICKET]),
                ],
            ]
            .concat(),
            Self::IngestsAway
            | Self::WebhookConsumerAway
            | Self::RedisAway
            | Self::DeliveriesAway
            | Self::ReceiverDead => Vec::new(),
        }
    }
}
