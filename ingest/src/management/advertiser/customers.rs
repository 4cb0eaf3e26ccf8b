//! `…/affiliate-programs/{program_id}/customers/export` and `…/erase`: the stored data about one customer,
//! and its erasure. For owners and admins in person, not for keys.
//!
//! Both are POST, because the customer's names must be in the body: paths and queries end up in logs.

use domain::ids::{CustomerId, ProgramId};
use domain::people::account::EmailAddress;
use domain::people::permission::Role;
use domain::text::{CustomerKey, Label};
use domain::tracking::click_id::ClickId;
use serde_json::{Value, json};
use sqlx::PgConnection;
use storage::people::personal_data::{self, Erased, Export, Found, Identifiers, Reach};

use crate::http::field::{Field, Key, refused};
use crate::management::access::{AdvertiserUser, ProgramAccess, Write};
use crate::management::answers::{Ids, view};
use crate::management::prelude::*;
use crate::tracking::lead::customer_key_schema;

const NONE_NAMED: &str = "customer_key, click_id or email is required";

/// One of the three is required; customers who match any of them are selected.
#[derive(Debug, Deserialize, ToSchema)]
pub struct CustomerNamed {
    #[schema(schema_with = customer_key_schema, required = false)]
    customer_key: Field<Key>,
    #[schema(value_type = Option<String>, max_length = 255)]
    click_id: Field<String>,
    #[schema(value_type = Option<String>, max_length = 255)]
    email: Field<String>,
}

/// Everything that is stored about the customer: rows as they are, under the names of their tables.
#[derive(Debug, Serialize, ToSchema)]
pub struct CustomerExport {
    #[schema(value_type = Vec<Object>)]
    customers: Value,
    #[schema(value_type = Vec<Object>)]
    click_events: Value,
    #[schema(value_type = Vec<Object>)]
    lead_events: Value,
    #[schema(value_type = Vec<Object>)]
    sale_events: Value,
    #[schema(value_type = Vec<Object>)]
    commissions: Value,
    #[schema(value_type = Vec<Object>)]
    refunds: Value,
    #[schema(value_type = Vec<Object>)]
    notifications: Value,
    #[schema(value_type = Vec<Object>)]
    processor_customers: Value,
    /// Outbound events of webhooks and the event stream.
    #[schema(value_type = Vec<Object>)]
    outbound_events: Value,
    /// What endpoints answered to it.
    #[schema(value_type = Vec<Object>)]
    webhook_deliveries: Value,
    /// Records that could not be processed, as they came.
    #[schema(value_type = Vec<Object>)]
    unprocessed: Vec<Value>,
}

view! { |row: Export| CustomerExport {
    customers, click_events, lead_events, sale_events, commissions, refunds, notifications, processor_customers,
    outbound_events, webhook_deliveries, unprocessed,
} }

/// Rows that were changed, by table. All of them are 0 when no customer has these names.
#[derive(Debug, Serialize, ToSchema)]
pub struct CustomerErased {
    customers: u64,
    click_events: u64,
    lead_events: u64,
    sale_events: u64,
    refunds: u64,
    notifications: u64,
    processor_customers: u64,
    /// Outbound events and their deliveries, finished or not.
    outbound_events: u64,
    /// What endpoints answered to it.
    webhook_deliveries: u64,
    /// Records that could not be processed; they cannot be replayed any more.
    unprocessed: u64,
}

view! { |row: Erased| CustomerErased {
    customers, click_events, lead_events, sale_events, refunds, notifications, processor_customers,
    outbound_events, webhook_deliveries, unprocessed,
} }

/// Export a customer's data
///
/// Everything the program stores about one customer, and everything an erasure would remove. For owners and admins.
#[utoipa::path(
    post,
    path = "/api/advertiser/affiliate-programs/{program_id}/customers/export",
    request_body = CustomerNamed,
    responses(
        (status = 200, description = "All of it; empty lists for an unknown customer.", body = Data<CustomerExport>),
        (status = 400, description = "No customer is named, or a name is not what it must be.", body = PlatformError),
    ),
    extensions(("x-refusals" = json!([ApiError::bad_request(NONE_NAMED)]))),
)]
pub async fn export_customer(mut write: Write<AdvertiserUser, Ids<ProgramId>>) -> Answer<CustomerExport> {
    let (access, found) = asked_for(&mut write).await?;
    let export = personal_data::export(&mut write.db, &found).await?;
    let details = json!({ "customer_ids": ids(&found) });
    write.record(access.audited("customer.exported").with(details));
    write.answer(data(export.into())).await
}

