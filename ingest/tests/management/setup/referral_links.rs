//! Referral links through the management API, and how the edges answer their codes.

use reqwest::StatusCode;
use runtime::clock::Clock;
use serde_json::{Value, json};
use test_harness::{
    Stack,
    managed::{Managed, audited},
};

async fn click_status(stack: &Stack, code: &str) -> StatusCode {
    stack.click_with(code, json!({})).await.status
}

#[tokio::test]
async fn a_link_works_at_once_under_the_code_asked_for_or_one_made_up() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let program = Managed::new(&stack, &acme, "Acme").await;
    let ada = program.partner(&stack, "ada@letters.example", "approved").await;
    let link = program.link(&stack, &ada, "Ada_summer-26").await;
    assert_eq!(link["short_code"], "Ada_summer-26");
    assert_eq!(link["status"], "active");
    assert_eq!(link["partner_name"], "Ada");
    assert_eq!(click_status(&stack, "Ada_summer-26").await, StatusCode::OK);
    let body = json!({ "partner_program_id": ada["id"] });
    let made_up = program.submit(&stack, "referral-links", body).await.body["data"]["short_code"].clone();
    assert_eq!(
        click_status(&stack, made_up.as_str().unwrap()).await,
        StatusCode::OK
    );
    stack
        .eventually("clicks are shown", async || {
            let list = program.get(&stack, "referral-links").await;
            list.body["data"][1]["clicks"] == 1 && list.body["data"][1]["last_clicked"].is_string()
        })
        .await;
    let list = program.get(&stack, "referral-links?pageSize=1").await;
    assert_eq!(list.body["data"][0]["short_code"], made_up);
    assert_eq!(list.body["meta"]["pagination"]["total"], 2);
    assert_eq!(audited(&stack, "referral_link.created").await, 2);
}

#[tokio::test]
async fn a_code_is_unique_over_all_programs_and_its_letters_are_plain() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let rival = stack.workspace("rival").await;
    let ours = Managed::new(&stack, &acme, "Ours").await;
    let theirs = Managed::new(&stack, &rival, "Theirs").await;
    let ada = ours.partner(&stack, "ada@letters.example", "approved").await;
    let bruno = theirs.partner(&stack, "bruno@reviews.example", "approved").await;
    ours.link(&stack, &ada, "summer").await;
    let link = theirs.link(&stack, &bruno, "winter").await;
    let taken = "short_code is taken by another link";
    let body = json!({ "partner_program_id": bruno["id"], "short_code": "summer" });
    theirs
        .submit(&stack, "referral-links", body)
        .await
        .refused(409, taken);
    let one = format!("referral-links/{}", link["id"]);
    let renamed = theirs.put(&stack, &one, json!({ "short_code": "summer" })).await;
    renamed.refused(409, taken);
    // A link may keep its own code, and another link cannot take it.
    let same = theirs.put(&stack, &one, json!({ "short_code": "winter" })).await;
    assert_eq!(same.status, StatusCode::OK);
    let rule = "short_code must be 3 to 64 letters, digits, hyphens or underscores";
    for code in [
        json!("ab"),
        json!("a b c"),
        json!("jörg"),
        json!(7),
        json!("x".repeat(65)),
    ] {
        let body = json!({ "partner_program_id": bruno["id"], "short_code": code });
        theirs
            .submit(&stack, "referral-links", body)
            .await
            .refused(400, rule);
    }
    for (body, message) in [
        (json!({ "status": "off" }), "status must be active or inactive"),
        (json!({ "short_code": null }), rule),
    ] {
        theirs.put(&stack, &one, body).await.refused(400, message);
    }
    // A link of another program, a partner of another program.
    let foreign = ours.put(&stack, &one, json!({ "status": "inactive" })).await;
    foreign.refused(404, "Referral link not found");
    for (body, status, message) in [
        (
            json!({ "partner_program_id": bruno["id"] }),
            404,
            "Partner not found",
        ),
        (json!({}), 400, "partner_program_id is required"),
        (
            json!({ "partner_program_id": "5" }),
            400,
            "partner_program_id must be an integer",
        ),
    ] {
        let answer = ours.submit(&stack, "referral-links", body).await;
        answer.refused(status, message);
    }
}

