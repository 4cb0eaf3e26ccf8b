//! The members of a workspace, their roles, and who may change them.

use domain::people::permission::Role;
use reqwest::StatusCode;
use serde_json::{Value, json};
use test_harness::{Person, Stack, Workspace};

const MEMBERS: &str = "/api/advertiser/members";
const PROGRAMS: &str = "/api/advertiser/affiliate-programs";
const LAST_OWNER: &str = "A workspace keeps at least one owner";

async fn program(stack: &Stack, workspace: &Workspace) -> i64 {
    let made = stack
        .submit(PROGRAMS, Some(&workspace.owner.token), json!({ "name": "Acme" }))
        .await;
    made.body["data"]["id"].as_i64().unwrap()
}

/// The path of the person's only membership.
async fn path(stack: &Stack, person: &Person) -> String {
    let id: i64 = sqlx::query_scalar("SELECT id FROM workspace_members WHERE user_id = $1")
        .bind(person.user_id.get())
        .fetch_one(stack.pool())
        .await
        .unwrap();
    format!("{MEMBERS}/{id}")
}

#[tokio::test]
async fn members_are_listed_with_what_they_were_given() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    stack.workspace("rival").await;
    let mika = stack
        .member(acme.workspace_id, "mika@acme.example", Role::Member)
        .await;
    let program = program(&stack, &acme).await.to_string();
    let given = json!({ "permissions": { &program: ["tracking:read", "program:list"] } });
    let changed = stack
        .put(&path(&stack, &mika).await, &acme.owner.token, given)
        .await;
    assert_eq!(changed.status, StatusCode::OK, "{:?}", changed.body);
    let listed = stack.get(MEMBERS, &acme.owner.token).await;
    assert_eq!(listed.body["meta"]["pagination"]["total"], 2);
    let [owner, member] = listed.body["data"].as_array().unwrap().as_slice() else {
        panic!("{:?}", listed.body);
    };
    assert_eq!(
        (&owner["email"], &owner["role"]),
        (&json!("owner@acme.example"), &json!("owner"))
    );
    assert_eq!(member, &changed.body["data"]);
    assert_eq!(member["user_id"], mika.user_id.get());
    assert_eq!(member["role"], "member");
    assert_eq!(
        member["permissions"],
        json!({ program: ["tracking:read", "program:list"] })
    );
    assert!(member["createdAt"].is_string());
}

#[tokio::test]
async fn members_are_sorted_and_found_by_name_and_address() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    for (email, name) in [("zoe@acme.example", "anna"), ("ben@acme.example", "Über")] {
        let person = stack.member(acme.workspace_id, email, Role::Member).await;
        let named = format!("UPDATE users SET name = '{name}' WHERE id = {}", person.user_id);
        stack.execute(&named).await;
    }
    for (query, found) in [
        ("", vec!["owner", "zoe", "ben"]),
        // Sorted as Anna, Somebody, Über.
        ("sort=name&order=asc", vec!["zoe", "owner", "ben"]),
        ("sort=name", vec!["ben", "owner", "zoe"]),
        ("sort=email&order=asc", vec!["ben", "owner", "zoe"]),
        ("sort=created_at", vec!["ben", "zoe", "owner"]),
        ("search=ANNA", vec!["zoe"]),
        ("search=%C3%BCber", vec!["ben"]),
        ("search=OWNER@", vec!["owner"]),
        ("search=nobody", vec![]),
    ] {
        let listed = stack.get(&format!("{MEMBERS}?{query}"), &acme.owner.token).await;
        let members = listed.body["data"].as_array().unwrap();
        let emails: Vec<_> = members
            .iter()
            .map(|member| {
                member["email"]
                    .as_str()
                    .unwrap()
                    .trim_end_matches("@acme.example")
            })
            .collect();
        assert_eq!(emails, found, "{query}");
        assert_eq!(listed.body["meta"]["pagination"]["total"], found.len(), "{query}");
    }
    stack
        .get(&format!("{MEMBERS}?sort=role"), &acme.owner.token)
        .await
        .refused(400, "sort must be one of name, email, created_at");
}

