//! Writes events of the stream: as one JSON document, or as one line each.

use axum::http::{HeaderMap, header};
use domain::ids::ProgramId;
use domain::programs::event_stream::CLICK_RECORDED;
use domain::programs::outbound_event::OutboundEventType;
use domain::programs::webhook::message_id;
use messages::instant::instant;
use serde_json::{Map, Value};
use storage::outbound::stream_events::{StreamEvent, StreamedClick};
use utoipa::openapi::{ObjectBuilder, Type};

use crate::http::accept::accepts;
use crate::management::prelude::*;

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
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "described, never built: events are written one by one")]
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
#[derive(Debug, ToSchema)]
#[schema(as = StreamEvent)]
#[expect(dead_code, reason = "described, never built: events are written one by one")]
#[serde(untagged)]
pub enum StreamEventView {
    Click(Box<ClickEvent>),
    Outbound(OutboundEventView),
}

/// An event of a type that webhook endpoints have.
#[derive(Debug, ToSchema)]
#[schema(as = OutboundEvent)]
#[expect(dead_code, reason = "described, never built: events are written one by one")]
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
#[schema(as = ClickRecorded)]
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

impl ClickEvent {
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
