//! `/api/advertiser/affiliate-programs/{program_id}/processor-customers`: links the payment processor's
//! customers to the program's customers, for payments that do not name a customer.
//!
//! Most links come from events. Links made by hand are for customers from before the integration, and correct
//! wrong events.

use chrono::{DateTime, Utc};
use domain::processors::payer::Payer;
use domain::processors::processor::ProcessorId;
use domain::text::{CustomerKey, Label};
use domain::tracking::click_id::ClickId;
use messages::instant::{as_instant, as_instant_if_any};
use serde_json::json;
use storage::processor::processor_customers::{self, Binding};

use crate::http::field::{Field, Key, refused};
use crate::management::access::right::{Read, Update};
use crate::management::access::{ARCHIVED, ReadProgram, WriteProgram};
use crate::management::answers::{Created, created};
use crate::management::prelude::*;
use crate::tracking::lead::customer_key_schema;

const NONE_NAMED: &str = "customer_key or click_id is required";
const LIMIT: i64 = 1_000;

/// Names are in the body, because paths end up in logs. One of `customer_key` and `click_id` is required.
#[derive(Debug, Deserialize, ToSchema)]
pub struct ProcessorCustomerNamed {
    /// The processor's id of the customer.
    #[schema(value_type = String, max_length = 255)]
    processor_customer_id: Field<String>,
    #[schema(schema_with = customer_key_schema, required = false)]
    customer_key: Field<Key>,
    #[schema(value_type = Option<String>, max_length = 255)]
    click_id: Field<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct ProcessorCustomer {
    processor_customer_id: String,
    customer_key: Option<String>,
    click_id: Option<String>,
    #[serde(serialize_with = "as_instant")]
    bound_at: DateTime<Utc>,
    /// When an event named another customer, which changed nothing.
    #[serde(serialize_with = "as_instant_if_any")]
    contested_at: Option<DateTime<Utc>>,
}

impl From<Binding> for ProcessorCustomer {
    fn from(binding: Binding) -> Self {
        let text = |key: &CustomerKey| key.to_string();
        Self {
            processor_customer_id: binding.processor_customer.to_string(),
            customer_key: binding.payer.customer_key.as_ref().map(text),
            click_id: binding.payer.click_id.map(|click_id| click_id.to_string()),
            bound_at: binding.bound_at,
            contested_at: binding.contested_at,
        }
    }
}

/// List whose the processor's customers are
///
/// At most 1,000: those first of whom an event named another customer, then the latest.
#[utoipa::path(
    get,
    path = "/api/advertiser/affiliate-programs/{program_id}/processor-customers",
    responses((status = 200, description = "As they are bound.", body = Data<Vec<ProcessorCustomer>>))
)]
pub async fn list_processor_customers(mut read: ReadProgram<Read>) -> Answer<Vec<ProcessorCustomer>> {
    let program_id = read.ids;
    let bound = processor_customers::list(&mut read.db, program_id, LIMIT).await?;
    Ok(data(bound.into_iter().map(ProcessorCustomer::from).collect()))
}

/// Say whose a processor's customer is
///
/// Replaces what it was bound to. Payments that wait for it are sales within seconds.
#[utoipa::path(
    post,
    path = "/api/advertiser/affiliate-programs/{program_id}/processor-customers",
    request_body = ProcessorCustomerNamed,
    responses(
        (status = 201, description = "As it is bound now.", body = Data<ProcessorCustomer>),
        (status = 400, description = "No customer is named, or a name is not what it must be.", body = PlatformError),
    ),
    extensions(("x-refusals" = json!([ApiError::bad_request(NONE_NAMED), ARCHIVED]))),
)]
pub async fn bind_processor_customer(mut write: WriteProgram<Update>) -> Created<ProcessorCustomer> {
    let program_id = write.on.ids;
    let (processor_customer, payer) = write.body().json::<ProcessorCustomerNamed>()?.validate()?;
    let key = (program_id, processor_customer);
    let binding = processor_customers::bind(&mut write.db, &key, &payer).await?;
    // Names are left out, because they must not outlive an erasure in the audit log.
    write.audit("processor_customer.bound", program_id.get(), json!({}));
    write.answer(created(binding.into())).await
}

impl ProcessorCustomerNamed {
    fn validate(self) -> Result<(ProcessorId, Payer), ApiError> {
        let id: Option<ProcessorId> = self.processor_customer_id.text("processor_customer_id")?;
        let id = id.ok_or_else(|| refused("processor_customer_id", "is required"))?;
        let customer_key: Option<CustomerKey> = self.customer_key.text("customer_key")?;
        let click_id: Option<Label> = self.click_id.text("click_id")?;
        let click_id = click_id
            .map(|text| ClickId::parse(text.as_str()).ok_or_else(|| refused("click_id", "is no click_id")))
            .transpose()?;
        let payer = Payer::new(click_id, customer_key).ok_or_else(|| ApiError::bad_request(NONE_NAMED))?;
        Ok((id, payer))
    }
}
