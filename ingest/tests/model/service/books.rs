//! The content of the tables.

use chrono::DateTime;
use serde_json::{Value, json};

use super::World;

impl World<'_> {
    /// The content of the tables, in the reference's form.
    pub async fn books(&self) -> Value {
        let mut books: Value = sqlx::query_scalar(BOOKS)
            .bind(self.ids())
            .fetch_one(self.service.stack.pool())
            .await
            .unwrap();
        let place = |value: &Value| {
            let place = self.ids().iter().position(|id| value == id);
            place.unwrap()
        };
        let mut told = json!({ "customers": {}, "sales": {}, "balances": {}, "links": {}, "events": {} });
        let rows = |books: &mut Value, table: &str| match books[table].take() {
            Value::Array(rows) => rows,
            _ => Vec::new(),
        };
        for mut customer in rows(&mut books, "customers") {
            let name = self.visitor(customer["click_id"].as_str().unwrap());
            customer.as_object_mut().unwrap().remove("click_id");
            customer["program"] = place(&customer["program"]).into();
            self.unname(&mut customer["key"]);
            self.unname(&mut customer["proposed"]);
            customer["last_link"] = self.link(customer["last_link"].as_str().unwrap()).into();
            told["customers"][name] = instants(customer, &["signup", "first_purchase", "first_click"]);
        }
        for mut sale in rows(&mut books, "sales") {
            let sale_id = sale["id"].as_i64().unwrap();
            self.unname(&mut sale["transaction_id"]);
            let transaction = sale["transaction_id"].as_str().unwrap().replace("order ", "");
            let known = self.sales.get(&sale_id).map(ToString::to_string);
            assert_eq!(known.as_ref(), Some(&transaction));
            let fields = sale.as_object_mut().unwrap();
            fields.remove("id");
            fields.remove("transaction_id");
            sale["program"] = place(&sale["program"]).into();
            sale["customer"] = self.visitor(sale["customer"].as_str().unwrap()).into();
            for commission in sale["commissions"].as_array_mut().unwrap() {
                commission["link"] = self.link(commission["link"].as_str().unwrap()).into();
            }
            told["sales"][transaction] = instants(sale, &["at"]);
        }
        for balance in rows(&mut books, "balances") {
            let (partner, program) = (balance["partner"].as_str().unwrap(), place(&balance["program"]));
            let name = format!("{partner} {program} {}", balance["currency"].as_str().unwrap());
            told["balances"][name] = balance["cents"].clone();
        }
        for mut link in rows(&mut books, "links") {
            let name = self.link(link["code"].as_str().unwrap());
            link.as_object_mut().unwrap().remove("code");
            told["links"][name] = instants(link, &["last_clicked"]);
        }
        for mut program in rows(&mut books, "events") {
            let name = place(&program["program"]).to_string();
            program.as_object_mut().unwrap().remove("program");
            told["events"][name] = program;
        }
        told
    }

    /// Removes the case's part from a name.
    fn unname(&self, value: &mut Value) {
        let case = format!(" of {}", self.programs[0].program_id);
        if let Some(name) = value.as_str().and_then(|name| name.strip_suffix(&case)) {
            *value = name.into();
        }
    }
}

/// Timestamps become milliseconds since 1970.
fn instants(mut row: Value, columns: &[&str]) -> Value {
    for column in columns {
        if let Some(text) = row[*column].as_str() {
            let at = DateTime::parse_from_rfc3339(text).unwrap();
            row[*column] = at.timestamp_millis().into();
        }
    }
    row
}

/// All rows of two programs. Approval is left out, because it follows from the clock, not from a call.
const BOOKS: &str = "
WITH p AS (SELECT unnest($1::bigint[]) AS id)
SELECT jsonb_build_object(
  'customers', (
    SELECT jsonb_agg(jsonb_build_object(
      'click_id', c.click_id, 'program', c.program_id, 'status', c.status, 'key', c.customer_key,
      'proposed', c.proposed_customer_key, 'signup', c.signup_date, 'first_purchase', c.first_purchase_date,
      'first_click', c.first_click_at,
      'last_link', (SELECT short_code FROM referral_links WHERE id = c.touched_link_ids[cardinality(c.touched_link_ids)])))
    FROM customers c JOIN p ON p.id = c.program_id),
  'sales', (
    SELECT jsonb_agg(jsonb_build_object(
      'id', s.id, 'transaction_id', s.processor_event_id, 'program', s.program_id,
      'customer', (SELECT click_id FROM customers WHERE id = s.customer_id),
      'amount', s.amount_cents, 'currency', s.currency, 'subscription', s.subscription_id, 'is_recurring', s.is_recurring,
      'at', s.sale_date, 'refunded', s.api_refunded_cents,
      'refunds', (SELECT count(*) FROM refunds WHERE sale_id = s.id),
      'commissions', coalesce((
        SELECT jsonb_agg(jsonb_build_object(
          'link', l.short_code, 'amount', k.amount_cents, 'currency', k.currency, 'deducted', k.deducted_cents,
          'status', CASE WHEN k.status IN ('pending', 'approved') THEN 'open' ELSE k.status END,
          'reason', k.refund_reason, 'paid', k.paid_at IS NOT NULL) ORDER BY k.id)
        FROM commissions k JOIN referral_links l ON l.id = k.referral_link_id WHERE k.sale_id = s.id AND k.superseded_at IS NULL), '[]')))
    FROM sale_events s JOIN p ON p.id = s.program_id WHERE NOT s.is_test),
  'balances', (
    SELECT jsonb_agg(jsonb_build_object('partner', r.name, 'program', m.program_id, 'currency', b.currency,
                                        'cents', b.balance_cents))
    FROM partner_program_balances b
    JOIN partner_programs m ON m.id = b.partner_program_id JOIN p ON p.id = m.program_id
    JOIN partners r ON r.id = m.partner_id
    WHERE b.balance_cents <> 0),
  'links', (
    SELECT jsonb_agg(jsonb_build_object('code', l.short_code, 'clicks', l.clicks, 'last_clicked', l.last_clicked))
    FROM referral_links l JOIN p ON p.id = l.program_id),
  'events', (
    SELECT jsonb_agg(jsonb_build_object(
      'program', p.id,
      'clicks', (SELECT count(*) FROM click_events WHERE program_id = p.id AND NOT is_test),
      'leads', (SELECT count(*) FROM lead_events WHERE program_id = p.id AND NOT is_test AND NOT provisional),
      'provisional leads', (SELECT count(*) FROM lead_events WHERE program_id = p.id AND NOT is_test AND provisional),
      'test clicks', (SELECT count(*) FROM click_events WHERE program_id = p.id AND is_test),
      'test leads', (SELECT count(*) FROM lead_events WHERE program_id = p.id AND is_test),
      'test sales', (SELECT count(*) FROM sale_events WHERE program_id = p.id AND is_test)))
    FROM p))";
