//! Headers and framing that no client library sends.

use super::raw::{Expected, keyed, request};
use super::route::{NOT_JSON, Scene};

/// The header lines without the request line and `Host`, and the body.
struct Case {
    what: &'static str,
    bytes: Vec<u8>,
    expected: Expected,
}

fn case(what: &'static str, bytes: impl Into<Vec<u8>>, expected: Expected) -> Case {
    Case {
        what,
        bytes: bytes.into(),
        expected,
    }
}

/// Headers that change nothing.
fn harmless(token: &str) -> Vec<Case> {
    use Expected::Route;
    let many = "X-Filler: 1\r\n".repeat(80);
    let long = format!("X-Filler: {}\r\n", "x".repeat(60_000));
    let forwarded = format!("X-Forwarded-For: {}\r\n", "1.2.3.4, ".repeat(2_000));
    let mut cases: Vec<Case> = [
        ("no Content-Type", String::new()),
        ("text", "Content-Type: text/plain;charset=UTF-8\r\n".to_owned()),
        ("a form's type", "Content-Type: application/x-www-form-urlencoded\r\n".to_owned()),
        ("a type that is none", "Content-Type: ;;;,\r\n".to_owned()),
        ("two types", "Content-Type: application/json\r\nContent-Type: text/xml\r\n".to_owned()),
        ("another charset", "Content-Type: application/json; charset=utf-16\r\n".to_owned()),
        ("an encoding that is not there", "Content-Encoding: gzip\r\n".to_owned()),
        ("another language", "Accept: image/png\r\nAccept-Encoding: br;q=1.0, *;q=0\r\n".to_owned()),
        ("another method by header", "X-HTTP-Method-Override: DELETE\r\n".to_owned()),
        ("another path by header", "X-Original-URL: /livez\r\nX-Rewrite-URL: /livez\r\n".to_owned()),
        ("an upgrade", "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n".to_owned()),
        ("a range", "Range: bytes=0-0\r\n".to_owned()),
        ("eighty headers", many),
        ("a header of 60,000 bytes", long),
        ("two thousand proxies", forwarded),
        ("proxies that are none", "X-Forwarded-For: <script>, ::::, 1.2.3.4:99999999\r\n".to_owned()),
        ("a request id that is none", "X-Request-ID: <script>\r\nX-Request-ID: a\r\n".to_owned()),
        ("an expectation nobody knows", "Expect: the-worst\r\n".to_owned()),
        ("the same length twice", "Content-Length: 2\r\n".to_owned()),
    ]
    .into_iter()
    .map(|(what, headers)| case(what, keyed(token, &headers), Route))
    .collect();
    let mut latin =
        b"User-Agent: \xe4\xff\r\nX-Request-ID: \xe4\r\nX-Forwarded-For: \xe4\r\nCookie: \x80\r\n".to_vec();
    latin.extend(keyed(token, "").as_bytes());
    cases.push(case("bytes beyond ASCII", latin, Route));
    for scheme in ["bearer", "BEARER", "bEaReR", "Bearer  ", "Bearer \t"] {
        let headers = format!("aUTHORIZATION:{scheme} {token}  \r\ncOnTeNt-LeNgTh:2\r\n\r\n{{}}");
        cases.push(case("other cases and blanks", headers, Route));
    }
    cases
}

