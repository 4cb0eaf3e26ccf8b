//! Signals of a sale are shown with its commission, and change nothing else.

use std::collections::BTreeMap;

use chrono::TimeDelta;
use reqwest::StatusCode;
use runtime::clock::Clock;
use serde_json::{Value, json};
use test_harness::{
    Program, Stack,
    hooks::{Hooks, event},
    noon, sale_of,
};

/// The customer's key, the address sent with the lead, the seconds from click to sale, the link's owner, and
/// the expected signals.
type Case = (
    &'static str,
    Option<&'static str>,
    i64,
    &'static str,
    &'static [&'static str],
);

const HOUR: i64 = 3_600;
const OWN: &[&str] = &["self_referral"];
const CASES: &[Case] = &[
    ("ada@partner.EXAMPLE", None, HOUR, "ada", OWN),
    ("user-1", Some(" ADA@partner.example"), HOUR, "ada", OWN),
    ("user-2", Some("ada@home.example"), HOUR, "ada", OWN),
    ("user-3", Some("jane@customer.example"), 9, "ada", &["fast_sale"]),
    ("user-4", None, 10, "ada", &[]),
    (
        "user-5",
        Some("ada@partner.example"),
        0,
        "ada",
        &["self_referral", "fast_sale"],
    ),
    // Ada may buy through another partner's link.
    ("user-6", Some("ada@partner.example"), HOUR, "bruno", &[]),
];

/// Changes Ada's own address.
async fn address(stack: &Stack, program: &Program, email: &str) {
    let id = program.ada.partner_id;
    let statement = format!("UPDATE partners SET email = '{email}' WHERE id = {id}");
    stack.execute(&statement).await;
}

/// A customer with a click and a lead that the backend sent.
async fn signed_up(stack: &Stack, program: &Program, code: &str, key: &str, email: Option<&str>) {
    let click_id = stack.click(code).await;
    let lead = json!({ "click_id": click_id, "customer_key": key, "email": email });
    stack.post("lead", Some(&program.token), lead).await.ok();
}

