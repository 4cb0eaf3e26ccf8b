//! Resolves the text of a search to customers and sales by index, before any event is read.

use sqlx::PgConnection;

use crate::error::StorageResult;
use domain::ids::{PartnerProgramId, ProgramId};

/// A text that may be any name of a customer, or a sale's transaction_id.
#[derive(Clone, Copy)]
pub struct Searched<'a> {
    pub text: &'a str,
    /// The customer ids that the text decodes to as a click_id.
    pub click_id_customers: &'a [i64],
    /// The possible stored hashes of the text as an e-mail address.
    pub email_hashes: &'a [String],
}

// The text may be personal data and must not be logged.
domain::redacted!(Searched<'_>);

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Subjects {
    /// All events of these customers.
    pub customers: Vec<i64>,
    /// These sales and their refunds.
    pub sales: Vec<i64>,
}

impl Subjects {
    pub fn is_nobody(&self) -> bool {
        self.customers.is_empty() && self.sales.is_empty()
    }
}

pub async fn search(
    connection: &mut PgConnection,
    program_id: ProgramId,
    searched: Searched<'_>,
) -> StorageResult<Subjects> {
    let customers = fetch_scalars!(
        &mut *connection,
        "SELECT id FROM customers
         WHERE program_id = $1 AND (customer_key = $2 OR proposed_customer_key = $2 OR email_hash = ANY($3)
                                    OR (id = ANY($4) AND click_id = $2))
         ORDER BY id",
        program_id.get(),
        searched.text,
        searched.email_hashes,
        searched.click_id_customers,
    );
    let sales = fetch_scalars!(
        connection,
        r#"SELECT coalesce(duplicate_of, id) AS "id!" FROM sale_events
           WHERE processor_event_id = $2 AND NOT is_test AND program_id = $1"#,
        program_id.get(),
        searched.text,
    );
    Ok(Subjects { customers, sales })
}

/// The links of one membership; empty for another program's membership.
pub async fn links_of_partner(
    connection: &mut PgConnection,
    program_id: ProgramId,
    membership: PartnerProgramId,
) -> StorageResult<Vec<i64>> {
    Ok(fetch_scalars!(
        connection,
        "SELECT id FROM referral_links WHERE partner_program_id = $2 AND program_id = $1 ORDER BY id",
        program_id.get(),
        membership.get(),
    ))
}