#[tokio::test]
async fn what_is_given_counts_at_once_and_what_is_taken_back_no_longer() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let mika = stack
        .member(acme.workspace_id, "mika@acme.example", Role::Member)
        .await;
    let id = program(&stack, &acme).await;
    let member = path(&stack, &mika).await;
    let read = async || {
        stack
            .get(&format!("{PROGRAMS}/{id}"), &mika.token)
            .await
            .status
            .as_u16()
    };
    let give = async |body: Value| stack.put(&member, &acme.owner.token, body).await;
    assert_eq!(read().await, 403);
    let given = give(json!({ "permissions": { id.to_string(): ["program:*"] } })).await;
    assert_eq!(given.status, StatusCode::OK);
    assert_eq!(read().await, 200);
    // The member reads the same permissions as the owner who gave them.
    let me = stack.get("/api/users/me", &mika.token).await;
    let own = &me.body["workspaces"][0]["permissions"];
    assert_eq!(own, &given.body["data"]["permissions"]);
    assert!(
        own[id.to_string()]
            .as_array()
            .unwrap()
            .contains(&json!("program:update"))
    );
    let list = stack.get(PROGRAMS, &mika.token).await;
    assert_eq!(list.body["meta"]["pagination"]["total"], 1);
    give(json!({ "permissions": { id.to_string(): [] } })).await;
    assert_eq!(read().await, 403);
    give(json!({ "role": "admin" })).await;
    assert_eq!(read().await, 200);
    assert_eq!(stack.delete(&member, &acme.owner.token).await.status, 204);
    assert_eq!(read().await, 403);
    // The account belongs to the user, not to the workspace.
    let me = stack.get("/api/users/me", &mika.token).await;
    assert_eq!((me.status, &me.body["workspaces"]), (StatusCode::OK, &json!([])));
    let actions: Vec<String> =
        sqlx::query_scalar("SELECT action FROM audit_log WHERE action LIKE 'member.%' ORDER BY id")
            .fetch_all(stack.pool())
            .await
            .unwrap();
    assert_eq!(
        actions,
        [
            "member.updated",
            "member.updated",
            "member.updated",
            "member.removed"
        ]
    );
}

#[tokio::test]
async fn roles_and_permissions_are_checked() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let rival = stack.workspace("rival").await;
    let mika = stack
        .member(acme.workspace_id, "mika@acme.example", Role::Member)
        .await;
    let theirs = program(&stack, &rival).await;
    let own = program(&stack, &acme).await;
    let role = "role must be one of owner, admin, member";
    let permissions = "permissions must map ids of this workspace's programs to lists of permissions, such as \
                       {\"1\": [\"tracking:read\"]}";
    let member = path(&stack, &mika).await;
    for (body, message) in [
        (json!({ "role": "king" }), role),
        (json!({ "role": null }), role),
        (json!({ "role": 1 }), role),
        (json!({ "permissions": ["program:read"] }), permissions),
        (json!({ "permissions": { "x": ["program:read"] } }), permissions),
        (
            json!({ "permissions": { own.to_string(): "program:read" } }),
            permissions,
        ),
        (json!({ "permissions": { own.to_string(): [1] } }), permissions),
        (
            json!({ "permissions": { theirs.to_string(): ["program:read"] } }),
            permissions,
        ),
        (
            json!({ "permissions": { "999999": ["program:read"] } }),
            permissions,
        ),
        (
            json!({ "role": "admin", "permissions": { own.to_string(): ["program:read", "program:rule"] } }),
            "permissions names no permission: program:rule",
        ),
    ] {
        let answer = stack.put(&member, &acme.owner.token, body.clone()).await;
        answer.refused(400, message);
    }
    // A partly refused request changed nothing.
    let roles = stack.count("workspace_members WHERE role = 'member'").await;
    assert_eq!(roles, 1);
    let unknown = stack
        .put(&format!("{MEMBERS}/999999"), &acme.owner.token, json!({}))
        .await;
    unknown.refused(404, "Member not found");
}

#[tokio::test]
async fn admins_leave_owners_alone_and_members_leave_everybody_alone() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let rival = stack.workspace("rival").await;
    let admin = stack
        .member(acme.workspace_id, "admin@acme.example", Role::Admin)
        .await;
    let mika = stack
        .member(acme.workspace_id, "mika@acme.example", Role::Member)
        .await;
    let (owner, member) = (path(&stack, &acme.owner).await, path(&stack, &mika).await);
    let put = async |path: &str, person: &Person, role: &str| {
        let answer = stack.put(path, &person.token, json!({ "role": role })).await;
        answer.status.as_u16()
    };
    assert_eq!(put(&owner, &admin, "member").await, 403);
    assert_eq!(put(&owner, &admin, "owner").await, 403);
    assert_eq!(stack.delete(&owner, &admin.token).await.status, 403);
    assert_eq!(put(&member, &admin, "owner").await, 403);
    assert_eq!(put(&member, &mika, "admin").await, 403);
    assert_eq!(put(&member, &rival.owner, "admin").await, 403);
    assert_eq!(stack.get(MEMBERS, &mika.token).await.status, 403);
    let elsewhere = format!("{MEMBERS}?workspace_id={}", acme.workspace_id);
    assert_eq!(stack.get(&elsewhere, &rival.owner.token).await.status, 403);
    assert_eq!(put(&member, &admin, "admin").await, 200);
    assert_eq!(put(&member, &acme.owner, "owner").await, 200);
    // One of two owners may leave, even by their own request.
    assert_eq!(stack.delete(&owner, &acme.owner.token).await.status, 204);
}

