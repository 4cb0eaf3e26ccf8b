//! Programs through the management API: created, changed, published and archived, each only by its own
//! workspace.

use domain::people::permission::Role;
use reqwest::StatusCode;
use serde_json::{Value, json};
use test_harness::{Answer, Person, Stack, Workspace, managed::Managed};

const PROGRAMS: &str = "/api/advertiser/affiliate-programs";

async fn create(stack: &Stack, person: &Person, body: Value) -> Answer {
    stack.submit(PROGRAMS, Some(&person.token), body).await
}

/// A program of the workspace: its id and its tracking token.
async fn program(stack: &Stack, workspace: &Workspace, name: &str) -> (i64, String) {
    let made = create(stack, &workspace.owner, json!({ "name": name })).await;
    assert_eq!(made.status, StatusCode::CREATED, "{:?}", made.body);
    let data = &made.body["data"];
    (
        data["id"].as_i64().unwrap(),
        data["api_token"].as_str().unwrap().to_owned(),
    )
}

#[tokio::test]
async fn a_program_starts_with_the_contracts_defaults_and_shows_its_token_once() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let made = create(&stack, &acme.owner, json!({ "name": "Acme Affiliates" })).await;
    assert_eq!(made.status, StatusCode::CREATED);
    let data = &made.body["data"];
    for (name, value) in [
        ("name", json!("Acme Affiliates")),
        ("status", json!("draft")),
        ("attribution_model", json!("last_click")),
        ("attribution_window_days", json!(60)),
        ("cookie_window_days", json!(90)),
        ("hold_days", json!(15)),
        ("needs_approval", json!("none")),
        ("partner_link_limit", json!(10)),
        ("lead_auth", Value::Null),
        ("currency", json!("USD")),
        ("exclude_bots", json!(false)),
        ("publishedAt", Value::Null),
        ("workspace_id", json!(acme.workspace_id.get())),
    ] {
        assert_eq!(data[name], value, "{name}");
    }
    assert!(data["slug"].as_str().unwrap().starts_with("acme-affiliates-"));
    let token = data["api_token"].as_str().unwrap().to_owned();
    let path = format!("{PROGRAMS}/{}", data["id"]);
    let read = stack.get(&path, &acme.owner.token).await;
    assert_eq!(read.body["data"]["api_token_masked"], data["api_token_masked"]);
    assert!(!read.body.to_string().contains(&token));
    // The token works at once: an integration is tested before the program is published.
    let sale = json!({ "transaction_id": "t1", "amount_cents": 100, "customer_key": "nobody" });
    let answer = stack.post("sale", Some(&token), sale).await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{:?}", answer.body);
}

#[tokio::test]
async fn a_setting_that_cannot_be_is_refused_by_its_name() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let (id, _) = program(&stack, &acme, "Acme").await;
    let path = format!("{PROGRAMS}/{id}");
    let put = |body: Value| stack.put(&path, &acme.owner.token, body);
    for (body, message) in [
        (json!({ "name": "" }), "name is required"),
        (
            json!({ "name": "x".repeat(121) }),
            "name must be at most 120 characters",
        ),
        (
            json!({ "slug": "Not A Slug" }),
            "slug must be lower-case letters and digits joined by single hyphens, at most 80 characters",
        ),
        (
            json!({ "cookie_window_days": 0 }),
            "cookie_window_days must be an integer from 1 to 365",
        ),
        (
            json!({ "cookie_window_days": "90" }),
            "cookie_window_days must be an integer from 1 to 365",
        ),
        (
            json!({ "attribution_window_days": 366 }),
            "attribution_window_days must be an integer from 1 to 365",
        ),
        (
            json!({ "hold_days": 32 }),
            "hold_days must be an integer from 0 to 31",
        ),
        (
            json!({ "needs_approval": "some" }),
            "needs_approval must be one of none, flagged, all",
        ),
        (
            json!({ "attribution_model": "best" }),
            "attribution_model must be one of last_click, first_click, linear",
        ),
        (
            json!({ "lead_auth": "maybe" }),
            "lead_auth must be server_required or null",
        ),
        (
            json!({ "currency": "dollars" }),
            "currency must be a currency code of three letters",
        ),
        (
            json!({ "domain": "not a host" }),
            "domain must be a host name such as shop.example",
        ),
        (
            json!({ "partner_link_limit": 101 }),
            "partner_link_limit must be an integer from 0 to 100",
        ),
        (json!({ "exclude_bots": "yes" }), "exclude_bots must be a boolean"),
        (
            json!({ "color": "teal" }),
            "color must be a colour such as #0f6259",
        ),
    ] {
        put(body).await.refused(400, message);
    }
}

