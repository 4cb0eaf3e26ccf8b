//! The customer lifecycle: click, then lead, then conversion. A status never moves back.

use std::fmt;

use serde::{Deserialize, Serialize};

crate::text_enum! {
    /// The status of a customer. The variants are in the order of the funnel.
    #[derive(PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum CustomerStatus {
        Click = "click",
        Lead = "lead",
        Conversion = "conversion",
    }
}

/// A lead arrived for a customer who already is a lead or has bought.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a customer whose status is {current} cannot become a lead")]
pub struct CannotBecomeLead {
    pub current: CustomerStatus,
}

impl CustomerStatus {
    /// The status after a confirmed signup. Only a customer with status `click` becomes a lead.
    pub const fn on_lead(self) -> Result<Self, CannotBecomeLead> {
        match self {
            Self::Click => Ok(Self::Lead),
            Self::Lead | Self::Conversion => Err(CannotBecomeLead { current: self }),
        }
    }

    /// The status after an attributed sale. Customers who never signed up convert, without a signup date.
    #[must_use]
    pub const fn on_sale(self) -> Self {
        Self::Conversion
    }

    /// The status before the first sale. It returns if the only sale turns out to be another customer's.
    #[must_use]
    pub const fn without_sale(signed_up: bool) -> Self {
        if signed_up { Self::Lead } else { Self::Click }
    }
}

impl fmt::Display for CustomerStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_a_click_becomes_a_lead() {
        assert_eq!(CustomerStatus::Click.on_lead(), Ok(CustomerStatus::Lead));
        for current in [CustomerStatus::Lead, CustomerStatus::Conversion] {
            assert_eq!(current.on_lead(), Err(CannotBecomeLead { current }));
        }
    }

    #[test]
    fn text_and_json_agree() {
        for status in CustomerStatus::ALL {
            assert_eq!(CustomerStatus::parse(status.as_str()), Some(status));
            assert_eq!(serde_json::to_value(status).unwrap(), status.as_str());
        }
        assert_eq!(CustomerStatus::parse("Lead"), None);
    }

    proptest! {
        #[test]
        fn no_sequence_of_events_moves_backwards(sales in prop::collection::vec(any::<bool>(), 0..20)) {
            let mut status = CustomerStatus::Click;
            for is_sale in sales {
                let next = if is_sale { status.on_sale() } else { status.on_lead().unwrap_or(status) };
                prop_assert!(next >= status);
                status = next;
            }
        }
    }
}
