//! A round's subscriber: a webhook endpoint, its receiver, and what it was owed.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use domain::ids::ProgramId;
use domain::programs::outbound_event::OutboundEventType;
use domain::programs::webhook::{SigningSecret, WebhookUrl};
use domain::programs::webhook_endpoint::EventTypes;
use domain::sealed::SealingKeys;
use runtime::clock::Clock;
use sqlx::PgPool;
use storage::outbound::webhook_endpoints::{self, EndpointSettings, NewEndpoint};

use super::receiver::{Receiver, Step, Steps};
use crate::rng::Rng;

#[derive(Debug)]
pub(crate) struct Subscriber {
    program_id: ProgramId,
    receiver: Receiver,
}

impl Subscriber {
    /// Starts a receiver, and subscribes it to every type of event. `keys`: as the services have them.
    pub(crate) async fn start(
        pool: &PgPool,
        program_id: ProgramId,
        keys: &SealingKeys,
        rng: &mut Rng,
    ) -> Result<Self> {
        let secret = SigningSecret::generate(rng.bytes());
        let (receiver, address) = Receiver::start(secret.clone(), rng.next()).await?;
        let mut transaction = pool.begin().await?;
        let endpoint_id = webhook_endpoints::draw_id(&mut transaction).await?;
        let purpose = SigningSecret::purpose(endpoint_id);
        let types = OutboundEventType::ALL.iter().map(|one| one.as_str());
        let endpoint = NewEndpoint {
            endpoint_id,
            program_id,
            settings: &EndpointSettings {
                url: WebhookUrl::parse(&format!("http://{address}/"), true)?,
                description: None,
                event_types: EventTypes::parse(types)?,
            },
            secret_sealed: &keys.seal(secret.expose(), &purpose, rng.bytes())?,
            created_at: Clock::system().now(),
        };
        webhook_endpoints::create(&mut transaction, &endpoint).await?;
        transaction.commit().await?;
        Ok(Self { program_id, receiver })
    }

    /// What was owed and did not come, came out of its order, or was not signed.
    pub(crate) async fn violations(&self, pool: &PgPool) -> Result<(usize, Vec<String>)> {
        let owed: Vec<Owed> = sqlx::query_as(
            "SELECT 'evt_' || event_id AS id, customer_id, position IS NOT NULL AS is_placed,
                    EXISTS (SELECT FROM webhook_deliveries d WHERE d.event_id = e.event_id AND d.state = 'delivered')
                        AS is_delivered
             FROM outbound_events e WHERE program_id = $1 ORDER BY position",
        )
        .bind(self.program_id.get())
        .fetch_all(pool)
        .await?;
        let steps = self.receiver.steps();
        let requests = steps
            .iter()
            .filter(|(_, step)| matches!(step, Step::Request { .. }));
        Ok((requests.count(), violations(&owed, &steps)))
    }
}

/// In the order of positions.
#[derive(Debug, sqlx::FromRow)]
struct Owed {
    id: String,
    customer_id: Option<i64>,
    is_placed: bool,
    /// Whether a delivery of it is stored as delivered.
    is_delivered: bool,
}

/// Places of a webhook's first steps.
#[derive(Debug, Default)]
struct Places {
    first_request: Option<usize>,
    acknowledged: Option<usize>,
    acknowledged_late: Option<usize>,
}

impl Places {
    /// A sender that did not read a late 200 sends again, and gets one in time: then the late one is none.
    fn acknowledgement(&self) -> Option<usize> {
        self.acknowledged.or(self.acknowledged_late)
    }
}