#[tokio::test]
async fn settings_are_changed_and_what_is_not_named_stays() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let (id, _) = program(&stack, &acme, "Acme").await;
    let (other, _) = program(&stack, &acme, "Other").await;
    let path = format!("{PROGRAMS}/{id}");
    let put = |body: Value| stack.put(&path, &acme.owner.token, body);
    let changed = put(json!({
        "slug": "acme", "cookie_window_days": 365, "lead_auth": "server_required", "domain": "https://Shop.example/",
        "description": "Twenty percent.", "exclude_bots": true, "hold_days": 0, "attribution_model": "linear",
        "needs_approval": "flagged", "color": "#0F6259", "partner_link_limit": 0,
    }))
    .await;
    assert_eq!(changed.status, StatusCode::OK, "{:?}", changed.body);
    let cleared = put(json!({ "lead_auth": null, "cookie_window_days": null, "description": null })).await;
    let data = &cleared.body["data"];
    for (name, value) in [
        ("name", json!("Acme")),
        ("slug", json!("acme")),
        ("cookie_window_days", json!(90)),
        ("lead_auth", Value::Null),
        ("description", Value::Null),
        ("domain", json!("shop.example")),
        ("exclude_bots", json!(true)),
        ("hold_days", json!(0)),
        ("needs_approval", json!("flagged")),
        ("color", json!("#0f6259")),
        ("partner_link_limit", json!(0)),
        ("attribution_model", json!("linear")),
    ] {
        assert_eq!(data[name], value, "{name}");
    }
    let taken = stack
        .put(
            &format!("{PROGRAMS}/{other}"),
            &acme.owner.token,
            json!({ "slug": "acme" }),
        )
        .await;
    taken.refused(400, "slug is taken by another program");
    let audited: Value = stack
        .value("SELECT details FROM audit_log WHERE action = 'program.updated' ORDER BY id LIMIT 1")
        .await;
    assert_eq!(
        audited["cookie_window_days"],
        json!({ "before": 90, "after": 365 })
    );
    assert!(audited.get("name").is_none(), "{audited}");
}

#[tokio::test]
async fn an_archived_program_takes_no_calls_and_no_changes() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let (id, token) = program(&stack, &acme, "Acme").await;
    let ada = stack.partner(domain::ids::ProgramId::new(id), "ada").await;
    stack.click(&ada.code).await;
    let path = format!("{PROGRAMS}/{id}");
    let published = stack
        .submit(&format!("{path}/publish"), Some(&acme.owner.token), json!({}))
        .await;
    assert_eq!(published.body["data"]["status"], "live");
    assert!(published.body["data"]["publishedAt"].is_string());
    assert_eq!(
        stack.delete(&path, &acme.owner.token).await.body["data"]["status"],
        "archived"
    );
    let sale = || async {
        let sale = json!({ "transaction_id": "t1", "amount_cents": 100, "customer_key": "nobody" });
        stack.post("sale", Some(&token), sale).await.status
    };
    assert_eq!(sale().await, StatusCode::UNAUTHORIZED);
    let click = stack.click_with(&ada.code, json!({})).await;
    assert_eq!(click.status, StatusCode::GONE, "{click:?}");
    let update = stack
        .put(&path, &acme.owner.token, json!({ "name": "New" }))
        .await;
    assert_eq!(update.status, StatusCode::CONFLICT);
    let list = stack.get(PROGRAMS, &acme.owner.token).await;
    assert_eq!(list.body["meta"]["pagination"]["total"], 0);
}

