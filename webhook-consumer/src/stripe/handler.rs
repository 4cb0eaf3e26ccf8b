//! `POST /webhooks/stripe/{program_id}`: a program's own endpoint, signed with the secrets of its connection.
//! `POST /api/webhook-distributor/stripe`: one endpoint for all connected accounts, signed with the
//! platform's secrets.
//!
//! Order of the checks: the body, the form and age of its signature, the signature itself, then the content.
//! A verified event is answered 200 once it is stored, whatever its content: the sender could not correct it.

use std::future::Future;
use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, HeaderName};
use domain::ids::{EventId, ProgramId};
use domain::processors::processor::ProcessorId;
use runtime::batch::BatchError;
use runtime::body;
use runtime::retry::retry;
use serde_json::{Value, json};
use storage::processor::processor_connections::{self, BoundPrograms};
use storage::processor::processor_customers;
use storage::processor::processor_events::NewProcessorEvent;
use storage::{StorageError, StorageResult};

use super::event::Event;
use super::recipients::{Endpoint, Share, customer_naming_program, shares};
use super::signature::{SignatureError, SignatureHeader};
use super::translate::translate;
use crate::app::App;
use crate::error::Refusal;
use crate::inbox::{Arrival, RETRY};
use crate::records::Records;

const STRIPE_SIGNATURE: HeaderName = HeaderName::from_static("stripe-signature");

/// Senders show our answers to the merchant. These texts say why an event has no effect.
const TEST_MODE: &str = "Events of the test mode are not recorded";
const UNKNOWN_TYPE: &str = "Events of this type are not used";

type Answer = Result<Json<Value>, Refusal>;

/// A program that does not exist or has no secret gets the answer of a wrong signature, which hides what
/// programs exist.
pub async fn program(
    State(app): State<Arc<App>>,
    Path(program_id): Path<String>,
    request: Request,
) -> Answer {
    let (headers, body) = read(&app, request).await?;
    let signature = recent_signature(&app, &headers)?;
    let own = match program_id.parse().map(ProgramId::new) {
        Ok(program_id) => {
            let own = app.endpoints.of(program_id).await.map_err(refused)?;
            own.map(|own| (program_id, own))
        }
        Err(_) => None,
    };
    // Verification takes the same time if there is no endpoint.
    let secrets = own.as_ref().map_or(&[][..], |(_, own)| &own.secrets);
    signature.verify(&body, secrets, app.clock.now())?;
    let event = Event::parse(&body)?;
    let (program_id, own) = own.ok_or(SignatureError::Mismatch)?;
    let endpoint = async || {
        Ok(Endpoint::Program {
            program_id,
            account_id: own.account_id,
        })
    };
    take_in(&app, &event, endpoint).await
}

pub async fn distributor(State(app): State<Arc<App>>, request: Request) -> Answer {
    let (headers, body) = read(&app, request).await?;
    let signature = recent_signature(&app, &headers)?;
    signature.verify(&body, &app.distributor_secrets, app.clock.now())?;
    let event = Event::parse(&body)?;
    let endpoint = async || match event.account.clone() {
        Some(account_id) => bound_programs(&app, account_id).await.map(Endpoint::Distributor),
        None => Ok(Endpoint::Distributor(BoundPrograms::default())),
    };
    take_in(&app, &event, endpoint).await
}

async fn read(app: &App, mut request: Request) -> Result<(HeaderMap, Bytes), Refusal> {
    let headers = std::mem::take(request.headers_mut());
    let body = body::read(request, app.body_limit_bytes).await?;
    Ok((headers, body))
}

/// Checks form and age of the signature before any secret is looked up.
fn recent_signature<'h>(app: &App, headers: &'h HeaderMap) -> Result<SignatureHeader<'h>, SignatureError> {
    let mut given = headers.get_all(STRIPE_SIGNATURE).iter();
    let header = given.next().ok_or(SignatureError::Missing)?;
    if given.next().is_some() {
        return Err(SignatureError::Malformed);
    }
    let signature = SignatureHeader::parse(header.to_str().map_err(|_| SignatureError::Malformed)?)?;
    signature.is_recent(app.clock.now())?;
    Ok(signature)
}

