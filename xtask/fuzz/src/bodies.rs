//! Tracking bodies: an accepted value equals the field and is within its bounds; a rejection has a message for the caller.

use chrono::DateTime;
use domain::earnings::refund::{RefundKey, RefundRequest};
use domain::ids::ProgramId;
use domain::money::{AmountCents, CommissionableCents};
use domain::text::CustomerKey;
use domain::tracking::affiliate_url::aff_code;
use domain::tracking::click_id::ClickId;
use domain::tracking::lead::LeadMode;
use domain::tracking::sale::SubscriptionInterval;
use ingest::reading::{self, ApiError};
use serde_json::{Value, json};

use crate::json::unambiguous;
use crate::round_trip::survives;

const MOST_CENTS: i64 = 100_000_000_000_000;

pub fn click(bytes: &[u8]) {
    let Some((body, (code, existing, visit))) = taken(bytes, reading::click(bytes)) else {
        return;
    };
    let url = body["affiliate_url"].as_str().expect("a click has its URL");
    assert_eq!(aff_code(url), Ok(code));
    assert_text(
        &body["existing_click_id"],
        existing.as_ref().map(AsRef::as_ref),
        255,
    );
    let visit = json!(visit);
    for name in ["page_url", "page_title", "referrer_url", "user_agent"] {
        assert_text(&body[name], visit[name].as_str(), 8192);
    }
    for name in [
        "session_id",
        "screen_resolution",
        "viewport_size",
        "language",
        "timezone",
    ] {
        assert_text(&body[name], visit[name].as_str(), 255);
    }
}

pub fn lead(bytes: &[u8]) {
    let mode = LeadMode::Server {
        program_id: ProgramId::new(1),
    };
    let Some((body, lead)) = taken_unless_test(bytes, reading::lead(bytes, mode, &[7; 32])) else {
        return;
    };
    assert!(lead.click_id.is_some() || lead.customer_key.is_some());
    assert_customer(&body, lead.click_id.as_ref(), lead.customer_key.as_ref());
    let email = body["email"].as_str().filter(|email| !email.is_empty());
    let hash = lead.email_hash.as_ref().map(ToString::to_string);
    assert_eq!(hash.is_some(), email.is_some());
    if let Some(hash) = &hash {
        let digits = hash.strip_prefix("v1:").expect("hashes have a version");
        assert!(
            digits.len() == 64 && digits.bytes().all(|digit| digit.is_ascii_hexdigit()),
            "no address in its hash"
        );
    }
    survives(&lead);
}

pub fn sale(bytes: &[u8]) {
    let now = DateTime::from_timestamp_millis(1_790_000_000_000).unwrap();
    let Some((body, sale)) = taken_unless_test(bytes, reading::sale(bytes, now)) else {
        return;
    };
    let assert_text = |name: &str, text| assert_text(&body[name], text, 255);
    assert_text("transaction_id", Some(sale.transaction_id.as_str()));
    assert_eq!(body["amount_cents"].as_i64(), Some(sale.amount.get()));
    let commissionable = sale.commissionable.map(CommissionableCents::get);
    assert_eq!(body["commissionable_cents"].as_i64(), commissionable);
    assert!((0..=sale.amount.get()).contains(&sale.commissionable_amount().get()));
    assert!((1..=MOST_CENTS).contains(&sale.amount.get()));
    let currency = body["currency"]
        .as_str()
        .filter(|code| !code.is_empty())
        .unwrap_or("USD");
    assert!(sale.currency.as_str().eq_ignore_ascii_case(currency) && sale.currency.as_str().len() == 3);
    assert_customer(&body, sale.click_id.as_ref(), sale.customer_key.as_ref());
    assert_text(
        "subscription_id",
        sale.subscription_id.as_ref().map(AsRef::as_ref),
    );
    assert_text("product_id", sale.product_id.as_ref().map(AsRef::as_ref));
    assert_eq!(body["is_recurring"].as_bool().unwrap_or(false), sale.is_recurring);
    let kind = body["sale_type"]
        .as_str()
        .filter(|kind| !kind.is_empty())
        .unwrap_or("payment");
    assert_eq!(kind, sale.sale_type.as_str());
    let interval = sale.subscription_interval.map(SubscriptionInterval::as_str);
    assert_text("subscription_interval", interval);
    match &sale.line_items {
        None => assert!(body["line_items"].is_null()),
        Some(items) => {
            assert!(items.get().len() <= 32 * 1024);
            let read: Value = serde_json::from_str(items.get()).unwrap();
            assert!(read == body["line_items"] && (read.is_object() || read.is_array()));
            assert!(
                !items.get().contains("\\u0000") || !holds_nul(&read),
                "no column takes NUL"
            );
        }
    }
    survives(&sale);
}

