//! `/app`: the dashboard's document and files.

use chrono::{DateTime, Utc};
use reqwest::Method;
use serde_json::json;
use test_harness::{Answer, Stack};

#[tokio::test]
async fn every_address_of_the_dashboard_is_its_document_and_an_unknown_page_404() {
    let stack = Stack::start().await;
    let known = "/app /app/ /app/sign-in /app/programs /app/programs/7/events?type=click /app/keys /app/audit-log \
                 /app/workspace /app/members /app/account /app/partner /app/partner/links /invitation \
                 /invitations/inv_abc";
    let unknown = "/app/nope /app/keys/nope /app/partners /app/programs/1/nope";
    for (paths, status) in [(known, 200), (unknown, 404)] {
        for path in paths.split(' ') {
            let page = stack.visit(path).await;
            assert_eq!(page.status, status, "{path}");
            assert!(page.header("content-type").starts_with("text/html"), "{path}");
            assert_eq!(page.header("cache-control"), "no-cache", "{path}");
            let policy = page.header("content-security-policy");
            assert!(policy.contains("default-src 'self'"), "{path}");
            assert!(page.text().contains("/app/assets/"), "{path}");
        }
    }
}

#[tokio::test]
async fn the_document_runs_its_own_files_only_and_cannot_be_framed() {
    let stack = Stack::start().await;
    let page = stack.visit("/app").await;
    let policy = page.header("content-security-policy");
    for rule in [
        "default-src 'self'",
        "base-uri 'none'",
        "object-src 'none'",
        "frame-ancestors 'none'",
    ] {
        assert!(policy.contains(rule), "{policy}");
    }
    for loophole in ["unsafe", "data:"] {
        assert!(!policy.contains(loophole), "{policy}");
    }
    assert_eq!(page.header("x-frame-options"), "DENY");
    assert_eq!(page.header("referrer-policy"), "no-referrer");
    assert_eq!(page.header("x-content-type-options"), "nosniff");
    let html = page.text();
    assert!(!html.contains("<style") && !html.contains("://"), "{html}");
    let files = files_of(&page);
    assert!(files.len() >= 2, "{html}");
    for path in files {
        let file = stack.visit(path).await.ok();
        assert_eq!(file.header("cache-control"), "max-age=31536000, immutable");
        assert_eq!(file.header("x-content-type-options"), "nosniff");
    }
}

/// The paths of the files that the document names.
fn files_of(page: &Answer) -> Vec<&str> {
    let named = page.text().split('"');
    named.filter(|text| text.starts_with("/app/assets/")).collect()
}

#[tokio::test]
async fn security_txt_says_whom_to_tell_of_a_weakness_where_that_is_configured() {
    const PATH: &str = "/.well-known/security.txt";
    let stack = Stack::start().await;
    stack.visit(PATH).await.is(404);
    drop(stack);
    let stack = Stack::start_set(&[("SECURITY_CONTACT", "mailto:security@shop.example")]).await;
    let found = stack.visit(PATH).await;
    assert_eq!(found.header("content-type"), "text/plain; charset=utf-8");
    let contact = "Contact: mailto:security@shop.example\nExpires: ";
    let expires = found.text().strip_prefix(contact).unwrap().lines().next();
    let expires: DateTime<Utc> = expires.unwrap().parse().unwrap();
    assert!(expires > stack.clock.now());
}

#[tokio::test]
async fn files_are_sent_compressed_to_whoever_takes_that_and_validated_by_one_tag() {
    let stack = Stack::start().await;
    let page = stack.visit("/app").await;
    let script = files_of(&page).into_iter().find(|path| path.ends_with("js"));
    for path in ["/app", script.unwrap()] {
        let get = |accepted: &str| {
            let request = stack.request(Method::GET, path);
            request.header("accept-encoding", accepted)
        };
        let tag_and_length = async |accepted: &str, coding: &str| {
            let answer = get(accepted).send().await.unwrap();
            let header = |name: &str| {
                let value = answer.headers().get(name);
                value.map_or("", |value| value.to_str().unwrap()).to_owned()
            };
            assert_eq!(answer.status(), 200, "{path} {accepted}");
            assert_eq!(header("content-encoding"), coding, "{path} {accepted}");
            assert_eq!(header("vary"), "accept-encoding", "{path} {accepted}");
            (header("etag"), answer.bytes().await.unwrap().len())
        };
        let (tag, plain) = tag_and_length("identity", "").await;
        let (of_gzip, gzip) = tag_and_length("gzip, deflate", "gzip").await;
        let (of_brotli, brotli) = tag_and_length("gzip, deflate, br, zstd", "br").await;
        assert!(brotli < gzip && gzip < plain, "{path}: {brotli} {gzip} {plain}");
        assert_eq!([&of_gzip, &of_brotli], [&tag, &tag], "{path}");
        assert!(tag.starts_with("W/\""), "{path}: {tag:?}");
        stack.send(get("br").header("if-none-match", tag)).await.is(304);
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
        let answer = stack.visit(path).await.is(404);
        assert_eq!(answer.body["error"]["name"], "NotFoundError", "{path}");
    }
    stack.submit("/app", None, json!({})).await.is(405);
}
