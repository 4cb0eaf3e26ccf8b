//! The tables of an entry's programs, before and after its steps.

use std::collections::BTreeMap;

use serde_json::Value;

use super::matching::{Extra, compare};
use super::names::Names;
use super::table::{Added, Entry};
use test_harness::Stack;

/// Table, the columns that identify its rows, the condition for rows of the programs `$1`, and their order.
/// Two tables are left out: remembered refusals, which every refusal writes, and the outbox, which empties
/// itself into `notifications`.
const TABLES: [(&str, &str, &str, &str); 18] = [
    ("programs", "id", "id = ANY($1)", "id"),
    ("commission_policies", "id", OF_PROGRAM, "id"),
    ("partner_programs", "id", OF_PROGRAM, "id"),
    ("referral_links", "id", OF_MEMBERSHIP, "id"),
    ("customers", "id", OF_PROGRAM, "first_click_at, id"),
    ("click_events", "id", OF_PROGRAM, "click_timestamp, id"),
    ("lead_events", "id", OF_PROGRAM, "lead_timestamp, id"),
    ("sale_events", "id", OF_PROGRAM, "id"),
    (
        "transaction_claims",
        "transaction_id",
        OF_PROGRAM,
        "claimed_at, transaction_id",
    ),
    ("subscriptions", "subscription_id", OF_PROGRAM, "first_sale_id"),
    ("commissions", "id", OF_PROGRAM, "id"),
    ("refunds", "id", OF_PROGRAM, "id"),
    ("ledger_entries", "id", OF_PROGRAM, "id"),
    (
        "partner_program_balances",
        "(partner_program_id, currency)",
        OF_MEMBERSHIP,
        "partner_program_id, currency",
    ),
    (
        "partner_balances",
        "(partner_id, currency)",
        "partner_id IN (SELECT partner_id FROM partner_programs WHERE program_id = ANY($1))",
        "partner_id, currency",
    ),
    ("parked_refunds", "event_id", OF_PROGRAM, "event_id"),
    ("notifications", "id", OF_PROGRAM, "recipient, id"),
    (
        "integration_verifications",
        "program_id",
        OF_PROGRAM,
        "program_id",
    ),
];

const OF_PROGRAM: &str = "program_id = ANY($1)";
const OF_MEMBERSHIP: &str =
    "partner_program_id IN (SELECT id FROM partner_programs WHERE program_id = ANY($1))";

/// Rows by table, each with the columns that identify it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tables(BTreeMap<String, Vec<(String, Value)>>);

impl Tables {
    pub async fn read(stack: &Stack, programs: &[i64]) -> Self {
        let mut tables = BTreeMap::new();
        for (table, key, mine, order) in TABLES {
            // The time of a customer's last purchase follows from the sales.
            let query = format!(
                "SELECT ({key})::text AS key, to_jsonb(t) - 'last_purchase_date' FROM {table} t WHERE {mine} ORDER BY {order}"
            );
            let rows = sqlx::query_as(sqlx::AssertSqlSafe(query)).bind(programs);
            tables.insert(table.to_owned(), rows.fetch_all(stack.pool()).await.unwrap());
        }
        Self(tables)
    }

    /// The differences between these tables and what the entry expects after `before`.
    pub fn differences(&self, before: &Self, entry: &Entry, names: &Names) -> Vec<String> {
        let listed = entry.rows.keys().chain(entry.state.keys());
        let unknown = listed.filter(|table| !self.0.contains_key(*table));
        let mut differences: Vec<String> = unknown
            .map(|table| format!("no table is called {table}"))
            .collect();
        let mut names = names.clone();
        for (table, after) in &self.0 {
            let before = before.0.get(table).map_or(&[][..], Vec::as_slice);
            let changes = entry.state.get(table);
            if changes.is_none() {
                differences.extend(changed(table, before, after));
            }
            let is_new = |key: &String| before.iter().all(|(known, _)| known != key);
            let added: Vec<&Value> = after
                .iter()
                .filter(|(key, _)| is_new(key))
                .map(|(_, row)| row)
                .collect();
            let expected = entry.rows.get(table).cloned().unwrap_or(Added::Count(0));
            differences.extend(compare_added(table, &expected, &added, &mut names));
            if let Some(expected) = changes {
                let rows: Vec<&Value> = after.iter().map(|(_, row)| row).collect();
                let place = format!("{table} in the end");
                differences.extend(compare_rows(&place, expected, &rows, &mut names));
            }
        }
        differences
    }
}

