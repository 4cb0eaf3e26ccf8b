//! The visitor data of a click event, and a program's settings for bots.

use std::path::PathBuf;

use reqwest::StatusCode;
use serde_json::json;
use test_harness::{Program, Stack};
use testing::{Network, geoip_database, unique_name};

const IPHONE: &str = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) \
                      Version/17.5 Mobile/15E148 Safari/604.1";
const EDGE: &str = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/125.0.0.0 \
                    Safari/537.36 Edg/125.0.0.0";
const GOOGLEBOT: &str = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)";
const SLACK: &str = "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)";

/// Sends a click with these headers; returns its click_id.
async fn click_from(stack: &Stack, program: &Program, headers: &[(&str, &str)]) -> String {
    let body = json!({ "affiliate_url": format!("https://shop.example/?aff={}", program.ada.code) });
    let mut request = stack.tracking("click").body(body.to_string());
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let answer = stack.send(request).await;
    assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
    answer.body["click_id"].as_str().unwrap().to_owned()
}

async fn events(stack: &Stack, expected: i64) {
    stack.reaches("click_events", expected).await;
}

/// Columns of the only event of a click_id; empty if unknown.
async fn event(stack: &Stack, click_id: &str) -> Vec<String> {
    let query = "SELECT ARRAY[coalesce(geo_country, ''), coalesce(geo_region, ''), coalesce(geo_city, ''),
                              coalesce(device_type, ''), coalesce(device_os, ''), coalesce(browser_name, '')]
                 FROM click_events WHERE click_id = $1";
    sqlx::query_scalar(query)
        .bind(click_id)
        .fetch_one(stack.pool())
        .await
        .unwrap()
}

async fn exclude_bots(stack: &Stack, program: &Program) {
    sqlx::query("UPDATE programs SET exclude_bots = true WHERE id = $1")
        .bind(program.program_id.get())
        .execute(stack.pool())
        .await
        .unwrap();
}

/// Clicks of the link, of its membership, and events marked as bots and as not counted.
async fn counts(stack: &Stack, program: &Program) -> (i64, i64, i64, i64) {
    sqlx::query_as(
        "SELECT l.clicks, p.clicks, (SELECT count(*) FROM click_events WHERE is_bot),
                (SELECT count(*) FROM click_events WHERE NOT counted)
         FROM referral_links l JOIN partner_programs p ON p.id = l.partner_program_id WHERE l.id = $1",
    )
    .bind(program.ada.link.get())
    .fetch_one(stack.pool())
    .await
    .unwrap()
}

#[tokio::test]
async fn device_system_and_browser_come_from_the_user_agent() {
    let (stack, program) = Stack::with_program().await;
    let phone = click_from(&stack, &program, &[("user-agent", IPHONE)]).await;
    let silent = click_from(&stack, &program, &[]).await;
    let in_body = stack
        .click_with(&program.ada.code, json!({ "user_agent": EDGE }))
        .await;
    let garbage = "Mozilla/5.0 (".repeat(8192 / 13);
    let garbage = stack
        .click_with(&program.ada.code, json!({ "user_agent": garbage }))
        .await;
    assert_eq!(garbage.status, StatusCode::OK);
    events(&stack, 4).await;
    assert_eq!(
        event(&stack, &phone).await,
        ["", "", "", "mobile", "iOS", "Mobile Safari"]
    );
    assert_eq!(event(&stack, &silent).await, [""; 6]);
    let in_body = in_body.body["click_id"].as_str().unwrap();
    assert_eq!(
        event(&stack, in_body).await,
        ["", "", "", "desktop", "Windows", "Edge"]
    );
    stack.verify().await;
}

#[tokio::test]
async fn every_recorded_click_counts_unless_the_program_excludes_bots() {
    let (stack, program) = Stack::with_program().await;
    click_from(&stack, &program, &[("user-agent", IPHONE)]).await;
    click_from(&stack, &program, &[("user-agent", GOOGLEBOT)]).await;
    events(&stack, 2).await;
    stack.verify().await;
    assert_eq!(counts(&stack, &program).await, (2, 2, 1, 0));
    exclude_bots(&stack, &program).await;
    let preview = click_from(&stack, &program, &[("user-agent", SLACK)]).await;
    click_from(&stack, &program, &[("user-agent", EDGE)]).await;
    events(&stack, 4).await;
    stack.verify().await;
    assert_eq!(counts(&stack, &program).await, (3, 3, 2, 1));
    assert_eq!(event(&stack, &preview).await[3], "bot");
    stack.signed_up(&program, &preview, "user-1").await;
    stack.verify().await;
}

#[tokio::test]
async fn an_excluded_bot_moves_no_attribution() {
    let (stack, program) = Stack::with_program().await;
    exclude_bots(&stack, &program).await;
    let click_id = stack.customer(&program, &program.ada.code, "user-1").await;
    let again = async |user_agent: &str| {
        let visit = json!({ "existing_click_id": click_id, "user_agent": user_agent });
        let answer = stack.click_with(&program.bruno.code, visit).await;
        assert_eq!(answer.body["click_id"], click_id);
    };
    let sale = async |transaction_id: &str| {
        let sale =
            json!({ "transaction_id": transaction_id, "amount_cents": 1000, "customer_key": "user-1" });
        assert_eq!(stack.sale(&program, sale).await.status, StatusCode::OK);
    };
    again(SLACK).await;
    events(&stack, 2).await;
    sale("t1").await;
    assert_eq!(stack.balance(program.ada.membership).await, 200);
    assert_eq!(stack.balance(program.bruno.membership).await, 0);
    again(EDGE).await;
    events(&stack, 3).await;
    sale("t2").await;
    assert_eq!(stack.balance(program.ada.membership).await, 200);
    assert_eq!(stack.balance(program.bruno.membership).await, 200);
    stack.verify().await;
}

