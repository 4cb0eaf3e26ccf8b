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
    let kind = "commission_type must be one of cps_recurring, cps_lifetime, cps_one_time";
    let recurring = "default_duration_months must be a positive integer for cps_recurring";
    let bps = "rate_bps must be an integer from 0 to 10000";
    for (request, message) in [
        (json!({ "rate_bps": 1 }), kind),
        (json!({ "commission_type": "cps", "rate_bps": 1 }), kind),
        (
            json!({ "commission_type": "cps_recurring", "rate_bps": 1 }),
            recurring,
        ),
        (
            json!({ "commission_type": "cps_recurring", "default_duration_months": 0, "rate_bps": 1 }),
            recurring,
        ),
        (
            json!({ "commission_type": "cps_recurring", "default_duration_months": 9_999_999_999_i64, "rate_bps": 1 }),
            recurring,
        ),
        (
            json!({ "commission_type": "cps_lifetime", "default_duration_months": 12, "rate_bps": 1 }),
            "default_duration_months must be null for cps_lifetime",
        ),
        (
            json!({ "commission_type": "cps_one_time", "default_duration_months": 1, "rate_bps": 1 }),
            "default_duration_months must be 0 or null for cps_one_time",
        ),
        (
            json!({ "commission_type": "cps_lifetime" }),
            "rate_bps or fixed_cents is required",
        ),
        (
            json!({ "commission_type": "cps_lifetime", "rate_bps": 1, "fixed_cents": 1 }),
            "fixed_cents must be null where rate_bps is given",
        ),
        (
            json!({ "commission_type": "cps_lifetime", "rate_bps": 10_001 }),
            bps,
        ),
        (
            json!({ "commission_type": "cps_lifetime", "rate_bps": "20" }),
            bps,
        ),
        (
            json!({ "commission_type": "cps_lifetime", "rate_bps": 1, "currency": "USD" }),
            "currency must be null: a share is paid in the sale's currency",
        ),
        (
            json!({ "commission_type": "cps_lifetime", "fixed_cents": -1 }),
            "fixed_cents must be an integer from 0 to 100000000000000",
        ),
        (
            json!({ "commission_type": "cps_lifetime", "fixed_cents": 1, "currency": "dollars" }),
            "currency must be a currency code of three letters",
        ),
        (
            json!({ "commission_type": "cps_lifetime", "rate_bps": 1, "product_id": 5 }),
            "product_id must be a string",
        ),
        (
            json!({ "commission_type": "cps_lifetime", "rate_bps": 1, "effective_from": "2024-10-04" }),
            "effective_from must be an ISO 8601 date and time with its offset",
        ),
        (
            json!({ "commission_type": "cps_lifetime", "rate_bps": 1, "effective_from": "2024-10-03T23:59:59.999Z" }),
            "effective_from must not be in the past",
        ),
    ] {
        assert_eq!(judged(&request).unwrap_err(), message, "{request}");
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