/// Heads that are too large or not HTTP, and invalid lengths.
fn lengths_and_lines(token: &str) -> Vec<Case> {
    use Expected::{Bare, Refused};
    let bearer = format!("Authorization: Bearer {token}\r\n");
    let with = |rest: &str| format!("{bearer}{rest}");
    vec![
        case(
            "a token of a megabyte",
            format!("Authorization: Bearer {}\r\n\r\n", "x".repeat(1 << 20)),
            Bare(431),
        ),
        case(
            "a cookie of a megabyte",
            format!("Cookie: {}\r\n\r\n", "x".repeat(1 << 20)),
            Bare(431),
        ),
        case(
            "a thousand headers",
            keyed(token, &"X-Filler: 1\r\n".repeat(1_000)),
            Bare(431),
        ),
        case(
            "two lengths",
            with("Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}"),
            Bare(400),
        ),
        case(
            "a list of lengths",
            with("Content-Length: 2, 3\r\n\r\n{}"),
            Bare(400),
        ),
        case(
            "a negative length",
            with("Content-Length: -2\r\n\r\n{}"),
            Bare(400),
        ),
        case(
            "a length with a sign",
            with("Content-Length: +2\r\n\r\n{}"),
            Bare(400),
        ),
        case(
            "a hexadecimal length",
            with("Content-Length: 0x2\r\n\r\n{}"),
            Bare(400),
        ),
        case(
            "a length beyond 64 bits",
            with("Content-Length: 18446744073709551618\r\n\r\n{}"),
            Bare(400),
        ),
        case(
            "a length beyond any body",
            with("Content-Length: 9223372036854775807\r\n\r\n{}"),
            Refused(413, "Request body is too large"),
        ),
        case(
            "a blank before the colon",
            with("Content-Length : 2\r\n\r\n{}"),
            Bare(400),
        ),
        case(
            "a header that goes on in the next line",
            with("X-Filler: a\r\n b\r\nContent-Length: 2\r\n\r\n{}"),
            Bare(400),
        ),
        case(
            "a header without a name",
            with(": a\r\nContent-Length: 2\r\n\r\n{}"),
            Bare(400),
        ),
        case(
            "a NUL in a header",
            with("X-Filler: a\0b\r\nContent-Length: 2\r\n\r\n{}"),
            Bare(400),
        ),
        case(
            "a lone carriage return in a header",
            with("X-Filler: a\rb\r\nContent-Length: 2\r\n\r\n{}"),
            Bare(400),
        ),
    ]
}

/// Chunked bodies, and missing bodies.
fn framing(token: &str) -> Vec<Case> {
    use Expected::{Bare, Refused, Route};
    let bearer = format!("Authorization: Bearer {token}\r\n");
    let with = |rest: &str| format!("{bearer}{rest}");
    let unread = Refused(400, "Request body could not be read");
    let chunked = "Transfer-Encoding: chunked\r\n\r\n";
    vec![
        case(
            "chunks that are no coding we know",
            with("Transfer-Encoding: xchunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"),
            Bare(400),
        ),
        case(
            "chunks, and then something else",
            with("Transfer-Encoding: chunked, identity\r\n\r\n2\r\n{}\r\n0\r\n\r\n"),
            Bare(400),
        ),
        case(
            "chunks and a length",
            with(&format!("Content-Length: 5\r\n{chunked}2\r\n{{}}\r\n0\r\n\r\n")),
            Route,
        ),
        case(
            "chunks",
            with(&format!(
                "{chunked}1;a=b\r\n{{\r\n1\r\n}}\r\n0\r\nX-Trailer: 1\r\n\r\n"
            )),
            Route,
        ),
        case(
            "a chunk of no size",
            with(&format!("{chunked}g\r\n{{}}\r\n0\r\n\r\n")),
            unread,
        ),
        case(
            "a chunk of negative size",
            with(&format!("{chunked}-2\r\n{{}}\r\n0\r\n\r\n")),
            unread,
        ),
        case(
            "a chunk beyond 64 bits",
            with(&format!("{chunked}10000000000000002\r\n{{}}\r\n0\r\n\r\n")),
            unread,
        ),
        case(
            "a chunk that is longer than it says",
            with(&format!("{chunked}1\r\n{{}}\r\n0\r\n\r\n")),
            unread,
        ),
        case(
            "a chunk's endless extension",
            with(&format!("{chunked}2;{}\r\n{{}}\r\n0\r\n\r\n", "x".repeat(20_000))),
            unread,
        ),
        case("no body at all", format!("{bearer}\r\n"), Refused(400, NOT_JSON)),
    ]
}

#[tokio::test]
async fn headers_and_framing_are_understood_or_refused() {
    let mut scene = Scene::start().await;
    for route in &scene.routes {
        let token = &scene.program.token;
        for Case {
            what,
            bytes,
            expected,
        } in harmless(token)
            .into_iter()
            .chain(lengths_and_lines(token))
            .chain(framing(token))
        {
            let line = format!("POST {} HTTP/1.1", route.path);
            let bytes = request(&line, &bytes);
            scene.check(route, &bytes, expected, what).await;
        }
    }
    scene.nothing_stored("headers and framing").await;
    scene.end().await;
}
