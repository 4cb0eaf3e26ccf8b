//! The payments whose names the batch's transaction_ids are.

use std::collections::{HashMap, HashSet};

use domain::ids::SaleId;
use messages::sale::SaleRecord;
use sqlx::PgConnection;
use storage::StorageResult;
use storage::processor_refs::{self, Known, Reference};

/// Empty for most batches.
#[derive(Default)]
pub struct Payments(HashMap<Reference, Known>);

/// What the names of payments make of a record.
pub enum PaymentMatch {
    /// To be decided.
    Unrecorded,
    /// Its payment is this sale already.
    OtherName(SaleId),
    /// This sale was reported before under the very same name: the claim is its own.
    SameName(SaleId),
    /// Another record of the batch is of the same payment: when that is decided, this one can be.
    Pending,
}

impl Payments {
    /// The claims of the records are locked already: names that are told from now on wait for this batch.
    pub async fn open(connection: &mut PgConnection, records: &[&SaleRecord]) -> StorageResult<Self> {
        let names: Vec<_> = records
            .iter()
            .map(|record| (record.program_id, record.sale.transaction_id.as_str()))
            .collect();
        let known = processor_refs::known(connection, &names).await?;
        let payments: Vec<Reference> = known.into_iter().map(|known| known.payment).collect();
        processor_refs::lock(connection, &payments).await?;
        // What another batch recorded while this one waited for the locks.
        let known = processor_refs::known(connection, &names).await?;
        Ok(Self(
            known
                .into_iter()
                .map(|known| (known.reference.clone(), known))
                .collect(),
        ))
    }

    /// One answer a record, in their order.
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

    /// The payment a record is known to be of.
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
