//! Other methods and spellings of a path, and the next answers on the same connection.

use reqwest::{Method, StatusCode};

use super::raw::{Expected, keyed, request};
use super::route::{NOT_JSON, Route, Scene, refused};
use super::wire::Wire;

#[tokio::test]
async fn only_post_to_the_very_path_is_a_route() {
    let mut scene = Scene::start().await;
    for route in &scene.routes {
        let (path, rest) = (route.path, keyed(&scene.program.token, ""));
        let rest = rest.as_bytes();
        for method in ["GET", "PUT", "DELETE", "PATCH", "TRACE", "FOO", "post"] {
            let bytes = request(&format!("{method} {path} HTTP/1.1"), rest);
            let expected = Expected::Refused(405, "Method Not Allowed");
            scene.check(route, &bytes, expected, method).await;
        }
        let bytes = request(&format!("HEAD {path} HTTP/1.1"), rest);
        let head = scene.exchange(&bytes).await.unwrap();
        assert_eq!(head.status, StatusCode::METHOD_NOT_ALLOWED, "{path}");
        assert_eq!(head.header("allow"), "POST", "{path}");
        let options = scene.stack.request(Method::OPTIONS, path);
        let options = scene.stack.send(options).await;
        let from_browsers = !options.header("access-control-allow-origin").is_empty();
        let status = if from_browsers { 200 } else { 405 };
        assert_eq!(options.status, status, "{path}");
        let (start, last) = path.split_at(path.len() - 1);
        let last = last.as_bytes()[0];
        for other in [
            format!("{path}/"),
            format!("/{path}"),
            format!("{path}//"),
            format!("{path}/."),
            format!("{path}/../{}", path.rsplit('/').next().unwrap()),
            format!("{path};a=b"),
            format!("{path}%00"),
            format!("{path}%20"),
            format!("{path}%2f"),
            format!("{path}.json"),
            format!("{start}%{last:02x}"),
            format!("{start}%25{last:02x}"),
            path.to_uppercase(),
            path.replacen('/', "%2f", 1),
            path.replacen('/', "/%2e%2e/", 1),
            path.replace('/', "\\"),
        ] {
            // A target that is not a path is not HTTP.
            let expected = if other.starts_with('/') {
                Expected::Refused(404, "Not Found")
            } else {
                Expected::Bare(400)
            };
            let bytes = request(&format!("POST {other} HTTP/1.1"), rest);
            scene.check(route, &bytes, expected, &other).await;
        }
        for (line, expected) in [
            (
                format!("POST {path}?test_mode=true&amount_cents=1 HTTP/1.1"),
                Expected::Route,
            ),
            (
                format!("POST {path}?{} HTTP/1.1", "x".repeat(60_000)),
                Expected::Route,
            ),
            (
                format!("POST {path}?{} HTTP/1.1", "x".repeat(70_000)),
                Expected::Bare(414),
            ),
            (
                format!("POST http://elsewhere.example{path} HTTP/1.1"),
                Expected::Route,
            ),
            (format!("POST {path} HTTP/1.0"), Expected::Route),
            (format!("POST {path} HTTP/2.0"), Expected::Bare(400)),
            (format!("POST {path} HTTP/9"), Expected::Bare(400)),
            (format!("POST {path}"), Expected::Bare(400)),
            (format!("POST  {path} HTTP/1.1"), Expected::Bare(400)),
            (format!("P\0ST {path} HTTP/1.1"), Expected::Bare(400)),
            ("SSH-2.0-OpenSSH_9.2".to_owned(), Expected::Bare(400)),
            ("\u{16}\u{3}\u{1}".to_owned(), Expected::Bare(400)),
        ] {
            let what = line[..line.len().min(80)].to_owned();
            scene.check(route, &request(&line, rest), expected, &what).await;
        }
    }
    scene.nothing_stored("methods and paths").await;
    scene.end().await;
}

/// A whole request with a valid key, on a connection that stays open.
fn whole(route: &Route, token: &str, body: &str) -> String {
    format!(
        "POST {} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {token}\r\nContent-Length: {}\r\n\r\n{body}",
        route.path,
        body.len()
    )
}

#[tokio::test]
async fn a_connection_goes_on_after_a_refusal_and_nothing_in_a_body_is_a_request() {
    let mut scene = Scene::start().await;
    let livez = "GET /livez HTTP/1.1\r\nHost: a\r\n\r\n";
    for route in &scene.routes {
        let token = &scene.program.token;
        let mut wire = Wire::open(scene.address).await;
        // Refused for its body, its key, its method or its path. Each body looks like a request of its own.
        let smuggled = whole(route, token, livez);
        let answer = wire.exchange(smuggled.as_bytes()).await.unwrap();
        refused(&answer, 400, NOT_JSON, route.path);
        let get = smuggled.replacen("POST", "GET", 1);
        let answer = wire.exchange(get.as_bytes()).await.unwrap();
        refused(&answer, 405, "Method Not Allowed", route.path);
        let elsewhere = smuggled.replacen(route.path, "/api/v1/nowhere", 1);
        let answer = wire.exchange(elsewhere.as_bytes()).await.unwrap();
        refused(&answer, 404, "Not Found", route.path);
        // Two requests sent at once are answered one after the other.
        let twice = whole(route, token, "[]").repeat(2);
        wire.send(twice.as_bytes()).await;
        for _ in 0..2 {
            refused(&wire.answer().await.unwrap(), 400, NOT_JSON, route.path);
        }
        // A body that is sent only after the service asks for it.
        let head = whole(route, token, "[]").replacen("Host: a", "Host: a\r\nExpect: 100-continue", 1);
        let (head, body) = head.split_at(head.len() - 2);
        wire.send(head.as_bytes()).await;
        assert_eq!(wire.answer().await.unwrap().status, StatusCode::CONTINUE);
        wire.send(body.as_bytes()).await;
        refused(&wire.answer().await.unwrap(), 400, NOT_JSON, route.path);
        let answer = wire.exchange(livez.as_bytes()).await.unwrap();
        assert_eq!(answer.status, StatusCode::OK);
    }
    scene.nothing_stored("bodies that are requests").await;
    scene.end().await;
}
