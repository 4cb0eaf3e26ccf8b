//! A membership's money in one currency, as its advertiser and its partner see it.

use storage::money::balances::Balance;

use crate::management::prelude::*;

#[derive(Debug, Serialize, ToSchema)]
pub struct CurrencyBalanceView {
    currency: String,
    /// What the ledger adds up to. A refund takes it to zero at most while its commission is unpaid, so it can be more than is owed, until the
    /// next payout settles that.
    balance_cents: i64,
    /// What payouts will move once nothing is held any more: what is left of unpaid commissions, less what was taken back after it had been
    /// paid. Below zero, the partner owes it.
    owed_cents: i64,
}

impl From<Balance> for CurrencyBalanceView {
    fn from(row: Balance) -> Self {
        Self {
            currency: row.currency.to_string(),
            balance_cents: row.balance.get(),
            owed_cents: row.owed.get(),
        }
    }
}
