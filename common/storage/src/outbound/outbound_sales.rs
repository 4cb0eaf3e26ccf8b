//! Sales in the form that events about refunds report.

use std::collections::HashMap;

use sqlx::PgConnection;

use crate::error::StorageResult;
use domain::ids::{CustomerId, SaleId};

/// A recorded sale, with its customer's names unless the customer was erased.
#[derive(Debug, Clone)]
pub struct OutboundSale {
    pub program_id: i64,
    pub customer_id: Option<CustomerId>,
    pub transaction_id: String,
    pub customer_key: Option<String>,
    pub click_id: Option<String>,
    pub amount_cents: i64,
    pub currency: String,
}

pub async fn find(
    connection: &mut PgConnection,
    ids: &[i64],
) -> StorageResult<HashMap<SaleId, OutboundSale>> {
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let rows = fetch_all!(
        connection,
        r#"SELECT s.id, s.program_id, s.customer_id, s.processor_event_id, s.amount_cents, s.currency,
                  u.customer_key, u.click_id AS "click_id?"
           FROM sale_events s LEFT JOIN customers u ON u.id = s.customer_id AND u.erased_at IS NULL
           WHERE s.id = ANY($1)"#,
        ids,
    );
    Ok(rows
        .into_iter()
        .map(|row| {
            let sale = OutboundSale {
                program_id: row.program_id,
                customer_id: row.customer_id.map(CustomerId::new),
                transaction_id: row.processor_event_id,
                customer_key: row.customer_key,
                click_id: row.click_id,
                amount_cents: row.amount_cents,
                currency: row.currency,
            };
            (SaleId::new(row.id), sale)
        })
        .collect())
}
