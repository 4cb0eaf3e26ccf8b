//! Programs through the management API: created, changed, published and archived, each only by its own
//! workspace.

use domain::ids::ProgramId;
use domain::people::permission::Role;
use serde_json::json;
use sqlx::AssertSqlSafe;
use test_harness::managed::{Managed, PROGRAMS, audit_details};
use test_harness::{Json, Stack, refused_each};

#[tokio::test]
async fn a_program_starts_with_the_contracts_defaults_and_shows_its_token_once() {
    let (stack, acme) = Stack::with_workspace().await;
    let made = acme
        .owner
        .submit(PROGRAMS, json!({ "name": "Acme Affiliates" }))
        .await;
    let data = made.created().data().clone();
    data.has(json!({
        "name": "Acme Affiliates", "status": "draft", "attribution_model": "last_click",
        "attribution_window_days": 60, "cookie_window_days": 90, "hold_days": 15, "needs_approval": "none",
        "partner_link_limit": 10, "lead_auth": null, "currency": "USD", "exclude_bots": false,
        "publishedAt": null, "workspace_id": acme.workspace_id,
    }));
    assert!(data["slug"].as_str().unwrap().starts_with("acme-affiliates-"));
    let token = data["api_token"].as_str().unwrap();
    let read = acme.owner.get(&format!("{PROGRAMS}/{}", data["id"])).await;
    assert_eq!(read.data()["api_token_masked"], data["api_token_masked"]);
    assert!(!read.body.to_string().contains(token));
    // The token works at once: an integration is tested before the program is published.
    let sale = json!({ "transaction_id": "t1", "amount_cents": 100, "customer_key": "nobody" });
    stack.post("sale", Some(token), sale).await.is(400);
}

#[tokio::test]
async fn a_setting_that_cannot_be_is_refused_by_its_name() {
    let (stack, program) = Stack::with_managed().await;
    let refusals = json!({
        "name is required": [{ "name": "" }],
        "name must be at most 120 characters": [{ "name": "x".repeat(121) }],
        "slug must be lower-case letters and digits joined by single hyphens, at most 80 characters": [
            { "slug": "Not A Slug" },
        ],
        "cookie_window_days must be an integer from 1 to 365": [
            { "cookie_window_days": 0 }, { "cookie_window_days": "90" },
        ],
        "attribution_window_days must be an integer from 1 to 365": [{ "attribution_window_days": 366 }],
        "hold_days must be an integer from 0 to 31": [{ "hold_days": 32 }],
        "needs_approval must be one of none, flagged, all": [{ "needs_approval": "some" }],
        "attribution_model must be one of last_click, first_click, linear": [{ "attribution_model": "best" }],
        "lead_auth must be server_required or null": [{ "lead_auth": "maybe" }],
        "currency must be a currency code of three letters": [{ "currency": "dollars" }],
        "domain must be a host name such as shop.example": [{ "domain": "not a host" }],
        "partner_link_limit must be an integer from 0 to 100": [{ "partner_link_limit": 101 }],
        "exclude_bots must be a boolean": [{ "exclude_bots": "yes" }],
        "color must be a colour such as #0f6259": [{ "color": "teal" }],
    });
    refused_each(400, refusals, |body| program.put(&stack, "", body)).await;
}

#[tokio::test]
async fn settings_are_changed_and_what_is_not_named_stays() {
    let (stack, acme) = Stack::with_workspace().await;
    let program = Managed::new(&stack, &acme, "Acme").await;
    let other = Managed::new(&stack, &acme, "Other").await;
    let changes = json!({
        "slug": "acme", "cookie_window_days": 365, "lead_auth": "server_required", "domain": "https://Shop.example/",
        "description": "Twenty percent.", "exclude_bots": true, "hold_days": 0, "attribution_model": "linear",
        "needs_approval": "flagged", "color": "#0F6259", "partner_link_limit": 0,
    });
    program.put(&stack, "", changes).await.ok();
    let nulls = json!({ "lead_auth": null, "cookie_window_days": null, "description": null });
    let cleared = program.put(&stack, "", nulls).await;
    cleared.data().has(json!({
        "name": "Acme", "slug": "acme", "cookie_window_days": 90, "lead_auth": null, "description": null,
        "domain": "shop.example", "exclude_bots": true, "hold_days": 0, "needs_approval": "flagged",
        "color": "#0f6259", "partner_link_limit": 0, "attribution_model": "linear",
    }));
    let taken = other.put(&stack, "", json!({ "slug": "acme" })).await;
    taken.refused(400, "slug is taken by another program");
    let details = &audit_details(&stack, "program.updated").await[0];
    assert_eq!(
        details["cookie_window_days"],
        json!({ "before": 90, "after": 365 })
    );
    assert!(details.get("name").is_none(), "{details}");
}

