//! Fields of another type, too long, out of range, or with text that a table cannot store; and odd texts that
//! it can.

use serde_json::json;

use super::bodies::nested;
use super::route::{AMOUNT, NOT_JSON, REFUND_AMOUNT, Scene};
use test_harness::rows;

#[tokio::test]
async fn texts_of_another_type_too_long_or_with_nul_are_refused_by_name() {
    let mut scene = Scene::start().await;
    let others = [
        "5",
        "-0",
        "1.5",
        "-9223372036854775809",
        "1E400",
        "true",
        "[]",
        "[\"a\"]",
        "{}",
        "{\"a\": \"b\"}",
        "{\"__proto__\": \"a\"}",
    ];
    let deep = [nested(200), nested(20_000)];
    for route in &scene.routes {
        for (field, rule) in route.texts {
            let long = json!("ü".repeat(rule.longest() + 1)).to_string();
            scene.refuses(route, field, &long, &rule.too_long()).await;
            for nul in [r#""\u0000""#, r#""a\u0000b""#] {
                scene.refuses(route, field, nul, &rule.nul()).await;
            }
            let others = others.into_iter().chain(deep.iter().map(String::as_str));
            for other in others.filter(|json| !rule.takes(json)) {
                scene.refuses(route, field, other, &rule.wrong_type()).await;
            }
        }
    }
    scene.nothing_stored("texts").await;
    scene.end().await;
}

/// Values that are not 64-bit integers, or not written as integers.
const NO_INTEGERS: &str = "1e2 1E2 100e0 1.5 100.0 -0 -0.0 1E400 -1E400 1e-400 \"100\" 9223372036854775808 \
    18446744073709551616 -9223372036854775809 99999999999999999999999999999999999999999 [1] {} true \"\"";
/// Not JSON.
const NO_NUMBERS: &str = "0100 -01 +100 .5 5. 1e 0x64 1_000 NaN Infinity - १००";

#[tokio::test]
async fn amounts_are_integers_written_as_such_and_within_64_bits() {
    let mut scene = Scene::start().await;
    for (path, field, message) in [
        ("/api/v1/track/sale", "amount_cents", AMOUNT),
        ("/api/tracking/sale", "amount_cents", AMOUNT),
        ("/api/v1/track/refund", "refund_amount_cents", REFUND_AMOUNT),
        ("/api/tracking/refund", "refund_amount_cents", REFUND_AMOUNT),
    ] {
        let route = scene.route(path);
        for number in NO_INTEGERS.split(' ').chain(["-1", "-9223372036854775808"]) {
            scene.refuses(route, field, number, message).await;
        }
        for number in NO_NUMBERS.split(' ') {
            scene.refuses(route, field, number, NOT_JSON).await;
        }
    }
    // Above the limit of a sale; a refund of this amount refunds the whole sale.
    let sale = scene.route("/api/v1/track/sale");
    for number in ["0", "100000000000001", "9007199254740993", "9223372036854775807"] {
        scene.refuses(sale, "amount_cents", number, AMOUNT).await;
    }
    scene.nothing_stored("amounts").await;
    let refund = scene.route("/api/v1/track/refund");
    let all = refund.with("refund_amount_cents", "9223372036854775807");
    let reversed = scene.accepted(refund, all, "all").await;
    assert_eq!(reversed.body["status"], "reversed");
    scene.end().await;
}

#[tokio::test]
async fn program_ids_are_integers_or_the_same_in_text() {
    let mut scene = Scene::start().await;
    let named = "program_id must name a program";
    for (path, message) in [
        ("/api/tracking/test", named),
        ("/api/tracking/check-test-events", named),
        ("/api/v1/cli/test-event", "program_id must be an integer"),
    ] {
        let route = scene.route(path);
        for number in NO_INTEGERS.split(' ') {
            if number != "\"100\"" {
                scene.refuses(route, "program_id", number, message).await;
            }
        }
    }
    scene.nothing_stored("program ids").await;
    scene.end().await;
}

