//! The contract's answers.

use serde_json::{Value, json};
use test_harness::platform_error;

use super::Answered;
use crate::calls::{Attribution, LINKS, Who};

pub fn link_refusal(link: usize) -> Option<Answered> {
    match LINKS.get(link) {
        None => Some(refused(400, "Referral link not found")),
        Some(&"orphan") => Some(refused(400, "Invalid referral link configuration")),
        Some(&"off") => Some(Answered {
            status: 410,
            body: json!({ "success": false, "error": { "code": "link_disabled" } }),
        }),
        Some(_) => None,
    }
}

pub fn credential(who: Who, empty: &str) -> Result<usize, Answered> {
    match who {
        Who::Program(program) => Ok(program),
        Who::UnknownToken => Err(refused(401, "Invalid API token")),
        Who::EmptyToken => Err(refused(401, empty)),
        Who::Nobody => Err(refused(
            401,
            "Missing or malformed Authorization header. Expected: Bearer <PROGRAM_API_KEY>",
        )),
    }
}

pub fn sale_answer(
    attribution: Attribution,
    transaction: usize,
    commissions: usize,
    nothing_due: Option<&str>,
) -> Answered {
    let ids: Vec<String> = (0..commissions)
        .map(|place| format!("commission {place} of {transaction}"))
        .collect();
    let mut body = json!({
        "success": true,
        "sale_id": format!("sale {transaction}"),
        "commission_id": ids.last(),
        "message": match nothing_due {
            Some(reason) => format!("Sale tracked successfully. No commission is due: {reason}"),
            None => "Sale tracked successfully".to_owned(),
        },
    });
    if attribution == Attribution::Linear {
        body["commission_ids"] = ids.into();
    }
    answered(body)
}

pub fn dollars(cents: i64) -> f64 {
    format!("{}.{:02}", cents / 100, cents % 100).parse().unwrap()
}

pub fn answered(body: Value) -> Answered {
    Answered { status: 200, body }
}

pub fn duplicate() -> Answered {
    refused(
        409,
        "Duplicate transaction_id. This sale has already been recorded.",
    )
}

pub fn refused(status: u16, message: &str) -> Answered {
    Answered {
        status,
        body: platform_error(status, message),
    }
}
