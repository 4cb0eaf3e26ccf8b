//! How events of the stream are written: in one JSON document, or a line each.

use axum::http::{HeaderMap, header};
use chrono::{DateTime, TimeDelta};
use domain::event_stream::{CLICK_RECORDED, EventCursor, StreamPlace};
use domain::ids::ProgramId;
use domain::webhook::message_id;
use serde_json::{Map, Value};
use storage::stream_events::{StreamEvent, StreamedClick};
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

    /// Writes an event; `follows` others.
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
                // As it was sent to endpoints, with the id that its header had there.
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

/// What happened: as webhook endpoints are told, or a click.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = StreamEvent)]
pub struct StreamEventView {
    /// The same whenever the event is read; that of the `webhook-id` header, where an endpoint was told.
    id: String,
    /// `click.recorded`, or a type that webhook endpoints have.
    #[serde(rename = "type")]
    event_type: String,
    /// When it happened: ISO 8601.
    timestamp: String,
    /// By its type.
    data: Map<String, Value>,
}

/// A click, as the stream has it.
#[derive(Debug, Serialize)]
struct ClickEvent {
    id: String,
    #[serde(rename = "type")]
    event_type: &'static str,
    timestamp: String,
    data: ClickData,
}

#[derive(Debug, Serialize)]
struct ClickData {
    program_id: i64,
    click_id: String,
    partner_id: Option<i64>,
    referral_link_code: Option<String>,
    session_id: Option<String>,
    page_url: Option<String>,
    referrer_url: Option<String>,
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

impl StreamPage {
    /// For the description.
    pub fn example() -> Self {
        let event = |event_id: u128, event_type: &str, timestamp: &str, data: Value| StreamEventView {
            id: message_id(Uuid::from_u128(event_id)),
            event_type: event_type.to_owned(),
            timestamp: timestamp.to_owned(),
            data: match data {
                Value::Object(data) => data,
                _ => Map::new(),
            },
        };
        let click = json!({
            "program_id": 1, "click_id": "cust_7203685477580001_1728000000000", "partner_id": 6, "referral_link_code": "ada",
            "session_id": "s-1",
            "page_url": "https://shop.example/pricing", "referrer_url": "https://blog.example/review",
            "geo_country": "DE", "geo_region": null, "geo_city": null, "device_type": "desktop", "device_os": "macOS",
            "browser_name": "Firefox", "is_bot": false, "counted": true,
        });
        let suspended = json!({ "program_id": 1, "partner_program_id": 9 });
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
                event(1, CLICK_RECORDED, "2024-10-04T09:00:00.000Z", click),
                event(2, "partner.suspended", "2024-10-04T09:00:01.250Z", suspended),
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
