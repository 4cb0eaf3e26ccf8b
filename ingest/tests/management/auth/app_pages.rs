//! `/app`: the dashboard's document and files.

use reqwest::{Method, StatusCode};
use test_harness::Stack;

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
        "/app/audit-log",
        "/app/workspace",
        "/app/members",
        "/app/account",
        "/app/partner",
        "/app/partner/links",
        "/invitation",
        "/invitations/inv_abc",
    ] {
        let page = stack.send(stack.request(Method::GET, path)).await;
        assert_eq!(page.status, StatusCode::OK, "{path}");
        assert!(page.header("content-type").starts_with("text/html"), "{path}");
        assert_eq!(page.header("cache-control"), "no-cache", "{path}");
        assert!(page.body.as_str().unwrap().contains("/app/assets/"), "{path}");
    }
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
}

#[tokio::test]
async fn security_txt_says_whom_to_tell_of_a_weakness_where_that_is_configured() {
    const PATH: &str = "/.well-known/security.txt";
    let stack = Stack::start().await;
    let nobody = stack.send(stack.request(Method::GET, PATH)).await;
    assert_eq!(nobody.status, StatusCode::NOT_FOUND);
    drop(stack);
    let stack = Stack::start_set(&[("SECURITY_CONTACT", "mailto:security@shop.example")]).await;
    let found = stack.send(stack.request(Method::GET, PATH)).await;
    assert_eq!(found.header("content-type"), "text/plain; charset=utf-8");
    let text = found.body.as_str().unwrap();
    let expires = text
        .lines()
        .find_map(|line| line.strip_prefix("Expires: "))
        .unwrap();
    let expires: chrono::DateTime<chrono::Utc> = expires.parse().unwrap();
    assert!(expires > stack.clock.now());
    assert!(
        text.starts_with("Contact: mailto:security@shop.example\n"),
        "{text}"
    );
}

#[tokio::test]
async fn files_are_sent_compressed_to_whoever_takes_that_and_validated_by_one_tag() {
    let stack = Stack::start().await;
    let get = |path: &str| stack.request(Method::GET, path);
    let page = stack.send(get("/app")).await;
    let script = page
        .body
        .as_str()
        .unwrap()
        .split('"')
        .find(|text| text.starts_with("/app/assets/") && text.rsplit('.').next() == Some("js"))
        .unwrap();
    for path in ["/app", script] {
        let length = async |accepted: &str, coding: &str| {
            let asked = get(path).header("accept-encoding", accepted);
            let answer = asked.send().await.unwrap();
            let header = |name: &str| {
                let value = answer.headers().get(name);
                value.map_or("", |value| value.to_str().unwrap()).to_owned()
            };
            assert_eq!(answer.status(), StatusCode::OK, "{path} {accepted}");
            assert_eq!(header("content-encoding"), coding, "{path} {accepted}");
            assert_eq!(header("vary"), "accept-encoding", "{path} {accepted}");
            (
                answer.headers()["etag"].clone(),
                answer.bytes().await.unwrap().len(),
            )
        };
        let (tag, plain) = length("identity", "").await;
        let (of_gzip, gzip) = length("gzip, deflate", "gzip").await;
        let (of_brotli, brotli) = length("gzip, deflate, br, zstd", "br").await;
        assert!(brotli < gzip && gzip < plain, "{path}: {brotli} {gzip} {plain}");
        assert_eq!([&of_gzip, &of_brotli], [&tag, &tag], "{path}");
        assert!(tag.to_str().unwrap().starts_with("W/\""), "{path}: {tag:?}");
        let again = get(path)
            .header("accept-encoding", "br")
            .header("if-none-match", tag);
        assert_eq!(
            again.send().await.unwrap().status(),
            StatusCode::NOT_MODIFIED,
            "{path}"
        );
    }
}

#[tokio::test]
async fn an_unknown_page_is_the_document_and_404() {
    let stack = Stack::start().await;
    for path in [
        "/app/nope",
        "/app/keys/nope",
        "/app/partners",
        "/app/programs/1/nope",
    ] {
        let page = stack.send(stack.request(Method::GET, path)).await;
        assert_eq!(page.status, StatusCode::NOT_FOUND, "{path}");
        assert!(page.header("content-type").starts_with("text/html"), "{path}");
        assert!(
            page.header("content-security-policy")
                .contains("default-src 'self'"),
            "{path}"
        );
        assert!(page.body.as_str().unwrap().contains("/app/assets/"), "{path}");
    }
}

/// A missing script is not answered with a page, and the dashboard serves nothing below `/api`.
#[tokio::test]
async fn what_is_not_there_is_not_the_document() {
    let stack = Stack::start().await;
    for path in [
        "/app/assets/missing.js",
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
}
