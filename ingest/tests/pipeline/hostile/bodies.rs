//! Bodies that are not JSON objects, bodies that are too large, and odd bodies that are valid.

use serde_json::json;

use super::route::{NOT_JSON, Route, Scene, refused};
use super::wire::Wire;
use test_harness::{Json, rows};

const KIB_64: usize = 64 * 1024;

pub fn nested(depth: usize) -> String {
    format!("{}1{}", "[".repeat(depth), "]".repeat(depth))
}

fn utf_16(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    std::iter::once(0xfeff)
        .chain(text.encode_utf16())
        .flat_map(bytes)
        .collect()
}

/// Bodies that are not JSON objects, for any route.
fn no_objects(route: &Route) -> Vec<(&'static str, Vec<u8>)> {
    let valid = route.body.to_string();
    let cut = valid.strip_suffix('}').unwrap();
    let texts = [
        ("nothing", String::new()),
        ("blanks", " \t\r\n".to_owned()),
        ("null", "null".to_owned()),
        ("true", "true".to_owned()),
        ("a number", "5".to_owned()),
        ("a string", "\"text\"".to_owned()),
        ("the object in a string", json!(valid).to_string()),
        ("an array", "[]".to_owned()),
        ("the object in an array", format!("[{valid}]")),
        ("arrays 200 deep", nested(200)),
        ("arrays without end", "[".repeat(60_000)),
        ("objects without end", "{\"a\":".repeat(10_000)),
        ("the object cut off", cut.to_owned()),
        ("the object twice", format!("{valid}{valid}")),
        ("a closing brace too many", format!("{valid}}}")),
        ("a word behind it", format!("{valid} x")),
        ("a NUL behind it", format!("{valid}\0")),
        ("a comma behind it", format!("{valid},")),
        ("a comma before the end", format!("{cut},}}")),
        ("a comment", format!("/**/{valid}")),
        ("single quotes", "{'a': 1}".to_owned()),
        ("no quotes", "{a: 1}".to_owned()),
        ("no value", "{\"a\":}".to_owned()),
        ("a line break in a string", "{\"a\": \"\n\"}".to_owned()),
        ("NaN", "{\"a\": NaN}".to_owned()),
        ("leading zeros", "{\"a\": 007}".to_owned()),
        ("a sign", "{\"a\": +1}".to_owned()),
        ("a byte order mark", format!("\u{feff}{valid}")),
        (
            "a form",
            "affiliate_url=https%3A%2F%2Fshop.example%2F%3Faff%3Da&amount_cents=1".to_owned(),
        ),
        (
            "XML",
            "<!DOCTYPE a [<!ENTITY b SYSTEM \"file:///etc/passwd\">]><a>&b;</a>".to_owned(),
        ),
    ];
    let mut bodies: Vec<(&str, Vec<u8>)> = texts
        .into_iter()
        .map(|(what, text)| (what, text.into_bytes()))
        .collect();
    bodies.push(("UTF-16, little end first", utf_16(&valid, u16::to_le_bytes)));
    bodies.push(("UTF-16, big end first", utf_16(&valid, u16::to_be_bytes)));
    bodies.push((
        "gzip",
        b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xab\xae\x05\x00".to_vec(),
    ));
    // In an unknown field, which still belongs to the body.
    bodies.push(("a value that is not UTF-8", route.with("x", b"\"\xff\xfe\"")));
    bodies.push(("an overlong NUL", route.with("x", b"\"\xc0\x80\"")));
    bodies.push(("a surrogate in UTF-8", route.with("x", b"\"\xed\xa0\x80\"")));
    let mut name = route.with("x", "1");
    let at = name.iter().rposition(|byte| *byte == b'x').unwrap();
    name[at] = 0xff;
    bodies.push(("a name that is not UTF-8", name));
    for (field, _) in route.texts {
        bodies.push(("a field that is not UTF-8", route.with(field, b"\"\xff\xfe\"")));
        for (what, json) in [
            ("half a surrogate pair", r#""\ud800""#.to_owned()),
            ("surrogates the wrong way round", r#""\udc00\ud800""#.to_owned()),
            ("an unknown escape", r#""\x41""#.to_owned()),
            ("a field twice", format!(r#""a","{field}":"b""#)),
            ("a field twice, once null", format!(r#"null,"{field}":"b""#)),
        ] {
            bodies.push((what, route.with(field, json)));
        }
    }
    bodies
}

#[tokio::test]
async fn what_is_no_json_object_is_refused_by_every_route() {
    let mut scene = Scene::start().await;
    for route in &scene.routes {
        for (what, body) in no_objects(route) {
            scene.refused(route, body, NOT_JSON, what).await;
        }
    }
    scene.nothing_stored("no JSON objects").await;
    scene.end().await;
}

#[tokio::test]
async fn a_body_beyond_64_kib_is_refused_and_one_of_64_kib_is_read() {
    let mut scene = Scene::start().await;
    for route in &scene.routes {
        let answer = scene.post(route, route.padded(KIB_64 + 1)).await;
        refused(&answer, 413, "Request body is too large", route.path);
        // Ten megabytes without an announced size.
        let mut chunked = format!(
            "POST {} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {}\r\nTransfer-Encoding: chunked\r\n\r\n",
            route.path, scene.program.token
        )
        .into_bytes();
        for _ in 0..160 {
            chunked.extend(format!("{KIB_64:x}\r\n{}\r\n", "x".repeat(KIB_64)).as_bytes());
        }
        chunked.extend(b"0\r\n\r\n");
        let answer = scene.exchange(&chunked).await.unwrap();
        refused(&answer, 413, "Request body is too large", route.path);
    }
    scene.nothing_stored("large bodies").await;
    for route in &scene.routes {
        scene
            .accepted(route, route.padded(KIB_64), "of the largest size")
            .await;
    }
    scene.end().await;
}

/// A client that writes its whole request before it reads gets the answer, and may reuse the connection.
#[tokio::test]
async fn a_body_a_little_too_large_is_read_before_it_is_refused() {
    let scene = Scene::start().await;
    for route in &scene.routes {
        let mut wire = Wire::open(scene.address).await;
        let body = route.padded(3 * KIB_64);
        let head = format!(
            "POST {} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {}\r\nContent-Length: {}\r\n\r\n",
            route.path,
            scene.program.token,
            body.len()
        );
        for what in ["the first", "the next"] {
            wire.send(head.as_bytes()).await;
            wire.send(&body).await;
            let answer = wire.answer().await;
            refused(&answer.expect(what), 413, "Request body is too large", route.path);
        }
    }
}

/// Values of an unknown field, none of which has any effect.
fn odd_values() -> [(&'static str, String); 12] {
    [
        ("arrays 200 deep", nested(200)),
        ("arrays 30,000 deep", nested(30_000)),
        ("objects 200 deep", format!("{}1{}", "{\"a\":".repeat(200), "}".repeat(200))),
        ("itself twice", "1, \"x\": 2".to_owned()),
        ("a number beyond any", "1E400".to_owned()),
        ("a number of 10,000 digits", "9".repeat(10_000)),
        ("minus zero", "-0".to_owned()),
        ("half a surrogate pair", r#""\ud800""#.to_owned()),
        ("NUL", r#""\u0000""#.to_owned()),
        ("a prototype", r#"1, "__proto__": {"amount_cents": 1}, "constructor": {"prototype": {}}"#.to_owned()),
        ("what only we may say", r#"1, "is_test": true, "status": "paid", "commission_amount": 999999999, "partner_code": "x",
            "sale_id": 1, "customer_id": 1, "event_id": "00000000-0000-0000-0000-000000000000", "reply_to": "x""#.to_owned()),
        ("names in other cases", r#"1, "Amount_Cents": -1, "AFFILIATE_URL": 7, " transaction_id": 7, "amount_cents ": 7"#.to_owned()),
    ]
}

#[tokio::test]
async fn what_nobody_knows_has_no_effect() {
    let scene = Scene::start().await;
    // One route that takes the same body repeatedly, and one that only reads.
    for (what, value) in odd_values() {
        for path in [
            "/api/v1/track/refund",
            "/api/tracking/refund",
            "/api/tracking/check-test-events",
        ] {
            let route = scene.route(path);
            scene.accepted(route, route.with("x", &value), what).await;
        }
    }
    let sale = scene.route("/api/v1/track/sale");
    for (number, (what, value)) in odd_values().into_iter().enumerate() {
        let transaction_id = format!("odd-{number}");
        let body = String::from_utf8(sale.with("x", &value)).unwrap();
        let body = body.replace("\"t2\"", &json!(transaction_id).to_string());
        scene.accepted(sale, body, what).await;
        let stored = rows::sale(&scene.stack, &transaction_id).await;
        stored.has(json!({ "amount_cents": 5000, "is_test": false }));
        let commission = rows::commission(&scene.stack, &transaction_id).await;
        assert_eq!(commission["amount_cents"], 1000, "{what}");
    }
    scene.stack.verify().await;
    scene.end().await;
}
