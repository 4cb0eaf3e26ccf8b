//! `/app`: the dashboard's document and files.

use reqwest::{Method, StatusCode};

use crate::stack::Stack;

#[tokio::test]
async fn every_address_of_the_dashboard_is_its_document() {
    let stack = Stack::start().await;
    for path in [
        "/app",
        "/app/",
        "/app/sign-in",
        "/app/programs",
        "/app/programs/7/events?type=click",
        "/app/keys",
        "/app/members",
        "/app/account",
        "/app/partner",
        "/app/partner/links",
        "/invitations/inv_abc",
    ] {
        let page = stack.send(stack.request(Method::GET, path)).await;
        assert_eq!(page.status, StatusCode::OK, "{path}");
        assert!(page.header("content-type").starts_with("text/html"), "{path}");
        assert_eq!(page.header("cache-control"), "no-cache", "{path}");
        assert!(page.body.as_str().unwrap().contains("/app/assets/"), "{path}");
    }
    stack.stop().await;
}

#[tokio::test]
async fn the_document_runs_its_own_files_only_and_cannot_be_framed() {
    let stack = Stack::start().await;
    let page = stack.send(stack.request(Method::GET, "/app")).await;
    let policy = page.header("content-security-policy");
    for rule in [
        "default-src 'self'",
        "base-uri 'none'",
        "object-src 'none'",
        "frame-ancestors 'none'",
    ] {
        assert!(policy.contains(rule), "{policy}");
    }
    assert!(
        !policy.contains("unsafe") && !policy.contains("data:"),
        "{policy}"
    );
    assert_eq!(page.header("x-frame-options"), "DENY");
    assert_eq!(page.header("referrer-policy"), "no-referrer");
    assert_eq!(page.header("x-content-type-options"), "nosniff");
    let html = page.body.as_str().unwrap();
    assert!(!html.contains("<style") && !html.contains("://"), "{html}");
    let named: Vec<&str> = html
        .split('"')
        .filter(|text| text.starts_with("/app/assets/"))
        .collect();
    assert!(named.len() >= 2, "{html}");
    for path in named {
        let file = stack.send(stack.request(Method::GET, path)).await;
        assert_eq!(file.status, StatusCode::OK, "{path}");
        assert_eq!(
            file.header("cache-control"),
            "max-age=31536000, immutable",
            "{path}"
        );
        assert_eq!(file.header("x-content-type-options"), "nosniff", "{path}");
    }
    stack.stop().await;
}

/// A script that is missing must not turn out to be a page, and nothing below `/api` is the dashboard's.
#[tokio::test]
async fn what_is_not_there_is_not_the_document() {
    let stack = Stack::start().await;
    for path in [
        "/app/assets/missing.js",
        "/app/nothing",
        "/api/app",
        "/invitations",
        "/api/invitations/inv_abc",
    ] {
        let answer = stack.send(stack.request(Method::GET, path)).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{path}");
        assert_eq!(answer.body["error"]["name"], "NotFoundError", "{path}");
    }
    let answer = stack.send(stack.request(Method::POST, "/app")).await;
    assert_eq!(answer.status, StatusCode::METHOD_NOT_ALLOWED);
    stack.stop().await;
}