/// A stack that looks up places in a database file, which exists while the first value is held.
async fn knowing_places() -> (Places, Stack) {
    let file = Places::write();
    let stack = Stack::start_set(&[
        ("GEOIP_DB_PATH", file.0.to_str().unwrap()),
        ("SEND_CLIENT_IP", "true"),
        ("COUNTRY_HEADER", "CF-IPCountry"),
    ])
    .await;
    (file, stack)
}

#[tokio::test]
async fn the_place_comes_from_the_address_else_from_the_proxy() {
    let (_file, stack) = knowing_places().await;
    let program = stack.program().await;
    let from = async |address: &str, country: &str| {
        let headers = [("x-forwarded-for", address), ("cf-ipcountry", country)];
        click_from(&stack, &program, &headers).await
    };
    let in_munich = from("203.0.113.9", "NL").await;
    let by_proxy = from("198.51.100.1", "NL").await;
    let nowhere = from("198.51.100.1", "XX").await;
    let over_ipv6 = from("2001:db8::1", "XX").await;
    events(&stack, 4).await;
    assert_eq!(event(&stack, &in_munich).await[..3], ["DE", "Bavaria", "Munich"]);
    assert_eq!(event(&stack, &by_proxy).await[..3], ["NL", "", ""]);
    assert_eq!(event(&stack, &nowhere).await[..3], [""; 3]);
    assert_eq!(event(&stack, &over_ipv6).await[..3], ["JP", "", "Kyoto"]);
    let counted: Vec<(String, i64)> = sqlx::query_as(
        "SELECT value, sum(clicks)::bigint
         FROM (SELECT origin, value, clicks FROM click_origin_days UNION ALL SELECT origin, value, clicks FROM click_origin_deltas) o
         WHERE origin = 'country' GROUP BY 1 ORDER BY 1",
    )
    .fetch_all(stack.pool())
    .await
    .unwrap();
    let one = |country: &str| (country.to_owned(), 1);
    assert_eq!(counted, ["", "DE", "JP", "NL"].map(one), "and is counted");
    stack.verify().await;
}

#[tokio::test]
async fn a_test_click_shows_what_a_real_one_does_and_moves_no_counter() {
    let (_file, stack) = knowing_places().await;
    let program = stack.program().await;
    let click = async |user_agent: &str, address: &str, test_mode: bool| {
        let body = json!({
            "affiliate_url": format!("https://shop.example/?aff={}", program.ada.code),
            "additional_data": { "test_mode": test_mode },
        });
        let request = stack
            .tracking("click")
            .header("user-agent", user_agent)
            .header("x-forwarded-for", address)
            .header("cf-ipcountry", "NL");
        let answer = stack.send(request.body(body.to_string())).await;
        assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
    };
    for test_mode in [false, true] {
        click(IPHONE, "203.0.113.9", test_mode).await;
        click(SLACK, "198.51.100.1", test_mode).await;
    }
    events(&stack, 4).await;
    stack.verify().await;
    let shown = async |is_test: bool| -> serde_json::Value {
        sqlx::query_scalar(
            "SELECT jsonb_agg(jsonb_build_array(referral_link_id, geo_country, geo_region, geo_city, device_type,
                                                device_os, browser_name, user_agent, is_bot) ORDER BY id)
             FROM click_events WHERE is_test = $1",
        )
        .bind(is_test)
        .fetch_one(stack.pool())
        .await
        .unwrap()
    };
    let real = shown(false).await;
    assert_eq!((&real[0][1], &real[0][4]), (&json!("DE"), &json!("mobile")));
    assert_eq!((&real[1][1], &real[1][4]), (&json!("NL"), &json!("bot")));
    assert_eq!(shown(true).await, real);
    assert_eq!(counts(&stack, &program).await, (2, 2, 2, 0));
    stack.verify().await;
}

#[tokio::test]
async fn a_stranger_cannot_name_its_country() {
    let settings = [
        ("TRUSTED_PROXIES", "192.0.2.0/24"),
        ("COUNTRY_HEADER", "CF-IPCountry"),
    ];
    let stack = Stack::start_set(&settings).await;
    let program = stack.program().await;
    let click_id = click_from(&stack, &program, &[("cf-ipcountry", "NL")]).await;
    events(&stack, 1).await;
    assert_eq!(event(&stack, &click_id).await[0], "");
}

/// A test's database file, deleted when dropped.
struct Places(PathBuf);

impl Places {
    fn write() -> Self {
        let network = |address: &str, prefix, country, region, city| Network {
            address: address.parse().unwrap(),
            prefix,
            country: Some(country),
            region,
            city: Some(city),
        };
        let file = geoip_database(&[
            network("203.0.113.0", 24, "DE", Some("Bavaria"), "Munich"),
            network("2001:db8::", 32, "JP", None, "Kyoto"),
        ]);
        let path = std::env::temp_dir().join(format!("{}.mmdb", unique_name()));
        std::fs::write(&path, file).unwrap();
        Self(path)
    }
}

impl Drop for Places {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
