//! Events as the list, the live view and exports show them.

use chrono::{DateTime, Utc};
use domain::reports::program_events::ProgramEventType;
use messages::instant::as_instant;
use storage::reads::program_events::{
    ClickDetails, LeadDetails, ProgramEvent, ProgramEventDetails, SaleDetails,
};

use super::event_file::Line;
use crate::http::query::Query;
use crate::management::answers::view;
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

/// The types of events in this list, in the order of events of one instant.
pub const TYPES: [ProgramEventType; 3] = [
    ProgramEventType::Click,
    ProgramEventType::Lead,
    ProgramEventType::Sale,
];

/// A sale is listed as a conversion.
pub const fn type_name(event_type: ProgramEventType) -> &'static str {
    match event_type {
        ProgramEventType::Sale => "conversion",
        other => other.as_str(),
    }
}

impl EventView {
    /// `None` for a refund, which this list leaves out.
    pub fn of(event: ProgramEvent) -> Option<Self> {
        let event_type = type_name(event.event_type());
        let details = match event.details {
            ProgramEventDetails::Click(click) => DetailsView::Click(click.into()),
            ProgramEventDetails::Lead(lead) => DetailsView::Lead(lead.into()),
            ProgramEventDetails::Sale(sale) => DetailsView::Conversion(sale.into()),
            ProgramEventDetails::Refund(_) => return None,
        };
        Some(Self {
            id: event.id,
            event_type,
            timestamp: event.at,
            click_id: event.click_id,
            created_at: event.created_at,
            details,
        })
    }
}

impl Line for EventView {
    const COLUMNS: &'static [&'static str] = &COLUMNS;
}

/// The columns of the CSV file: every field of any type.
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

view! { |sale: SaleDetails| ConversionView {
    amount_cents, currency, sale_type, payment_status, is_recurring;
    processor_event_id: sale.transaction_id,
} }

impl LiveEventView {
    pub fn of(event: ProgramEvent) -> Option<Self> {
        let (is_test, customer_id) = (event.is_test, event.customer_id);
        EventView::of(event).map(|event| Self {
            event,
            is_test,
            customer_id,
        })
    }
}

/// The requested types: one, or `all`, which is the default.
pub fn event_types(query: &Query) -> Result<Vec<ProgramEventType>, ApiError> {
    let rule = "must be one of click, lead, conversion";
    let types = query.parsed("eventType", rule, |text| match text {
        "all" => Some(TYPES.to_vec()),
        _ => TYPES
            .into_iter()
            .find(|event_type| type_name(*event_type) == text)
            .map(|event_type| vec![event_type]),
    })?;
    Ok(types.unwrap_or_else(|| TYPES.to_vec()))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::management::reports::program_events::view::tests::one_of_each_type;

    #[test]
    fn a_csv_file_has_a_column_for_every_field() {
        for event in one_of_each_type().into_iter().filter_map(EventView::of) {
            let Value::Object(fields) = serde_json::to_value(event).unwrap() else {
                panic!("an event is an object");
            };
            for name in fields.keys() {
                assert!(COLUMNS.contains(&name.as_str()), "{name}");
            }
        }
    }
}
