//! `processor_refs`: which ids of the processor name the same payment.

use std::collections::{BTreeMap, HashSet};

use sqlx::PgConnection;

use crate::error::StorageResult;
use domain::ids::{ProgramId, SaleId};
use domain::processors::payment::Names;

/// A session, payment intent, invoice or charge of a program, or a transaction_id that may be one of them.
pub type Reference = (ProgramId, String);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    pub reference: Reference,
    /// The payment's name: the least of its references.
    pub payment: Reference,
    /// The first sale recorded under any of its names.
    pub sale_id: Option<SaleId>,
}

/// The payments known by these references. Most sales of the API have none.
pub async fn known(
    connection: &mut PgConnection,
    references: &[(ProgramId, &str)],
) -> StorageResult<Vec<Known>> {
    let (programs, names) = distinct(references);
    Ok(sqlx::query!(
        r#"SELECT m.program_id AS "program_id!", m.reference AS "reference!", m.payment AS "payment!",
                  min(c.sale_id) AS sale_id
           FROM UNNEST($1::bigint[], $2::text[]) AS k (program_id, reference)
           JOIN processor_refs m ON m.program_id = k.program_id AND m.reference = k.reference
           JOIN processor_refs r ON r.program_id = m.program_id AND r.payment = m.payment
           LEFT JOIN transaction_claims c
                ON c.transaction_id = r.reference AND c.program_id = r.program_id AND c.state = 'recorded'
           GROUP BY m.program_id, m.reference, m.payment"#,
        &programs,
        &names as &[&str],
    )
    .map(|row| {
        let program_id = ProgramId::new(row.program_id);
        Known {
            reference: (program_id, row.reference),
            payment: (program_id, row.payment),
            sale_id: row.sale_id.map(SaleId::new),
        }
    })
    .fetch_all(connection)
    .await?)
}

/// Locks the names of these payments, ascending. Of two batches that record sales of one payment under two
/// names, the second sees the sale of the first.
pub async fn lock(connection: &mut PgConnection, payments: &[Reference]) -> StorageResult<()> {
    let (programs, names) = distinct(&borrowed(payments));
    fetch_all!(
        connection,
        "SELECT r.reference FROM processor_refs r
         JOIN UNNEST($1::bigint[], $2::text[]) AS p (program_id, payment)
              ON r.program_id = p.program_id AND r.payment = p.payment
         ORDER BY r.program_id, r.reference
         FOR UPDATE OF r",
        &programs,
        &names as &[&str],
    );
    Ok(())
}

/// All names of the payments that have these references, each with its payment.
pub async fn groups(
    connection: &mut PgConnection,
    references: &[Reference],
) -> StorageResult<BTreeMap<Reference, Reference>> {
    let (programs, names) = distinct(&borrowed(references));
    let rows = fetch_all!(
        connection,
        r#"SELECT r.program_id AS "program_id!", r.reference AS "reference!", r.payment AS "payment!"
           FROM (SELECT DISTINCT m.program_id, m.payment FROM UNNEST($1::bigint[], $2::text[]) AS k (program_id, reference)
                 JOIN processor_refs m ON m.program_id = k.program_id AND m.reference = k.reference) p
           JOIN processor_refs r ON r.program_id = p.program_id AND r.payment = p.payment"#,
        &programs,
        &names as &[&str],
    );
    Ok(rows
        .into_iter()
        .map(|row| {
            let program_id = ProgramId::new(row.program_id);
            ((program_id, row.reference), (program_id, row.payment))
        })
        .collect())
}

/// Stores which names belong to one payment. Serialised by program: the next call finds what this one joined.
pub async fn join(connection: &mut PgConnection, reported: &[Vec<Reference>]) -> StorageResult<()> {
    let all: Vec<Reference> = reported.concat();
    let mut programs: Vec<i64> = all.iter().map(|(program_id, _)| program_id.get()).collect();
    programs.sort_unstable();
    programs.dedup();
    fetch_all!(
        &mut *connection,
        "SELECT pg_advisory_xact_lock(hashtextextended('processor_refs', p)) FROM UNNEST($1::bigint[]) AS p",
        &programs,
    );
    let stored = groups(connection, &all).await?;
    let mut names = Names::new();
    for (reference, payment) in &stored {
        names.join([payment.clone(), reference.clone()]);
    }
    for group in reported {
        names.join(group.iter().cloned());
    }
    let changed: Vec<(Reference, Reference)> = names
        .payments()
        .into_iter()
        .filter(|(reference, payment)| stored.get(reference) != Some(payment))
        .collect();
    write_batch!(
        connection,
        "INSERT INTO processor_refs (program_id, reference, payment)
         SELECT * FROM UNNEST($1::bigint[], $2::text[], $3::text[]) AS n (program_id, reference, payment)
         ORDER BY program_id, reference
         ON CONFLICT (program_id, reference) DO UPDATE SET payment = excluded.payment",
        ((program_id, reference), (_, payment)) in changed =>
            programs: i64 = program_id.get(),
            references: &str = reference.as_str(),
            payments: &str = payment.as_str()
    );
    Ok(())
}

fn borrowed(references: &[Reference]) -> Vec<(ProgramId, &str)> {
    references
        .iter()
        .map(|(program_id, reference)| (*program_id, reference.as_str()))
        .collect()
}

fn distinct<'a>(references: &[(ProgramId, &'a str)]) -> (Vec<i64>, Vec<&'a str>) {
    references
        .iter()
        .collect::<HashSet<_>>()
        .into_iter()
        .map(|(program_id, reference)| (program_id.get(), *reference))
        .unzip()
}
