//! Referral links through the management API, and how the edges answer their codes.

use futures::future::join_all;
use runtime::clock::Clock;
use serde_json::{Value, json};
use test_harness::managed::{Managed, audited};
use test_harness::{Json, Stack, refused_each, statuses};

const ADA: &str = "ada@letters.example";
const LINKS: &str = "referral-links";

async fn click_status(stack: &Stack, code: &str) -> u16 {
    stack.click_with(code, json!({})).await.status.as_u16()
}

#[tokio::test]
async fn a_link_works_at_once_under_the_code_asked_for_or_one_made_up() {
    let (stack, program) = Stack::with_managed().await;
    let ada = program.partner(&stack, ADA, "approved").await;
    let link = program.link(&stack, &ada, "Ada_summer-26").await;
    link.has(json!({ "short_code": "Ada_summer-26", "status": "active", "partner_name": "Ada" }));
    stack.click("Ada_summer-26").await;
    let body = json!({ "partner_program_id": ada["id"] });
    let made_up = program.submit(&stack, LINKS, body).await.string("short_code");
    stack.click(&made_up).await;
    let are_shown = async || {
        let list = program.get(&stack, LINKS).await;
        list.data()[1]["clicks"] == 1 && list.data()[1]["last_clicked"].is_string()
    };
    stack.eventually("clicks are shown", are_shown).await;
    let list = program.get(&stack, "referral-links?pageSize=1").await;
    assert_eq!(list.column("short_code"), json!([made_up]));
    assert_eq!(list.total(), 2);
    assert_eq!(audited(&stack, "referral_link.created").await, 2);
}

#[tokio::test]
async fn a_code_is_unique_over_all_programs_and_its_letters_are_plain() {
    let (stack, acme) = Stack::with_workspace().await;
    let rival = stack.workspace("rival").await;
    let ours = Managed::new(&stack, &acme, "Ours").await;
    let theirs = Managed::new(&stack, &rival, "Theirs").await;
    let ada = ours.partner(&stack, ADA, "approved").await;
    let bruno = theirs.partner(&stack, "bruno@reviews.example", "approved").await;
    ours.link(&stack, &ada, "summer").await;
    let link = theirs.link(&stack, &bruno, "winter").await;
    let one = format!("referral-links/{}", link["id"]);
    let create = async |code: Value| {
        let body = json!({ "partner_program_id": bruno["id"], "short_code": code });
        theirs.submit(&stack, LINKS, body).await
    };
    let rename = async |code: Value| theirs.put(&stack, &one, json!({ "short_code": code })).await;
    let taken = json!({ "short_code is taken by another link": ["summer"] });
    refused_each(409, taken.clone(), &create).await;
    refused_each(409, taken, &rename).await;
    // A link may keep its own code, and another link cannot take it.
    rename(json!("winter")).await.ok();
    let rule = "short_code must be 3 to 64 letters, digits, hyphens or underscores";
    let unfit = json!({ rule: ["ab", "a b c", "jörg", 7, "x".repeat(65)] });
    refused_each(400, unfit, &create).await;
    refused_each(400, json!({ rule: [null] }), &rename).await;
    let off = theirs.put(&stack, &one, json!({ "status": "off" })).await;
    off.refused(400, "status must be active or inactive");
    // A link of another program, a partner of another program.
    let foreign = ours.put(&stack, &one, json!({ "status": "inactive" })).await;
    foreign.refused(404, "Referral link not found");
    for (partner, status, message) in [
        (bruno["id"].clone(), 404, "Partner not found"),
        (Value::Null, 400, "partner_program_id is required"),
        (json!("5"), 400, "partner_program_id must be an integer"),
    ] {
        let answer = ours
            .submit(&stack, LINKS, json!({ "partner_program_id": partner }))
            .await;
        answer.refused(status, message);
    }
}

