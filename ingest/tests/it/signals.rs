//! What is odd about a sale is shown with its commission, and changes nothing else.

use std::collections::BTreeMap;

use chrono::TimeDelta;
use common::runtime::clock::Clock;
use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::edge::sale_of;
use crate::people::refused;
use crate::stack::{Stack, noon};

/// A customer's key, the address told with the lead, seconds from click to sale, whose link, and what is odd.
type Case = (
    &'static str,
    Option<&'static str>,
    i64,
    &'static str,
    &'static [&'static str],
);

const HOUR: i64 = 3_600;
const CASES: &[Case] = &[
    ("ada@partner.EXAMPLE", None, HOUR, "ada", &["self_referral"]),
    (
        "user-1",
        Some(" ADA@partner.example"),
        HOUR,
        "ada",
        &["self_referral"],
    ),
    (
        "user-2",
        Some("ada@home.example"),
        HOUR,
        "ada",
        &["self_referral"],
    ),
    ("user-3", Some("jane@customer.example"), 9, "ada", &["fast_sale"]),
    ("user-4", None, 10, "ada", &[]),
    (
        "user-5",
        Some("ada@partner.example"),
        0,
        "ada",
        &["self_referral", "fast_sale"],
    ),
    // Ada may buy through somebody else's link.
    ("user-6", Some("ada@partner.example"), HOUR, "bruno", &[]),
];

#[tokio::test]
async fn odd_sales_are_shown_with_their_commissions_and_paid_like_any_other() {
    let clock = Clock::manual(noon());
    let stack = Stack::start_with(clock.clone()).await;
    let program = stack.program().await;
    let ada = stack
        .account_of("ada@home.example", &[program.ada.partner_id])
        .await;
    let address = format!(
        "UPDATE partners SET email = 'Ada@Partner.example' WHERE id = {}",
        program.ada.partner_id
    );
    stack.execute(&address).await;
    for (key, email, seconds, partner, _) in CASES {
        let partner = if *partner == "ada" {
            &program.ada
        } else {
            &program.bruno
        };
        let click_id = stack.click(&partner.code).await;
        let lead = json!({ "click_id": click_id, "customer_key": key, "email": email });
        let lead = stack.post("lead", Some(&program.token), lead).await;
        assert_eq!(lead.status, StatusCode::OK, "{lead:?}");
        clock.advance(TimeDelta::seconds(*seconds));
        let sale = stack
            .sale(&program, sale_of(&format!("sale of {key}"), key))
            .await;
        assert_eq!(sale.status, StatusCode::OK, "{sale:?}");
        assert!(!sale.body.to_string().contains("signal"), "{sale:?}");
    }
    let owner = stack.owner_of(&program).await;
    let path = format!(
        "/api/advertiser/affiliate-programs/{}/commissions",
        program.program_id
    );
    let listed = async |query: &str| -> BTreeMap<String, Value> {
        let answer = stack.get(&format!("{path}{query}"), &owner.token).await;
        assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
        let rows = answer.body["data"].as_array().unwrap().clone();
        assert_eq!(answer.body["meta"]["pagination"]["total"], rows.len());
        let key = |row: &Value| row["transaction_id"].as_str().unwrap().replace("sale of ", "");
        rows.iter()
            .map(|row| (key(row), row["signals"].clone()))
            .collect()
    };
    let expected = |holds: &dyn Fn(&[&str]) -> bool| -> BTreeMap<String, Value> {
        let cases = CASES.iter().filter(|case| holds(case.4));
        cases.map(|case| (case.0.to_owned(), json!(case.4))).collect()
    };
    assert_eq!(listed("?pageSize=100").await, expected(&|_| true));
    for signal in ["self_referral", "fast_sale"] {
        assert_eq!(
            listed(&format!("?signal={signal}")).await,
            expected(&|signals| signals.contains(&signal)),
            "{signal}"
        );
    }
    assert_eq!(
        listed("?signal=any").await,
        expected(&|signals| !signals.is_empty())
    );
    let odd = stack.get(&format!("{path}?signal=odd"), &owner.token).await;
    refused(
        &odd,
        400,
        "signal must be one of self_referral, fast_sale, contested_key, erased, any",
        "signal",
    );
    let file = stack
        .get(&format!("{path}/export.csv?signal=fast_sale"), &owner.token)
        .await;
    let lines: Vec<&str> = file.body.as_str().unwrap().lines().collect();
    assert!(
        lines[0].ends_with(
            r#","signals","sale_amount_cents","commissionable_cents","sale_currency","adjusted_cents","note""#
        ),
        "{lines:?}"
    );
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert!(
        lines[1].contains(r#","fast_sale","#) && lines[2].contains(r#","self_referral fast_sale","#),
        "{lines:?}"
    );

    // A partner learns nothing of it, and earns what everybody earns.
    let own = stack.get("/api/partner/commissions", &ada.token).await;
    assert_eq!(own.body["data"].as_array().map(Vec::len), Some(6), "{own:?}");
    assert!(!own.body.to_string().contains("self_referral"), "{own:?}");
    assert_eq!(stack.balance(program.ada.membership).await, 6 * 1_000);
    assert_eq!(stack.balance(program.bruno.membership).await, 1_000);
    let pending: i64 = stack
        .value("SELECT count(*) FROM commissions WHERE status = 'pending'")
        .await;
    assert_eq!(pending, 7);
    stack.verify().await;
    stack.stop().await;
}