/// Rows that are missing or changed.
fn changed(table: &str, before: &[(String, Value)], after: &[(String, Value)]) -> Vec<String> {
    let difference = |(key, row): &(String, Value)| match after.iter().find(|(known, _)| known == key) {
        Some((_, now)) if now == row => None,
        Some((_, now)) => Some(format!("{table} {key}: should stay {row}, became {now}")),
        None => Some(format!("{table} {key}: should stay {row}, is gone")),
    };
    before.iter().filter_map(difference).collect()
}

fn compare_added(table: &str, expected: &Added, added: &[&Value], names: &mut Names) -> Vec<String> {
    match expected {
        Added::Count(count) if *count == added.len() => Vec::new(),
        Added::Count(count) => {
            let rows: Vec<String> = added.iter().map(ToString::to_string).collect();
            vec![format!(
                "{table}: {count} new rows expected, were {}: {}",
                added.len(),
                rows.join(", ")
            )]
        }
        Added::Rows(expected) => compare_rows(&format!("{table} new"), expected, added, names),
    }
}

fn compare_rows(place: &str, expected: &[Value], rows: &[&Value], names: &mut Names) -> Vec<String> {
    if expected.len() != rows.len() {
        let rows: Vec<String> = rows.iter().map(ToString::to_string).collect();
        return vec![format!(
            "{place}: {} rows expected, were {}: {}",
            expected.len(),
            rows.len(),
            rows.join(", ")
        )];
    }
    let pairs = expected.iter().zip(rows).enumerate();
    let differences = pairs.flat_map(|(index, (expected, row))| {
        compare(&format!("{place}[{index}]"), expected, row, Extra::Ignored, names)
    });
    differences.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tables(rows: &[(&str, Value)]) -> Tables {
        let rows = rows.iter().map(|(key, row)| ((*key).to_owned(), row.clone()));
        Tables(BTreeMap::from([("customers".to_owned(), rows.collect())]))
    }

    fn found(entry: &str, before: &Tables, after: &Tables) -> Vec<String> {
        let entry: Entry = serde_saphyr::from_str(&format!("{{ rule: r, steps: [], {entry} }}")).unwrap();
        after.differences(before, &entry, &Names::default())
    }

    #[test]
    fn a_row_that_was_not_written_is_missed_and_one_too_many_is_noticed() {
        let none = tables(&[]);
        let one = tables(&[("1", json!({ "id": 1, "status": "click" }))]);
        let a_click = "rows: { customers: [{ status: click }] }";
        for (entry, after, differences) in [
            ("rows: {}", &none, 0),
            ("rows: { customers: 1 }", &none, 1),
            (a_click, &none, 1),
            ("rows: {}", &one, 1),
            ("rows: { customers: 1 }", &one, 0),
            (a_click, &one, 0),
        ] {
            assert_eq!(found(entry, &none, after).len(), differences, "{entry}");
        }
        let wrong = found("rows: { customers: [{ status: lead }] }", &none, &one);
        assert_eq!(
            wrong,
            [r#"customers new[0].status: "lead" expected, was "click""#]
        );
    }

    #[test]
    fn a_row_changes_where_the_entry_says_so_and_nowhere_else() {
        let before = tables(&[("1", json!({ "status": "click" }))]);
        let after = tables(&[("1", json!({ "status": "lead" }))]);
        let to_lead = "state: { customers: [{ status: lead }] }";
        assert_eq!(found("rows: {}", &before, &after).len(), 1);
        assert_eq!(found(to_lead, &before, &after), [""; 0]);
        assert_eq!(found(to_lead, &before, &before).len(), 1);
        assert_eq!(found("rows: {}", &before, &tables(&[])).len(), 1);
    }

    #[test]
    fn a_table_that_does_not_exist_is_a_difference() {
        assert_eq!(
            found("rows: { customer: 1 }", &tables(&[]), &tables(&[])),
            ["no table is called customer"]
        );
    }
}