#[tokio::test]
async fn links_are_listed_by_partner() {
    let (stack, acme) = Stack::with_workspace().await;
    let program = Managed::new(&stack, &acme, "Acme").await;
    let other = Managed::new(&stack, &acme, "Other").await;
    let ada = program.partner(&stack, ADA, "approved").await;
    let bruno = program.partner(&stack, "bruno@letters.example", "approved").await;
    let elsewhere = other.partner(&stack, ADA, "approved").await;
    for (partner, code) in [(&ada, "spring"), (&bruno, "winter"), (&ada, "summer")] {
        program.link(&stack, partner, code).await;
    }
    other.link(&stack, &elsewhere, "autumn").await;
    let of = |partner: &Value| format!("partner_program_id={}", partner["id"]);
    let codes = json!({
        "": ["summer", "winter", "spring"],
        of(&ada): ["summer", "spring"],
        of(&bruno): ["winter"],
        // A membership of another program.
        of(&elsewhere): [],
    });
    let (path, token) = (program.path(LINKS), &program.owner.token);
    stack.lists(token, &path, "short_code", codes).await;
    let second = format!("{LINKS}?{}&pageSize=1&page=2", of(&ada));
    let second = program.get(&stack, &second).await;
    assert_eq!(second.column("short_code"), json!(["spring"]));
    assert_eq!(second.total(), 2);
    let refusals = json!({ "partner_program_id=ada": "partner_program_id must be an integer" });
    stack.refuses(token, &path, refusals).await;
}

#[tokio::test]
async fn only_an_approved_partner_gets_a_link() {
    let (stack, program) = Stack::with_managed().await;
    let ada = program.partner(&stack, ADA, "pending").await;
    let body = json!({ "partner_program_id": ada["id"], "short_code": "ada" });
    let early = program.submit(&stack, LINKS, body).await;
    early.refused(409, "This partner is not approved");
    let one = format!("partners/{}", ada["id"]);
    program
        .put(&stack, &one, json!({ "status": "approved" }))
        .await
        .ok();
    program.link(&stack, &ada, "ada").await;
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
    let program = Managed::new(&stack, &stack.workspace("acme").await, "Acme").await;
    let ada = program.partner(&stack, ADA, "approved").await;
    let link = program.link(&stack, &ada, "spring").await;
    let one = format!("referral-links/{}", link["id"]);
    for ingest in ingests {
        stack.use_ingest(ingest);
        stack.click("spring").await;
    }
    program.customer(&stack, "spring", "user-1").await;

    let renamed = program.put(&stack, &one, json!({ "short_code": "summer" })).await;
    assert_eq!(renamed.data()["short_code"], "summer");
    for ingest in ingests {
        stack.use_ingest(ingest);
        stack.click("summer").await;
        let is_forgotten =
            async || stack.click_with("spring", json!({})).await.message() == "Referral link not found";
        stack.eventually("the old code is forgotten", is_forgotten).await;
    }
    // Sales through the link stay attributed to it under any name.
    let sale = program.sale(&stack, "t1", "user-1").await;
    assert!(sale.body["commission_id"].is_i64(), "{sale:?}");

    for (status, answer) in [("inactive", 410), ("active", 200)] {
        let changed = program.put(&stack, &one, json!({ "status": status })).await;
        assert_eq!(changed.data()["status"], status);
        for ingest in ingests {
            stack.use_ingest(ingest);
            let follows = async || click_status(&stack, "summer").await == answer;
            stack.eventually(status, follows).await;
        }
    }
    assert_eq!(audited(&stack, "referral_link.updated").await, 3);
    stack.verify().await;
}

#[tokio::test]
async fn of_two_links_renamed_to_one_code_at_once_one_gets_it() {
    let (stack, program) = Stack::with_managed().await;
    let ada = program.partner(&stack, ADA, "approved").await;
    let mut paths = Vec::new();
    for code in ["one", "two", "three"] {
        let link = program.link(&stack, &ada, code).await;
        paths.push(format!("referral-links/{}", link["id"]));
    }
    let rename = |path| program.put(&stack, path, json!({ "short_code": "wanted" }));
    let answers = join_all(paths.iter().map(|path| rename(path))).await;
    assert_eq!(statuses(answers), [200, 409, 409]);
    stack.click("wanted").await;
}
