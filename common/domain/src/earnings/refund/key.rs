//! Keys that identify a refund across repeated reports.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::money::AmountCents;

/// The idempotency key of a refund within its sale, as canonical text:
///
/// - `id:<refund_id>` when the caller names the refund;
/// - `amount:<cents>` when the caller names only an amount: the same amount again is a retry;
/// - `rest` when the caller names neither;
/// - `processor:<reference>` for a report of the processor.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RefundKey(String);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a refund key")]
pub struct MalformedRefundKey;

impl RefundKey {
    /// The key of a refund from the refund endpoint. An empty `refund_id` counts as absent.
    pub fn for_delta(refund_id: Option<&str>, amount: Option<AmountCents>) -> Self {
        match (refund_id, amount) {
            (Some(refund_id), _) if !refund_id.is_empty() => Self(format!("id:{refund_id}")),
            (_, Some(amount)) => Self(format!("amount:{}", amount.get())),
            (_, None) => Self("rest".to_owned()),
        }
    }

    /// The key of a processor's report. `reference` is the id of the event or of the charge.
    pub fn processor(reference: &str) -> Self {
        Self(format!("processor:{reference}"))
    }

    /// Parses a stored or received key; `None` unless it is canonical.
    pub fn parse(text: &str) -> Option<Self> {
        let is_canonical = match text.split_once(':') {
            Some(("id" | "processor", reference)) => !reference.is_empty(),
            Some(("amount", cents)) => {
                let amount = cents.parse().ok().and_then(AmountCents::new);
                amount.is_some_and(|amount| amount.get().to_string() == cents)
            }
            Some(_) => false,
            None => text == "rest",
        };
        is_canonical.then(|| Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for RefundKey {
    type Error = MalformedRefundKey;

    fn try_from(text: String) -> Result<Self, MalformedRefundKey> {
        Self::parse(&text).ok_or(MalformedRefundKey)
    }
}

impl From<RefundKey> for String {
    fn from(key: RefundKey) -> Self {
        key.0
    }
}

impl fmt::Display for RefundKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn each_way_of_naming_a_refund_has_its_text() {
        let amount = AmountCents::new(250);
        for (refund_id, amount, text) in [
            (Some("re_1"), amount, "id:re_1"),
            (Some("re_1"), None, "id:re_1"),
            (Some("rest"), None, "id:rest"),
            (Some(""), amount, "amount:250"),
            (None, amount, "amount:250"),
            (None, None, "rest"),
        ] {
            assert_eq!(RefundKey::for_delta(refund_id, amount).as_str(), text);
        }
        assert_eq!(RefundKey::processor("evt_1").as_str(), "processor:evt_1");
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "re_1",
            "id:",
            "processor:",
            "amount:",
            "amount:0",
            "amount:007",
            "amount:+7",
            "rest:",
            "Rest",
        ] {
            assert_eq!(RefundKey::parse(text), None, "{text:?}");
        }
        assert!(serde_json::from_str::<RefundKey>("\"re_1\"").is_err());
    }

    proptest! {
        #[test]
        fn every_key_reads_back(
            refund_id in prop::option::of(any::<String>()),
            amount in prop::option::of(1i64..1_000),
        ) {
            let key = RefundKey::for_delta(refund_id.as_deref(), amount.and_then(AmountCents::new));
            prop_assert_eq!(RefundKey::parse(key.as_str()), Some(key.clone()));
            let json = serde_json::to_string(&key).unwrap();
            prop_assert_eq!(serde_json::from_str::<RefundKey>(&json).unwrap(), key);
        }

        #[test]
        fn distinct_refund_ids_are_distinct_keys(a in ".{1,9}", b in ".{1,9}") {
            let key = |refund_id: &str| RefundKey::for_delta(Some(refund_id), None);
            prop_assert_eq!(key(&a) == key(&b), a == b);
            prop_assert_ne!(key(&a), RefundKey::processor(&b));
        }
    }
}
