//! The members of a workspace, their roles, and who may change them.

use domain::people::permission::Role;
use serde_json::{Value, json};
use test_harness::managed::{Managed, PROGRAMS, audit_actions, audit_details};
use test_harness::{Json, Stack, refused_each, statuses};

const MEMBERS: &str = "/api/advertiser/members";

const LAST_OWNER: &str = "A workspace keeps at least one owner";

#[tokio::test]
async fn members_are_listed_with_what_they_were_given() {
    let (stack, acme) = Stack::with_workspace().await;
    stack.workspace("rival").await;
    let mika = acme.join(&stack, "mika", Role::Member).await;
    let program = Managed::new(&stack, &acme, "Acme").await;
    let permissions = json!({ program.id.to_string(): ["tracking:read", "program:list"] });
    let given = json!({ "permissions": permissions });
    let changed = acme.owner.put(&stack.member_path(&mika).await, given).await;
    let listed = acme.owner.get(MEMBERS).await;
    assert_eq!(listed.total(), 2);
    let [owner, member] = listed.data().as_array().unwrap().as_slice() else {
        panic!("{:?}", listed.body);
    };
    owner.has(json!({ "email": "owner@acme.example", "role": "owner" }));
    assert_eq!(member, changed.data());
    member.has(json!({ "user_id": mika.user_id, "role": "member", "permissions": permissions }));
    assert!(member["createdAt"].is_string());
}

#[tokio::test]
async fn members_are_sorted_and_found_by_name_and_address() {
    let (stack, acme) = Stack::with_workspace().await;
    for (email, name) in [("zoe", "anna"), ("ben", "Über")] {
        let person = acme.join(&stack, email, Role::Member).await;
        let named = format!("UPDATE users SET name = '{name}' WHERE id = {}", person.user_id);
        stack.execute(&named).await;
    }
    let token = &acme.owner.token;
    let [owner, zoe, ben] = ["owner@acme.example", "zoe@acme.example", "ben@acme.example"];
    let emails = json!({
        "": [owner, zoe, ben],
        // Sorted as Anna, Somebody, Über.
        "sort=name&order=asc": [zoe, owner, ben],
        "sort=name": [ben, owner, zoe],
        "sort=email&order=asc": [ben, owner, zoe],
        "sort=created_at": [ben, zoe, owner],
        "search=ANNA": [zoe],
        "search=%C3%BCber": [ben],
        "search=OWNER@": [owner],
        "search=nobody": [],
    });
    stack.lists(token, MEMBERS, "email", emails).await;
    let refusals = json!({ "sort=role": "sort must be one of name, email, created_at" });
    stack.refuses(token, MEMBERS, refusals).await;
}

#[tokio::test]
async fn what_is_given_counts_at_once_and_what_is_taken_back_no_longer() {
    let (stack, acme) = Stack::with_workspace().await;
    let mika = acme.join(&stack, "mika", Role::Member).await;
    let program = Managed::new(&stack, &acme, "Acme").await;
    let (id, path) = (program.id.to_string(), program.path(""));
    let member = stack.member_path(&mika).await;
    let give = async |body: Value| acme.owner.put(&member, body).await.ok();
    mika.get(&path).await.is(403);
    let given = give(json!({ "permissions": { &id: ["program:*"] } })).await;
    mika.get(&path).await.ok();
    // The member reads the same permissions as the owner who gave them.
    let me = mika.get("/api/users/me").await;
    let own = &me.body["workspaces"][0]["permissions"];
    assert_eq!(own, &given.data()["permissions"]);
    assert!(own[&id].as_array().unwrap().contains(&json!("program:update")));
    assert_eq!(mika.get(PROGRAMS).await.total(), 1);
    give(json!({ "permissions": { &id: [] } })).await;
    mika.get(&path).await.is(403);
    give(json!({ "role": "admin" })).await;
    mika.get(&path).await.ok();
    acme.owner.delete(&member).await.is(204);
    mika.get(&path).await.is(403);
    // The account belongs to the user, not to the workspace.
    let me = mika.get("/api/users/me").await.ok();
    assert_eq!(me.body["workspaces"], json!([]));
    let actions = audit_actions(&stack, "action LIKE 'member.%'").await;
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
    let (stack, acme) = Stack::with_workspace().await;
    let rival = stack.workspace("rival").await;
    let mika = acme.join(&stack, "mika", Role::Member).await;
    let theirs = Managed::new(&stack, &rival, "Theirs").await.id.to_string();
    let own = Managed::new(&stack, &acme, "Own").await.id.to_string();
    let permissions = "permissions must map ids of this workspace's programs to lists of permissions, such as \
                       {\"1\": [\"tracking:read\"]}";
    let refusals = json!({
        "role must be one of owner, admin, member": [{ "role": "king" }, { "role": null }, { "role": 1 }],
        permissions: [
            { "permissions": ["program:read"] },
            { "permissions": { "x": ["program:read"] } },
            { "permissions": { &own: "program:read" } },
            { "permissions": { &own: [1] } },
            { "permissions": { theirs: ["program:read"] } },
            { "permissions": { "999999": ["program:read"] } },
        ],
        "permissions names no permission: program:rule": [
            { "role": "admin", "permissions": { &own: ["program:read", "program:rule"] } },
        ],
    });
    let member = stack.member_path(&mika).await;
    refused_each(400, refusals, |body| acme.owner.put(&member, body)).await;
    // A partly refused request changed nothing.
    assert_eq!(stack.count("workspace_members WHERE role = 'member'").await, 1);
    let unknown = acme.owner.put(&format!("{MEMBERS}/999999"), json!({})).await;
    unknown.refused(404, "Member not found");
}

