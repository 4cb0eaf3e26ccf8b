//! The commissions that a decision is about: `commission_ids`, and `expected_payable_cents`, the amounts that
//! the caller was shown. A commission whose amount has changed since is not decided.

use std::collections::BTreeMap;

use domain::earnings::payout::CommissionState;
use domain::ids::ProgramId;
use serde_json::Value;
use sqlx::PgConnection;
use storage::money::payouts::{self, LockedCommission};

use crate::http::field::refused;
use crate::management::id_list::id_list;
use crate::management::payout::refused_commissions;
use crate::management::prelude::*;

/// Commissions that are decided together or not at all.
#[derive(Debug)]
pub struct ChosenCommissions {
    pub ids: Vec<i64>,
    expected: ExpectedAmounts,
}

impl ChosenCommissions {
    pub fn read(ids: Option<Value>, expected: Option<Value>) -> Result<Self, ApiError> {
        let ids = id_list(ids, "commission_ids")?;
        let ids = ids.ok_or_else(|| ApiError::bad_request("commission_ids is required"))?;
        let expected = ExpectedAmounts::read(expected, &ids)?;
        Ok(Self { ids, expected })
    }

    /// Locks the commissions that exist. Refuses all if the payable amount of one has changed.
    pub async fn lock(
        &self,
        connection: &mut PgConnection,
        program_id: ProgramId,
        refusal: &'static str,
    ) -> Result<(), ApiError> {
        let locked = payouts::lock_listed(connection, program_id, &self.ids).await?;
        none_refused(refusal, &self.expected.changed(&locked))
    }

    /// Like [`Self::lock`]; also refuses all if one is missing or fails the check.
    pub async fn lock_checked<E: ToString>(
        &self,
        connection: &mut PgConnection,
        program_id: ProgramId,
        refusal: &'static str,
        check: impl Fn(&CommissionState) -> Result<(), E> + Send,
    ) -> Result<(), ApiError> {
        let locked = payouts::lock_listed(connection, program_id, &self.ids).await?;
        let mut reasons = payouts::not_found(&self.ids, &locked);
        reasons.extend(self.expected.changed(&locked));
        for commission in locked {
            if let Err(reason) = check(&commission.state) {
                reasons.insert(commission.commission_id.get(), reason.to_string());
            }
        }
        none_refused(refusal, &reasons)
    }
}

fn none_refused(refusal: &'static str, reasons: &BTreeMap<i64, String>) -> Result<(), ApiError> {
    if reasons.is_empty() {
        return Ok(());
    }
    Err(refused_commissions(refusal, reasons))
}

/// Amounts by commission id. Empty if the caller sends none.
#[derive(Debug, Default)]
pub struct ExpectedAmounts(BTreeMap<i64, i64>);

impl ExpectedAmounts {
    /// Reads an object of amounts by id, with exactly the ids in `ids`; an absent value has no amounts.
    pub fn read(value: Option<Value>, ids: &[i64]) -> Result<Self, ApiError> {
        let Some(value) = value.filter(|value| !value.is_null()) else {
            return Ok(Self::default());
        };
        let amounts = value.as_object().ok_or_else(Self::refusal)?;
        let amounts = amounts
            .iter()
            .map(|(id, cents)| Some((id.parse().ok()?, cents.as_i64()?)))
            .collect::<Option<BTreeMap<i64, i64>>>()
            .ok_or_else(Self::refusal)?;
        if amounts.keys().eq(ids) {
            Ok(Self(amounts))
        } else {
            Err(Self::refusal())
        }
    }

    /// The commissions whose payable amount differs from the expected one, each with a reason.
    pub fn changed(&self, locked: &[LockedCommission]) -> BTreeMap<i64, String> {
        locked
            .iter()
            .filter_map(|commission| {
                let (id, left) = (commission.commission_id.get(), commission.state.left().get());
                let expected = self.0.get(&id).filter(|expected| **expected != left)?;
                Some((
                    id,
                    format!("changed meanwhile: {left} is payable, not {expected}"),
                ))
            })
            .collect()
    }

    pub fn refusal() -> ApiError {
        refused(
            "expected_payable_cents",
            "must be an object with an integer for each of commission_ids",
        )
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_commission_has_its_amount_and_no_other_has_one() {
        let ids = [3, 12];
        let read = |value| ExpectedAmounts::read(Some(value), &ids);
        assert_eq!(read(json!({ "12": 980, "3": 0 })).unwrap().0.len(), 2);
        assert!(read(Value::Null).unwrap().0.is_empty());
        assert!(ExpectedAmounts::read(None, &ids).unwrap().0.is_empty());
        for value in [
            json!({}),
            json!([980, 0]),
            json!({ "12": 980 }),
            json!({ "12": 980, "3": 0, "4": 1 }),
            json!({ "12": 980, "3": "0" }),
            json!({ "12": 980, "3": 0.5 }),
            json!({ "12": 980, "three": 0 }),
        ] {
            read(value).unwrap_err();
        }
    }
}
