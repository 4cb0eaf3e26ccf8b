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
    let megabyte = "x".repeat(1 << 20);
    let fillers = "X-Filler: 1\r\n".repeat(1_000);
    let mut cases = vec![
        case(
            "a token of a megabyte",
            format!("Authorization: Bearer {megabyte}\r\n\r\n"),
            Bare(431),
        ),
        case(
            "a cookie of a megabyte",
            format!("Cookie: {megabyte}\r\n\r\n"),
            Bare(431),
        ),
        case("a thousand headers", keyed(token, &fillers), Bare(431)),
    ];
    let lengths = [
        ("two lengths", "2\r\nContent-Length: 3", Bare(400)),
        ("a list of lengths", "2, 3", Bare(400)),
        ("a negative length", "-2", Bare(400)),
        ("a length with a sign", "+2", Bare(400)),
        ("a hexadecimal length", "0x2", Bare(400)),
        ("a length beyond 64 bits", "18446744073709551618", Bare(400)),
        (
            "a length beyond any body",
            "9223372036854775807",
            Refused(413, "Request body is too large"),
        ),
    ];
    cases.extend(lengths.map(|(what, length, expected)| {
        let head = format!("{bearer}Content-Length: {length}\r\n\r\n{{}}");
        case(what, head, expected)
    }));
    let lines = [
        ("a header that goes on in the next line", "X-Filler: a\r\n b"),
        ("a header without a name", ": a"),
        ("a NUL in a header", "X-Filler: a\0b"),
        ("a lone carriage return in a header", "X-Filler: a\rb"),
    ];
    cases.extend(lines.map(|(what, line)| {
        let head = format!("{bearer}{line}\r\nContent-Length: 2\r\n\r\n{{}}");
        case(what, head, Bare(400))
    }));
    let blank = format!("{bearer}Content-Length : 2\r\n\r\n{{}}");
    cases.push(case("a blank before the colon", blank, Bare(400)));
    cases
}

/// Chunked bodies, and missing bodies.
fn framing(token: &str) -> Vec<Case> {
    use Expected::{Bare, Refused, Route};
    let bearer = format!("Authorization: Bearer {token}\r\n");
    let unread = Refused(400, "Request body could not be read");
    let endless = format!("2;{}\r\n{{}}", "x".repeat(20_000));
    let in_chunks = "Transfer-Encoding: chunked";
    let mut cases: Vec<Case> = [
        (
            "chunks that are no coding we know",
            "Transfer-Encoding: xchunked",
            "2\r\n{}",
            Bare(400),
        ),
        (
            "chunks, and then something else",
            "Transfer-Encoding: chunked, identity",
            "2\r\n{}",
            Bare(400),
        ),
        (
            "chunks and a length",
            "Content-Length: 5\r\nTransfer-Encoding: chunked",
            "2\r\n{}",
            Route,
        ),
        ("a chunk of no size", in_chunks, "g\r\n{}", unread),
        ("a chunk of negative size", in_chunks, "-2\r\n{}", unread),
        (
            "a chunk beyond 64 bits",
            in_chunks,
            "10000000000000002\r\n{}",
            unread,
        ),
        (
            "a chunk that is longer than it says",
            in_chunks,
            "1\r\n{}",
            unread,
        ),
        ("a chunk's endless extension", in_chunks, &endless, unread),
    ]
    .into_iter()
    .map(|(what, coding, chunk, expected)| {
        let request = format!("{bearer}{coding}\r\n\r\n{chunk}\r\n0\r\n\r\n");
        case(what, request, expected)
    })
    .collect();
    let chunks = format!("{bearer}{in_chunks}\r\n\r\n1;a=b\r\n{{\r\n1\r\n}}\r\n0\r\nX-Trailer: 1\r\n\r\n");
    cases.push(case("chunks", chunks, Route));
    cases.push(case(
        "no body at all",
        format!("{bearer}\r\n"),
        Refused(400, NOT_JSON),
    ));
    cases
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
