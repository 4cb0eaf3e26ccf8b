//! `lead.created`.

use serde::Serialize;

/// A signup, of a customer who came by a referral link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LeadCreated {
    pub program_id: i64,
    /// The advertiser's own key of the customer.
    pub customer_key: Option<String>,
    pub click_id: String,
    /// As the caller named it.
    pub event_name: Option<String>,
    /// A browser's, which no authenticated call has confirmed.
    pub provisional: bool,
    /// The partner by whose link the customer came; null when the link has none any more.
    pub partner_id: Option<i64>,
    pub referral_link_code: Option<String>,
}

impl LeadCreated {
    pub fn example(program_id: i64) -> Self {
        Self {
            program_id,
            customer_key: Some("user-42".to_owned()),
            click_id: "cust_4503599627370_1789990000000".to_owned(),
            event_name: Some("signup".to_owned()),
            provisional: false,
            partner_id: Some(6),
            referral_link_code: Some("ada".to_owned()),
        }
    }
}