pub fn refund(bytes: &[u8]) {
    let Some((body, (transaction_id, request))) = taken_unless_test(bytes, reading::refund(bytes)) else {
        return;
    };
    assert_text(&body["transaction_id"], Some(transaction_id.as_str()), 255);
    let RefundRequest::Delta { key, amount } = &request else {
        panic!("callers report refunds one by one");
    };
    let asked = body["refund_amount_cents"].as_i64().unwrap_or(0);
    assert_eq!(amount.map_or(0, AmountCents::get), asked.min(MOST_CENTS));
    assert_eq!(RefundKey::parse(key.as_str()).as_ref(), Some(key));
    let refund_id = body["refund_id"].as_str().filter(|id| !id.is_empty());
    if let Some(refund_id) = refund_id {
        assert_eq!(key.as_str(), format!("id:{refund_id}"));
    } else {
        assert_eq!(key.as_str() == "rest", amount.is_none());
    }
    survives(&request);
}

/// The body and the parsed value; `None` if it was rejected, or if a field appears twice.
fn taken<T>(bytes: &[u8], read: Result<T, ApiError>) -> Option<(Value, T)> {
    match read {
        Ok(read) => {
            let body = unambiguous(bytes)?;
            assert!(body.is_object());
            Some((body, read))
        }
        Err(refusal) => {
            assert!(matches!(refusal, ApiError::BadRequest(_)), "{refusal:?}");
            let message = refusal.to_string();
            assert!((1..200).contains(&message.len()), "{message}");
            None
        }
    }
}

/// [`taken`]; a test parses to nothing, and nothing else does.
fn taken_unless_test<T>(bytes: &[u8], read: Result<Option<T>, ApiError>) -> Option<(Value, T)> {
    let (body, value) = taken(bytes, read)?;
    assert_eq!(value.is_none(), body["additional_data"]["test_mode"] == true);
    Some((body, value?))
}

/// The parsed text equals the field's; absent, `null` and empty are equal.
fn assert_text(field: &Value, text: Option<&str>, most: usize) {
    assert!(field.is_null() || field.is_string());
    assert_eq!(field.as_str().filter(|text| !text.is_empty()), text);
    assert!(text.is_none_or(|text| text.chars().count() <= most && !text.contains('\0')));
}

/// A malformed click_id counts as absent, and an integer as its text; JSON values are exact within 64 bits only.
fn assert_customer(body: &Value, click_id: Option<&ClickId>, key: Option<&CustomerKey>) {
    if let Some(click_id) = click_id {
        assert_eq!(body["click_id"].as_str(), Some(click_id.as_str()));
    }
    let key = key.map(AsRef::as_ref);
    match &body["customer_key"] {
        Value::Number(number) if number.is_i64() || number.is_u64() => {
            assert_eq!(Some(number.to_string().as_str()), key);
        }
        Value::Number(_) => {
            let digits = key.unwrap_or_default().trim_start_matches('-');
            assert!(!digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit()));
        }
        field => assert_text(field, key, 255),
    }
}

fn holds_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(items) => items.iter().any(holds_nul),
        Value::Object(fields) => fields
            .iter()
            .any(|(name, value)| name.contains('\0') || holds_nul(value)),
        _ => false,
    }
}
