//! Attacks that no other test tries. `docs/security.md` names the threat of each.

use messages::subject::Subject;
use reqwest::Method;
use runtime::clock::Clock;
use serde_json::{Value, json};
use test_harness::managed::PROGRAMS;
use test_harness::{
    Json, LoggedServices, PASSWORD, Program, Stack, Streams,
    hooks::{Hooks, connected, event, path},
    refund_of, sale_of,
};

const SCRIPT: &str = "<!doctype html><script>alert(1)</script>";

#[tokio::test]
async fn a_transaction_id_that_another_program_holds_is_told_to_the_operator() {
    let mut stack = Stack::without_services(Clock::system()).await;
    let services = LoggedServices::start(&mut stack).await;
    let (holder, other) = (stack.program().await, stack.program().await);
    stack.customer(&holder, &holder.ada.code, "user-1").await;
    stack.customer(&other, &other.ada.code, "user-2").await;
    stack.sold(&holder, sale_of("order-1001", "user-1")).await;
    // A program's repeat of its own sale is normal.
    let repeated = stack.sale(&holder, sale_of("order-1001", "user-1")).await.is(409);
    // Who holds it is not the caller's business.
    let refused = stack.sale(&other, sale_of("order-1001", "user-2")).await.is(409);
    assert_eq!(refused.body, repeated.body);
    // Callers are answered before the owner of the sale is known.
    let telling = "held by another program";
    stack
        .eventually("the operator is told", async || {
            services.logged().contains(telling)
        })
        .await;
    let logs = services.end();
    let told: Vec<&str> = logs.lines().filter(|line| line.contains(telling)).collect();
    let [line] = told[..] else { panic!("{told:#?}") };
    let plain = without_colours(line);
    assert!(plain.contains("WARN"), "{plain}");
    for fact in [
        format!("program_id={}", other.program_id),
        format!("held_by={}", holder.program_id),
        "claims=1".to_owned(),
    ] {
        let mut words = plain.split_whitespace();
        assert!(words.any(|word| word == fact), "{fact}: {plain}");
    }
    assert!(!plain.contains("order-1001"), "{plain}");
}

fn without_colours(line: &str) -> String {
    let mut parts = line.split('\u{1b}');
    let first = parts.next().unwrap_or_default().to_owned();
    parts
        .filter_map(|part| part.split_once('m'))
        .fold(first, |plain, (_, text)| plain + text)
}

#[tokio::test]
async fn signing_in_makes_a_new_session_whatever_the_browser_holds() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let planted = stack.workspace("mallory").await.owner;
    let body = json!({ "identifier": "owner@acme.example", "password": PASSWORD });
    let request = stack
        .request(Method::POST, "/api/auth/local")
        .header("cookie", format!("__Host-session={}", planted.token))
        .header("sec-fetch-site", "same-origin")
        .json(&body);
    let signed_in = stack.send(request).await.ok();
    let token = signed_in.body["jwt"].as_str().unwrap();
    assert!(![planted.token.as_str(), acme.owner.token.as_str()].contains(&token));
    assert!(signed_in.header("set-cookie").contains(token));
    // The existing session still belongs to its user, and to no one else.
    let whose = async |token: &str| stack.get("/api/users/me", token).await.body["email"].clone();
    assert_eq!(whose(&planted.token).await, "owner@mallory.example");
    assert_eq!(whose(token).await, "owner@acme.example");
}

#[tokio::test]
async fn every_answer_of_a_service_behind_https_keeps_browsers_there() {
    let plain = Stack::start().await;
    let answer = plain.visit("/api/users/me").await;
    assert_eq!(answer.header("strict-transport-security"), "");
    drop(plain);
    let stack = Stack::start_set(&[("PUBLIC_URL", "https://app.example")]).await;
    for path in ["/api/users/me", "/js/tracker.js", "/nowhere"] {
        let answer = stack.visit(path).await;
        let told = answer.header("strict-transport-security");
        assert_eq!(told, "max-age=31536000", "{path}");
    }
}

#[tokio::test]
async fn what_strangers_write_comes_back_as_json_that_no_browser_takes_for_a_page() {
    let (stack, program) = Stack::with_program().await;
    let owner = stack.owner_of(&program).await;
    let visit =
        json!({ "page_title": SCRIPT, "page_url": SCRIPT, "referrer_url": SCRIPT, "session_id": SCRIPT });
    let click = stack.click_with(&program.ada.code, visit).await;
    let click_id = click.body["click_id"].as_str().unwrap();
    let lead = stack.signed_up(&program, click_id, SCRIPT).await;
    let renamed = owner.put(&program.path(""), json!({ "name": SCRIPT })).await.ok();
    let events = format!("/api/tracking/events/{}", program.program_id);
    stack
        .eventually("the click is listed", async || {
            let listed = owner.get(&events).await.body["data"].clone();
            listed.as_array().map(Vec::len) == Some(2)
        })
        .await;
    let mut answers = vec![click, lead, renamed];
    for path in [&events, PROGRAMS, &program.path(""), "/api/users/me"] {
        answers.push(owner.get(path).await);
    }
    // Refusals repeat only necessary parts of the request, and are no HTML pages either.
    answers.push(stack.visit("/<script>alert(1)</script>").await);
    answers.push(stack.click_with(SCRIPT, json!({})).await);
    let held = answers
        .iter()
        .filter(|answer| answer.body.to_string().contains("<script>"));
    assert!(held.count() >= 4);
    for answer in &answers {
        assert!(answer.body.is_object(), "{answer:?}");
        assert_eq!(answer.header("content-type"), "application/json", "{answer:?}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{answer:?}");
    }
}

