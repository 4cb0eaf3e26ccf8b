//! A webhook endpoint: its settings, why it is disabled, and the states of its deliveries.

use crate::programs::outbound_event::OutboundEventType;
use crate::text::Text;

pub const MAX_ENDPOINTS: usize = 20;

pub type EndpointDescription = Text<200>;

crate::text_enum! {
    #[derive(Hash)]
    pub enum DisabledReason {
        /// A person or a key turned it off.
        ByHand = "by_hand",
        /// The endpoint answered 410.
        Gone = "gone",
        /// Every attempt failed, for days.
        Failing = "failing",
    }

    pub enum DeliveryState {
        /// The delivery waits for its first or next attempt.
        Waiting = "waiting",
        Delivered = "delivered",
        /// The last attempt failed.
        GivenUp = "given_up",
        /// The endpoint was disabled before the delivery succeeded.
        Cancelled = "cancelled",
    }
}

/// The event types of an endpoint: at least one, each once, in the order of the catalogue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventTypes(Vec<OutboundEventType>);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EventTypesError {
    #[error("must name at least one type of event")]
    Empty,
    #[error("names no type of event: {0}")]
    Unknown(String),
}

crate::stored!(EventTypes: Vec<String>, |names| Self::parse(names.iter().map(String::as_str)).ok());

impl EventTypes {
    pub fn parse<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Self, EventTypesError> {
        let mut types = names
            .into_iter()
            .map(|name| OutboundEventType::parse(name).ok_or_else(|| unknown(name)))
            .collect::<Result<Vec<_>, _>>()?;
        types.sort_unstable();
        types.dedup();
        if types.is_empty() {
            return Err(EventTypesError::Empty);
        }
        Ok(Self(types))
    }

    pub fn iter(&self) -> impl Iterator<Item = OutboundEventType> {
        self.0.iter().copied()
    }

    pub fn names(&self) -> Vec<&'static str> {
        self.iter().map(OutboundEventType::as_str).collect()
    }
}

/// The error for an unknown name. It shows only the beginning of the caller's text.
fn unknown(name: &str) -> EventTypesError {
    const SHOWN_CHARACTERS: usize = 60;
    EventTypesError::Unknown(name.chars().take(SHOWN_CHARACTERS).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_each_there_once_in_the_order_of_the_catalogue() {
        let types = EventTypes::parse(["sale.recorded", "lead.created", "sale.recorded"]).unwrap();
        assert_eq!(types.names(), ["lead.created", "sale.recorded"]);
        assert_eq!(EventTypes::parse([]), Err(EventTypesError::Empty));
        let error = EventTypes::parse(["lead.created", "click"]).unwrap_err();
        assert_eq!(error.to_string(), "names no type of event: click");
        let EventTypesError::Unknown(shown) = EventTypes::parse([&*"ä".repeat(1_000)]).unwrap_err() else {
            panic!("known");
        };
        assert_eq!(shown.chars().count(), 60);
    }
}
