//! Links that partners create themselves, up to the limit of their program.

use serde_json::{Value, json};
use test_harness::{
    Answer, Json, Person, Program, Stack, managed::audited, refused_each, rows, sell, statuses,
};

use super::Scene;

const LINKS: &str = "/api/partner/referral-links";
const NONE_LEFT: &str = "This program does not let you make more referral links";

async fn make(stack: &Stack, person: &Person, program: &Program, code: Option<&str>) -> Answer {
    let mut body = json!({ "program_id": program.program_id });
    if let Some(code) = code {
        body["short_code"] = code.into();
    }
    stack.submit(LINKS, Some(&person.token), body).await
}

impl Scene {
    /// How many links Ada may still create in the shop.
    async fn links_left(&self) -> Value {
        let programs = self.list(&self.ada, "programs").await;
        let shop = programs
            .iter()
            .find(|row| row["program_id"] == json!(self.shop.program_id));
        shop.unwrap()["links_left"].clone()
    }
}

#[tokio::test]
async fn a_partner_makes_links_that_work_at_once_and_earn() {
    let scene = Scene::set().await;
    let Scene { stack, shop, ada, .. } = &scene;
    rows::set(stack, shop, "domain = 'shop.example'").await;
    let made = make(stack, ada, shop, Some("Ada_summer-26")).await.created();
    let link = &made.body["data"];
    link.has(json!({
        "short_code": "Ada_summer-26", "program_id": shop.program_id, "domain": "shop.example",
        "status": "active", "clicks": 0,
    }));
    assert_eq!(scene.list(ada, "referral-links").await[0], *link);
    stack.customer(shop, "Ada_summer-26", "user-1").await;
    sell(stack, shop, "t1", 10_000, json!({})).await;
    assert_eq!(stack.balance(shop.ada.membership).await, 2_000);

    let made_up = make(stack, ada, shop, None).await.body["data"]["short_code"].clone();
    stack.click_with(made_up.as_str().unwrap(), json!({})).await.ok();
    let query = "SELECT jsonb_agg(partner_program_id ORDER BY id) FROM referral_links WHERE made_by_partner";
    let owners: Value = stack.value(query).await;
    assert_eq!(owners, json!([shop.ada.membership, shop.ada.membership]));
    let owner = stack.owner_of(shop).await;
    let path = shop.path("referral-links");
    let listed = stack.get(&path, &owner.token).await;
    let by_partner = |place: usize| &listed.body["data"][place]["made_by_partner"];
    // The newest come first; the links by the advertiser are older.
    assert_eq!([by_partner(1), by_partner(2)], [true, false], "{listed:?}");

    let entry =
        "SELECT to_jsonb(a) FROM audit_log a WHERE action = 'referral_link.created' ORDER BY id LIMIT 1";
    let entry: Value = stack.value(entry).await;
    entry.has(json!({
        "actor_id": ada.user_id, "program_id": shop.program_id, "subject_id": link["id"],
    }));
    entry["details"].has(json!({ "short_code": "Ada_summer-26", "partner_program_id": shop.ada.membership }));
    assert_eq!(audited(stack, "referral_link.created").await, 2);
    stack.verify().await;
}

#[tokio::test]
async fn a_partner_makes_as_many_links_as_the_program_allows() {
    let scene = Scene::set().await;
    let Scene { stack, shop, ada, .. } = &scene;
    let owner = stack.owner_of(shop).await;
    let program = shop.path("");
    let allow = async |links: i64| {
        let body = json!({ "partner_link_limit": links });
        let answer = owner.put(&program, body.clone()).await;
        answer.data().has(body);
    };
    // Links that advertisers create do not count.
    assert_eq!(scene.links_left().await, 10);
    allow(2).await;
    for (code, left) in [("one", 1), ("two", 0)] {
        make(stack, ada, shop, Some(code)).await.created();
        assert_eq!(scene.links_left().await, left);
    }
    // A link that is turned off counts.
    let newest = scene.list(ada, "referral-links").await[0]["id"].clone();
    let off = json!({ "status": "inactive" });
    ada.put(&format!("{LINKS}/{newest}"), off).await.ok();
    let third = make(stack, ada, shop, Some("three")).await;
    third.refused(409, NONE_LEFT);
    // Each partner has a limit of their own in each program.
    make(stack, &scene.bruno, shop, None).await.created();
    make(stack, ada, &scene.club, None).await.created();
    let theirs = json!({ "partner_program_id": shop.ada.membership, "short_code": "of-the-shop" });
    let made = owner.submit(&format!("{program}/referral-links"), theirs).await;
    made.created();
    allow(3).await;
    assert_eq!(scene.links_left().await, 1);
    make(stack, ada, shop, Some("three")).await.created();
    allow(0).await;
    assert_eq!(scene.links_left().await, 0);
    for person in [ada, &scene.bruno] {
        make(stack, person, shop, None).await.refused(409, NONE_LEFT);
    }
}

