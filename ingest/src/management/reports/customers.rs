//! `GET …/affiliate-programs/{program_id}/customers`: customers who signed up or paid.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use domain::ids::{PartnerProgramId, ProgramId};
use domain::sorting::CustomerColumn;
use domain::tracking::customer::CustomerStatus;
use messages::instant::{as_instant, as_instant_if_any};
use storage::reads::customer_lists::{self, Filter, ListedCustomer, Purchases};
use storage::snapshot;

use super::program_events::{question, reader};
use crate::http::field::refused;
use crate::http::query::Query;
use crate::management::access::AdvertiserUser;
use crate::management::advertiser::money::commissions::NamedPartner;
use crate::management::answers::{Ids, List, Listed, OrderQuery, Page, PageQuery, view};
use crate::management::prelude::*;

const NO_STATUS: &str = "must be lead or conversion";
const NO_COLUMN: &str = "must be one of signup_date, first_purchase_date, sales, net_revenue";

/// A customer in a list.
#[derive(Debug, Serialize, ToSchema)]
pub struct CustomerView {
    id: i64,
    click_id: String,
    /// Null when none is bound, and after an erasure.
    customer_key: Option<String>,
    /// `lead` or `conversion`.
    status: String,
    #[serde(serialize_with = "as_instant")]
    first_click_at: DateTime<Utc>,
    #[serde(serialize_with = "as_instant_if_any")]
    signup_date: Option<DateTime<Utc>>,
    #[serde(serialize_with = "as_instant_if_any")]
    first_purchase_date: Option<DateTime<Utc>>,
    /// When the customer's data was erased.
    #[serde(serialize_with = "as_instant_if_any")]
    erased_at: Option<DateTime<Utc>>,
    /// Whose link was clicked last.
    partner_program_id: Option<i64>,
    partner: Option<NamedPartner>,
    referral_link_code: Option<String>,
    /// By currency.
    purchases: Vec<PurchasesView>,
}

/// What a customer bought, and what was given back of it by now.
#[derive(Debug, Serialize, ToSchema)]
pub struct PurchasesView {
    currency: String,
    sales: i64,
    revenue_cents: i64,
    refunded_cents: i64,
}

view! { |bought: Purchases| PurchasesView { currency, sales, revenue_cents, refunded_cents } }

view! { |customer: ListedCustomer, bought: Vec<Purchases>| CustomerView {
    id, click_id, customer_key, status, first_click_at, signup_date, first_purchase_date, erased_at,
    partner_program_id;
    partner: customer.partner_id.map(|id| NamedPartner { id, name: customer.partner_name }),
    referral_link_code: customer.link_code,
    purchases: bought.into_iter().map(Into::into).collect(),
} }

/// List customers
///
/// Who signed up or paid, the latest first unless sorted.
#[utoipa::path(
    get,
    path = "/api/advertiser/affiliate-programs/{program_id}/customers",
    params(
        (
            "status" = Option<String>, Query, example = "conversion",
            description = "`lead`, who has not paid yet, or `conversion`, who has.",
        ),
        (
            "partner_program_id" = Option<i64>, Query,
            description = "A membership: who clicked a link of theirs last, or earned them a commission.",
        ),
        (
            "search" = Option<String>, Query, max_length = 255, example = "user-42",
            description = "A `customer_key`, `click_id`, e-mail address or `transaction_id`: the customer with it.",
        ),
        (
            "sort" = Option<String>, Query, example = "net_revenue",
            description = "`signup_date`, `first_purchase_date`, `sales`, or `net_revenue` in the program's currency.",
        ),
        OrderQuery,
        PageQuery,
    ),
    responses((status = 200, description = "A page of them.", body = Listed<CustomerView>)),
    extensions(("x-refusals" = json!([refused("status", NO_STATUS), refused("sort", NO_COLUMN)]))),
)]
pub async fn list_customers(
    State(app): State<App>,
    user: AdvertiserUser,
    Ids(program_id): Ids<ProgramId>,
    page: Page,
    query: Query,
) -> List<CustomerView> {
    reader(&app, &user, program_id).await?;
    let status = query.parsed("status", NO_STATUS, |text| {
        CustomerStatus::parse(text).filter(|status| *status != CustomerStatus::Click)
    })?;
    let sorting = query.sorting(NO_COLUMN, CustomerColumn::parse)?;
    let mut connection = app.reads.acquire().await?;
    let mut snapshot = snapshot::begin(&mut connection).await?;
    let filter = Filter {
        status,
        membership: query.integer("partner_program_id")?.map(PartnerProgramId::new),
        subjects: question::subjects(&app, &mut snapshot, program_id, &query).await?,
    };
    let (customers, total) =
        customer_lists::page(&mut snapshot, program_id, &filter, sorting, page.window()).await?;
    let ids: Vec<i64> = customers.iter().map(|customer| customer.id).collect();
    let mut purchases: BTreeMap<i64, Vec<Purchases>> = customer_lists::purchases(&mut snapshot, &ids).await?;
    let views = customers.into_iter().map(|customer| {
        let bought = purchases.remove(&customer.id).unwrap_or_default();
        CustomerView::new(customer, bought)
    });
    Ok(page.listed((views, total)))
}
