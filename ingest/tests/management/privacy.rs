//! One customer asks for an export of their data, and for its erasure. `docs/privacy.md` defines both.

mod jane;
mod months;
mod tenants;

use std::collections::BTreeSet;
use std::fmt::Write;

use reqwest::StatusCode;
use serde_json::{Value, json};
use test_harness::{Json, Stack, Streams, ctl, rows::text_of_all_rows, sale_of};

use self::jane::{EMAIL, Jane, KEY, TOLD, visit};

/// Every table that holds data of a customer.
const TABLES: &[&str] = &[
    "customers",
    "click_events",
    "lead_events",
    "sale_events",
    "commissions",
    "refunds",
    "notifications",
    "dead_letters",
    "transaction_claims",
    "processor_events",
    "processor_customers",
    "outbound_events",
    "webhook_queue",
    "webhook_deliveries",
];

/// The given texts that any table contains, as text or as bytes.
async fn standing(stack: &Stack, texts: &[&str]) -> Vec<String> {
    let rows = text_of_all_rows(stack).await;
    let hexadecimal = |text: &str| {
        text.bytes().fold(String::new(), |mut hex, byte| {
            write!(hex, "{byte:02x}").unwrap();
            hex
        })
    };
    let stands = |text: &&&str| rows.contains(**text) || rows.contains(&hexadecimal(text));
    texts
        .iter()
        .filter(stands)
        .map(|text| (*text).to_owned())
        .collect()
}

/// The rows of a table in a fixed order, without columns that change by themselves.
async fn rows(stack: &Stack, table: &str, of: &str) -> Vec<Value> {
    let query = format!(
        "SELECT to_jsonb(t) - '{{relay_after,relays,waits_for}}'::text[] FROM {table} t WHERE {of} ORDER BY to_jsonb(t)::text"
    );
    stack.values(&query).await
}

