//! Bodies no client should send: each is the caller's mistake (4xx), never ours (5xx), and leaves no row.

use serde_json::{Value, json};

use crate::requests::{nothing_stored, refused, with_a_sale};
use crate::rows;
use crate::stack::{Answer, Program, Stack};

const NOT_JSON: &str = "Request body must be a valid JSON object";

/// A route with a body that would be recorded, and the string fields it takes with the characters each may have.
pub struct Route {
    pub path: &'static str,
    body: Value,
    pub strings: &'static [(&'static str, usize)],
}

fn routes(program: &Program, click_id: &str) -> [Route; 4] {
    [
        Route {
            path: "click",
            body: json!({ "affiliate_url": format!("https://shop.example/?aff={}", program.ada.code) }),
            strings: &[
                ("page_url", 8192),
                ("page_title", 8192),
                ("referrer_url", 8192),
                ("user_agent", 8192),
                ("session_id", 255),
                ("screen_resolution", 255),
                ("viewport_size", 255),
                ("language", 255),
                ("timezone", 255),
                ("existing_click_id", 255),
            ],
        },
        Route {
            path: "lead",
            body: json!({ "click_id": click_id, "customer_key": "user-2" }),
            strings: &[("click_id", 255), ("customer_key", 255), ("email", 320)],
        },
        Route {
            path: "sale",
            body: json!({ "transaction_id": "t2", "amount_cents": 5000, "customer_key": "user-1" }),
            strings: &[
                ("transaction_id", 255),
                ("customer_key", 255),
                ("click_id", 255),
                ("subscription_id", 255),
                ("product_id", 255),
            ],
        },
        Route {
            path: "refund",
            body: json!({ "transaction_id": "t1" }),
            strings: &[
                ("transaction_id", 255),
                ("refund_id", 255),
                ("refund_reason", 1000),
            ],
        },
    ]
}

impl Route {
    /// The body with one field written as given, whatever it had there.
    pub fn with(&self, field: &str, json: &[u8]) -> Vec<u8> {
        let mut others = self.body.clone();
        others.as_object_mut().unwrap().remove(field);
        let mut body = others.to_string().into_bytes();
        body.pop();
        if body.len() > 1 {
            body.push(b',');
        }
        body.extend(format!("\"{field}\":").as_bytes());
        body.extend(json);
        body.push(b'}');
        body
    }

    pub async fn post(&self, stack: &Stack, program: &Program, body: Vec<u8>) -> Answer {
        stack.post_raw(self.path, Some(&program.token), body).await
    }
}

/// A program with a recorded sale, and a click whose lead is still to come.
pub async fn prepared(stack: &Stack) -> (Program, [Route; 4]) {
    let program = with_a_sale(stack).await;
    let click_id = stack.click(&program.ada.code).await;
    rows::counted(stack, program.ada.link, 2).await;
    let routes = routes(&program, &click_id);
    (program, routes)
}

fn nested(depth: usize) -> String {
    format!("{}1{}", "[".repeat(depth), "]".repeat(depth))
}