#[tokio::test]
async fn links_are_listed_by_partner() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let program = Managed::new(&stack, &acme, "Acme").await;
    let other = Managed::new(&stack, &acme, "Other").await;
    let ada = program.partner(&stack, "ada@letters.example", "approved").await;
    let bruno = program.partner(&stack, "bruno@letters.example", "approved").await;
    let elsewhere = other.partner(&stack, "ada@letters.example", "approved").await;
    for (partner, code) in [(&ada, "spring"), (&bruno, "winter"), (&ada, "summer")] {
        program.link(&stack, partner, code).await;
    }
    other.link(&stack, &elsewhere, "autumn").await;
    let codes = async |query: String| {
        let list = program.get(&stack, &format!("referral-links?{query}")).await;
        assert_eq!(list.status, StatusCode::OK, "{list:?}");
        let codes: Vec<String> = list.body["data"]
            .as_array()
            .unwrap()
            .iter()
            .map(|link| link["short_code"].as_str().unwrap().to_owned())
            .collect();
        (codes, list.body["meta"]["pagination"]["total"].clone())
    };
    let of = |partner: &Value| format!("partner_program_id={}", partner["id"]);
    let listed = |codes: &[&str], total: i64| {
        let codes: Vec<String> = codes.iter().map(|code| (*code).to_owned()).collect();
        (codes, json!(total))
    };
    assert_eq!(
        codes(String::new()).await,
        listed(&["summer", "winter", "spring"], 3)
    );
    assert_eq!(codes(of(&ada)).await, listed(&["summer", "spring"], 2));
    assert_eq!(codes(of(&bruno)).await, listed(&["winter"], 1));
    let second = format!("{}&pageSize=1&page=2", of(&ada));
    assert_eq!(codes(second).await, listed(&["spring"], 2));
    // A membership of another program.
    assert_eq!(codes(of(&elsewhere)).await, listed(&[], 0));
    program
        .get(&stack, "referral-links?partner_program_id=ada")
        .await
        .refused(400, "partner_program_id must be an integer");
}

#[tokio::test]
async fn only_an_approved_partner_gets_a_link() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let program = Managed::new(&stack, &acme, "Acme").await;
    let ada = program.partner(&stack, "ada@letters.example", "pending").await;
    let body = json!({ "partner_program_id": ada["id"], "short_code": "ada" });
    let ask = || program.submit(&stack, "referral-links", body.clone());
    ask().await.refused(409, "This partner is not approved");
    let one = format!("partners/{}", ada["id"]);
    program.put(&stack, &one, json!({ "status": "approved" })).await;
    assert_eq!(ask().await.status, StatusCode::CREATED);
}

#[tokio::test]
async fn every_ingest_follows_a_link_that_is_renamed_turned_off_and_on() {
    let mut stack = Stack::without_services(Clock::system()).await;
    stack.start_worker();
    let ingests = [stack.start_ingest(), stack.start_ingest()];
    for ingest in ingests {
        stack.use_ingest(ingest);
        stack.ready().await;
    }
    let acme = stack.workspace("acme").await;
    let program = Managed::new(&stack, &acme, "Acme").await;
    let ada = program.partner(&stack, "ada@letters.example", "approved").await;
    let link = program.link(&stack, &ada, "spring").await;
    let one = format!("referral-links/{}", link["id"]);
    for ingest in ingests {
        stack.use_ingest(ingest);
        assert_eq!(click_status(&stack, "spring").await, StatusCode::OK);
    }
    program.customer(&stack, "spring", "user-1").await;

    let renamed = program.put(&stack, &one, json!({ "short_code": "summer" })).await;
    assert_eq!(renamed.body["data"]["short_code"], "summer");
    for ingest in ingests {
        stack.use_ingest(ingest);
        assert_eq!(click_status(&stack, "summer").await, StatusCode::OK);
        stack
            .eventually("the old code is forgotten", async || {
                let click = stack.click_with("spring", json!({})).await;
                click.message() == "Referral link not found"
            })
            .await;
    }
    // Sales through the link stay attributed to it under any name.
    let sale = program.sale(&stack, "t1", "user-1").await;
    assert!(sale.body["commission_id"].is_i64(), "{sale:?}");

    for (status, answer) in [("inactive", StatusCode::GONE), ("active", StatusCode::OK)] {
        let changed = program.put(&stack, &one, json!({ "status": status })).await;
        assert_eq!(changed.body["data"]["status"], status);
        for ingest in ingests {
            stack.use_ingest(ingest);
            stack
                .eventually(status, async || click_status(&stack, "summer").await == answer)
                .await;
        }
    }
    assert_eq!(audited(&stack, "referral_link.updated").await, 3);
    stack.verify().await;
}

#[tokio::test]
async fn of_two_links_renamed_to_one_code_at_once_one_gets_it() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let program = Managed::new(&stack, &acme, "Acme").await;
    let ada = program.partner(&stack, "ada@letters.example", "approved").await;
    let mut paths = Vec::new();
    for code in ["one", "two", "three"] {
        let link = program.link(&stack, &ada, code).await;
        paths.push(format!("referral-links/{}", link["id"]));
    }
    let rename = |path| program.put(&stack, path, json!({ "short_code": "wanted" }));
    let answers = tokio::join!(rename(&paths[0]), rename(&paths[1]), rename(&paths[2]));
    let mut statuses = [answers.0, answers.1, answers.2].map(|answer| answer.status.as_u16());
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409, 409]);
    assert_eq!(click_status(&stack, "wanted").await, StatusCode::OK);
}