#[tokio::test]
async fn of_two_links_made_at_once_the_last_that_is_allowed_is_made() {
    let scene = Scene::set().await;
    let Scene { stack, shop, ada, .. } = &scene;
    rows::set(stack, shop, "partner_link_limit = 1").await;
    let lock = format!(
        "SELECT FROM partner_programs WHERE id = {} FOR UPDATE",
        shop.ada.membership
    );
    let holding_up = stack.holding(&lock).await;
    let (one, other, ()) = tokio::join!(
        make(stack, ada, shop, Some("one")),
        make(stack, ada, shop, Some("other")),
        stack.release(holding_up, 2)
    );
    assert_eq!(statuses([one, other]), [201, 409]);
    assert_eq!(stack.count("referral_links WHERE made_by_partner").await, 1);
}

#[tokio::test]
async fn an_approved_partner_of_an_active_program_makes_a_link_with_a_free_code() {
    let scene = Scene::set().await;
    let Scene {
        stack,
        shop,
        club,
        ada,
        bruno,
    } = &scene;
    let submit = async |body: Value| stack.submit(LINKS, Some(&ada.token), body).await;
    // A code of another program's partner counts as taken too.
    for code in [&shop.bruno.code, &club.ada.code] {
        let answer = make(stack, ada, shop, Some(code)).await;
        answer.refused(409, "short_code is taken by another link");
    }
    let rule = "short_code must be 3 to 64 letters, digits, hyphens or underscores";
    let unfit = [
        json!("ab"),
        json!("a b c"),
        json!("jörg"),
        json!(7),
        json!("x".repeat(65)),
    ];
    let refusals = json!({
        rule: unfit.map(|code| json!({ "program_id": shop.program_id, "short_code": code })),
        "program_id is required": [{}],
        "program_id must be an integer": [{ "program_id": "1" }],
    });
    refused_each(400, refusals, &submit).await;
    // Bruno takes no part in the club.
    let elsewhere = make(stack, bruno, club, None).await;
    elsewhere.refused(404, "Program not found");
    let unknown = submit(json!({ "program_id": 999_999 })).await;
    unknown.refused(404, "Program not found");
    for status in ["pending", "suspended"] {
        let statement = format!(
            "UPDATE partner_programs SET status = '{status}' WHERE id = {}",
            shop.ada.membership
        );
        stack.execute(&statement).await;
        let refused = make(stack, ada, shop, None).await;
        refused.refused(409, "This partner is not approved");
        assert_eq!(scene.links_left().await, 0);
    }
    rows::set(stack, shop, "status = 'archived', archived_at = now()").await;
    let archived = make(stack, bruno, shop, None).await;
    archived.refused(409, "This program is archived");
    assert_eq!(scene.list(bruno, "programs").await[0]["links_left"], 0);
    assert_eq!(stack.count("referral_links WHERE made_by_partner").await, 0);
}

/// Clicks on a published address must not be credited to another partner.
#[tokio::test]
async fn a_code_that_another_link_is_taken_for_or_was_known_by_is_not_made() {
    let scene = Scene::set().await;
    let Scene { stack, shop, ada, .. } = &scene;
    let owner = stack.owner_of(shop).await;
    let path = shop.path(&format!("referral-links/{}", shop.bruno.link));
    let renamed = owner.put(&path, json!({ "short_code": "bruno-now" })).await;
    renamed.ok();
    for code in [
        "Bruno-NOW",
        shop.bruno.code.as_str(),
        &shop.bruno.code.to_uppercase(),
    ] {
        let answer = make(stack, ada, shop, Some(code)).await;
        answer.refused(409, "short_code is taken by another link");
    }
    make(stack, ada, shop, Some("bruno-never")).await.created();
}
