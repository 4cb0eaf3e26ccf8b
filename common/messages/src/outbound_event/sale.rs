//! `sale.recorded`.

use serde::Serialize;

/// A payment, recorded with what partners earn by it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SaleRecorded {
    pub program_id: i64,
    pub sale_id: i64,
    /// As the caller sent it.
    pub transaction_id: String,
    pub customer_key: Option<String>,
    pub click_id: String,
    /// What the customer paid.
    pub amount_cents: i64,
    /// What of it percentages are taken of, where that is not the whole amount.
    pub commissionable_cents: Option<i64>,
    pub currency: String,
    pub is_recurring: bool,
    pub subscription_id: Option<String>,
    pub product_id: Option<String>,
    /// The link under which the sale counts.
    pub partner_id: Option<i64>,
    pub referral_link_code: Option<String>,
    /// Each has an event `commission.created`, too.
    pub commission_ids: Vec<i64>,
    /// Why it earned nothing.
    pub no_commission_reason: Option<String>,
}

impl SaleRecorded {
    pub fn example(program_id: i64) -> Self {
        Self {
            program_id,
            sale_id: 34,
            transaction_id: "in_1042".to_owned(),
            customer_key: Some("user-42".to_owned()),
            click_id: "cust_4503599627370_1789990000000".to_owned(),
            amount_cents: 5_831,
            commissionable_cents: Some(4_900),
            currency: "USD".to_owned(),
            is_recurring: false,
            subscription_id: Some("sub_77".to_owned()),
            product_id: None,
            partner_id: Some(6),
            referral_link_code: Some("ada".to_owned()),
            commission_ids: vec![12],
            no_commission_reason: None,
        }
    }
}
