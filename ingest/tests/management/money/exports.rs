//! Commissions and payouts as files.

use serde_json::json;
use test_harness::{Shop, rows};

#[tokio::test]
async fn exports_are_files_that_no_spreadsheet_runs() {
    let shop = Shop::open().await;
    let statement = format!(
        "UPDATE partners SET name = '=HYPERLINK(\"http://evil.example\")' WHERE id = {}",
        shop.program.ada.partner_id
    );
    shop.stack.execute(&statement).await;
    let id = shop.earn("@cmd|x", json!({})).await;
    let payout = shop
        .pay(json!({ "all_approved": true, "reference": "-May, \"2\"" }))
        .await;
    let commissions = shop.get("commissions/export.csv?status=paid").await;
    assert_eq!(commissions.header("content-type"), "text/csv; charset=utf-8");
    let named = format!(
        "attachment; filename=\"commissions-{}.csv\"",
        shop.program.program_id
    );
    assert_eq!(commissions.header("content-disposition"), named);
    let lines: Vec<_> = commissions.text().split("\r\n").collect();
    let head = r#""commission_id","sale_id","transaction_id","partner_id","partner_name","amount_cents","#;
    assert!(lines[0].starts_with(head), "{lines:?}");
    let sale_id = &rows::sale(&shop.stack, "@cmd|x").await["id"];
    let ada = shop.program.ada.partner_id;
    let begin = format!(
        r#""{id}","{sale_id}","'@cmd|x","{ada}","'=HYPERLINK(""http://evil.example"")","2000","0","2000","USD","paid","","#
    );
    assert!(lines[1].starts_with(&begin), "{lines:?}");
    assert_eq!(lines[2..], [""]);
    let file = shop.get(&format!("payouts/{}/export.csv", payout["id"])).await;
    let text = file.text();
    let begin = format!(r#""{}","'-May, ""2""","{id}","#, payout["id"]);
    assert!(text.contains(&begin), "{text}");
    assert!(text.contains(r#","2000","0","2000","USD","#), "{text}");
    // No commission matches: the file has a heading alone.
    let none = shop.get("commissions/export.csv?status=reversed").await;
    assert_eq!(none.text().matches("\r\n").count(), 1);
    shop.stack.verify().await;
}

#[tokio::test]
async fn an_export_of_many_pieces_has_every_commission_once() {
    let shop = Shop::open().await;
    shop.sell("t1", json!({})).await;
    let many = 2_345;
    // In the ledger the commission looks like one of a sale.
    let statement = format!(
        "INSERT INTO sale_events (event_id, program_id, customer_id, processor_event_id, amount_cents, currency, sale_type,
             is_recurring, sale_date)
         SELECT gen_random_uuid(), program_id, customer_id, 'more-' || n, amount_cents, currency, sale_type, false, sale_date
         FROM sale_events, generate_series(1, {many}) n;
         INSERT INTO commissions (sale_id, program_id, customer_id, partner_program_id, partner_id, referral_link_id,
             amount_cents, currency, policy_id, commission_type, hold_until)
         SELECT s.id, c.program_id, c.customer_id, c.partner_program_id, c.partner_id, c.referral_link_id,
             c.amount_cents, c.currency, c.policy_id, c.commission_type, c.hold_until
         FROM sale_events s, commissions c WHERE s.processor_event_id LIKE 'more-%'"
    );
    shop.stack.execute(&statement).await;
    let file = shop.get("commissions/export.csv").await;
    let text = file.text();
    let mut ids: Vec<i64> = text
        .lines()
        .skip(1)
        .map(|line| line.split(',').next().unwrap().trim_matches('"').parse().unwrap())
        .collect();
    assert_eq!(ids.len(), many + 1);
    assert!(ids.is_sorted());
    ids.dedup();
    assert_eq!(ids.len(), many + 1);
}