/// Erase a customer's data
///
/// Names, addresses and visits go; sales, commissions, ledger and sums stay. It cannot be undone. The same
/// names later are a new customer. For owners and admins.
#[utoipa::path(
    post,
    path = "/api/advertiser/affiliate-programs/{program_id}/customers/erase",
    request_body = CustomerNamed,
    responses(
        (status = 200, description = "Erased, or nothing was there.", body = Data<CustomerErased>),
        (status = 400, description = "No customer is named, or a name is not what it must be.", body = PlatformError),
    ),
    extensions(("x-refusals" = json!([ApiError::bad_request(NONE_NAMED)]))),
)]
pub async fn erase_customer(mut write: Write<AdvertiserUser, Ids<ProgramId>>) -> Answer<CustomerErased> {
    let (access, found) = asked_for(&mut write).await?;
    let erased = personal_data::erase(&mut write.db, &found, write.app.clock.now()).await?;
    if !erased.is_nothing() {
        let details = json!({ "customer_ids": ids(&found) });
        write.record(access.audited("customer.erased").with(details));
    }
    write.answer(data(erased.into())).await
}

/// The program and the customer that the body names. The user must run the workspace and have recently proved
/// who they are.
async fn asked_for(
    write: &mut Write<AdvertiserUser, Ids<ProgramId>>,
) -> Result<(ProgramAccess, Found), ApiError> {
    let Ids(program_id) = write.on;
    let (caller, may) = (&write.caller, Role::runs_the_workspace);
    let access = caller.program_as(&mut write.db, program_id, may).await?;
    write.just_proved()?;
    let named: CustomerNamed = write.body().json()?;
    let found = find(&write.app, &mut write.db, program_id, named).await?;
    Ok((access, found))
}

async fn find(
    app: &App,
    connection: &mut PgConnection,
    program_id: ProgramId,
    named: CustomerNamed,
) -> Result<Found, ApiError> {
    let customer_key: Option<CustomerKey> = named.customer_key.text("customer_key")?;
    let click_id: Option<Label> = named.click_id.text("click_id")?;
    let email = address(named.email)?;
    if customer_key.is_none() && click_id.is_none() && email.is_none() {
        return Err(ApiError::bad_request(NONE_NAMED));
    }
    // A click_id that the service cannot have issued matches no customer.
    let click_id = click_id.and_then(|text| ClickId::parse(text.as_str()));
    let decode = |click_id| app.customer_ids.codec().decode(click_id);
    let decoded: Vec<i64> = click_id.iter().flat_map(decode).map(CustomerId::get).collect();
    let hashes = email
        .iter()
        .flat_map(|email| app.email_hasher.hashes(email.as_str()));
    let email_hashes: Vec<String> = hashes.map(String::from).collect();
    let stated = Identifiers {
        customer_key: customer_key.as_ref().map(CustomerKey::as_str),
        click_id: click_id.as_ref(),
        click_id_customers: &decoded,
        email: email.as_ref(),
        email_hashes: &email_hashes,
    };
    Ok(personal_data::find(connection, program_id, stated, Reach::Program, |_| {}).await?)
}

fn address(field: Field<String>) -> Result<Option<EmailAddress>, ApiError> {
    let text: Option<Label> = field.text("email")?;
    text.map(|text| EmailAddress::parse(text.as_str()))
        .transpose()
        .map_err(|error| refused("email", &error.to_string()))
}

/// Row ids identify no person after the erasure. Names must not be in the audit log.
fn ids(found: &Found) -> Vec<i64> {
    found.customers.iter().map(|id| id.get()).collect()
}
