//! Finds the customers of payments that name only the processor's customer.

use std::collections::HashMap;

use domain::ids::EventId;
use messages::sale::SaleRecord;
use sqlx::PgConnection;
use storage::StorageResult;
use storage::processor::processor_customers::{self, Key};

/// Returns copies of these records with the key and click_id to which their processor's customer is bound.
/// Leaves out other records.
pub async fn named(
    connection: &mut PgConnection,
    records: &[&SaleRecord],
) -> StorageResult<HashMap<EventId, SaleRecord>> {
    let nameless: Vec<(Key, &SaleRecord)> = records.iter().filter_map(|record| nameless(record)).collect();
    let keys: Vec<Key> = nameless.iter().map(|(key, _)| key.clone()).collect();
    let bound = processor_customers::find(connection, &keys).await?;
    Ok(nameless
        .into_iter()
        .filter_map(|(key, record)| {
            let payer = bound.get(&key)?;
            let mut named = record.clone();
            named.sale.customer_key.clone_from(&payer.customer_key);
            named.sale.click_id.clone_from(&payer.click_id);
            Some((record.event_id, named))
        })
        .collect())
}

fn nameless(record: &SaleRecord) -> Option<(Key, &SaleRecord)> {
    let sale = &record.sale;
    let processor_customer = sale
        .processor_customer
        .clone()
        .filter(|_| sale.customer_key.is_none() && sale.click_id.is_none())?;
    Some(((record.program_id, processor_customer), record))
}
