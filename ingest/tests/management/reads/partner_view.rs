//! A partner's own view: their data in all programs, and no data of others.

mod dues;
mod own_links;

use serde_json::{Value, json};
use test_harness::{
    Json, Person, Program, Stack, managed::audit_details, refund_of, refused_each, rows, sell,
};

/// Ada, who takes part in two advertisers' programs, and Bruno, who takes part in the first.
struct Scene {
    stack: Stack,
    shop: Program,
    club: Program,
    ada: Person,
    bruno: Person,
}

/// The first five are lists.
const PATHS: [&str; 8] = [
    "programs",
    "referral-links",
    "clicks",
    "commissions",
    "balances",
    "report",
    "payouts",
    "notifications",
];

impl Scene {
    async fn set() -> Self {
        let stack = Stack::start().await;
        let (shop, club) = (stack.program().await, stack.program().await);
        let ada = stack
            .account_of("ada@partner.example", &[shop.ada.partner_id, club.ada.partner_id])
            .await;
        let bruno = stack
            .account_of("bruno@partner.example", &[shop.bruno.partner_id])
            .await;
        Self {
            stack,
            shop,
            club,
            ada,
            bruno,
        }
    }

    async fn get(&self, person: &Person, path: &str) -> Value {
        let answer = person.get(&format!("/api/partner/{path}")).await;
        answer.ok().body
    }

    async fn list(&self, person: &Person, path: &str) -> Vec<Value> {
        self.get(person, path).await["data"].as_array().unwrap().clone()
    }
}

#[tokio::test]
async fn a_partner_sees_what_is_theirs_in_every_workspace_and_nothing_of_others() {
    let scene = Scene::set().await;
    let Scene {
        stack, shop, club, ..
    } = &scene;
    let click_id = stack.customer(shop, &shop.ada.code, "user-1").await;
    stack.customer(club, &club.ada.code, "user-1").await;
    stack.customer(shop, &shop.bruno.code, "user-2").await;
    sell(stack, shop, "secret-1", 10_000, json!({})).await;
    sell(stack, club, "secret-2", 5_000, json!({ "currency": "EUR" })).await;
    sell(stack, shop, "secret-3", 700, json!({ "customer_key": "user-2" })).await;
    for partner in [&shop.ada, &club.ada, &shop.bruno] {
        rows::counted(stack, partner.link, 1).await;
    }

    let programs = scene.list(&scene.ada, "programs").await;
    assert_eq!(programs.len(), 2);
    programs[0].has(json!({
        "partner_program_id": club.ada.membership.get(),
        "balances": [{ "currency": "EUR", "balance_cents": 1_000, "owed_cents": 1_000 }],
    }));
    assert_eq!(programs[1]["program_id"], shop.program_id.get());
    programs[1].has(json!({ "status": "approved", "cookie_window_days": 90 }));
    assert_eq!(
        programs[1]["commission_terms"],
        json!([{ "product_id": null, "commission_type": "cps_lifetime", "default_duration_months": null,
                 "rate_bps": 2_000, "fixed_cents": null, "currency": null }])
    );

    let commissions = scene.list(&scene.ada, "commissions").await;
    let amounts = json!(commissions).columns(["payable_cents", "currency"]);
    assert_eq!(amounts, json!([[1_000, "EUR"], [2_000, "USD"]]));

    let clicks = scene.list(&scene.ada, "clicks").await;
    assert_eq!(clicks.len(), 2);
    let of_club = format!("clicks?program_id={}", club.program_id);
    assert_eq!(scene.list(&scene.ada, &of_club).await, clicks[..1]);
    let by_code = format!("clicks?search={}", shop.ada.code.as_str().to_uppercase());
    assert_eq!(scene.list(&scene.ada, &by_code).await, clicks[1..]);
    clicks[1].has(json!({ "referral_link_id": shop.ada.link.get(), "converted": true }));
    let mut fields: Vec<_> = clicks[0]
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    fields.sort_unstable();
    let shown = "click_timestamp converted device_type geo_country id program_id referral_link_id short_code";
    assert_eq!(fields.join(" "), shown);

    for (person, others) in [(&scene.ada, &shop.bruno), (&scene.bruno, &shop.ada)] {
        for path in PATHS {
            let shown = scene.get(person, path).await.to_string();
            for secret in ["secret-", "user-", "customer_key", &click_id, &others.code] {
                assert!(!shown.contains(secret), "{path} shows {secret}: {shown}");
            }
        }
    }
    for path in &PATHS[..5] {
        assert_eq!(scene.list(&scene.bruno, path).await.len(), 1, "{path}");
    }
    let page = scene.get(&scene.ada, "clicks?pageSize=1&page=2").await;
    assert_eq!(page["data"], json!([clicks[1]]));
    assert_eq!(
        page["meta"]["pagination"],
        json!({ "page": 2, "pageSize": 1, "pageCount": 2, "total": 2 })
    );
    let beyond = format!("clicks?page={}", i64::MAX);
    assert_eq!(scene.list(&scene.ada, &beyond).await.len(), 0);
    scene.stack.verify().await;
}

