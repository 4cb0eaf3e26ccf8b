//! `sale.refunded`.

use serde::Serialize;

/// Money that went back to the customer, in part or wholly.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SaleRefunded {
    pub program_id: i64,
    pub sale_id: i64,
    pub transaction_id: String,
    /// Null once the customer was erased.
    pub customer_key: Option<String>,
    /// Null once the customer was erased.
    pub click_id: Option<String>,
    /// By this refund.
    pub refunded_cents: i64,
    /// By all refunds of the sale so far.
    pub total_refunded_cents: i64,
    /// What the customer had paid.
    pub amount_cents: i64,
    pub currency: String,
    pub refund_reason: Option<String>,
}

impl SaleRefunded {
    pub fn example(program_id: i64) -> Self {
        Self {
            program_id,
            sale_id: 34,
            transaction_id: "in_1042".to_owned(),
            customer_key: Some("user-42".to_owned()),
            click_id: Some("cust_4503599627370_1789990000000".to_owned()),
            refunded_cents: 2_000,
            total_refunded_cents: 2_000,
            amount_cents: 5_831,
            currency: "USD".to_owned(),
            refund_reason: Some("returned".to_owned()),
        }
    }
}
