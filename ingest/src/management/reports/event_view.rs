//! Events as the list, the live view and exports show them.

use chrono::{DateTime, TimeDelta, Utc};
use storage::events::{ClickDetails, ConversionDetails, EventDetails, EventType, LeadDetails, ListedEvent};

use super::event_file::{Line, cells_of};
use crate::management::csv_download::Cell;
use crate::management::prelude::*;

/// An event: what all types have, and what its own has.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Event)]
pub struct EventView {
    id: i64,
    /// `click`, `lead` or `conversion`.
    event_type: &'static str,
    #[serde(serialize_with = "as_instant")]
    timestamp: DateTime<Utc>,
    #[schema(required = true)]
    click_id: Option<String>,
    #[serde(rename = "createdAt", serialize_with = "as_instant")]
    created_at: DateTime<Utc>,
    #[serde(flatten)]
    details: DetailsView,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = EventDetails)]
#[serde(untagged)]
enum DetailsView {
    Click(ClickView),
    Lead(LeadView),
    Conversion(ConversionView),
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ClickDetails)]
pub struct ClickView {
    #[schema(required = true)]
    session_id: Option<String>,
    #[schema(required = true)]
    page_url: Option<String>,
    #[schema(required = true)]
    referrer_url: Option<String>,
    #[schema(required = true)]
    geo_country: Option<String>,
    #[schema(required = true)]
    geo_region: Option<String>,
    #[schema(required = true)]
    geo_city: Option<String>,
    #[schema(required = true)]
    device_type: Option<String>,
    #[schema(required = true)]
    device_os: Option<String>,
    #[schema(required = true)]
    browser_name: Option<String>,
    /// The customer has paid by now.
    converted: bool,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = LeadDetails)]
pub struct LeadView {
    #[schema(required = true)]
    customer_key: Option<String>,
    #[schema(required = true)]
    session_id: Option<String>,
    #[schema(required = true)]
    page_url: Option<String>,
    /// The customer has paid by now.
    converted: bool,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ConversionDetails)]
struct ConversionView {
    amount_cents: i64,
    currency: String,
    sale_type: String,
    payment_status: String,
    processor_event_id: String,
    is_recurring: bool,
}

/// An event of the live view, which shows test events too.
#[derive(Debug, Serialize, ToSchema)]
pub struct LiveEventView {
    #[serde(flatten)]
    event: EventView,
    is_test: bool,
    /// Null for test events.
    customer_id: Option<i64>,
}

impl EventView {
    pub fn new(event: ListedEvent) -> Self {
        Self {
            id: event.id,
            event_type: event.event_type().as_str(),
            timestamp: event.timestamp,
            click_id: event.click_id,
            created_at: event.created_at,
            details: match event.details {
                EventDetails::Click(click) => DetailsView::Click(ClickView::from(click)),
                EventDetails::Lead(lead) => DetailsView::Lead(LeadView::from(lead)),
                EventDetails::Conversion(sale) => DetailsView::Conversion(ConversionView::from(sale)),
            },
        }
    }

    /// For the description.
    pub fn examples() -> Vec<Self> {
        examples().map(Self::new).into()
    }
}

impl Line for EventView {
    const COLUMNS: &'static [&'static str] = &COLUMNS;

    fn cells(&self) -> Vec<Cell> {
        cells_of(&serde_json::to_value(self).unwrap_or_default(), Self::COLUMNS)
    }
}

/// Of a CSV file: every field any type has.
const COLUMNS: [&str; 22] = [
    "event_type",
    "id",
    "timestamp",
    "click_id",
    "customer_key",
    "session_id",
    "page_url",
    "referrer_url",
    "geo_country",
    "geo_region",
    "geo_city",
    "device_type",
    "device_os",
    "browser_name",
    "converted",
    "amount_cents",
    "currency",
    "sale_type",
    "payment_status",
    "processor_event_id",
    "is_recurring",
    "createdAt",
];

view! { |click: ClickDetails| ClickView {
    session_id, page_url, referrer_url, geo_country, geo_region, geo_city, device_type, device_os, browser_name,
    converted,
} }

view! { |lead: LeadDetails| LeadView {
    customer_key, session_id, page_url, converted,
} }

view! { |sale: ConversionDetails| ConversionView {
    amount_cents, currency, sale_type, payment_status, processor_event_id, is_recurring,
} }

impl LiveEventView {
    pub fn new(event: ListedEvent) -> Self {
        Self {
            is_test: event.is_test,
            customer_id: event.customer_id,
            event: EventView::new(event),
        }
    }
}

/// The types a query asks for: one, or `all`, as when it says nothing.
pub fn event_types(query: &Query) -> Result<Vec<EventType>, ApiError> {
    let rule = "must be one of click, lead, conversion";
    let types = query.parsed("eventType", rule, |text| match text {
        "all" => Some(EventType::ALL.to_vec()),
        _ => EventType::parse(text).map(|kind| vec![kind]),
    })?;
    Ok(types.unwrap_or_else(|| EventType::ALL.to_vec()))
}

/// One of each type.
fn examples() -> [ListedEvent; 3] {
    let at = DateTime::UNIX_EPOCH + TimeDelta::days(20_000);
    let event = |id, minutes, details| ListedEvent {
        id,
        timestamp: at + TimeDelta::minutes(minutes),
        customer_id: Some(1042),
        click_id: Some("cust_7203685477580001_1728000000000".to_owned()),
        created_at: at + TimeDelta::minutes(minutes),
        is_test: false,
        details,
    };
    let text = |text: &str| Some(text.to_owned());
    [
        event(
            3,
            20,
            EventDetails::Conversion(ConversionDetails {
                amount_cents: 7_999,
                currency: "USD".to_owned(),
                sale_type: "payment".to_owned(),
                payment_status: "paid".to_owned(),
                processor_event_id: "in_1042".to_owned(),
                is_recurring: false,
            }),
        ),
        event(
            8,
            10,
            EventDetails::Lead(LeadDetails {
                customer_key: text("user-42"),
                session_id: None,
                page_url: None,
                converted: true,
            }),
        ),
        event(
            21,
            0,
            EventDetails::Click(ClickDetails {
                session_id: text("s-1"),
                page_url: text("https://shop.example/pricing"),
                referrer_url: text("https://blog.example/review"),
                geo_country: text("DE"),
                geo_region: None,
                geo_city: None,
                device_type: text("desktop"),
                device_os: text("macOS"),
                browser_name: text("Firefox"),
                converted: true,
            }),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn a_csv_file_has_a_column_for_every_field() {
        for event in examples() {
            let Value::Object(fields) = serde_json::to_value(EventView::new(event)).unwrap() else {
                panic!("an event is an object");
            };
            for name in fields.keys() {
                assert!(COLUMNS.contains(&name.as_str()), "{name}");
            }
        }
    }
}