/// Both requests arrive while the row is locked, so each has finished its reads without the lock before the
/// other writes.
#[tokio::test]
async fn two_changes_at_once_both_last() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let token = &acme.owner.token;
    let member = stack
        .member(acme.workspace_id, "member@acme.example", Role::Member)
        .await;
    let shop = Managed::new(&stack, &acme, "Shop").await;
    let ada = shop.partner(&stack, "ada@letters.example", "pending").await;
    let bruno = shop.partner(&stack, "bruno@reviews.example", "approved").await;
    let link = shop.link(&stack, &bruno, "bruno").await;
    let account = json!({ "account_id": "acct_1", "webhook_endpoint_id": "we_1" });
    shop.put(&stack, "processor-connection", account).await;
    let key = json!({ "name": "Backend", "scopes": ["program:read"] });
    let key = stack
        .submit("/api/advertiser/api-keys", Some(token), key)
        .await
        .body["data"]["id"]
        .clone();
    let members = stack.get("/api/advertiser/members", token).await;
    let member = members.body["data"]
        .as_array()
        .unwrap()
        .iter()
        .find(|listed| listed["user_id"] == json!(member.user_id.get()))
        .unwrap()["id"]
        .clone();
    let granted = json!({ shop.id.to_string(): ["tracking:read"] });
    for (path, row, first, second) in [
        (
            format!("{PROGRAMS}/{}", shop.id),
            format!("programs WHERE id = {}", shop.id),
            json!({ "lead_auth": "server_required" }),
            json!({ "description": "b" }),
        ),
        (
            shop.path(&format!("partners/{}", ada["id"])),
            format!("partner_programs WHERE id = {}", ada["id"]),
            json!({ "status": "approved" }),
            json!({ "name": "Ada Lovelace" }),
        ),
        (
            shop.path(&format!("referral-links/{}", link["id"])),
            format!("referral_links WHERE id = {}", link["id"]),
            json!({ "status": "inactive" }),
            json!({ "short_code": "bruno-2" }),
        ),
        (
            shop.path("processor-connection"),
            format!("programs WHERE id = {}", shop.id),
            json!({ "status": "connected" }),
            json!({ "webhook_endpoint_id": "we_2" }),
        ),
        (
            format!("/api/advertiser/api-keys/{key}"),
            format!("management_keys WHERE id = {key}"),
            json!({ "name": "Frontend" }),
            json!({ "scopes": ["program:list"] }),
        ),
        (
            format!("/api/advertiser/members/{member}"),
            format!("workspaces WHERE id = {}", acme.workspace_id),
            json!({ "role": "admin" }),
            json!({ "permissions": granted }),
        ),
    ] {
        let mut holder = stack.pool().begin().await.unwrap();
        let lock = format!("SELECT FROM {row} FOR NO KEY UPDATE");
        sqlx::query(sqlx::AssertSqlSafe(lock))
            .execute(&mut *holder)
            .await
            .unwrap();
        let released = async {
            stack.locked_out("the requests wait for the row", 2).await;
            holder.commit().await.unwrap();
        };
        let (one, other, ()) = tokio::join!(
            stack.put(&path, token, first.clone()),
            stack.put(&path, token, second.clone()),
            released
        );
        assert_eq!(
            (one.status, other.status),
            (StatusCode::OK, StatusCode::OK),
            "{path}"
        );
        // A change without fields returns the current settings.
        let now = stack.put(&path, token, json!({})).await;
        for (name, value) in [&first, &second]
            .into_iter()
            .filter_map(Value::as_object)
            .flatten()
        {
            assert_eq!(&now.body["data"][name], value, "{path} {name}");
        }
    }
}

#[tokio::test]
async fn a_program_archived_while_a_change_waits_is_not_changed() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let (id, _) = program(&stack, &acme, "Acme").await;
    let mut archiving = stack.pool().begin().await.unwrap();
    sqlx::query("UPDATE programs SET status = 'archived', archived_at = now() WHERE id = $1")
        .bind(id)
        .execute(&mut *archiving)
        .await
        .unwrap();
    let archived = async {
        stack.locked_out("the requests wait for the row", 1).await;
        archiving.commit().await.unwrap();
    };
    let path = format!("{PROGRAMS}/{id}");
    let change = stack.put(&path, &acme.owner.token, json!({ "name": "New" }));
    let (changed, ()) = tokio::join!(change, archived);
    changed.refused(409, "This program is archived");
}