/// The texts of a customer's rows, and the texts that identify no person: each with what it is.
const TOLD: [(&str, &str); 12] = [
    ("a key", "key-of-jane-4711"),
    ("an address", "jane.doe@customer.example"),
    ("a page", "https://shop.example/account/jane-4711"),
    ("a page's title", "Welcome back, Jane Doe 4711"),
    ("a referrer", "https://mail.example/inbox/jane-4711"),
    ("a session", "session-of-jane-4711"),
    ("a browser", "Mozilla/5.0 (Jane 4711)"),
    ("what was bought", "engraved for Jane 4711"),
    ("a reason", "Jane 4711 was not happy"),
    ("a name", "Jane Q. Doe"),
    ("a street", "Kade 4711"),
    ("an address of the net", "203.0.113.77"),
];

/// The search text is in the address of the request: one search succeeds, one is refused.
async fn search_for(stack: &Stack, program: &Program, texts: [&str; 2]) {
    let owner = stack.owner_of(program).await;
    for text in texts {
        for (path, status) in [
            ("events?search=", 200),
            ("events?limit=0&search=", 400),
            ("events/export?search=", 200),
            ("partners?search=", 200),
        ] {
            owner
                .get(&program.path(&format!("{path}{text}")))
                .await
                .is(status);
        }
    }
}

#[tokio::test]
async fn what_customers_tell_stands_in_no_log() {
    let mut stack = Stack::without_services(Clock::system()).await;
    let services = LoggedServices::start(&mut stack).await;
    let program = connected(&stack).await;
    let [
        key,
        email,
        page,
        title,
        referrer,
        session,
        browser,
        bought,
        reason,
        name,
        street,
        address,
    ] = TOLD.map(|(_, text)| text);
    let mut visit = json!({
        "affiliate_url": format!("https://shop.example/?aff={}&who={key}", program.ada.code),
        "page_url": page, "page_title": title, "referrer_url": referrer, "session_id": session, "user_agent": browser,
    });
    let from = |noun: &str, body: &Value| {
        stack
            .tracking(noun)
            .header("x-forwarded-for", address)
            .header("user-agent", browser)
            .bearer_auth(&program.token)
            .body(body.to_string())
    };
    let click = stack.send(from("click", &visit)).await;
    let click_id = click.body["click_id"].as_str().unwrap();
    let lead = json!({ "click_id": click_id, "customer_key": key, "email": email });
    let sale = sale_of("t1", key).with(json!({ "line_items": [{ "note": bought }] }));
    let refund = refund_of("t1", 100).with(json!({ "refund_reason": reason }));
    let unreadable = json!({ "customer_key": [key], "email": email, "transaction_id": key });
    for (noun, body) in [("lead", &lead), ("sale", &sale), ("refund", &refund)] {
        stack.send(from(noun, body)).await.ok();
        // Sent twice: refused, and repeated.
        stack.send(from(noun, body)).await;
        stack.send(from(noun, &unreadable)).await;
        let broken = format!("{{{body}");
        stack.post_raw(noun, Some(&program.token), broken).await;
    }
    visit["existing_click_id"] = key.into();
    stack.send(from("click", &visit)).await;
    search_for(&stack, &program, [key, email]).await;
    // A record that no worker can read, and an event of a payment processor.
    let streams = Streams::of(&stack).await;
    let unreadable = format!("{{\"customer_key\": \"{key}\", \"email\": \"{email}\"");
    for subject in Subject::ALL {
        streams.publish(subject, unreadable.clone()).await;
    }
    let hooks = Hooks::at(services.webhooks);
    let mut paid = event(&stack, "checkout.session.completed.basil", &program, key);
    let details = &mut paid["data"]["object"]["customer_details"];
    details["email"] = email.into();
    details["name"] = name.into();
    details["address"]["line1"] = street.into();
    hooks.deliver(&stack, &program, &paid).await.ok();
    let forged = ["t=1,v1=00"];
    hooks.send(&path(&program), &forged, paid.to_string()).await;
    stack
        .eventually("all of it is processed", async || {
            stack.count("dead_letters").await == 8
                && stack.count("sale_events").await == 2
                && stack.count("processor_events WHERE state = 'done'").await == 1
        })
        .await;
    let logs = services.end();
    assert!(logs.contains("TRACE") && logs.contains("dead"), "{logs}");
    for (what, text) in TOLD {
        let lines: Vec<_> = logs.lines().filter(|line| line.contains(text)).collect();
        assert!(lines.is_empty(), "{what}: {:#?}", &lines[..lines.len().min(5)]);
    }
}
