//! Which customer made a payment that a processor reports.
//!
//! The names that the merchant's code wrote beside the payment come first. Otherwise the binding of the
//! processor's customer decides. Earlier events made this binding, and it stays until a person changes it.

use serde::{Deserialize, Serialize};

use crate::processors::processor::ProcessorId;
use crate::text::CustomerKey;
use crate::tracking::click_id::ClickId;

/// The names by which a customer is known here. At least one is present.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Payer {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub click_id: Option<ClickId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub customer_key: Option<CustomerKey>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedCustomer {
    pub processor_customer: ProcessorId,
    pub payer: Payer,
}

/// What an event adds to the binding of a processor's customer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Addition {
    Nothing,
    /// A missing name.
    Name,
    /// The event names another customer. It changes nothing.
    Conflict,
}

impl Payer {
    pub fn new(click_id: Option<ClickId>, customer_key: Option<CustomerKey>) -> Option<Self> {
        (click_id.is_some() || customer_key.is_some()).then_some(Self {
            click_id,
            customer_key,
        })
    }

    /// The reference a merchant passed to the processor: a click_id, or else a customer_key.
    pub fn from_reference(reference: &str) -> Option<Self> {
        let click_id = ClickId::parse(reference);
        let customer_key = match click_id {
            Some(_) => None,
            None => CustomerKey::parse(reference).ok(),
        };
        Self::new(click_id, customer_key)
    }

    /// Adds a missing name from another event of the same processor's customer.
    pub fn add(&mut self, other: &Self) -> Addition {
        // A customer may have several clicks, so the keys decide if both have one.
        let differs = match (&self.customer_key, &other.customer_key) {
            (Some(mine), Some(other)) => mine != other,
            _ => matches!((&self.click_id, &other.click_id), (Some(mine), Some(other)) if mine != other),
        };
        if differs {
            return Addition::Conflict;
        }
        let before = (self.click_id.is_some(), self.customer_key.is_some());
        self.click_id = self.click_id.take().or_else(|| other.click_id.clone());
        self.customer_key = self.customer_key.take().or_else(|| other.customer_key.clone());
        if before == (self.click_id.is_some(), self.customer_key.is_some()) {
            Addition::Nothing
        } else {
            Addition::Name
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: &str = "cust_12345_1700000000000";
    const SECOND: &str = "cust_12346_1700000000000";

    fn payer(click_id: &str, key: &str) -> Payer {
        Payer::new(ClickId::parse(click_id), CustomerKey::parse(key).ok()).unwrap()
    }

    #[test]
    fn a_name_that_is_missing_is_added_and_one_that_is_there_stays() {
        for (known, other, addition, after) in [
            ((FIRST, ""), (FIRST, ""), Addition::Nothing, (FIRST, "")),
            ((FIRST, ""), ("", "a"), Addition::Name, (FIRST, "a")),
            (("", "a"), (FIRST, "a"), Addition::Name, (FIRST, "a")),
            (("", "a"), (FIRST, ""), Addition::Name, (FIRST, "a")),
            ((FIRST, "a"), (SECOND, "a"), Addition::Nothing, (FIRST, "a")),
            ((FIRST, "a"), (FIRST, "b"), Addition::Conflict, (FIRST, "a")),
            ((FIRST, ""), (SECOND, "a"), Addition::Conflict, (FIRST, "")),
            (("", "a"), ("", "b"), Addition::Conflict, ("", "a")),
        ] {
            let mut known = payer(known.0, known.1);
            assert_eq!(
                known.add(&payer(other.0, other.1)),
                addition,
                "{known:?} {other:?}"
            );
            assert_eq!(known, payer(after.0, after.1));
        }
    }

    #[test]
    fn a_reference_is_a_click_id_or_a_key() {
        assert_eq!(Payer::from_reference(FIRST), Some(payer(FIRST, "")));
        assert_eq!(Payer::from_reference("user-1"), Some(payer("", "user-1")));
        assert_eq!(Payer::from_reference("cust_x"), Some(payer("", "cust_x")));
        assert_eq!(Payer::from_reference(""), None);
        assert_eq!(Payer::from_reference(&"x".repeat(300)), None);
    }
}