#[tokio::test]
async fn an_archived_program_takes_no_calls_and_no_changes() {
    let (stack, program) = Stack::with_managed().await;
    let ada = program.partner(&stack, "ada@letters.example", "approved").await;
    let link = program.link(&stack, &ada, "ada").await;
    stack.click("ada").await;
    let account = json!({ "account_id": "acct_1", "webhook_secret": "whsec_an_old_secret_1111" });
    program.put(&stack, "processor-connection", account).await.ok();
    let endpoint = json!({ "url": "https://hooks.acme.example/", "event_types": ["sale.recorded"] });
    let endpoint = program.submit(&stack, "webhook-endpoints", endpoint).await.id();
    let published = program.submit(&stack, "publish", json!({})).await;
    assert_eq!(published.data()["status"], "live");
    assert!(published.data()["publishedAt"].is_string());
    let archived = program.delete(&stack, "").await;
    assert_eq!(archived.data()["status"], "archived");

    program.sale(&stack, "t1", "nobody").await.is(401);
    stack.click_with("ada", json!({})).await.is(410);
    let (partner, link) = (
        format!("partners/{}", ada["id"]),
        format!("referral-links/{}", link["id"]),
    );
    let endpoint = format!("webhook-endpoints/{endpoint}");
    let secret = json!({ "webhook_secret": "whsec_a_newer_secret_2222" });
    let changes = json!({
        "PUT ": { "name": "New" },
        "POST partners": { "name": "B", "email": "b@c.example" },
        (format!("PUT {partner}")): { "status": "suspended" },
        (format!("POST {partner}/invitation")): {},
        "POST referral-links": { "partner_program_id": ada["id"] },
        (format!("PUT {link}")): { "status": "inactive" },
        "POST commission-policies": { "commission_type": "cps_lifetime", "rate_bps": 1 },
        "PUT processor-connection": secret,
        "POST processor-connection/rotate-secret": secret,
        (format!("PATCH {endpoint}")): { "enabled": false },
        (format!("POST {endpoint}/rotate-secret")): {},
    });
    for (request, body) in changes.as_object().unwrap() {
        let (method, below) = request.split_once(' ').unwrap();
        let (method, path) = (method.parse().unwrap(), program.path(below));
        let refused = program.owner.call(method, &path, Some(body.clone())).await;
        assert_eq!(refused.message(), "This program is archived", "{request}");
        refused.is(409);
    }
    // It keeps its partners, can still be disconnected, and is not listed.
    program.get(&stack, "partners").await.ok();
    program.delete(&stack, "processor-connection").await.is(204);
    assert_eq!(program.owner.get(PROGRAMS).await.total(), 0);
}

