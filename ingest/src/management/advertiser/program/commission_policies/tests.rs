use chrono::TimeDelta;
use serde_json::Value;

use super::*;
use crate::http::body;

fn judged(request: &Value) -> Result<Terms, String> {
    let request: NewPolicyRequest = body::parse(request.to_string().as_bytes()).unwrap();
    let now = DateTime::UNIX_EPOCH + TimeDelta::days(20_000);
    request
        .validate(Currency::default(), now)
        .map_err(|error| error.to_string())
}

#[test]
fn each_field_has_its_message() {
    let lifetime = |more: Value| {
        let mut request = json!({ "commission_type": "cps_lifetime" });
        request
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        request
    };
    let refusals = json!({
        "commission_type must be one of cps_recurring, cps_lifetime, cps_one_time": [
            { "rate_bps": 1 },
            { "commission_type": "cps", "rate_bps": 1 },
        ],
        "default_duration_months must be a positive integer for cps_recurring": [
            { "commission_type": "cps_recurring", "rate_bps": 1 },
            { "commission_type": "cps_recurring", "default_duration_months": 0, "rate_bps": 1 },
            { "commission_type": "cps_recurring", "default_duration_months": 9_999_999_999_i64, "rate_bps": 1 },
        ],
        "default_duration_months must be null for cps_lifetime": [
            lifetime(json!({ "default_duration_months": 12, "rate_bps": 1 })),
        ],
        "default_duration_months must be 0 or null for cps_one_time": [
            { "commission_type": "cps_one_time", "default_duration_months": 1, "rate_bps": 1 },
        ],
        "rate_bps or fixed_cents is required": [lifetime(json!({}))],
        "fixed_cents must be null where rate_bps is given": [lifetime(json!({ "rate_bps": 1, "fixed_cents": 1 }))],
        "rate_bps must be an integer from 0 to 10000": [
            lifetime(json!({ "rate_bps": 10_001 })), lifetime(json!({ "rate_bps": "20" })),
        ],
        "currency must be null: a share is paid in the sale's currency": [
            lifetime(json!({ "rate_bps": 1, "currency": "USD" })),
        ],
        "fixed_cents must be an integer from 0 to 100000000000000": [lifetime(json!({ "fixed_cents": -1 }))],
        "currency must be a currency code of three letters": [
            lifetime(json!({ "fixed_cents": 1, "currency": "dollars" })),
        ],
        "product_id must be a string": [lifetime(json!({ "rate_bps": 1, "product_id": 5 }))],
        "effective_from must be an ISO 8601 date and time with its offset": [
            lifetime(json!({ "rate_bps": 1, "effective_from": "2024-10-04" })),
        ],
        "effective_from must not be in the past": [
            lifetime(json!({ "rate_bps": 1, "effective_from": "2024-10-03T23:59:59.999Z" })),
        ],
    });
    for (message, requests) in refusals.as_object().unwrap() {
        for request in requests.as_array().unwrap() {
            assert_eq!(judged(request).unwrap_err(), *message, "{request}");
        }
    }
}

#[test]
fn what_is_left_out_has_a_meaning() {
    let fixed = judged(&json!({ "commission_type": "cps_one_time", "fixed_cents": 0 })).unwrap();
    assert_eq!(fixed.rate, Rate::fixed(0, Currency::default()).unwrap());
    assert_eq!(fixed.product_id, None);
    assert_eq!(
        fixed.effective_from,
        DateTime::UNIX_EPOCH + TimeDelta::days(20_000)
    );
    let later = json!({ "commission_type": "cps_lifetime", "rate_bps": 0,
                        "effective_from": "2024-10-05T02:00:00+02:00", "default_duration_months": null });
    assert_eq!(
        judged(&later).unwrap().effective_from,
        DateTime::UNIX_EPOCH + TimeDelta::days(20_001)
    );
}