fn violations(owed: &[Owed], steps: &Steps) -> Vec<String> {
    let mut found = Vec::new();
    let mut by_id: BTreeMap<&str, Places> = BTreeMap::new();
    for (place, (id, step)) in steps.iter().enumerate() {
        let places = by_id.entry(id).or_default();
        let first = match step {
            Step::Request { .. } => &mut places.first_request,
            Step::Acknowledged => &mut places.acknowledged,
            Step::AcknowledgedLate => &mut places.acknowledged_late,
        };
        first.get_or_insert(place);
        if *step == (Step::Request { is_signed: false }) {
            found.push(format!("webhook {id} has no valid signature"));
        }
    }
    let ids: BTreeSet<&str> = owed.iter().map(|event| event.id.as_str()).collect();
    if ids.len() != owed.len() {
        found.push("two events have one id".to_owned());
    }
    let acknowledgement = |event: &Owed| by_id.get(event.id.as_str())?.acknowledgement();
    let first_request = |event: &Owed| by_id.get(event.id.as_str())?.first_request;
    let mut last: BTreeMap<i64, &Owed> = BTreeMap::new();
    for event in owed {
        if !event.is_placed {
            found.push(format!("event {} has no position", event.id));
        }
        if acknowledgement(event).is_none() {
            found.push(format!("event {} never reached its subscriber", event.id));
        } else if !event.is_delivered {
            found.push(format!(
                "event {} was acknowledged, and is not stored as delivered",
                event.id
            ));
        }
        let Some(customer_id) = event.customer_id else {
            continue;
        };
        if let Some(before) = last.insert(customer_id, event)
            && let (Some(acknowledged), Some(requested)) = (acknowledgement(before), first_request(event))
            && requested < acknowledged
        {
            found.push(format!(
                "event {} of customer {customer_id} was sent before {} had arrived",
                event.id, before.id
            ));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owed(events: &[(&str, i64)]) -> Vec<Owed> {
        let event = |(id, customer): &(&str, i64)| Owed {
            id: (*id).to_owned(),
            customer_id: Some(*customer),
            is_placed: true,
            is_delivered: true,
        };
        events.iter().map(event).collect()
    }

    /// Signed requests, each with its answer.
    fn seen(answers: &[(&str, Option<Step>)]) -> Steps {
        let steps = answers.iter().flat_map(|(id, answer)| {
            let request = Step::Request { is_signed: true };
            [Some(request), answer.clone()]
                .into_iter()
                .flatten()
                .map(|step| ((*id).to_owned(), step))
        });
        steps.collect()
    }

    const OK: Option<Step> = Some(Step::Acknowledged);
    const LATE_OK: Option<Step> = Some(Step::AcknowledgedLate);

    #[test]
    fn each_event_is_owed_once_acknowledged_and_in_its_order() {
        let events = owed(&[("a", 1), ("b", 1), ("c", 2)]);
        let good = [("c", None), ("a", OK), ("b", OK), ("a", OK), ("c", OK)];
        assert_eq!(violations(&events, &seen(&good)), Vec::<String>::new());
        let missing = [("a", OK), ("b", OK), ("c", None)];
        assert_eq!(violations(&events, &seen(&missing)).len(), 1);
        let overtaken = [("a", None), ("b", OK), ("a", OK), ("c", OK)];
        assert_eq!(violations(&events, &seen(&overtaken)).len(), 1);
        let mut forged = seen(&good);
        forged[0].1 = Step::Request { is_signed: false };
        assert_eq!(violations(&events, &forged).len(), 1);
        let mut unplaced = owed(&[("a", 1)]);
        unplaced[0].is_placed = false;
        assert_eq!(violations(&unplaced, &seen(&[("a", OK)])).len(), 1);
    }

    #[test]
    fn a_late_200_counts_only_where_the_sender_stored_it_and_did_not_repeat() {
        let mut events = owed(&[("a", 1), ("b", 1)]);
        let read_by_a_frozen_sender = seen(&[("a", LATE_OK), ("b", OK)]);
        assert_eq!(
            violations(&events, &read_by_a_frozen_sender),
            Vec::<String>::new()
        );
        let overtaken_before_the_repeat = seen(&[("a", LATE_OK), ("b", OK), ("a", OK)]);
        assert_eq!(violations(&events, &overtaken_before_the_repeat).len(), 1);
        events[0].is_delivered = false;
        assert_eq!(violations(&events, &read_by_a_frozen_sender).len(), 1);
    }
}
