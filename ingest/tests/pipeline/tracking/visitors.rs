//! The visitor data of a click event, and a program's settings for bots.

use serde_json::{Value, json};
use test_harness::{BOT, Json, Program, Stack, rows, sale_of};
use testing::{Folder, Network, geoip_database};

const IPHONE: &str = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) \
                      Version/17.5 Mobile/15E148 Safari/604.1";
const EDGE: &str = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/125.0.0.0 \
                    Safari/537.36 Edg/125.0.0.0";
const SLACK: &str = "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)";

/// Sends a click with these headers and fields; returns its click_id, which is empty in test mode.
async fn click_from(stack: &Stack, program: &Program, headers: &[(&str, &str)], more: Value) -> String {
    let url = format!("https://shop.example/?aff={}", program.ada.code);
    let body = json!({ "affiliate_url": url }).with(more);
    let mut request = stack.tracking("click").json(&body);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let answer = stack.send(request).await.ok();
    answer.body["click_id"].as_str().unwrap_or_default().to_owned()
}

async fn click_by(stack: &Stack, program: &Program, user_agent: &str) -> String {
    click_from(stack, program, &[("user-agent", user_agent)], json!({})).await
}

/// Columns of the only event of a click_id; empty if unknown.
async fn event(stack: &Stack, click_id: &str) -> Vec<String> {
    let query = format!(
        "SELECT ARRAY[coalesce(geo_country, ''), coalesce(geo_region, ''), coalesce(geo_city, ''),
                      coalesce(device_type, ''), coalesce(device_os, ''), coalesce(browser_name, '')]
         FROM click_events WHERE click_id = '{click_id}'"
    );
    stack.value(&query).await
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
    let garbage = "Mozilla/5.0 (".repeat(8192 / 13);
    let clicks = [
        (
            click_by(&stack, &program, IPHONE).await,
            ["mobile", "iOS", "Mobile Safari"],
        ),
        (click_from(&stack, &program, &[], json!({})).await, [""; 3]),
        (
            click_from(&stack, &program, &[], json!({ "user_agent": EDGE })).await,
            ["desktop", "Windows", "Edge"],
        ),
    ];
    click_from(&stack, &program, &[], json!({ "user_agent": garbage })).await;
    stack.reaches("click_events", 4).await;
    for (click_id, device) in clicks {
        assert_eq!(event(&stack, &click_id).await, [&[""; 3][..], &device].concat());
    }
    stack.verify().await;
}

#[tokio::test]
async fn every_recorded_click_counts_unless_the_program_excludes_bots() {
    let (stack, program) = Stack::with_program().await;
    click_by(&stack, &program, IPHONE).await;
    click_by(&stack, &program, BOT).await;
    stack.reaches("click_events", 2).await;
    stack.verify().await;
    assert_eq!(counts(&stack, &program).await, (2, 2, 1, 0));
    rows::set(&stack, &program, "exclude_bots = true").await;
    let preview = click_by(&stack, &program, SLACK).await;
    click_by(&stack, &program, EDGE).await;
    stack.reaches("click_events", 4).await;
    stack.verify().await;
    assert_eq!(counts(&stack, &program).await, (3, 3, 2, 1));
    assert_eq!(event(&stack, &preview).await[3], "bot");
    stack.signed_up(&program, &preview, "user-1").await;
    stack.verify().await;
}

#[tokio::test]
async fn an_excluded_bot_moves_no_attribution() {
    let (stack, program) = Stack::with_program().await;
    rows::set(&stack, &program, "exclude_bots = true").await;
    let click_id = stack.customer(&program, &program.ada.code, "user-1").await;
    for (number, user_agent, owed) in [(1, SLACK, [200, 0]), (2, EDGE, [200, 200])] {
        let visit = json!({ "existing_click_id": click_id, "user_agent": user_agent });
        let again = stack.click_with(&program.bruno.code, visit).await;
        assert_eq!(again.body["click_id"], click_id);
        stack.reaches("click_events", number + 1).await;
        let sale = sale_of(&format!("t{number}"), "user-1").with(json!({ "amount_cents": 1000 }));
        stack.sold(&program, sale).await;
        assert_eq!(stack.balances(&program).await, owed, "{user_agent}");
    }
    stack.verify().await;
}

/// A stack that looks up places in a database file, which exists while the first value is held.
async fn knowing_places() -> (Folder, Stack) {
    let network = |address: &str, prefix, country, region, city| Network {
        address: address.parse().unwrap(),
        prefix,
        country: Some(country),
        region,
        city: Some(city),
    };
    let places = geoip_database(&[
        network("203.0.113.0", 24, "DE", Some("Bavaria"), "Munich"),
        network("2001:db8::", 32, "JP", None, "Kyoto"),
    ]);
    let folder = Folder::create();
    std::fs::write(folder.join("places.mmdb"), places).unwrap();
    let stack = Stack::start_set(&[
        ("GEOIP_DB_PATH", &folder.file("places.mmdb")),
        ("SEND_CLIENT_IP", "true"),
        ("COUNTRY_HEADER", "CF-IPCountry"),
    ])
    .await;
    (folder, stack)
}

#[tokio::test]
async fn the_place_comes_from_the_address_else_from_the_proxy() {
    let (_folder, stack) = knowing_places().await;
    let program = stack.program().await;
    let mut seen = Vec::new();
    for (address, country, place) in [
        ("203.0.113.9", "NL", ["DE", "Bavaria", "Munich"]),
        ("198.51.100.1", "NL", ["NL", "", ""]),
        ("198.51.100.1", "XX", [""; 3]),
        ("2001:db8::1", "XX", ["JP", "", "Kyoto"]),
    ] {
        let headers = [("x-forwarded-for", address), ("cf-ipcountry", country)];
        seen.push((click_from(&stack, &program, &headers, json!({})).await, place));
    }
    stack.reaches("click_events", 4).await;
    for (click_id, place) in seen {
        assert_eq!(event(&stack, &click_id).await[..3], place);
    }
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
    let (_folder, stack) = knowing_places().await;
    let program = stack.program().await;
    for mode in [false, true] {
        for (user_agent, address) in [(IPHONE, "203.0.113.9"), (SLACK, "198.51.100.1")] {
            let from = [
                ("user-agent", user_agent),
                ("x-forwarded-for", address),
                ("cf-ipcountry", "NL"),
            ];
            let mode = json!({ "additional_data": { "test_mode": mode } });
            click_from(&stack, &program, &from, mode).await;
        }
    }
    stack.reaches("click_events", 4).await;
    stack.verify().await;
    let shown = async |is_test: bool| -> Value {
        let query = format!(
            "SELECT jsonb_agg(jsonb_build_array(referral_link_id, geo_country, geo_region, geo_city, device_type,
                                                device_os, browser_name, user_agent, is_bot) ORDER BY id)
             FROM click_events WHERE is_test = {is_test}"
        );
        stack.value(&query).await
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
    let click_id = click_from(&stack, &program, &[("cf-ipcountry", "NL")], json!({})).await;
    stack.reaches("click_events", 1).await;
    assert_eq!(event(&stack, &click_id).await[0], "");
}
