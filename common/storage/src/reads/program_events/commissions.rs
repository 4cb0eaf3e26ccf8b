//! What the sales of a page earned.

use std::collections::HashMap;

use sqlx::PgConnection;

use super::{ProgramEvent, ProgramEventDetails};
use crate::error::StorageResult;

/// A commission in force of a sale; or one that was added by hand in place of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SaleCommission {
    pub id: i64,
    pub partner_program_id: i64,
    pub status: String,
    pub amount_cents: i64,
    pub deducted_cents: i64,
    pub currency: String,
}

pub(super) async fn add(connection: &mut PgConnection, events: &mut [ProgramEvent]) -> StorageResult<()> {
    let is_sale = |event: &&ProgramEvent| matches!(event.details, ProgramEventDetails::Sale(_));
    let sales: Vec<i64> = events.iter().filter(is_sale).map(|event| event.id).collect();
    let mut earned = of_sales(connection, &sales).await?;
    for event in events {
        if let ProgramEventDetails::Sale(sale) = &mut event.details {
            sale.commissions = Some(earned.remove(&event.id).unwrap_or_default());
        }
    }
    Ok(())
}

/// Ascending, by sale.
async fn of_sales(
    connection: &mut PgConnection,
    sales: &[i64],
) -> StorageResult<HashMap<i64, Vec<SaleCommission>>> {
    let mut earned: HashMap<i64, Vec<SaleCommission>> = HashMap::new();
    if sales.is_empty() {
        return Ok(earned);
    }
    let rows = sqlx::query!(
        r#"SELECT id AS "id!", sale_id AS "sale_id!", partner_program_id AS "partner_program_id!", status AS "status!",
                  amount_cents AS "amount_cents!", deducted_cents AS "deducted_cents!", currency AS "currency!"
           FROM (SELECT id, sale_id, partner_program_id, status, amount_cents, deducted_cents, currency FROM commissions
                 WHERE sale_id = ANY($1) AND superseded_at IS NULL
                 UNION ALL
                 SELECT id, for_sale_id, partner_program_id, status, amount_cents, deducted_cents, currency FROM commissions
                 WHERE for_sale_id = ANY($1) AND for_sale_id IS NOT NULL AND rejected_at IS NULL) c
           ORDER BY id"#,
        sales,
    )
    .fetch_all(connection)
    .await?;
    for row in rows {
        earned.entry(row.sale_id).or_default().push(SaleCommission {
            id: row.id,
            partner_program_id: row.partner_program_id,
            status: row.status,
            amount_cents: row.amount_cents,
            deducted_cents: row.deducted_cents,
            currency: row.currency,
        });
    }
    Ok(earned)
}