#[tokio::test]
async fn a_click_that_comes_meanwhile_shifts_no_page() {
    let scene = Scene::set().await;
    let Scene { stack, shop, .. } = &scene;
    stack.click(&shop.ada.code).await;
    stack.click(&shop.ada.code).await;
    rows::counted(stack, shop.ada.link, 2).await;
    let clicks = scene.list(&scene.ada, "clicks").await;
    let first = scene.get(&scene.ada, "clicks?pageSize=1").await;
    let up_to = &first["meta"]["pagination"]["upTo"];
    stack.click(&shop.ada.code).await;
    rows::counted(stack, shop.ada.link, 3).await;
    let second = scene
        .get(&scene.ada, &format!("clicks?pageSize=1&page=2&upTo={up_to}"))
        .await;
    assert_eq!(second["data"], json!([clicks[1]]));
    assert_eq!(&second["meta"]["pagination"]["upTo"], up_to);
}

#[tokio::test]
async fn balances_tell_what_is_held_what_is_due_and_what_was_received() {
    let scene = Scene::set().await;
    let Scene { stack, shop, .. } = &scene;
    stack.customer(shop, &shop.ada.code, "user-1").await;
    let owner = stack.owner_of(shop).await;
    let mut ids = Vec::new();
    for transaction_id in ["paid", "due", "held"] {
        let sale = sell(stack, shop, transaction_id, 10_000, json!({})).await;
        ids.push(sale.body["commission_id"].as_i64().unwrap());
    }
    let submit = async |rest: &str, body: Value| {
        let answer = stack.submit(&shop.path(rest), Some(&owner.token), body).await;
        answer.data();
    };
    let approved = json!({ "commission_ids": [ids[0], ids[1]] });
    submit("commissions/approve", approved).await;
    submit("payouts", json!({ "commission_ids": [ids[0]] })).await;
    for (transaction_id, amount) in [("paid", 2_500), ("due", 5_000)] {
        stack.refunded(shop, refund_of(transaction_id, amount)).await;
    }
    let commissions = scene.list(&scene.ada, "commissions").await;
    let held_until = commissions[0]["hold_until"].as_str().unwrap();
    let balances = scene.list(&scene.ada, "balances").await;
    assert_eq!(
        balances,
        [json!({
            "partner_program_id": shop.ada.membership, "program_id": shop.program_id, "program_name": "Program",
            "program_status": "live", "currency": "USD", "balance_cents": 2_500, "owed_cents": 2_500, "pending_cents": 2_000,
            "approved_cents": 1_000, "paid_cents": 2_000, "debt_cents": 500,
            "dues": [{ "day": held_until[..10], "amount_cents": 2_000 }],
        })]
    );
    let paid = &commissions[2];
    paid.has(json!({ "status": "refunded", "deducted_cents": 500 }));
    assert!(paid["paid_at"].is_string());
    scene.stack.verify().await;
}

/// Clicks on the program's links are refused, but commissions are still paid.
#[tokio::test]
async fn a_partner_is_told_of_an_archived_program() {
    let scene = Scene::set().await;
    let Scene { stack, shop, .. } = &scene;
    stack.customer(shop, &shop.ada.code, "user-1").await;
    sell(stack, shop, "t1", 10_000, json!({})).await;
    let owner = stack.owner_of(shop).await;
    stack.delete(&shop.path(""), &owner.token).await.ok();
    for path in ["programs", "referral-links", "balances"] {
        for row in scene.list(&scene.ada, path).await {
            let is_shops = row["program_id"] == json!(shop.program_id);
            let expected = if is_shops { "archived" } else { "live" };
            assert_eq!(row["program_status"], expected, "{path}: {row}");
        }
    }
}

#[tokio::test]
async fn a_partner_sees_the_website_of_a_program_and_how_it_looks() {
    let scene = Scene::set().await;
    let Scene { stack, shop, .. } = &scene;
    let website = "domain = 'shop.example', cookie_window_days = 30";
    let looks = "logo_url = 'https://shop.example/logo.png', color = '#0f6259'";
    rows::set(stack, shop, &format!("{website}, {looks}")).await;
    for path in ["programs", "referral-links"] {
        let list = json!(scene.list(&scene.ada, path).await);
        let websites = list.columns(["domain", "cookie_window_days"]);
        assert_eq!(websites, json!([[null, 90], ["shop.example", 30]]), "{path}");
    }
    let path = format!("/api/partner/referral-links/{}", shop.ada.link);
    let off = scene.ada.put(&path, json!({ "status": "inactive" })).await;
    off.data()
        .has(json!({ "domain": "shop.example", "cookie_window_days": 30 }));
    let programs = json!(scene.list(&scene.ada, "programs").await);
    let looks = json!([[null, null], ["https://shop.example/logo.png", "#0f6259"]]);
    assert_eq!(programs.columns(["logo_url", "color"]), looks);
}