#[tokio::test]
async fn the_last_owner_stays_whoever_asks() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let owner = path(&stack, &acme.owner).await;
    let demoted = stack
        .put(&owner, &acme.owner.token, json!({ "role": "admin" }))
        .await;
    demoted.refused(409, LAST_OWNER);
    stack
        .delete(&owner, &acme.owner.token)
        .await
        .refused(409, LAST_OWNER);
    let same = stack
        .put(&owner, &acme.owner.token, json!({ "role": "owner" }))
        .await;
    assert_eq!(same.status, StatusCode::OK);
    // A suspended owner could not run the workspace alone, but may be removed.
    let second = stack
        .member(acme.workspace_id, "second@acme.example", Role::Owner)
        .await;
    stack
        .execute(&format!(
            "UPDATE users SET status = 'suspended' WHERE id = {}",
            second.user_id
        ))
        .await;
    stack
        .delete(&owner, &acme.owner.token)
        .await
        .refused(409, LAST_OWNER);
    let second = path(&stack, &second).await;
    assert_eq!(stack.delete(&second, &acme.owner.token).await.status, 204);
}

#[tokio::test]
async fn of_two_owners_who_remove_each_other_one_stays() {
    let stack = Stack::start().await;
    for round in 0..10 {
        let acme = stack.workspace(&format!("acme{round}")).await;
        let email = format!("second@acme{round}.example");
        let second = stack.member(acme.workspace_id, &email, Role::Owner).await;
        let (first_path, second_path) = (path(&stack, &acme.owner).await, path(&stack, &second).await);
        let (one, other) = tokio::join!(
            stack.delete(&second_path, &acme.owner.token),
            stack.put(&first_path, &second.token, json!({ "role": "member" })),
        );
        let mut statuses = [one.status.as_u16(), other.status.as_u16()];
        statuses.sort_unstable();
        // The second request came too late: its user had lost the right, or had become the last owner.
        assert!(matches!(statuses, [200 | 204, 403]), "{statuses:?}");
        let owners: i64 = sqlx::query_scalar(
            "SELECT count(*) FROM workspace_members WHERE workspace_id = $1 AND role = 'owner'",
        )
        .bind(acme.workspace_id.get())
        .fetch_one(stack.pool())
        .await
        .unwrap();
        assert_eq!(owners, 1, "round {round}");
    }
}

#[tokio::test]
async fn a_workspace_is_renamed_by_who_runs_it() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let rival = stack.workspace("rival").await;
    let path = format!("/api/advertiser/workspaces/{}", acme.workspace_id);
    let renamed = stack
        .put(&path, &acme.owner.token, json!({ "name": "Acme Ltd" }))
        .await;
    assert_eq!(
        renamed.body["data"],
        json!({ "id": acme.workspace_id.get(), "name": "Acme Ltd", "role": "owner", "second_factor_required": false, "permissions": {} })
    );
    let nameless = stack.put(&path, &acme.owner.token, json!({ "name": "" })).await;
    nameless.refused(400, "name is required");
    let stranger = stack
        .put(&path, &rival.owner.token, json!({ "name": "Mine" }))
        .await;
    assert_eq!(stranger.status, StatusCode::FORBIDDEN);
    let unknown = stack
        .put(
            "/api/advertiser/workspaces/999999",
            &acme.owner.token,
            json!({ "name": "Mine" }),
        )
        .await;
    unknown.refused(404, "Workspace not found");
    let audited: Value = stack
        .value("SELECT details FROM audit_log WHERE action = 'workspace.updated'")
        .await;
    assert_eq!(
        audited,
        json!({ "name": { "before": "acme", "after": "Acme Ltd" } })
    );
}
