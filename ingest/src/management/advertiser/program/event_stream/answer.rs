//! Writes events of the stream: as one JSON document, or as one line each.

use axum::http::{HeaderMap, header};
use chrono::{DateTime, TimeDelta};
use domain::ids::ProgramId;
use domain::programs::event_stream::{CLICK_RECORDED, EventCursor, StreamPlace};
use domain::programs::outbound_event::OutboundEventType;
use domain::programs::webhook::message_id;
use serde_json::{Map, Value, json};
use storage::outbound::stream_events::{StreamEvent, StreamedClick};
use utoipa::openapi::{ObjectBuilder, Type};
use uuid::Uuid;

use crate::http::accept::accepts;
use crate::management::prelude::*;
use messages::instant::instant;

const NDJSON: &str = "application/x-ndjson";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Json,
    Ndjson,
}

impl Format {
    pub fn accepted(headers: &HeaderMap) -> Self {
        if accepts(headers, header::ACCEPT, NDJSON) {
            Self::Ndjson
        } else {
            Self::Json
        }
    }

    pub const fn content_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Ndjson => NDJSON,
        }
    }

    pub const fn beginning(self) -> &'static [u8] {
        match self {
            Self::Json => br#"{"data":["#,
            Self::Ndjson => b"",
        }
    }

    /// Writes an event; `follows` says whether an event precedes it in the answer.
    pub fn event(
        self,
        out: &mut Vec<u8>,
        program_id: ProgramId,
        event: StreamEvent,
        follows: bool,
    ) -> Result<(), ApiError> {
        if self == Self::Json && follows {
            out.push(b',');
        }
        match event {
            StreamEvent::Stored { event_id, body } => {
                // Endpoints receive the same body, with the id in a header.
                let rest = body.strip_prefix('{').ok_or_else(|| {
                    ApiError::unexpected(anyhow::anyhow!("outbound event {event_id} has no object"))
                })?;
                out.extend(format!(r#"{{"id":"{}","#, message_id(event_id)).bytes());
                out.extend(rest.bytes());
            }
            StreamEvent::Click(click) => {
                let view = ClickEvent::new(program_id, *click);
                serde_json::to_writer(&mut *out, &view).map_err(ApiError::unexpected)?;
            }
        }
        if self == Self::Ndjson {
            out.push(b'\n');
        }
        Ok(())
    }

    pub fn end(self, out: &mut Vec<u8>, meta: &StreamMeta) -> Result<(), ApiError> {
        let (before, after) = match self {
            Self::Json => (r#"],"meta":"#, "}"),
            Self::Ndjson => (r#"{"meta":"#, "}\n"),
        };
        out.extend(before.bytes());
        serde_json::to_writer(&mut *out, meta).map_err(ApiError::unexpected)?;
        out.extend(after.bytes());
        Ok(())
    }
}

/// A part of a program's event stream.
#[derive(Debug, Serialize, ToSchema)]
pub struct StreamPage {
    data: Vec<StreamEventView>,
    meta: StreamMeta,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct StreamMeta {
    /// Send it as `after` to read on.
    pub next: String,
    /// More can be read at once.
    pub has_more: bool,
    /// When the stream was turned on, ISO 8601: what happened before is not in it.
    pub since: String,
    /// This request turned it on.
    pub started: bool,
}

/// What happened: a click, or an outbound event as webhook endpoints get it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = StreamEvent)]
#[serde(untagged)]
pub enum StreamEventView {
    Click(Box<ClickEvent>),
    Outbound(OutboundEventView),
}

/// An event of a type that webhook endpoints have.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = OutboundEvent)]
pub struct OutboundEventView {
    /// The same whenever the event is read; that of the `webhook-id` header, where it was sent to an endpoint.
    id: String,
    #[serde(rename = "type")]
    #[schema(schema_with = outbound_type)]
    event_type: &'static str,
    /// When it happened: ISO 8601.
    timestamp: String,
    /// By its type, as under `webhooks`.
    data: Map<String, Value>,
}

/// A click, which webhook endpoints do not get.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ClickRecorded, example = json!(ClickEvent::example()))]
pub struct ClickEvent {
    /// The same whenever the click is read.
    id: String,
    #[serde(rename = "type")]
    #[schema(schema_with = click_type)]
    event_type: &'static str,
    /// When it happened: ISO 8601.
    timestamp: String,
    data: ClickData,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ClickRecordedData)]
struct ClickData {
    program_id: i64,
    click_id: String,
    /// As the link is now; null when there is none any more.
    partner_id: Option<i64>,
    referral_link_code: Option<String>,
    /// This one and addresses: as the page reported them.
    session_id: Option<String>,
    page_url: Option<String>,
    referrer_url: Option<String>,
    /// Two letters (ISO 3166-1). This one and what follows is derived.
    geo_country: Option<String>,
    geo_region: Option<String>,
    geo_city: Option<String>,
    device_type: Option<String>,
    device_os: Option<String>,
    browser_name: Option<String>,
    is_bot: bool,
    /// It moves counters and attribution: a bot's does not where the program excludes bots.
    counted: bool,
}

fn click_type() -> ObjectBuilder {
    one_of([CLICK_RECORDED])
}

fn outbound_type() -> ObjectBuilder {
    one_of(OutboundEventType::ALL.map(OutboundEventType::as_str))
}

fn one_of<const N: usize>(types: [&'static str; N]) -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .enum_values(Some(types))
}

impl StreamPage {
    /// An example for the API description.
    pub fn example() -> Self {
        let suspended = OutboundEventView {
            id: message_id(Uuid::from_u128(2)),
            event_type: OutboundEventType::PartnerSuspended.as_str(),
            timestamp: "2024-10-04T09:00:01.250Z".to_owned(),
            data: Map::from_iter([
                ("program_id".to_owned(), json!(1)),
                ("partner_program_id".to_owned(), json!(9)),
            ]),
        };
        let place = StreamPlace {
            position: 1_024,
            clicks: 0,
        };
        let next = EventCursor {
            program_id: ProgramId::new(1),
            place,
            read_until: DateTime::UNIX_EPOCH + TimeDelta::days(20_000),
        };
        Self {
            data: vec![
                StreamEventView::Click(Box::new(ClickEvent::example())),
                StreamEventView::Outbound(suspended),
            ],
            meta: StreamMeta {
                next: next.encode(),
                has_more: false,
                since: "2024-10-01T00:00:00.000Z".to_owned(),
                started: false,
            },
        }
    }
}

impl ClickEvent {
    /// An example for the API description.
    fn example() -> Self {
        let some = |text: &str| Some(text.to_owned());
        let clicked_at = DateTime::UNIX_EPOCH + TimeDelta::days(20_000) + TimeDelta::hours(9);
        let click = StreamedClick {
            event_id: Uuid::from_u128(1),
            clicked_at,
            click_id: "cust_7203685477580001_1728000000000".to_owned(),
            partner_id: Some(6),
            referral_link_code: some("ada"),
            session_id: some("s-1"),
            page_url: some("https://shop.example/pricing"),
            referrer_url: some("https://blog.example/review"),
            geo_country: some("DE"),
            geo_region: None,
            geo_city: None,
            device_type: some("desktop"),
            device_os: some("macOS"),
            browser_name: some("Firefox"),
            is_bot: false,
            counted: true,
        };
        Self::new(ProgramId::new(1), click)
    }

    fn new(program_id: ProgramId, click: StreamedClick) -> Self {
        Self {
            id: message_id(click.event_id),
            event_type: CLICK_RECORDED,
            timestamp: instant(click.clicked_at),
            data: ClickData {
                program_id: program_id.get(),
                click_id: click.click_id,
                partner_id: click.partner_id,
                referral_link_code: click.referral_link_code,
                session_id: click.session_id,
                page_url: click.page_url,
                referrer_url: click.referrer_url,
                geo_country: click.geo_country,
                geo_region: click.geo_region,
                geo_city: click.geo_city,
                device_type: click.device_type,
                device_os: click.device_os,
                browser_name: click.browser_name,
                is_bot: click.is_bot,
                counted: click.counted,
            },
        }
    }
}
