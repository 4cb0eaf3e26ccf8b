use domain::people::account::UserKind;
use domain::people::permission::Role;
use reqwest::StatusCode;

use super::{owner, workspace};
use test_harness::Stack;

const NOT_LIVE: [&str; 4] = ["performance/{}", "status/{}", "events/{}", "events/{}/export"];

fn all() -> impl Iterator<Item = &'static str> {
    NOT_LIVE.into_iter().chain(["live/{}"])
}

fn path(route: &str, program: impl std::fmt::Display) -> String {
    format!("/api/tracking/{}", route.replace("{}", &program.to_string()))
}

#[tokio::test]
async fn reports_are_for_sessions_of_the_programs_workspace_only() {
    let (stack, program) = Stack::with_program().await;
    let id = program.program_id;
    let own = owner(&stack, &program).await;
    let foreigner = stack.workspace("rival").await.owner;
    let partner_id = stack.user(UserKind::Partner, "ada@partner.example").await;
    let partner = stack.signed_in(partner_id, "ada@partner.example").await;
    for route in all() {
        let without = stack
            .send(stack.request(reqwest::Method::GET, &path(route, id)))
            .await;
        without.refused(401, "Missing or invalid credentials");
        let by_key = stack.get(&path(route, id), &program.token).await;
        by_key.refused(401, "This credential is not accepted here");
        for stranger in [&foreigner, &partner] {
            let answer = stack.get(&path(route, id), &stranger.token).await;
            answer.refused(403, "You do not have access to this resource");
        }
        let unknown = stack.get(&path(route, 999_999), &own.token).await;
        unknown.refused(404, "Program not found");
        let no_id = stack.get(&path(route, "abc"), &own.token).await;
        assert_eq!(no_id.status, StatusCode::NOT_FOUND, "{route}");
    }
    for route in NOT_LIVE {
        let answer = stack.get(&path(route, id), &own.token).await;
        assert_eq!(answer.status, StatusCode::OK, "{route}: {:?}", answer.body);
    }
}

#[tokio::test]
async fn any_member_sees_performance_and_the_rest_takes_its_permission() {
    let (stack, program) = Stack::with_program().await;
    let id = program.program_id;
    let member = stack
        .member(
            workspace(&stack, &program).await,
            "member@x.example",
            Role::Member,
        )
        .await;
    let status = |route: &'static str| {
        let (stack, token) = (&stack, member.token.clone());
        async move { stack.get(&path(route, id), &token).await.status.as_u16() }
    };
    assert_eq!(status("performance/{}").await, 200);
    for route in ["status/{}", "events/{}", "events/{}/export", "live/{}"] {
        assert_eq!(status(route).await, 403, "{route}");
    }
    for (permission, opened, closed) in [
        ("tracking:read", "status/{}", "events/{}"),
        ("tracking:list", "events/{}", "status/{}"),
    ] {
        stack.execute("DELETE FROM member_permissions").await;
        stack
            .execute(&format!(
                "INSERT INTO member_permissions SELECT id, {id}, '{{{permission}}}' FROM workspace_members
                 WHERE user_id = {}",
                member.user_id
            ))
            .await;
        assert_eq!(status(opened).await, 200, "{permission}");
        assert_eq!(status(closed).await, 403, "{permission}");
    }
    assert_eq!(status("events/{}/export").await, 200);
}
