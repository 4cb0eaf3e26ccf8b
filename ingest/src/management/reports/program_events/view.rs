//! Events as the list, its files and a customer's timeline show them.

use chrono::{DateTime, Utc};
use messages::instant::as_instant;
use serde_json::Value;
use storage::reads::program_events::{
    CreditedLink, LeadDetails, ProgramEvent, ProgramEventDetails, RefundDetails, SaleCommission, SaleDetails,
};

use crate::management::advertiser::money::commissions::NamedPartner;
use crate::management::answers::view;
use crate::management::prelude::*;
use crate::management::reports::event_file::Line;
use crate::management::reports::event_view::ClickView;

/// An event: what all types have, and what its own has.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ProgramEvent)]
pub struct ProgramEventView {
    /// Of its type: a click and a sale may have the same.
    id: i64,
    #[serde(serialize_with = "as_instant")]
    timestamp: DateTime<Utc>,
    is_test: bool,
    /// Null for test events.
    customer_id: Option<i64>,
    click_id: Option<String>,
    /// As it was sent with a lead; of all else, what is bound to the customer by now. Null when none is, and after an erasure.
    customer_key: Option<String>,
    /// Whose link was clicked; or was clicked last before a lead; or is credited with the sale, the last of several.
    partner_program_id: Option<i64>,
    partner: Option<NamedPartner>,
    referral_link_code: Option<String>,
    #[serde(rename = "createdAt", serialize_with = "as_instant")]
    created_at: DateTime<Utc>,
    #[serde(flatten)]
    details: DetailsView,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ProgramEventDetails)]
#[serde(tag = "event_type", rename_all = "lowercase")]
enum DetailsView {
    Click(ClickView),
    Lead(ProgramLeadView),
    Sale(SaleView),
    Refund(RefundView),
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ProgramLeadDetails)]
struct ProgramLeadView {
    #[schema(required = true)]
    session_id: Option<String>,
    #[schema(required = true)]
    page_url: Option<String>,
    /// The customer has paid by now.
    converted: bool,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SaleDetails)]
struct SaleView {
    transaction_id: String,
    amount_cents: i64,
    currency: String,
    sale_type: String,
    payment_status: String,
    is_recurring: bool,
    /// What was given back of it by now.
    refunded_cents: i64,
    /// Why it earned nothing; null when it did.
    no_commission_reason: Option<String>,
    /// What it earned, by partner. Null for those who may not read the program.
    commissions: Option<Vec<SaleCommissionView>>,
}

/// A commission as it is now.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SaleCommission)]
struct SaleCommissionView {
    id: i64,
    partner_program_id: i64,
    /// `pending`, `approved`, `paid`, `refunded` or `reversed`.
    status: String,
    amount_cents: i64,
    /// What is left for the partner: amount less deductions.
    payable_cents: i64,
    currency: String,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RefundDetails)]
struct RefundView {
    sale_id: i64,
    /// The sale's.
    transaction_id: String,
    /// By how much what was given back of the sale grew.
    amount_cents: i64,
    currency: String,
    /// `api` or `processor`.
    channel: String,
}

view! { |sale: SaleCommission| SaleCommissionView {
    id, partner_program_id, status, amount_cents, currency;
    payable_cents: sale.amount_cents - sale.deducted_cents,
} }

view! { |lead: LeadDetails| ProgramLeadView {
    session_id, page_url; converted: lead.converted,
} }

view! { |refund: RefundDetails| RefundView {
    sale_id, transaction_id, amount_cents, currency, channel,
} }

view! { |sale: SaleDetails| SaleView {
    transaction_id, amount_cents, currency, sale_type, payment_status, is_recurring, refunded_cents,
    no_commission_reason;
    commissions: sale.commissions.map(|commissions| commissions.into_iter().map(Into::into).collect()),
} }

impl From<ProgramEvent> for ProgramEventView {
    fn from(event: ProgramEvent) -> Self {
        let partner = |link: &CreditedLink| {
            link.partner_id.map(|id| NamedPartner {
                id,
                name: link.partner_name.clone(),
            })
        };
        Self {
            id: event.id,
            timestamp: event.at,
            is_test: event.is_test,
            customer_id: event.customer_id,
            click_id: event.click_id,
            customer_key: event.customer_key,
            partner_program_id: event.link.as_ref().and_then(|link| link.partner_program_id),
            partner: event.link.as_ref().and_then(partner),
            referral_link_code: event.link.map(|link| link.code),
            created_at: event.created_at,
            details: match event.details {
                ProgramEventDetails::Click(click) => DetailsView::Click(click.into()),
                ProgramEventDetails::Lead(lead) => DetailsView::Lead(lead.into()),
                ProgramEventDetails::Sale(sale) => DetailsView::Sale(sale.into()),
                ProgramEventDetails::Refund(refund) => DetailsView::Refund(refund.into()),
            },
        }
    }
}