/// Both requests arrive while the row is locked, so each has finished its reads without the lock before the
/// other writes.
#[tokio::test]
async fn two_changes_at_once_both_last() {
    let (stack, acme) = Stack::with_workspace().await;
    let owner = &acme.owner;
    let member = acme.join(&stack, "member", Role::Member).await;
    let shop = Managed::new(&stack, &acme, "Shop").await;
    let ada = shop.partner(&stack, "ada@letters.example", "pending").await;
    let bruno = shop.partner(&stack, "bruno@reviews.example", "approved").await;
    let link = shop.link(&stack, &bruno, "bruno").await;
    let account = json!({ "account_id": "acct_1", "webhook_endpoint_id": "we_1" });
    shop.put(&stack, "processor-connection", account).await.ok();
    let key = owner
        .api_key(json!({ "name": "Backend", "scopes": ["program:read"] }))
        .await;
    let program = format!("programs WHERE id = {}", shop.id);
    for (path, row, changes) in [
        (
            shop.path(""),
            program.clone(),
            json!([{ "lead_auth": "server_required" }, { "description": "b" }]),
        ),
        (
            shop.path(&format!("partners/{}", ada["id"])),
            format!("partner_programs WHERE id = {}", ada["id"]),
            json!([{ "status": "approved" }, { "name": "Ada Lovelace" }]),
        ),
        (
            shop.path(&format!("referral-links/{}", link["id"])),
            format!("referral_links WHERE id = {}", link["id"]),
            json!([{ "status": "inactive" }, { "short_code": "bruno-2" }]),
        ),
        (
            shop.path("processor-connection"),
            program,
            json!([{ "status": "connected" }, { "webhook_endpoint_id": "we_2" }]),
        ),
        (
            format!("/api/advertiser/api-keys/{}", key["id"]),
            format!("management_keys WHERE id = {}", key["id"]),
            json!([{ "name": "Frontend" }, { "scopes": ["program:list"] }]),
        ),
        (
            stack.member_path(&member).await,
            format!("workspaces WHERE id = {}", acme.workspace_id),
            json!([{ "role": "admin" }, { "permissions": { shop.id.to_string(): ["tracking:read"] } }]),
        ),
    ] {
        let held = stack
            .holding(&format!("SELECT FROM {row} FOR NO KEY UPDATE"))
            .await;
        let (one, other, ()) = tokio::join!(
            owner.put(&path, changes[0].clone()),
            owner.put(&path, changes[1].clone()),
            stack.release(held, 2)
        );
        one.ok();
        other.ok();
        // A change without fields returns the current settings.
        let now = owner.put(&path, json!({})).await;
        for change in changes.as_array().unwrap() {
            now.data().has(change.clone());
        }
    }
}

#[tokio::test]
async fn a_program_archived_while_a_change_waits_is_not_changed() {
    let (stack, program) = Stack::with_managed().await;
    let archiving = stack
        .holding("UPDATE programs SET status = 'archived', archived_at = now()")
        .await;
    let change = program.put(&stack, "", json!({ "name": "New" }));
    let (changed, ()) = tokio::join!(change, stack.release(archiving, 1));
    changed.refused(409, "This program is archived");
}

/// Archiving locks links in the order in which click batches lock them, whatever the order of rows on disk.
#[tokio::test]
async fn archiving_locks_links_in_order() {
    let (stack, program) = Stack::with_managed().await;
    let program_id = ProgramId::new(program.id);
    let first = stack.partner(program_id, "ada").await.link;
    let second = stack.partner(program_id, "bruno").await.link;
    assert!(first < second);
    // The first link's row moves behind the second one's.
    let moved = format!("UPDATE referral_links SET clicks = 0 WHERE id = {first}");
    stack.execute(&moved).await;
    let lock = |link| format!("SELECT FROM referral_links WHERE id = {link} FOR NO KEY UPDATE NOWAIT");
    let mut counting = stack.holding(&lock(first)).await;
    let counted = async {
        stack.locked_out("the request waits for the row", 1).await;
        let lock = AssertSqlSafe(lock(second));
        sqlx::query(lock).execute(&mut *counting).await.unwrap();
        counting.commit().await.unwrap();
    };
    let (archived, ()) = tokio::join!(program.delete(&stack, ""), counted);
    assert_eq!(archived.data()["status"], "archived");
}

#[tokio::test]
async fn lists_are_paged_and_hold_nothing_of_others() {
    let (stack, acme) = Stack::with_workspace().await;
    let rival = stack.workspace("rival").await;
    for name in ["One", "Two"] {
        Managed::new(&stack, &acme, name).await;
    }
    let newest = Managed::new(&stack, &acme, "Three").await;
    Managed::new(&stack, &rival, "Theirs").await;
    let page = acme.owner.get(&format!("{PROGRAMS}?pageSize=2&page=2")).await;
    assert_eq!(page.column("name"), json!(["One"]));
    assert_eq!(
        page.body["meta"]["pagination"],
        json!({ "page": 2, "pageSize": 2, "pageCount": 2, "total": 3, "upTo": newest.id })
    );
    let unknown = acme.owner.get(&format!("{PROGRAMS}/999999")).await;
    unknown.refused(404, "Program not found");
}
