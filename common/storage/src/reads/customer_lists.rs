//! A program's customers who signed up or paid. The queries repeat the condition of `customers_of_program`.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::error::StorageResult;
use crate::page::{Whole, Window, page};
use crate::reads::program_events::Subjects;
use domain::ids::{PartnerProgramId, ProgramId};
use domain::sorting::{CustomerColumn, Sorting};
use domain::tracking::customer::CustomerStatus;

#[derive(Debug, Clone, Default)]
pub struct Filter {
    pub status: Option<CustomerStatus>,
    /// Customers whose last click was on a link of this membership, or whose sales earned it a commission.
    pub membership: Option<PartnerProgramId>,
    /// These customers, and the customers of these sales.
    pub subjects: Option<Subjects>,
}

#[derive(Debug)]
pub struct ListedCustomer {
    pub id: i64,
    /// For an erased customer, only a placeholder.
    pub click_id: String,
    pub customer_key: Option<String>,
    pub status: String,
    pub first_click_at: DateTime<Utc>,
    pub signup_date: Option<DateTime<Utc>>,
    pub first_purchase_date: Option<DateTime<Utc>>,
    pub erased_at: Option<DateTime<Utc>>,
    /// The link of the last click.
    pub link_code: Option<String>,
    pub partner_program_id: Option<i64>,
    /// `None` when the partner's record was removed.
    pub partner_id: Option<i64>,
    pub partner_name: Option<String>,
}

struct Resolved {
    status: Option<CustomerStatus>,
    membership: Option<PartnerProgramId>,
    ids: Option<Vec<i64>>,
}

/// A page of customers, latest signup or payment first unless sorted, and the total number. The bound of a
/// page is a time in milliseconds, because ids follow first clicks. The count reads the program's part of the
/// index, so its cost grows with the program. A sort and a filter by partner read all of that part; a sort by
/// purchases also reads the sales.
pub async fn page(
    connection: &mut PgConnection,
    program_id: ProgramId,
    filter: &Filter,
    sorting: Option<Sorting<CustomerColumn>>,
    window: Window,
) -> StorageResult<(Vec<ListedCustomer>, Whole)> {
    let filter = Resolved {
        status: filter.status,
        membership: filter.membership,
        ids: match &filter.subjects {
            None => None,
            Some(subjects) => Some(customers_of(&mut *connection, subjects).await?),
        },
    };
    Ok(page!(
        connection,
        window,
        ListedCustomer,
        select r#"SELECT k.id AS "id!", k.click_id AS "click_id!", k.customer_key, k.status AS "status!", k.first_click_at AS "first_click_at!",
                  k.signup_date, k.first_purchase_date, k.erased_at, l.short_code AS "link_code?",
                  l.partner_program_id AS "partner_program_id?", l.partner_id AS "partner_id?", p.name AS "partner_name?"
           FROM (SELECT * FROM customers k"#,
        of "WHERE k.program_id = $1 AND k.status <> 'click' AND ($2::text IS NULL OR k.status = $2)
              AND ($3::bigint IS NULL
                   OR k.touched_link_ids[cardinality(k.touched_link_ids)] IN (SELECT id FROM referral_links WHERE partner_program_id = $3)
                   OR k.id IN (SELECT c.customer_id FROM commissions c JOIN partner_programs m ON m.partner_id = c.partner_id
                               WHERE m.id = $3 AND c.partner_program_id = $3 AND c.superseded_at IS NULL))
              AND ($4::bigint[] IS NULL OR k.id = ANY($4))
              AND least(k.signup_date, k.first_purchase_date) < to_timestamp((least($5::bigint, 253402300799998) + 1) / 1000.0)",
        order "least(k.signup_date, k.first_purchase_date) DESC, k.id DESC",
        or by sorting: "CASE $8::text WHEN 'signup_date' THEN extract(epoch FROM k.signup_date)
                       WHEN 'first_purchase_date' THEN extract(epoch FROM k.first_purchase_date)
                       WHEN 'sales' THEN (SELECT count(*) FROM sale_events s WHERE s.customer_id = k.id AND NOT s.is_test AND s.duplicate_of IS NULL)
                       WHEN 'net_revenue' THEN (
                           SELECT sum(s.amount_cents - greatest(s.api_refunded_cents, s.processor_refunded_cents)) FROM sale_events s
                           WHERE s.customer_id = k.id AND NOT s.is_test AND s.duplicate_of IS NULL
                             AND s.currency = (SELECT currency FROM programs WHERE id = $1))
         END * $9::integer NULLS LAST,
         least(k.signup_date, k.first_purchase_date) DESC, k.id DESC",
        part "OFFSET $6 LIMIT $7",
        then r#") k
           LEFT JOIN referral_links l ON l.id = k.touched_link_ids[cardinality(k.touched_link_ids)]
           LEFT JOIN partners p ON p.id = l.partner_id"#,
        whole r#"SELECT count(*) AS "count!", floor(extract(epoch FROM max(least(k.signup_date, k.first_purchase_date))) * 1000)::bigint AS up_to
           FROM customers k"#,
        program_id.get(),
        filter.status.map(CustomerStatus::as_str),
        filter.membership.map(PartnerProgramId::get),
        filter.ids.as_deref() as Option<&[i64]>,
    ))
}

async fn customers_of(connection: &mut PgConnection, subjects: &Subjects) -> StorageResult<Vec<i64>> {
    Ok(fetch_scalars!(
        connection,
        r#"SELECT unnest($1::bigint[]) AS "id!" UNION SELECT customer_id FROM sale_events WHERE id = ANY($2) AND customer_id IS NOT NULL"#,
        &subjects.customers,
        &subjects.sales,
    ))
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Purchases {
    pub currency: String,
    pub sales: i64,
    pub revenue_cents: i64,
    pub refunded_cents: i64,
}

/// By customer, without test sales and duplicates.
pub async fn purchases(
    connection: &mut PgConnection,
    customers: &[i64],
) -> StorageResult<BTreeMap<i64, Vec<Purchases>>> {
    let rows = fetch_all!(
        connection,
        r#"SELECT customer_id AS "customer_id!", currency, count(*) AS "sales!",
                  least(sum(amount_cents), 9223372036854775807)::bigint AS "revenue!",
                  least(sum(greatest(api_refunded_cents, processor_refunded_cents)), 9223372036854775807)::bigint AS "refunded!"
           FROM sale_events WHERE customer_id = ANY($1) AND NOT is_test AND duplicate_of IS NULL
           GROUP BY 1, 2 ORDER BY 1, 2"#,
        customers,
    );
    let mut purchases: BTreeMap<i64, Vec<Purchases>> = BTreeMap::new();
    for row in rows {
        purchases.entry(row.customer_id).or_default().push(Purchases {
            currency: row.currency,
            sales: row.sales,
            revenue_cents: row.revenue,
            refunded_cents: row.refunded,
        });
    }
    Ok(purchases)
}