impl Line for ProgramEventView {
    const COLUMNS: &'static [&'static str] = &[
        "event_type",
        "id",
        "timestamp",
        "is_test",
        "partner_program_id",
        "partner_id",
        "partner_name",
        "referral_link_code",
        "customer_id",
        "click_id",
        "customer_key",
        "transaction_id",
        "sale_id",
        "amount_cents",
        "currency",
        "sale_type",
        "payment_status",
        "is_recurring",
        "refunded_cents",
        "no_commission_reason",
        "commission_status",
        "commission_cents",
        "commission_currency",
        "channel",
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
        "createdAt",
    ];

    /// The event with the parts of nested objects as fields of their own, one for each cell of a file.
    fn flat(&self) -> Value {
        let mut line = serde_json::to_value(self).unwrap_or_default();
        let Some(fields) = line.as_object_mut() else {
            return line;
        };
        if let Some(partner) = &self.partner {
            fields.insert("partner_id".to_owned(), partner.id.into());
            fields.insert("partner_name".to_owned(), partner.name.clone().into());
        }
        if let DetailsView::Sale(sale) = &self.details
            && let Some(commissions) = &sale.commissions
            && let Some(first) = commissions.first()
        {
            let statuses: Vec<&str> = commissions.iter().map(|one| one.status.as_str()).collect();
            let payable: i64 = commissions.iter().map(|one| one.payable_cents).sum();
            fields.insert("commission_status".to_owned(), statuses.join(" ").into());
            fields.insert("commission_cents".to_owned(), payable.into());
            fields.insert("commission_currency".to_owned(), first.currency.clone().into());
        }
        line
    }
}

#[cfg(test)]
pub mod tests {
    use chrono::TimeDelta;
    use storage::reads::program_events::ClickDetails;

    use super::*;

    /// One of each type, newest first.
    pub fn one_of_each_type() -> [ProgramEvent; 4] {
        let at = DateTime::UNIX_EPOCH + TimeDelta::days(20_000);
        let event = |id, minutes, details| ProgramEvent {
            id,
            at: at + TimeDelta::minutes(minutes),
            created_at: at + TimeDelta::minutes(minutes),
            is_test: false,
            customer_id: Some(1042),
            click_id: Some("cust_7203685477580001_1728000000000".to_owned()),
            customer_key: Some("user-42".to_owned()),
            link: Some(CreditedLink {
                code: "ada".to_owned(),
                partner_program_id: Some(5),
                partner_id: Some(9),
                partner_name: Some("Ada".to_owned()),
            }),
            details,
        };
        let text = |text: &str| Some(text.to_owned());
        let refund = RefundDetails {
            sale_id: 3,
            transaction_id: "in_1042".to_owned(),
            amount_cents: 1_999,
            currency: "USD".to_owned(),
            channel: "api".to_owned(),
        };
        let commission = SaleCommission {
            id: 4,
            partner_program_id: 5,
            status: "refunded".to_owned(),
            amount_cents: 1_600,
            deducted_cents: 400,
            currency: "USD".to_owned(),
        };
        let sale = SaleDetails {
            transaction_id: "in_1042".to_owned(),
            amount_cents: 7_999,
            currency: "USD".to_owned(),
            sale_type: "payment".to_owned(),
            payment_status: "paid".to_owned(),
            is_recurring: false,
            refunded_cents: 1_999,
            no_commission_reason: None,
            commissions: Some(vec![commission]),
        };
        let lead = LeadDetails {
            customer_key: text("user-42"),
            session_id: None,
            page_url: None,
            converted: true,
        };
        let click = ClickDetails {
            session_id: text("s-1"),
            page_url: text("https://shop.example/pricing"),
            referrer_url: text("https://blog.example/review"),
            geo_country: text("DE"),
            geo_region: None,
            geo_city: None,
            device_type: text("desktop"),
            device_os: text("macOS"),
            browser_name: text("Firefox"),
            converted: true,
        };
        [
            event(2, 30, ProgramEventDetails::Refund(refund)),
            event(3, 20, ProgramEventDetails::Sale(sale)),
            event(8, 10, ProgramEventDetails::Lead(lead)),
            event(21, 0, ProgramEventDetails::Click(click)),
        ]
    }

    #[test]
    fn a_csv_file_has_a_column_for_every_field() {
        // These two are objects; their parts have columns.
        let nested = ["partner", "commissions"];
        let mut filled = Vec::new();
        for event in one_of_each_type().map(ProgramEventView::from) {
            for (name, value) in event.flat().as_object().unwrap() {
                let has_column = ProgramEventView::COLUMNS.contains(&name.as_str());
                assert!(has_column || nested.contains(&name.as_str()), "{name}");
                if !value.is_null() {
                    filled.push(name.clone());
                }
            }
            assert_eq!(event.cells().len(), ProgramEventView::COLUMNS.len());
        }
        for part in [
            "partner_id",
            "partner_name",
            "commission_status",
            "commission_cents",
        ] {
            assert!(filled.iter().any(|name| name == part), "{part}");
        }
    }
}