/// Every text within a value, including those within JSON and bytes that are text.
fn texts(value: &Value, into: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => {
            if let Ok(inner @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(text) {
                return texts(&inner, into);
            }
            let bytes = text.strip_prefix("\\x").map(|hex| {
                let pairs = hex.as_bytes().chunks(2);
                pairs
                    .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
                    .collect()
            });
            match bytes {
                Some(bytes) => texts(&String::from_utf8(bytes).unwrap().into(), into),
                None => {
                    into.insert(text.clone());
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| texts(item, into)),
        Value::Object(fields) => fields.values().for_each(|field| texts(field, into)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

async fn all_texts(stack: &Stack) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for table in TABLES {
        rows(stack, table, "true")
            .await
            .iter()
            .for_each(|row| texts(row, &mut all));
    }
    all
}

/// Sums and ids, which an erasure keeps.
async fn books(stack: &Stack) -> Vec<Value> {
    let mut books = Vec::new();
    for table in [
        "(SELECT id, sale_id, amount_cents, deducted_cents, status, customer_id FROM commissions)",
        "(SELECT id, customer_id, processor_event_id, amount_cents, currency, sale_date, api_refunded_cents FROM sale_events)",
        "ledger_entries",
        "partner_balances",
        "partner_program_balances",
        "(SELECT id, sale_id, effective_cents, deducted_cents, refund_key FROM refunds)",
        "(SELECT id, clicks, last_clicked FROM referral_links)",
        "(SELECT id, status, first_click_at, touched_link_ids, signup_date, first_purchase_date FROM customers)",
    ] {
        books.extend(rows(stack, table, "true").await);
    }
    books
}

#[tokio::test]
async fn an_erased_customer_stands_in_no_table_and_the_books_are_as_before() {
    let jane = Jane::came().await;
    let stack = &jane.stack;
    let names: Vec<&str> = TOLD.iter().copied().chain([jane.click_id.as_str()]).collect();
    // All of them are stored somewhere; otherwise the test would prove nothing.
    assert_eq!(standing(stack, &names).await, names);
    let before = books(stack).await;
    let query = "SELECT email_hash FROM customers WHERE email_hash IS NOT NULL";
    let hash: String = stack.value(query).await;
    let erased = jane.erase().await;
    assert_eq!(
        erased.body["data"],
        json!({ "customers": 1, "click_events": 2, "lead_events": 1, "sale_events": 2, "refunds": 1,
                "notifications": 1, "processor_customers": 1, "outbound_events": 7, "webhook_deliveries": 7, "unprocessed": 3 })
    );
    assert_eq!(standing(stack, &names).await, [""; 0]);
    assert_eq!(standing(stack, &[hash.as_str()]).await, [""; 0]);
    assert_eq!(books(stack).await, before);
    stack.verify().await;
    let said: String = stack.value("SELECT message FROM notifications").await;
    assert!(said.ends_with("deducted."), "{said}");
}

#[tokio::test]
async fn an_export_holds_everything_that_an_erasure_removes() {
    let jane = Jane::came().await;
    let before = all_texts(&jane.stack).await;
    let exported = jane
        .ask("export", json!({ "customer_key": KEY, "email": EMAIL }))
        .await
        .ok();
    // The export changes nothing.
    assert_eq!(all_texts(&jane.stack).await, before);
    let mut held = BTreeSet::new();
    texts(&exported.body["data"], &mut held);
    jane.erase().await;
    let after = all_texts(&jane.stack).await;
    let removed: BTreeSet<_> = before.difference(&after).cloned().collect();
    assert!(removed.len() > TOLD.len(), "{removed:?}");
    let missing: Vec<_> = removed.difference(&held).collect();
    assert!(missing.is_empty(), "{missing:#?}");
}

#[tokio::test]
async fn an_erasure_leaves_everybody_else_alone() {
    let jane = Jane::came().await;
    let stack = &jane.stack;
    let other = stack.program().await;
    for (program, key) in [
        (&other, KEY),
        (&jane.program, "key-of-jane-47110"),
        (&jane.program, "4711"),
    ] {
        let click = stack.click_with(&program.ada.code, visit()).await.ok();
        let lead = json!({ "click_id": click.body["click_id"], "customer_key": key });
        stack.post("lead", Some(&program.token), lead).await.ok();
        stack
            .sale(
                program,
                sale_of(&format!("sale-of-{key}-{}", program.program_id), key),
            )
            .await
            .ok();
    }
    Streams::of(stack).await.drained(stack).await;
    let query = "SELECT id FROM customers WHERE email_hash IS NOT NULL";
    let janes: i64 = stack.value(query).await;
    let others = async || {
        let mut others = rows(stack, "customers", &format!("id <> {janes}")).await;
        for table in ["click_events", "lead_events", "sale_events", "commissions"] {
            others.extend(rows(stack, table, &format!("customer_id <> {janes}")).await);
        }
        others
    };
    let before = others().await;
    assert_eq!(before.len(), 15);
    // In the other program no customer has this address, and the key belongs to that program's own customer,
    // who stays.
    let erased = jane.erase().await;
    assert_eq!(erased.body["data"]["customers"], 1);
    assert_eq!(others().await, before);
    stack.verify().await;
}

#[tokio::test]
async fn who_comes_after_an_erasure_is_somebody_new() {
    let jane = Jane::came().await;
    let stack = &jane.stack;
    jane.ask("erase", json!({ "click_id": jane.click_id, "email": EMAIL }))
        .await
        .ok();
    let gone = rows(stack, "customers", "true").await;
    let nothing = jane.erase().await;
    let counts = nothing.body["data"].as_object().unwrap();
    assert!(counts.values().all(|count| *count == json!(0)), "{counts:?}");
    let export = jane.ask("export", json!({ "customer_key": KEY })).await.ok();
    assert_eq!(export.body["data"]["customers"], json!([]));
    assert_eq!(rows(stack, "customers", "true").await, gone);

    let sale = stack.sale(&jane.program, sale_of("t9", KEY)).await;
    assert_eq!(
        sale.message(),
        "Customer not found. Provide customer_key or click_id.",
        "{sale:?}"
    );
    let lead = json!({ "click_id": jane.click_id, "customer_key": KEY });
    let lead = stack.post("lead", Some(&jane.program.token), lead).await;
    assert_eq!(lead.status, StatusCode::BAD_REQUEST, "{lead:?}");
    // The ledger still has the sale.
    let repeated = stack.sale(&jane.program, sale_of("t1", KEY)).await;
    assert_eq!(repeated.status, StatusCode::CONFLICT, "{repeated:?}");
    stack
        .refund(&jane.program, json!({ "transaction_id": "t2" }))
        .await
        .ok();

    let held = json!({ "existing_click_id": jane.click_id });
    let click = stack.click_with(&jane.program.ada.code, held).await.ok();
    let click_id = click.body["click_id"].as_str().unwrap();
    assert_ne!(click_id, jane.click_id);
    stack.lead(&jane.program, click_id, KEY).await.ok();
    stack.sold(&jane.program, sale_of("t10", KEY)).await;
    let customers = "SELECT count(DISTINCT customer_id) FROM sale_events";
    assert_eq!(stack.value::<i64>(customers).await, 2);
    stack.verify().await;
}

#[tokio::test]
async fn a_click_under_way_brings_nothing_of_an_erased_customer_back() {
    let mut jane = Jane::came().await;
    jane.stack.stop_workers().await;
    let under_way = visit().with(json!({ "existing_click_id": jane.click_id }));
    let click = jane
        .stack
        .click_with(&jane.program.ada.code, under_way)
        .await
        .ok();
    assert_eq!(click.body["click_id"], jane.click_id.as_str());
    jane.erase().await;
    jane.stack.start_worker();
    let stack = &jane.stack;
    Streams::of(stack).await.drained(stack).await;
    let names: Vec<&str> = TOLD.iter().copied().chain([jane.click_id.as_str()]).collect();
    assert_eq!(standing(stack, &names).await, [""; 0]);
    stack.verify().await;
}

#[tokio::test]
async fn a_refund_after_an_erasure_is_counted_without_its_text() {
    let jane = Jane::came().await;
    jane.erase().await;
    let refund = json!({ "transaction_id": "t2", "refund_amount_cents": 100, "refund_reason": TOLD[12] });
    jane.stack.refunded(&jane.program, refund).await;
    assert_eq!(standing(&jane.stack, &[TOLD[12]]).await, [""; 0]);
    assert_eq!(jane.stack.count("refunds").await, 2);
    jane.stack.verify().await;
}

#[tokio::test]
async fn a_click_that_meets_an_erasure_waits_for_it() {
    let jane = Jane::came().await;
    let stack = &jane.stack;
    let erase = format!(
        "UPDATE customers SET erased_at = now(), click_id = 'erased_' || id, customer_key = NULL, email_hash = NULL
         WHERE click_id = '{}'",
        jane.click_id
    );
    let erasure = stack.holding(&erase).await;
    let before = stack.count("click_events").await;
    let under_way = visit().with(json!({ "existing_click_id": jane.click_id }));
    stack.click_with(&jane.program.ada.code, under_way).await.ok();
    stack.locked_out("the click waits for the erasure", 1).await;
    erasure.commit().await.unwrap();
    Streams::of(stack).await.drained(stack).await;
    assert_eq!(stack.count("click_events").await, before);
}

/// Two erasures, or an erasure and the deletion of a webhook endpoint, lock rows of the same queue.
#[tokio::test]
async fn an_erasure_waits_for_another_change_of_the_program() {
    let jane = Jane::came().await;
    let stack = &jane.stack;
    let lock = format!(
        "SELECT FROM programs WHERE id = {} FOR NO KEY UPDATE",
        jane.program.program_id
    );
    let change = stack.holding(&lock).await;
    let end_change = async {
        stack.locked_out("the erasure waits", 1).await;
        change.commit().await.unwrap();
    };
    tokio::join!(jane.erase(), end_change);
    assert_eq!(standing(stack, &[KEY, EMAIL]).await, [] as [String; 0]);
}

#[tokio::test]
async fn operators_export_and_erase_and_it_is_written_down_without_names() {
    let jane = Jane::came().await;
    let stack = &jane.stack;
    let program = jane.program.program_id;
    let run = async |line: &str| {
        let named = format!("--program-id {program} --customer-key {KEY} --email {EMAIL}");
        ctl(stack, &format!("customer {line} {named}")).await
    };
    let exported = run("export").await;
    let tables: Value = serde_json::from_str(&exported.out).unwrap();
    assert_eq!(tables["customers"][0]["customer_key"], KEY);
    assert_eq!(tables["unprocessed"].as_array().map(Vec::len), Some(3));
    let before = all_texts(stack).await;
    run("erase").await.fails("--yes");
    let dry = run("erase --dry-run").await;
    dry.says("nothing was changed");
    assert_eq!(all_texts(stack).await, before);
    let erased = run("erase --yes").await;
    for ran in [dry, erased] {
        assert_eq!(
            (ran.fact("customers"), ran.fact("unprocessed")),
            ("1".into(), "3".into())
        );
    }
    assert_eq!(standing(stack, TOLD).await, [""; 0]);
    for line in ["erase --yes", "erase --dry-run", "erase"] {
        let again = run(line).await;
        again.fails("nothing is stored under these names");
        again.fails("EMAIL_HASH_KEY");
    }
    for (line, because) in [
        (format!("erase --program-id {program}"), "required"),
        (
            format!("erase --yes --program-id 999 --email {EMAIL}"),
            "there is no program 999",
        ),
        (
            format!("export --program-id {program} --email @"),
            "must be an e-mail address",
        ),
    ] {
        ctl(stack, &format!("customer {line}")).await.fails(because);
    }
    let program = program.to_string();
    let empty = [
        "customer",
        "export",
        "--program-id",
        &program,
        "--customer-key",
        " ",
    ];
    ctl(stack, &empty).await.fails("must not be empty");
    // A name for which the API finds no customer is not stored either.
    jane.erase().await;
    jane.ask("export", json!({ "customer_key": KEY })).await;
    let query = "SELECT jsonb_agg(jsonb_build_array(action, actor, details -> 'customer_ids') ORDER BY id)
             FROM audit_log WHERE action LIKE 'customer.%'";
    let written: Value = stack.value(query).await;
    let query = "SELECT id FROM customers WHERE erased_at IS NOT NULL";
    let of_jane: i64 = stack.value(query).await;
    assert_eq!(
        written,
        json!([
            ["customer.exported", "operator", [of_jane]],
            ["customer.erased", "operator", [of_jane]],
            ["customer.exported", "user", []],
        ])
    );
    stack.verify().await;
}

#[tokio::test]
async fn an_address_that_was_stored_before_the_key_was_replaced_is_found() {
    let (mut stack, program) = Stack::with_program().await;
    let click_id = stack.click(&program.ada.code).await;
    let lead = json!({ "click_id": click_id, "customer_key": KEY, "email": EMAIL });
    stack.post("lead", Some(&program.token), lead).await.ok();
    let (old, new) = ("22".repeat(32), "44".repeat(32));
    let line = format!(
        "customer erase --dry-run --program-id {} --email {EMAIL}",
        program.program_id
    );
    stack.set("EMAIL_HASH_KEY", &format!("{new},{old}"));
    assert_eq!(ctl(&stack, &line).await.fact("customers"), "1");
    stack.set("EMAIL_HASH_KEY", &new);
    ctl(&stack, &line).await.fails("");
}