#[tokio::test]
async fn a_link_that_the_advertiser_turned_off_stays_off_for_its_partner() {
    let scene = Scene::set().await;
    let Scene { stack, shop, .. } = &scene;
    let owner = stack.owner_of(shop).await;
    let link = shop.ada.link.get();
    let theirs = shop.path(&format!("referral-links/{link}"));
    let own = format!("/api/partner/referral-links/{link}");
    let advertiser = async |body: Value| stack.put(&theirs, &owner.token, body).await;
    let partner = async |status: &str| scene.ada.put(&own, json!({ "status": status })).await;
    let off_by_advertiser = "The advertiser has turned this link off";
    // The order in which advertiser and partner turn the link off does not matter.
    for first in ["active", "inactive"] {
        assert_eq!(partner(first).await.body["data"]["status"], first);
        advertiser(json!({ "status": "inactive" })).await.ok();
        // A new code does not change the status. A partner who turns it off again still cannot turn it on.
        advertiser(json!({ "short_code": format!("ada-{first}") })).await;
        partner("inactive").await.ok();
        partner("active").await.refused(409, off_by_advertiser);
        advertiser(json!({ "status": "active" })).await.ok();
    }
    assert_eq!(partner("inactive").await.body["data"]["status"], "inactive");
    assert_eq!(partner("active").await.body["data"]["status"], "active");
}

#[tokio::test]
async fn a_partner_turns_their_own_links_off_and_on() {
    let scene = Scene::set().await;
    let Scene { stack, shop, .. } = &scene;
    let links = scene.list(&scene.ada, "referral-links").await;
    assert_eq!(links.len(), 2);
    assert_eq!(links[1]["short_code"], shop.ada.code);
    let set = async |person: &Person, link: i64, body: Value| {
        let path = format!("/api/partner/referral-links/{link}");
        stack.put(&path, &person.token, body).await
    };
    let link = shop.ada.link.get();
    let off = set(&scene.ada, link, json!({ "status": "inactive" })).await;
    assert_eq!(off.body["data"]["status"], "inactive", "{off:?}");
    let answers = async |status: u16| stack.click_with(&shop.ada.code, json!({})).await.status == status;
    stack
        .eventually("the link is off", async || answers(410).await)
        .await;
    let on = set(&scene.ada, link, json!({ "status": "active" })).await;
    assert_eq!(on.body["data"]["status"], "active");
    stack
        .eventually("the link is on", async || answers(200).await)
        .await;
    let changes = ["inactive", "active"].map(|status| json!({ "status": status }));
    assert_eq!(audit_details(stack, "referral_link.updated").await, changes);
    for foreign in [shop.bruno.link.get(), 999_999] {
        let answer = set(&scene.ada, foreign, json!({ "status": "inactive" })).await;
        answer.refused(404, "Referral link not found");
    }
    let refusals =
        json!({ "status must be active or inactive": [{}, { "status": "gone" }, { "status": 1 }] });
    refused_each(400, refusals, |body| set(&scene.ada, link, body)).await;
    rows::set(stack, shop, "status = 'archived', archived_at = now()").await;
    let answer = set(&scene.ada, link, json!({ "status": "inactive" })).await;
    answer.refused(409, "This program is archived");
}

#[tokio::test]
async fn partners_read_their_own_notifications() {
    let scene = Scene::set().await;
    let Scene { stack, shop, .. } = &scene;
    stack.customer(shop, &shop.ada.code, "user-1").await;
    sell(stack, shop, "secret-1", 10_000, json!({})).await;
    for amount in [1_000, 2_000] {
        stack.refunded(shop, refund_of("secret-1", amount)).await;
    }
    stack
        .reaches("notifications WHERE recipient = 'partner'", 2)
        .await;
    let newest = &scene.list(&scene.ada, "notifications").await[0];
    assert_eq!(newest["kind"], "commission_deducted");
    // Sales are the advertiser's to know.
    assert_eq!(newest["sale_id"], Value::Null);
    let about = format!("commissions?commission_id={}", newest["commission_id"]);
    let about = scene.list(&scene.ada, &about).await;
    assert_eq!(
        (about.len(), &about[0]["id"]),
        (1, &newest["deduction"]["commission_id"])
    );
    assert!(newest["deduction"]["deducted_cents"].is_i64() && newest["deduction"].get("sale_id").is_none());
    let mark = async |person: &Person, body: Value| {
        let path = "/api/partner/notifications/read";
        stack.submit(path, Some(&person.token), body).await.body["data"]["marked"].clone()
    };
    assert_eq!(mark(&scene.bruno, json!({ "ids": [newest["id"]] })).await, 0);
    assert_eq!(mark(&scene.bruno, json!({ "all": true })).await, 0);
    assert_eq!(scene.list(&scene.ada, "notifications?unread=true").await.len(), 2);
    assert_eq!(mark(&scene.ada, json!({ "ids": [newest["id"]] })).await, 1);
    let unread = scene.list(&scene.ada, "notifications?unread=true").await;
    assert_eq!(unread.len(), 1);
    assert_ne!(unread[0]["id"], newest["id"]);
    assert_eq!(mark(&scene.ada, json!({ "all": true })).await, 1);
}