#[tokio::test]
async fn a_body_that_is_no_json_object_is_refused_by_every_route() {
    let stack = Stack::start().await;
    let (program, routes) = prepared(&stack).await;
    let before = rows::counts(&stack).await;
    for route in &routes {
        let (valid, deep) = (route.body.to_string(), nested(200));
        let listed = format!("[{valid}]");
        let cut = &valid[..valid.len() - 1];
        let twice = format!("{valid}{valid}");
        let bodies = [
            "", " ", "null", "true", "5", "\"text\"", "[]", &listed, cut, &twice, "{'a': 1}", "{\"a\":}",
            &deep,
        ];
        for body in bodies {
            let answer = route.post(&stack, &program, body.as_bytes().to_vec()).await;
            refused(&answer, 400, NOT_JSON, &format!("{} {body}", route.path));
        }
        for (field, _) in route.strings {
            // Not UTF-8, half a surrogate pair, and the field twice.
            for text in [
                &b"\"\xff\xfe\""[..],
                br#""\ud800""#,
                &[br#""a",""#, field.as_bytes(), br#"":"b""#].concat(),
            ] {
                let answer = route.post(&stack, &program, route.with(field, text)).await;
                refused(
                    &answer,
                    400,
                    NOT_JSON,
                    &format!("{} {field} {text:?}", route.path),
                );
            }
        }
    }
    nothing_stored(&stack, &program, &before).await;
    stack.verify().await;
    stack.stop().await;
}

#[tokio::test]
async fn strings_of_another_type_too_long_or_with_nul_are_refused_by_name() {
    let stack = Stack::start().await;
    let (program, routes) = prepared(&stack).await;
    let before = rows::counts(&stack).await;
    for route in &routes {
        for (field, longest) in route.strings {
            let nul = json!("a\0b").to_string();
            let long = json!("ü".repeat(longest + 1)).to_string();
            let too_long = format!("{field} must be at most {longest} characters");
            for (value, message) in [
                (nul, format!("{field} must not contain NUL characters")),
                (long, too_long),
            ] {
                let answer = route
                    .post(&stack, &program, route.with(field, value.as_bytes()))
                    .await;
                refused(&answer, 400, &message, &format!("{} {field}", route.path));
            }
            for value in [
                "5",
                "1.5",
                "-9223372036854775809",
                "true",
                "[]",
                "[\"a\"]",
                "{}",
                "{\"a\": \"b\"}",
            ] {
                let answer = route
                    .post(&stack, &program, route.with(field, value.as_bytes()))
                    .await;
                let message = match (route.path, *field) {
                    ("sale", "transaction_id") => {
                        "transaction_id is required and must be a string".to_owned()
                    }
                    ("refund", "transaction_id") => "transaction_id is required".to_owned(),
                    _ => format!("{field} must be a string"),
                };
                refused(&answer, 400, &message, &format!("{} {field} {value}", route.path));
            }
        }
    }
    nothing_stored(&stack, &program, &before).await;
    stack.verify().await;
    stack.stop().await;
}

#[tokio::test]
async fn amounts_are_integers_written_as_such_and_within_64_bits() {
    let stack = Stack::start().await;
    let (program, [_, _, sale, refund]) = prepared(&stack).await;
    let before = rows::counts(&stack).await;
    let amounts = [
        "1e2",
        "1.5",
        "100.0",
        "\"100\"",
        "9223372036854775808",
        "-9223372036854775809",
        "-1",
        "[1]",
        "{}",
        "true",
    ];
    for amount in amounts {
        let answer = sale
            .post(&stack, &program, sale.with("amount_cents", amount.as_bytes()))
            .await;
        refused(
            &answer,
            400,
            "amount_cents is required and must be a positive integer",
            amount,
        );
        let answer = refund
            .post(
                &stack,
                &program,
                refund.with("refund_amount_cents", amount.as_bytes()),
            )
            .await;
        refused(
            &answer,
            400,
            "refund_amount_cents must be a positive integer",
            amount,
        );
    }
    nothing_stored(&stack, &program, &before).await;
    stack.verify().await;
    stack.stop().await;
}

#[tokio::test]
async fn line_items_that_cannot_be_stored_are_refused() {
    let stack = Stack::start().await;
    let (program, [_, _, sale, _]) = prepared(&stack).await;
    let before = rows::counts(&stack).await;
    let large = format!("[\"{}\"]", "x".repeat(32 * 1024));
    let deep = nested(200);
    let items: [&[u8]; 10] = [
        b"5",
        b"true",
        br#""text""#,
        br#"["\u0000"]"#,
        br#"{"\u0000": 1}"#,
        br#"["\ud800"]"#,
        br#"[{"name": "\udc00\ud800"}]"#,
        b"[\"\xff\"]",
        large.as_bytes(),
        deep.as_bytes(),
    ];
    for item in items {
        let answer = sale.post(&stack, &program, sale.with("line_items", item)).await;
        let message = answer.message().to_owned();
        assert!(
            message == NOT_JSON || message.starts_with("line_items must"),
            "{message}"
        );
        refused(&answer, 400, &message, &String::from_utf8_lossy(item));
    }
    nothing_stored(&stack, &program, &before).await;
    stack.verify().await;
    stack.stop().await;
}

#[tokio::test]
async fn flags_and_additional_data_of_another_type_are_refused() {
    let stack = Stack::start().await;
    let (program, routes) = prepared(&stack).await;
    let before = rows::counts(&stack).await;
    for route in &routes[..3] {
        for value in [
            "5",
            "\"text\"",
            "true",
            "[]",
            "[true]",
            r#"{"test_mode": "true"}"#,
            r#"{"test_mode": 1}"#,
        ] {
            let answer = route
                .post(&stack, &program, route.with("additional_data", value.as_bytes()))
                .await;
            let message = answer.message().to_owned();
            refused(&answer, 400, &message, &format!("{} {value}", route.path));
        }
    }
    for value in ["0", "1", "\"true\"", "[]"] {
        let answer = routes[2]
            .post(&stack, &program, routes[2].with("is_recurring", value.as_bytes()))
            .await;
        refused(&answer, 400, "is_recurring must be a boolean", value);
    }
    nothing_stored(&stack, &program, &before).await;
    stack.verify().await;
    stack.stop().await;
}