#[tokio::test]
async fn line_items_that_cannot_be_stored_are_refused() {
    let mut scene = Scene::start().await;
    let large = format!("[\"{}\"]", "x".repeat(32 * 1024));
    let (deep, digits) = (nested(200), "7".repeat(400));
    let long = format!("[0.{}]", "7".repeat(17_000));
    let (container, nul) = ("must be an object or an array", "must not contain NUL characters");
    let (valid, size) = ("must be valid JSON", "must be at most 32768 bytes");
    let precision = "must not contain numbers of more than 64 digits";
    let items = [
        ("5", container),
        ("true", container),
        ("\"text\"", container),
        (r#"["\u0000"]"#, nul),
        (r#"{"\u0000": 1}"#, nul),
        (r#"{"a": [{"b": "\u0000"}]}"#, nul),
        (r#"["\ud800"]"#, valid),
        (r#"[{"name": "\udc00\ud800"}]"#, valid),
        ("[1E400]", valid),
        (&format!("[{digits}]"), valid),
        ("[1e-20000]", precision),
        ("{\"a\": 1E-999999999999}", precision),
        (&long, precision),
        (&deep, valid),
        (&large, size),
    ];
    for path in ["/api/v1/track/sale", "/api/tracking/sale"] {
        let route = scene.route(path);
        for (item, message) in items {
            let message = format!("line_items {message}");
            scene.refuses(route, "line_items", item, &message).await;
            // A test event is stored in the same column.
            let both = format!(r#"{item},"additional_data":{{"test_mode":true}}"#);
            scene.refuses(route, "line_items", &both, &message).await;
        }
    }
    scene.nothing_stored("line items").await;
    scene.end().await;
}

#[tokio::test]
async fn flags_and_additional_data_of_another_type_are_refused() {
    let mut scene = Scene::start().await;
    let no_object = "additional_data must be an object";
    let no_flag = "additional_data.test_mode must be a boolean";
    let deep = nested(200);
    let deep_mode = format!(r#"{{"test_mode": {deep}}}"#);
    let data = [
        ("5", no_object),
        ("\"text\"", no_object),
        ("\"{\\\"test_mode\\\": true}\"", no_object),
        ("true", no_object),
        ("[]", no_object),
        ("[true]", no_object),
        (&deep, no_object),
        (r#"{"test_mode": "true"}"#, no_flag),
        (r#"{"test_mode": 1}"#, no_flag),
        (r#"{"test_mode": 1E400}"#, no_flag),
        (r#"{"test_mode": []}"#, no_flag),
        (&deep_mode, no_flag),
        (r#"{"test_mode": true, "test_mode": false}"#, NOT_JSON),
        (r#"{"test_mode": true"#, NOT_JSON),
    ];
    for route in &scene.routes {
        let nouns = ["click", "lead", "sale", "refund"];
        if !nouns.iter().any(|noun| route.path.ends_with(noun)) {
            continue;
        }
        for (value, message) in data {
            scene.refuses(route, "additional_data", value, message).await;
        }
    }
    for path in ["/api/v1/track/sale", "/api/tracking/sale"] {
        let route = scene.route(path);
        for value in ["0", "1", "-0", "1E400", "\"true\"", "[]", "{}"] {
            let message = "is_recurring must be a boolean";
            scene.refuses(route, "is_recurring", value, message).await;
        }
    }
    scene.nothing_stored("flags and additional_data").await;
    scene.end().await;
}

/// Texts that a database, a script, a log or a browser might interpret.
fn odd_texts() -> Vec<String> {
    let mut texts: Vec<String> = [
        "'; DROP TABLE customers; --",
        "\" OR \"\"=\"",
        "$1 %s %n {} ${jndi:ldap://a.example/x}",
        "\\x00\\",
        "return redis.call('FLUSHALL')",
        "KEYS[1]\r\nFLUSHALL\r\n",
        "__proto__",
        "constructor.prototype",
        "<script>alert(1)</script>",
        "=cmd|' /C calc'!A0",
        "../../../../etc/passwd",
        "null",
        "NaN",
        "-0",
        "\u{1}\u{7f}\u{80}",
        "\u{1f600}\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}",
        "\u{202e}evil\u{202c}",
        "a\u{200b}\u{200d}\u{feff}b",
        "\u{fffe}\u{ffff}\u{10ffff}",
        "e\u{301} \u{e9}",
        "  blanks around  ",
        "\t\n",
    ]
    .map(str::to_owned)
    .to_vec();
    texts.push("\u{1f600}".repeat(255));
    texts
}

#[tokio::test]
async fn odd_texts_are_recorded_as_sent() {
    let scene = Scene::start().await;
    let (stack, program) = (&scene.stack, &scene.program);
    for text in odd_texts() {
        let click_id = stack.click(&program.ada.code).await;
        stack.signed_up(program, &click_id, &text).await;
        assert_eq!(rows::customer(stack, &click_id).await["customer_key"], text);
        let items = json!({ &text: [null, 1e-7, &text, { "b": [] }] });
        let sale = json!({ "transaction_id": text, "amount_cents": 100, "customer_key": text, "product_id": text,
                           "subscription_id": text, "line_items": items });
        stack.sold(program, sale.clone()).await;
        stack.sale(program, sale).await.is(409);
        let stored = rows::sale(stack, &text).await;
        assert_eq!(
            (
                &stored["product_id"],
                &stored["subscription_id"],
                &stored["line_items"]
            ),
            (&json!(text), &json!(text), &items)
        );
        let refund = json!({ "transaction_id": text, "refund_reason": text, "refund_id": text });
        assert_eq!(stack.refund(program, refund).await.body["status"], "reversed");
        assert_eq!(rows::commission(stack, &text).await["refund_reason"], text);
    }
    scene.end().await;
}

#[tokio::test]
async fn the_longest_texts_are_recorded() {
    let scene = Scene::start().await;
    let route = scene.route("/api/v1/track/click");
    let odd = "\"'\\\u{1}\u{7f}\u{1f600}\u{202e}%s{}$1; DROP TABLE customers; --";
    for (field, rule) in route.texts {
        let text: String = odd.chars().cycle().take(rule.longest()).collect();
        scene
            .accepted(route, route.with(field, json!(text).to_string()), field)
            .await;
    }
    scene.stack.verify().await;
    let stored: Option<String> = scene
        .stack
        .value("SELECT max(page_url) FROM click_events WHERE page_url IS NOT NULL")
        .await;
    assert_eq!(stored, Some(odd.chars().cycle().take(8192).collect()));
    scene.end().await;
}

/// click_ids of no customer: out of range, of another time, or slightly malformed.
const NOBODYS: [&str; 20] = [
    "cust_0_1700000000000",
    "cust_-1_1700000000000",
    "cust_+1_1700000000000",
    "cust_01_1700000000000",
    "cust_9007199254740991_1700000000000",
    "cust_9007199254740992_1700000000000",
    "cust_9223372036854775807_1700000000000",
    "cust_9223372036854775808_1700000000000",
    "cust_18446744073709551615_1700000000000",
    "cust_1_0",
    "cust_1_-1700000000000",
    "cust_1_999999999999",
    "cust_1_1000000000000",
    "cust_1_99999999999999",
    "cust_1_100000000000000",
    "cust_1_9223372036854775808",
    "cust_1_1700000000000 ",
    "CUST_1_1700000000000",
    "cust_\u{0661}_1700000000000",
    "cust__",
];

#[tokio::test]
async fn click_ids_of_nobody_are_nobodys() {
    let mut scene = Scene::start().await;
    for click_id in NOBODYS {
        let body = json!({ "click_id": click_id });
        let lead = scene.route("/api/v1/track/lead");
        let message = "Customer not found. Provide a valid click_id or customer_key.";
        scene.refused(lead, body.to_string(), message, click_id).await;
        let old = scene.route("/api/tracking/lead");
        let body = json!({ "customer_code": click_id });
        scene.refused(old, body.to_string(), message, click_id).await;
        let sale = scene.route("/api/v1/track/sale");
        let body = json!({ "transaction_id": "t2", "amount_cents": 100, "click_id": click_id });
        let message = "Customer not found. Provide customer_key or click_id.";
        scene.refused(sale, body.to_string(), message, click_id).await;
    }
    scene.nothing_stored("click_ids of nobody").await;
    let click = scene.route("/api/v1/track/click");
    for click_id in NOBODYS {
        let answer = scene
            .accepted(
                click,
                click.with("existing_click_id", json!(click_id).to_string()),
                click_id,
            )
            .await;
        assert_ne!(answer.body["click_id"], click_id);
    }
    scene.end().await;
}