#[tokio::test]
async fn odd_sales_are_shown_with_their_commissions_and_paid_like_any_other() {
    let stack = Stack::at_noon().await;
    let program = stack.program().await;
    let ada = stack
        .account_of("ada@home.example", &[program.ada.partner_id])
        .await;
    address(&stack, &program, "Ada@Partner.example").await;
    for (key, email, seconds, partner, _) in CASES {
        let partner = if *partner == "ada" {
            &program.ada
        } else {
            &program.bruno
        };
        signed_up(&stack, &program, &partner.code, key, *email).await;
        stack.clock.advance(TimeDelta::seconds(*seconds));
        let sale = stack
            .sold(&program, sale_of(&format!("sale of {key}"), key))
            .await;
        assert!(!sale.body.to_string().contains("signal"), "{sale:?}");
    }
    let owner = stack.owner_of(&program).await;
    let path = program.path("commissions");
    let listed = async |query: &str| -> BTreeMap<String, Value> {
        let answer = owner.get(&format!("{path}{query}")).await.ok();
        let rows = answer.body["data"].as_array().unwrap().clone();
        assert_eq!(*answer.total(), rows.len());
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
        let with = expected(&|signals| signals.contains(&signal));
        assert_eq!(listed(&format!("?signal={signal}")).await, with, "{signal}");
    }
    let odd = expected(&|signals| !signals.is_empty());
    assert_eq!(listed("?signal=any").await, odd);
    let all = "self_referral, fast_sale, contested_key, many_leads, replaces_changed, erased, any";
    let wrong = json!({ "signal=odd": format!("signal must be one of {all}") });
    stack.refuses(&owner.token, &path, wrong).await;
    let file = owner.get(&format!("{path}/export.csv?signal=fast_sale")).await;
    let lines: Vec<&str> = file.text().lines().collect();
    let names = "signals sale_amount_cents commissionable_cents sale_currency adjusted_cents note \
                 paid_cents shortfall_cents";
    let names = format!("\"{}\"", names.replace(' ', "\",\""));
    assert!(lines[0].ends_with(&names), "{lines:?}");
    assert_eq!(lines.len(), 3, "{lines:?}");
    for (line, signals) in [(lines[1], "fast_sale"), (lines[2], "self_referral fast_sale")] {
        assert!(line.contains(&format!(r#","{signals}","#)), "{line}");
    }

    // A partner does not see the signals, and earns the same as without them.
    let own = stack.get("/api/partner/commissions", &ada.token).await;
    assert_eq!(own.body["data"].as_array().map(Vec::len), Some(6), "{own:?}");
    assert!(!own.body.to_string().contains("self_referral"), "{own:?}");
    assert_eq!(stack.balances(&program).await, [6 * 1_000, 1_000]);
    let pending = stack.count("commissions WHERE status = 'pending'").await;
    assert_eq!(pending, 7);
    stack.verify().await;
}

/// Ada buys through her own link, by API and by webhook. The sales stand, and she earns if the program allows
/// self-referrals.
#[tokio::test]
async fn a_partners_own_purchases_earn_nothing_where_the_program_refuses_them() {
    let (stack, hooks, program) = Hooks::with_program().await;
    let owner = stack.owner_of(&program).await;
    let settings = program.path("");
    address(&stack, &program, "ada@partner.example").await;
    for (key, email) in [
        ("ada@partner.example", None),
        ("user-1", Some("Ada@partner.example")),
        ("user-2", None),
    ] {
        signed_up(&stack, &program, &program.ada.code, key, email).await;
    }
    let wrong = owner.put(&settings, json!({ "self_referrals": "never" })).await;
    wrong.refused(400, "self_referrals must be one of flag, refuse");
    for (self_referrals, number) in [("refuse", 1), ("flag", 2)] {
        let body = json!({ "self_referrals": self_referrals });
        let set = owner.put(&settings, body).await;
        assert_eq!(set.body["data"]["self_referrals"], self_referrals);
        let earns = self_referrals == "flag";
        for key in ["ada@partner.example", "user-1"] {
            let id = format!("{key} {number}");
            let sale = stack.sold(&program, sale_of(&id, key)).await;
            assert_eq!(sale.body["commission_id"].is_number(), earns, "{sale:?}");
            let said = sale.body["message"].as_str().unwrap();
            assert_eq!(said.contains("their own purchases"), !earns, "{sale:?}");
        }
        let paid = event(&stack, "checkout.session.completed.basil", &program, "user-1");
        // Another session too, because two payments of one session are one sale.
        let text = paid
            .to_string()
            .replace("pi_3Lamp0001", &format!("pi_{number}"))
            .replace("cs_live_a1Lamp", &format!("cs_{number}"));
        let mut paid: Value = serde_json::from_str(&text).unwrap();
        paid["id"] = json!(format!("evt_{number}"));
        hooks.process(&stack, &program, &paid).await;
    }
    let query = "SELECT string_agg(coalesce(s.no_commission_reason, 'earns') || ' ' || coalesce(array_to_string(c.signals, ' '), ''),
                               ', ' ORDER BY s.id)
             FROM sale_events s LEFT JOIN commissions c ON c.sale_id = s.id";
    let books: String = stack.value(query).await;
    let refused = ["self_referral "; 3].join(", ");
    assert!(books.starts_with(&refused), "{books}");
    assert_eq!(books.matches("earns self_referral").count(), 3, "{books}");
    // Other customers buy through her link as before.
    owner.put(&settings, json!({ "self_referrals": "refuse" })).await;
    let sale = stack.sale(&program, sale_of("of somebody else", "user-2")).await;
    assert!(sale.body["commission_id"].is_number(), "{sale:?}");
    stack.verify().await;
}

/// Each customer buys for the first time. Returns whether each commission has the signal `many_leads`.
async fn signals_of_purchases(stack: &Stack, program: &Program, keys: &[String]) -> Vec<bool> {
    for key in keys {
        stack.sold(program, sale_of(&format!("sale of {key}"), key)).await;
    }
    stack
        .values("SELECT 'many_leads' = ANY(signals) FROM commissions ORDER BY id")
        .await
}

#[tokio::test]
async fn many_leads_of_browsers_for_one_link_are_a_signal() {
    let mut stack = Stack::without_services(Clock::manual(noon())).await;
    stack.set("MANY_LEADS_PER_LINK", "2");
    stack.start_services().await;
    let program = stack.program().await;
    let lead = async |key: &str, code: &str, token: Option<&str>| {
        let click_id = stack.click(code).await;
        let body = json!({ "click_id": click_id, "customer_key": key });
        stack.post("lead", token, body).await.ok();
        key.to_owned()
    };
    let (ada, bruno) = (&program.ada.code, &program.bruno.code);
    let mut keys = Vec::new();
    // Leads of the backend do not count here.
    for key in ["server-1", "server-2", "server-3"] {
        keys.push(lead(key, ada, Some(&program.token)).await);
    }
    for (key, code) in [("a-1", ada), ("a-2", ada), ("b-1", bruno), ("a-3", ada)] {
        keys.push(lead(key, code, None).await);
    }
    stack.clock.advance(TimeDelta::hours(1));
    keys.push(lead("a-4", ada, None).await);
    stack.clock.advance(TimeDelta::hours(1));
    let flagged = signals_of_purchases(&stack, &program, &keys).await;
    assert_eq!(flagged, [false, false, false, false, false, false, true, false]);
    stack.verify().await;
}

#[tokio::test]
async fn many_leads_of_one_address_are_a_signal_and_then_refused_for_the_hour() {
    let stack = Stack::start_set(&[("BROWSER_LEAD_LIMIT", "8")]).await;
    let program = stack.program().await;
    let [a, b, c, ..] = rand::random::<[u8; 16]>();
    let client = format!("198.{a}.{b}.{c}");
    let lead = async |key: &str, client: &str, token: Option<&str>| {
        let click_id = stack.click(&program.ada.code).await;
        let body = json!({ "click_id": click_id, "customer_key": key });
        let mut request = stack.tracking("lead").json(&body);
        request = request.header("x-forwarded-for", client);
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        stack.send(request).await
    };
    let mut keys = Vec::new();
    // The hour may end once during this loop.
    let refused = loop {
        let key = format!("user-{}", keys.len());
        let answer = lead(&key, &client, None).await;
        if answer.status == StatusCode::TOO_MANY_REQUESTS {
            break answer;
        }
        answer.ok();
        keys.push(key);
        assert!(keys.len() <= 16, "never refused");
    };
    refused.rate_limited(3_600);
    lead("by the backend", &client, Some(&program.token)).await.ok();
    lead("of another", "198.51.100.7", None).await.ok();
    keys.push("by the backend".to_owned());
    let flagged = signals_of_purchases(&stack, &program, &keys).await;
    assert!(!flagged[0] && flagged[keys.len() - 2], "{flagged:?}");
    assert!(!flagged[keys.len() - 1], "{flagged:?}");
    stack.verify().await;
}
