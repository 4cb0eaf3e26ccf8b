//! `/js/tracker.js`: the script that advertisers' pages load, its caching, and its other names.

use reqwest::{Method, StatusCode};
use serde_json::Value;
use test_harness::{Answer, Stack};

const PATH: &str = "/js/tracker.js";
const SCRIPT: &str = include_str!("../../../../web/tracker/dist/tracker.js");
const ALIAS: &str = include_str!("../../../../web/tracker/dist/alias.js");
const BROTLI: &[u8] = include_bytes!("../../../../web/tracker/dist/tracker.js.br");
const GZIP: &[u8] = include_bytes!("../../../../web/tracker/dist/tracker.js.gz");

async fn ask(stack: &Stack, method: Method, headers: &[(&str, &str)]) -> Answer {
    let request = stack.request(method, PATH);
    let request = headers
        .iter()
        .fold(request, |request, (name, value)| request.header(*name, *value));
    stack.send(request).await
}

#[tokio::test]
async fn pages_of_any_site_load_the_script_and_keep_it_for_an_hour() {
    let stack = Stack::start().await;
    let answer = ask(&stack, Method::GET, &[("origin", "https://shop.example")])
        .await
        .ok();
    assert_eq!(answer.body, Value::String(SCRIPT.to_owned()));
    for (name, value) in [
        ("content-type", "text/javascript; charset=utf-8"),
        (
            "cache-control",
            "public, max-age=3600, stale-while-revalidate=86400",
        ),
        ("vary", "Accept-Encoding"),
        ("access-control-allow-origin", "*"),
        ("cross-origin-resource-policy", "cross-origin"),
        ("x-content-type-options", "nosniff"),
        ("content-encoding", ""),
    ] {
        assert_eq!(answer.header(name), value, "{name}");
    }
    let head = ask(&stack, Method::HEAD, &[]).await.ok();
    assert_eq!(head.header("etag"), answer.header("etag"));
    assert_eq!(head.header("content-length"), SCRIPT.len().to_string());
    assert_eq!(head.body, Value::String(String::new()));
    ask(&stack, Method::POST, &[]).await.is(405);
}

#[tokio::test]
async fn the_script_is_sent_in_the_smallest_form_and_not_again_to_who_has_it() {
    let stack = Stack::start().await;
    let mut tags = Vec::new();
    for (accepted, coding, bytes) in [
        ("gzip, deflate, br", "br", BROTLI),
        ("gzip", "gzip", GZIP),
        ("identity", "", SCRIPT.as_bytes()),
    ] {
        let accept = ("accept-encoding", accepted);
        let response = stack.request(Method::GET, PATH).header(accept.0, accept.1);
        let response = response.send().await.unwrap();
        let tag = response.headers()["etag"].to_str().unwrap().to_owned();
        let sent = response.headers().get("content-encoding");
        assert_eq!(sent.map_or("", |coding| coding.to_str().unwrap()), coding);
        assert_eq!(response.bytes().await.unwrap(), bytes, "{accepted}");

        let again = ask(&stack, Method::GET, &[accept, ("if-none-match", &tag)]).await;
        assert_eq!(again.status, StatusCode::NOT_MODIFIED, "{accepted}");
        assert_eq!(again.body, Value::String(String::new()));
        assert_eq!(again.header("etag"), tag);
        assert_eq!(again.header("vary"), "Accept-Encoding");
        assert!(
            again.header("cache-control").starts_with("public"),
            "kept for another hour"
        );
        tags.push(tag);
    }
    let [brotli, gzip, plain] = &tags[..] else {
        panic!("{tags:?}")
    };
    assert!(brotli != gzip && gzip != plain && plain != brotli, "{tags:?}");
    let other = ask(&stack, Method::GET, &[("if-none-match", brotli)]).await;
    assert_eq!(
        other.status,
        StatusCode::OK,
        "another form's tag says nothing of this one"
    );
}

#[tokio::test]
async fn the_script_is_served_under_the_names_that_are_configured_and_no_other() {
    let stack = Stack::start_set(&[("SCRIPT_ALIASES", "acme,partners2")]).await;
    let get = async |path: &str, tag: &str| {
        let request = stack.request(Method::GET, path).header("if-none-match", tag);
        stack.send(request).await
    };
    let own = get(PATH, "").await;
    assert_eq!(own.body, Value::String(SCRIPT.to_owned()));
    for name in ["acme", "partners2"] {
        let path = format!("/js/{name}-tracker.js?v=2");
        let answer = get(&path, "").await;
        assert_eq!(
            (answer.status, &answer.body),
            (StatusCode::OK, &Value::String(ALIAS.to_owned()))
        );
        for header in [
            "content-type",
            "cache-control",
            "vary",
            "access-control-allow-origin",
            "cross-origin-resource-policy",
            "x-content-type-options",
        ] {
            assert_eq!(answer.header(header), own.header(header), "{header}");
        }
        assert_ne!(answer.header("etag"), own.header("etag"));
        get(&path, answer.header("etag")).await.is(304);
    }
    for name in "other-tracker.js acme-tracker.jsx acme-tracker acme.js Acme-tracker.js -tracker.js \
                 acme,partners2-tracker.js tracker-tracker.js"
        .split(' ')
    {
        let path = &format!("/js/{name}");
        let answer = get(path, "*").await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{path}");
        assert_eq!(
            answer.header("cache-control"),
            get("/nowhere", "").await.header("cache-control")
        );
    }
    let plain = Stack::start().await;
    plain
        .send(plain.request(Method::GET, "/js/acme-tracker.js"))
        .await
        .is(404);
}
