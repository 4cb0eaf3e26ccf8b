//! Which permission opens which report. `access.yaml` says which credentials are let in.

use reqwest::StatusCode;

use test_harness::Stack;

fn path(route: &str, program: impl std::fmt::Display) -> String {
    format!("/api/tracking/{}", route.replace("{}", &program.to_string()))
}

#[tokio::test]
async fn reports_of_a_program_that_is_none_are_not_found() {
    let (stack, program) = Stack::with_program().await;
    let own = stack.owner_of(&program).await;
    for route in [
        "performance/{}",
        "status/{}",
        "events/{}",
        "events/{}/export",
        "live/{}",
    ] {
        let unknown = stack.get(&path(route, 999_999), &own.token).await;
        unknown.refused(404, "Program not found");
        let no_id = stack.get(&path(route, "abc"), &own.token).await;
        assert_eq!(no_id.status, StatusCode::NOT_FOUND, "{route}");
    }
}

#[tokio::test]
async fn each_report_takes_its_own_permission() {
    let (stack, program) = Stack::with_program().await;
    let member = stack.member_of(&program, "member@x.example").await;
    for (permission, opened, closed) in [
        ("tracking:read", "status/{}", "events/{}"),
        ("tracking:list", "events/{}", "status/{}"),
    ] {
        stack.permit(&program, &member, permission).await;
        for (route, status) in [(opened, 200), (closed, 403)] {
            let answer = stack.get(&path(route, program.program_id), &member.token).await;
            assert_eq!(answer.status, status, "{permission}: {route}");
        }
    }
}