async fn bound_programs(app: &App, account_id: ProcessorId) -> Result<BoundPrograms, Refusal> {
    let pool = app.pool.clone();
    in_its_own_task(app, async move {
        let look =
            async || processor_connections::programs_of(&mut *pool.acquire().await?, &account_id).await;
        retry(&RETRY, look, StorageError::is_transient).await
    })
    .await
}

/// The account's program to which the processor's customer is bound, if there is exactly one.
async fn program_that_knows(
    app: &App,
    bound: &BoundPrograms,
    customer: ProcessorId,
) -> Result<Option<ProgramId>, Refusal> {
    let (pool, programs) = (app.pool.clone(), bound.taking_sales.clone());
    let knowing = in_its_own_task(app, async move {
        let look = async || {
            processor_customers::programs_that_know(&mut *pool.acquire().await?, &programs, &customer).await
        };
        retry(&RETRY, look, StorageError::is_transient).await
    });
    Ok(match knowing.await?[..] {
        [only] => Some(only),
        _ => None,
    })
}

/// Runs the future in its own task, so that a disconnecting sender does not cancel it.
async fn in_its_own_task<T: Send + 'static>(
    app: &App,
    look: impl Future<Output = StorageResult<T>> + Send + 'static,
) -> Result<T, Refusal> {
    let found = app.tasks.spawn(look).await;
    found.map_err(Refusal::unavailable)?.map_err(Refusal::unavailable)
}

/// Stores the event's shares, and answers once they are durable.
async fn take_in(
    app: &App,
    event: &Event<'_>,
    endpoint: impl AsyncFnOnce() -> Result<Endpoint, Refusal>,
) -> Answer {
    let ignored = |reason| Ok(Json(json!({ "received": true, "ignored": reason })));
    if !event.livemode {
        tracing::debug!(kind = event.kind, "test mode event ignored");
        return ignored(TEST_MODE);
    }
    let Some(mut translated) = translate(event, &app.metadata_keys) else {
        tracing::debug!(kind = event.kind, "unknown event type ignored");
        return ignored(UNKNOWN_TYPE);
    };
    let endpoint = endpoint().await?;
    if let (Ok(translated), Endpoint::Distributor(bound)) = (&mut translated, &endpoint)
        && let Some(customer) = customer_naming_program(translated, bound)
    {
        translated.program = program_that_knows(app, bound, customer.clone()).await?;
    }
    let by_platform = matches!(endpoint, Endpoint::Distributor(_));
    let shares = shares(translated, event.account.as_ref(), &endpoint);
    let arrivals = shares
        .into_iter()
        .map(|share| arrival(app, event, share, by_platform))
        .collect::<Result<_, _>>()?;
    app.inbox.receive(arrivals).await.map_err(refused)?;
    Ok(Json(json!({ "received": true })))
}

fn refused(error: BatchError<StorageError>) -> Refusal {
    if error.is_overload() {
        Refusal::Overloaded
    } else {
        Refusal::unavailable(error)
    }
}

fn arrival(app: &App, event: &Event<'_>, share: Share, by_platform: bool) -> Result<Arrival, Refusal> {
    let event_id = EventId::new(app.clock.mint());
    let occurred_at = share.occurred_at.unwrap_or(event.created);
    let awaits_session = share.sale.as_ref().filter(|_| share.sale_awaits_session);
    let awaits_session = awaits_session.map(|sale| sale.transaction_id.clone());
    let sale = share.sale.filter(|_| awaits_session.is_none());
    let records = match share.program_id {
        Some(program_id) => Records::new(event_id, program_id, occurred_at, sale, share.payment)
            .map_err(Refusal::unavailable)?,
        None => Records::default(),
    };
    let event = NewProcessorEvent {
        event_id,
        program_id: share.program_id,
        processor_event_id: event.id.clone(),
        kind: event.kind.clone(),
        account_id: event.account.clone(),
        by_platform,
        occurred_at,
        received_at: app.clock.now(),
        payload: event.text.to_owned(),
        disposition: share.disposition,
        awaits_session,
    };
    Ok(Arrival { event, records })
}
