//! Attacks that no other test tries. `docs/security.md` names the threat of each.

use messages::subject::Subject;
use reqwest::{Method, StatusCode};
use runtime::clock::Clock;
use serde_json::{Value, json};
use test_harness::{
    LoggedServices, PASSWORD, Program, Stack, Streams,
    hooks::{Hooks, connected, event, path},
    sale_of,
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
    let repeated = stack.sale(&holder, sale_of("order-1001", "user-1")).await;
    assert_eq!(repeated.status, StatusCode::CONFLICT);
    let refused = stack.sale(&other, sale_of("order-1001", "user-2")).await;
    assert_eq!(refused.status, StatusCode::CONFLICT);
    assert_eq!(
        refused.body, repeated.body,
        "who holds it is not the caller's business"
    );
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
        assert!(
            plain.split_whitespace().any(|word| word == fact),
            "{fact}: {plain}"
        );
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
    let signed_in = stack.send(request).await;
    assert_eq!(signed_in.status, StatusCode::OK, "{signed_in:?}");
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
    let answer = plain.send(plain.request(Method::GET, "/api/users/me")).await;
    assert_eq!(answer.header("strict-transport-security"), "");
    drop(plain);
    let stack = Stack::start_set(&[("PUBLIC_URL", "https://app.example")]).await;
    for path in ["/api/users/me", "/js/tracker.js", "/nowhere"] {
        let answer = stack.send(stack.request(Method::GET, path)).await;
        assert_eq!(
            answer.header("strict-transport-security"),
            "max-age=31536000",
            "{path}"
        );
    }
}

#[tokio::test]
async fn what_strangers_write_comes_back_as_json_that_no_browser_takes_for_a_page() {
    let (stack, program) = Stack::with_program().await;
    let owner = stack.owner_of(&program).await;
    let id = program.program_id;
    let visit =
        json!({ "page_title": SCRIPT, "page_url": SCRIPT, "referrer_url": SCRIPT, "session_id": SCRIPT });
    let click = stack.click_with(&program.ada.code, visit).await;
    let click_id = click.body["click_id"].as_str().unwrap();
    let lead = stack.signed_up(&program, click_id, SCRIPT).await;
    let programs = "/api/advertiser/affiliate-programs";
    let renamed = stack
        .put(
            &format!("{programs}/{id}"),
            &owner.token,
            json!({ "name": SCRIPT }),
        )
        .await;
    assert_eq!(renamed.status, StatusCode::OK, "{renamed:?}");
    let events = format!("/api/tracking/events/{id}");
    stack
        .eventually("the click is listed", async || {
            stack.get(&events, &owner.token).await.body["data"]
                .as_array()
                .map(Vec::len)
                == Some(2)
        })
        .await;
    let mut answers = vec![click, lead, renamed];
    for path in [&events, programs, &format!("{programs}/{id}"), "/api/users/me"] {
        answers.push(stack.get(path, &owner.token).await);
    }
    // Refusals repeat only necessary parts of the request, and are no HTML pages either.
    answers.push(
        stack
            .send(stack.request(Method::GET, "/<script>alert(1)</script>"))
            .await,
    );
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

/// The texts of a customer's rows, and the texts that identify no person.
struct Told {
    what: &'static str,
    text: &'static str,
}

const TOLD: &[Told] = &[
    Told {
        what: "a key",
        text: "key-of-jane-4711",
    },
    Told {
        what: "an address",
        text: "jane.doe@customer.example",
    },
    Told {
        what: "a page",
        text: "https://shop.example/account/jane-4711",
    },
    Told {
        what: "a page's title",
        text: "Welcome back, Jane Doe 4711",
    },
    Told {
        what: "a referrer",
        text: "https://mail.example/inbox/jane-4711",
    },
    Told {
        what: "a session",
        text: "session-of-jane-4711",
    },
    Told {
        what: "a browser",
        text: "Mozilla/5.0 (Jane 4711)",
    },
    Told {
        what: "what was bought",
        text: "engraved for Jane 4711",
    },
    Told {
        what: "a reason",
        text: "Jane 4711 was not happy",
    },
    Told {
        what: "a name",
        text: "Jane Q. Doe",
    },
    Told {
        what: "a street",
        text: "Kade 4711",
    },
    Told {
        what: "an address of the net",
        text: "203.0.113.77",
    },
];

/// The search text is in the address of the request: one search succeeds, one is refused.
async fn search_for(stack: &Stack, program: &Program, texts: [&str; 2]) {
    let owner = stack.owner_of(program).await;
    let program = format!("/api/advertiser/affiliate-programs/{}", program.program_id);
    for text in texts {
        for (path, status) in [
            ("events?search=", StatusCode::OK),
            ("events?limit=0&search=", StatusCode::BAD_REQUEST),
            ("events/export?search=", StatusCode::OK),
            ("partners?search=", StatusCode::OK),
        ] {
            let answer = stack.get(&format!("{program}/{path}{text}"), &owner.token).await;
            assert_eq!(answer.status, status, "{path}: {answer:?}");
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
    ] = TOLD.iter().map(|told| told.text).collect::<Vec<_>>()[..]
    else {
        panic!("one of each")
    };
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
    let sale = json!({
        "transaction_id": "t1", "amount_cents": 5_000, "customer_key": key, "line_items": [{ "note": bought }],
    });
    let refund = json!({ "transaction_id": "t1", "refund_amount_cents": 100, "refund_reason": reason });
    for (noun, body) in [("lead", &lead), ("sale", &sale), ("refund", &refund)] {
        let answer = stack.send(from(noun, body)).await;
        assert_eq!(answer.status, StatusCode::OK, "{noun}: {answer:?}");
        // Sent twice: refused, and repeated.
        stack.send(from(noun, body)).await;
        stack
            .send(from(
                noun,
                &json!({ "customer_key": [key], "email": email, "transaction_id": key }),
            ))
            .await;
        stack
            .post_raw(noun, Some(&program.token), format!("{{{body}"))
            .await;
    }
    visit["existing_click_id"] = key.into();
    stack.send(from("click", &visit)).await;
    search_for(&stack, &program, [key, email]).await;
    // A record that no worker can read, and an event of a payment processor.
    let streams = Streams::of(&stack).await;
    for subject in Subject::ALL {
        streams
            .publish(
                subject,
                format!("{{\"customer_key\": \"{key}\", \"email\": \"{email}\""),
            )
            .await;
    }
    let hooks = Hooks::at(services.webhooks);
    let mut paid = event(&stack, "checkout.session.completed.basil", &program, key);
    paid["data"]["object"]["customer_details"]["email"] = email.into();
    paid["data"]["object"]["customer_details"]["name"] = name.into();
    paid["data"]["object"]["customer_details"]["address"]["line1"] = street.into();
    let taken = hooks.deliver(&stack, &program, &paid).await;
    assert_eq!(taken.status, StatusCode::OK, "{taken:?}");
    hooks
        .send(&path(&program), &["t=1,v1=00"], paid.to_string())
        .await;
    stack
        .eventually("all of it is processed", async || {
            stack.count("dead_letters").await == 8
                && stack.count("sale_events").await == 2
                && stack.count("processor_events WHERE state = 'done'").await == 1
        })
        .await;
    let logs = services.end();
    assert!(logs.contains("TRACE") && logs.contains("dead"), "{logs}");
    for Told { what, text } in TOLD {
        let lines: Vec<_> = logs.lines().filter(|line| line.contains(text)).collect();
        assert!(lines.is_empty(), "{what}: {:#?}", &lines[..lines.len().min(5)]);
    }
}