/// Archiving locks links in the order in which click batches lock them, whatever the order of rows on disk.
#[tokio::test]
async fn archiving_locks_links_in_order() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let (id, _) = program(&stack, &acme, "Acme").await;
    let program_id = domain::ids::ProgramId::new(id);
    let (ada, bruno) = (
        stack.partner(program_id, "ada").await,
        stack.partner(program_id, "bruno").await,
    );
    let (first, second) = (ada.link.get(), bruno.link.get());
    assert!(first < second);
    // The first link's row moves behind the second one's.
    stack
        .execute(&format!(
            "UPDATE referral_links SET clicks = 0 WHERE id = {first}"
        ))
        .await;
    let mut counting = stack.pool().begin().await.unwrap();
    let lock = "SELECT 1 FROM referral_links WHERE id = $1 FOR NO KEY UPDATE NOWAIT";
    sqlx::query(lock)
        .bind(first)
        .execute(&mut *counting)
        .await
        .unwrap();
    let path = format!("{PROGRAMS}/{id}");
    let archived = stack.delete(&path, &acme.owner.token);
    let counted = async {
        stack.locked_out("the requests wait for the row", 1).await;
        sqlx::query(lock)
            .bind(second)
            .execute(&mut *counting)
            .await
            .unwrap();
        counting.commit().await.unwrap();
    };
    let (archived, ()) = tokio::join!(archived, counted);
    assert_eq!(archived.body["data"]["status"], "archived");
}

#[tokio::test]
async fn lists_are_paged_and_hold_nothing_of_others() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let rival = stack.workspace("rival").await;
    for name in ["One", "Two"] {
        program(&stack, &acme, name).await;
    }
    let (newest, _) = program(&stack, &acme, "Three").await;
    let (theirs, _) = program(&stack, &rival, "Theirs").await;
    let page = stack
        .get(&format!("{PROGRAMS}?pageSize=2&page=2"), &acme.owner.token)
        .await;
    assert_eq!(page.body["data"].as_array().unwrap().len(), 1);
    assert_eq!(page.body["data"][0]["name"], "One");
    assert_eq!(
        page.body["meta"]["pagination"],
        json!({ "page": 2, "pageSize": 2, "pageCount": 2, "total": 3, "upTo": newest })
    );
    let path = format!("{PROGRAMS}/{theirs}");
    for answer in [
        stack.get(&path, &acme.owner.token).await,
        stack
            .put(&path, &acme.owner.token, json!({ "name": "Mine" }))
            .await,
        stack.delete(&path, &acme.owner.token).await,
    ] {
        assert_eq!(answer.status, StatusCode::FORBIDDEN);
        assert!(!answer.body.to_string().contains("Theirs"));
    }
    let unknown = stack.get(&format!("{PROGRAMS}/999999"), &acme.owner.token).await;
    unknown.refused(404, "Program not found");
}

#[tokio::test]
async fn a_member_has_what_was_given_and_an_admin_everything() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let admin = stack
        .member(acme.workspace_id, "admin@acme.example", Role::Admin)
        .await;
    let member = stack
        .member(acme.workspace_id, "member@acme.example", Role::Member)
        .await;
    let (id, _) = program(&stack, &acme, "Given").await;
    let (hidden, _) = program(&stack, &acme, "Hidden").await;
    stack
        .execute(&format!(
            "INSERT INTO member_permissions SELECT id, {id}, '{{program:list,program:read}}' FROM workspace_members
             WHERE user_id = {}",
            member.user_id
        ))
        .await;
    let list = stack.get(PROGRAMS, &member.token).await;
    assert_eq!(list.body["meta"]["pagination"]["total"], 1);
    assert_eq!(list.body["data"][0]["name"], "Given");
    let status = |program: i64, person: &Person, body: Option<Value>| {
        let path = format!("{PROGRAMS}/{program}");
        let token = person.token.clone();
        let stack = &stack;
        async move {
            match body {
                None => stack.get(&path, &token).await.status,
                Some(body) => stack.put(&path, &token, body).await.status,
            }
        }
    };
    assert_eq!(status(id, &member, None).await, 200);
    assert_eq!(status(hidden, &member, None).await, 403);
    assert_eq!(status(id, &member, Some(json!({ "name": "New" }))).await, 403);
    assert_eq!(
        create(&stack, &member, json!({ "name": "New" })).await.status,
        403
    );
    assert_eq!(status(hidden, &admin, Some(json!({ "name": "New" }))).await, 200);
}
