//! Finds the transaction_ids of a batch that name known payments.

use std::collections::{HashMap, HashSet};

use domain::ids::SaleId;
use messages::sale::SaleRecord;
use sqlx::PgConnection;
use storage::StorageResult;
use storage::processor::processor_refs::{self, Known, Reference};

/// Empty for most batches.
#[derive(Default)]
pub struct Payments(HashMap<Reference, Known>);

pub enum PaymentMatch {
    Unrecorded,
    /// Recorded as this sale, under another name.
    OtherName(SaleId),
    /// Recorded as this sale, under the same name: the claim is the sale's own.
    SameName(SaleId),
    /// Another record of the batch has the same payment, and is decided first.
    Pending,
}

impl Payments {
    /// Call it with the claims of the records locked: names reported from then on wait for this batch.
    pub async fn open(connection: &mut PgConnection, records: &[&SaleRecord]) -> StorageResult<Self> {
        let names: Vec<_> = records
            .iter()
            .map(|record| (record.program_id, record.sale.transaction_id.as_str()))
            .collect();
        let known = processor_refs::known(connection, &names).await?;
        let payments: Vec<Reference> = known.into_iter().map(|known| known.payment).collect();
        processor_refs::lock(connection, &payments).await?;
        // Read again: another batch may have recorded a sale while this one waited for the locks.
        let known = processor_refs::known(connection, &names).await?;
        Ok(Self(
            known
                .into_iter()
                .map(|known| (known.reference.clone(), known))
                .collect(),
        ))
    }

    /// In the order of the records.
    pub fn matches(&self, records: &[&SaleRecord]) -> Vec<PaymentMatch> {
        let mut seen = HashSet::new();
        records
            .iter()
            .map(|record| match self.of(record) {
                None => PaymentMatch::Unrecorded,
                Some(known) => match known.sale_id {
                    Some(sale_id) => PaymentMatch::OtherName(sale_id),
                    None if seen.insert(&known.payment) => PaymentMatch::Unrecorded,
                    None => PaymentMatch::Pending,
                },
            })
            .collect()
    }

    pub fn payment(&self, record: &SaleRecord) -> Option<&Reference> {
        self.of(record).map(|known| &known.payment)
    }

    fn of(&self, record: &SaleRecord) -> Option<&Known> {
        if self.0.is_empty() {
            return None;
        }
        self.0
            .get(&(record.program_id, record.sale.transaction_id.to_string()))
    }
}