#[tokio::test]
async fn admins_leave_owners_alone() {
    let (stack, acme) = Stack::with_workspace().await;
    let admin = acme.join(&stack, "admin", Role::Admin).await;
    let mika = acme.join(&stack, "mika", Role::Member).await;
    let owner = stack.member_path(&acme.owner).await;
    let member = stack.member_path(&mika).await;
    for (person, path, role, status) in [
        (&admin, &owner, "member", 403),
        (&admin, &owner, "owner", 403),
        (&admin, &member, "owner", 403),
        (&admin, &member, "admin", 200),
        (&acme.owner, &member, "owner", 200),
    ] {
        person.put(path, json!({ "role": role })).await.is(status);
    }
    admin.delete(&owner).await.is(403);
    // One of two owners may leave, even by their own request.
    acme.owner.delete(&owner).await.is(204);
}

#[tokio::test]
async fn the_last_owner_stays_whoever_asks() {
    let (stack, acme) = Stack::with_workspace().await;
    let owner = stack.member_path(&acme.owner).await;
    let demoted = acme.owner.put(&owner, json!({ "role": "admin" })).await;
    demoted.refused(409, LAST_OWNER);
    acme.owner.delete(&owner).await.refused(409, LAST_OWNER);
    acme.owner.put(&owner, json!({ "role": "owner" })).await.ok();
    // A suspended owner could not run the workspace alone, but may be removed.
    let second = acme.join(&stack, "second", Role::Owner).await;
    let suspended = format!(
        "UPDATE users SET status = 'suspended' WHERE id = {}",
        second.user_id
    );
    stack.execute(&suspended).await;
    acme.owner.delete(&owner).await.refused(409, LAST_OWNER);
    let second = stack.member_path(&second).await;
    acme.owner.delete(&second).await.is(204);
}

#[tokio::test]
async fn of_two_owners_who_remove_each_other_one_stays() {
    let stack = Stack::start().await;
    for round in 0..10 {
        let acme = stack.workspace(&format!("acme{round}")).await;
        let second = acme.join(&stack, "second", Role::Owner).await;
        let first_path = stack.member_path(&acme.owner).await;
        let second_path = stack.member_path(&second).await;
        let (one, other) = tokio::join!(
            acme.owner.delete(&second_path),
            second.put(&first_path, json!({ "role": "member" })),
        );
        // The second request came too late: its user had lost the right, or had become the last owner.
        let found = statuses([one, other]);
        assert!(matches!(found[..], [200 | 204, 403]), "{found:?}");
        let owners = format!(
            "workspace_members WHERE workspace_id = {} AND role = 'owner'",
            acme.workspace_id
        );
        assert_eq!(stack.count(&owners).await, 1, "round {round}");
    }
}

#[tokio::test]
async fn a_workspace_is_renamed_by_who_runs_it() {
    let (stack, acme) = Stack::with_workspace().await;
    let rename = async |id: i64, name: &str| {
        let path = format!("/api/advertiser/workspaces/{id}");
        acme.owner.put(&path, json!({ "name": name })).await
    };
    let id = acme.workspace_id.get();
    assert_eq!(
        *rename(id, "Acme Ltd").await.data(),
        json!({ "id": id, "name": "Acme Ltd", "role": "owner", "second_factor_required": false,
                "permissions": {} })
    );
    rename(id, "").await.refused(400, "name is required");
    rename(999_999, "Mine").await.refused(404, "Workspace not found");
    let details = json!({ "name": { "before": "acme", "after": "Acme Ltd" } });
    assert_eq!(audit_details(&stack, "workspace.updated").await, [details]);
}
