//! `POST /webhooks/stripe/{program_id}`: a program's own endpoint, signed with the secrets of its connection.
//! `POST /api/webhook-distributor/stripe`: one endpoint for many connected accounts, signed with the platform's secrets.
//!
//! Order: the body, the form and age of its signature, the signature itself, and only then what the body says. Whatever an
//! event that is believed means, it is answered 200 once it is stored: the sender could do nothing about it.

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, HeaderName};
use common::domain::ids::{EventId, ProgramId};
use common::domain::processor::{ProcessorId, WebhookSecret};
use common::runtime::batch::SubmitError;
use common::runtime::body;
use common::runtime::retry::retry;
use common::storage::processor_connections;
use common::storage::processor_events::NewProcessorEvent;
use common::storage::{StorageError, StorageResult};
use serde_json::{Value, json};
use sqlx::PgPool;

use super::event::Event;
use super::recipients::{Endpoint, Share, shares};
use super::signature::{SignatureError, SignatureHeader};
use super::translate::translate;
use crate::app::App;
use crate::error::Refusal;
use crate::inbox::{Arrival, RETRY, ReceiveError};
use crate::records::Records;

const STRIPE_SIGNATURE: HeaderName = HeaderName::from_static("stripe-signature");

type Answer = Result<Json<Value>, Refusal>;

/// What a program's own endpoint is known by.
#[derive(Debug, Default)]
struct OwnEndpoint {
    account_id: Option<ProcessorId>,
    secrets: Vec<WebhookSecret>,
}

/// A program that is not there or has no secret answers as a wrong signature does: nobody learns which programs there are.
pub async fn program(State(app): State<App>, Path(program_id): Path<String>, request: Request) -> Answer {
    let (headers, body) = read(&app, request).await?;
    let signature = recent_signature(&app, &headers)?;
    let program_id = program_id.parse().map(ProgramId::new).ok();
    let endpoint = match program_id {
        Some(program_id) => own_endpoint(&app, program_id).await?,
        None => OwnEndpoint::default(),
    };
    signature.verify(&body, &endpoint.secrets, app.clock.now())?;
    let event = Event::parse(&body)?;
    let (Some(program_id), Some(account_id)) = (program_id, endpoint.account_id) else {
        return Err(SignatureError::Mismatch.into());
    };
    let endpoint = async || {
        Ok(Endpoint::Program {
            program_id,
            account_id,
        })
    };
    take_in(&app, &body, &event, endpoint).await
}

pub async fn distributor(State(app): State<App>, request: Request) -> Answer {
    let (headers, body) = read(&app, request).await?;
    let signature = recent_signature(&app, &headers)?;
    signature.verify(&body, &app.distributor_secrets, app.clock.now())?;
    let event = Event::parse(&body)?;
    let endpoint = async || match event.account.clone() {
        Some(account_id) => bound_programs(&app, account_id).await.map(Endpoint::Distributor),
        None => Ok(Endpoint::Distributor(Vec::new())),
    };
    take_in(&app, &body, &event, endpoint).await
}

async fn read(app: &App, request: Request) -> Result<(HeaderMap, Bytes), Refusal> {
    let headers = request.headers().clone();
    let body = body::read(request, app.body_limit_bytes).await?;
    Ok((headers, body))
}

/// Before a secret is looked up.
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

async fn own_endpoint(app: &App, program_id: ProgramId) -> Result<OwnEndpoint, Refusal> {
    let (keys, now) = (app.sealing_keys.clone(), app.clock.now());
    looked_up(app, move |pool| {
        let keys = keys.clone();
        async move {
            let mut connection = pool.acquire().await?;
            let Some(found) = processor_connections::find(&mut connection, program_id).await? else {
                return Ok(OwnEndpoint::default());
            };
            Ok(OwnEndpoint {
                secrets: found.accepted_secrets(&keys, program_id, now)?,
                account_id: Some(found.account_id),
            })
        }
    })
    .await
}

async fn bound_programs(app: &App, account_id: ProcessorId) -> Result<Vec<ProgramId>, Refusal> {
    looked_up(app, move |pool| {
        let account_id = account_id.clone();
        async move {
            let mut connection = pool.acquire().await?;
            processor_connections::programs_of(&mut connection, &account_id).await
        }
    })
    .await
}

/// In a task of its own: a sender that hangs up leaves no connection in the middle of something.
async fn looked_up<T, F>(app: &App, look: impl Fn(PgPool) -> F + Send + Sync + 'static) -> Result<T, Refusal>
where
    T: Send + 'static,
    F: Future<Output = StorageResult<T>> + Send + 'static,
{
    let pool = app.pool.clone();
    let looking = async move { retry(&RETRY, || look(pool.clone()), StorageError::is_transient).await };
    let done = app.tasks.spawn(looking).await;
    done.map_err(Refusal::unavailable)?.map_err(Refusal::unavailable)
}

/// Stores what is of use, and answers once that is durable.
async fn take_in(
    app: &App,
    body: &[u8],
    event: &Event<'_>,
    endpoint: impl AsyncFnOnce() -> Result<Endpoint, Refusal>,
) -> Answer {
    let received = Ok(Json(json!({ "received": true })));
    if !event.livemode {
        tracing::debug!(kind = event.kind, "event of test mode");
        return received;
    }
    let Some(told) = translate(event, &app.metadata_keys) else {
        tracing::debug!(kind = event.kind, "event of a type nobody knows");
        return received;
    };
    let endpoint = endpoint().await?;
    let shares = shares(told, event.account.as_ref(), &endpoint);
    let arrivals = shares
        .into_iter()
        .map(|share| arrival(app, body, event, share))
        .collect::<Result<_, _>>()?;
    app.inbox.receive(arrivals).await.map_err(|error| match error {
        ReceiveError::Submit(SubmitError::Overloaded) => Refusal::Overloaded,
        error => Refusal::unavailable(error),
    })?;
    received
}

fn arrival(app: &App, body: &[u8], event: &Event<'_>, share: Share) -> Result<Arrival, Refusal> {
    let event_id = EventId::new(app.clock.mint());
    let records = match share.program_id {
        Some(program_id) => Records::new(event_id, program_id, event.created, share.sale, share.payment)
            .map_err(Refusal::unavailable)?,
        None => Records::default(),
    };
    let event = NewProcessorEvent {
        event_id,
        program_id: share.program_id,
        processor_event_id: event.id.clone(),
        kind: event.kind.clone(),
        account_id: event.account.clone(),
        occurred_at: event.created,
        received_at: app.clock.now(),
        // It was read as text already.
        payload: String::from_utf8_lossy(body).into_owned(),
        disposition: share.disposition,
    };
    Ok(Arrival { event, records })
}
