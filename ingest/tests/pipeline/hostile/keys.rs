//! Keys that no program can have, on routes that require one.

use super::raw::{Expected, request};
use super::route::Scene;

const MALFORMED_KEY: &str = "Missing or malformed Authorization header. Expected: Bearer <PROGRAM_API_KEY>";

/// A name, the header lines, and the refusals of a sale and a refund.
fn unusable_keys(token: &str) -> Vec<(&'static str, Vec<u8>, [&'static str; 2])> {
    let invalid = ["Invalid API token"; 2];
    let malformed = [MALFORMED_KEY; 2];
    let empty = ["Missing API token", "Invalid API token"];
    let good = format!("Authorization: Bearer {token}\r\n");
    vec![
        ("no header", Vec::new(), malformed),
        ("two good ones", format!("{good}{good}").into(), malformed),
        (
            "one of another kind behind",
            format!("{good}Authorization: Basic eDp5\r\n").into(),
            malformed,
        ),
        ("an empty header", "Authorization:\r\n".into(), malformed),
        (
            "no scheme",
            format!("Authorization: {token}\r\n").into(),
            malformed,
        ),
        (
            "a tab for a blank",
            format!("Authorization: Bearer\t{token}\r\n").into(),
            malformed,
        ),
        (
            "no blank",
            format!("Authorization: Bearer{token}\r\n").into(),
            malformed,
        ),
        (
            "a colon",
            format!("Authorization: Bearer: {token}\r\n").into(),
            malformed,
        ),
        (
            "quotes",
            format!("Authorization: \"Bearer {token}\"\r\n").into(),
            malformed,
        ),
        (
            "bytes beyond ASCII",
            b"Authorization: Bearer aff_\xe4\xff\r\n".to_vec(),
            malformed,
        ),
        (
            "nothing behind the scheme",
            "Authorization: Bearer\r\n".into(),
            empty,
        ),
        (
            "blanks behind the scheme",
            "Authorization: Bearer  \t \r\n".into(),
            empty,
        ),
        (
            "two keys in one",
            format!("Authorization: Bearer {token} {token}\r\n").into(),
            invalid,
        ),
        (
            "a list of keys",
            format!("Authorization: Bearer {token},{token}\r\n").into(),
            invalid,
        ),
        (
            "a parameter",
            format!("Authorization: Bearer token={token}\r\n").into(),
            invalid,
        ),
        (
            "quotes around the key",
            format!("Authorization: Bearer \"{token}\"\r\n").into(),
            invalid,
        ),
        (
            "another case",
            format!("Authorization: Bearer {}\r\n", token.to_uppercase()).into(),
            invalid,
        ),
        (
            "percent-encoding",
            format!("Authorization: Bearer {}\r\n", token.replace('_', "%5F")).into(),
            invalid,
        ),
        (
            "a letter too many",
            format!("Authorization: Bearer {token}x\r\n").into(),
            invalid,
        ),
        (
            "a management key",
            format!("Authorization: Bearer {}\r\n", token.replacen("aff_", "affk_", 1)).into(),
            invalid,
        ),
        ("SQL", "Authorization: Bearer ' OR '1'='1\r\n".into(), invalid),
        (
            "60,000 letters",
            format!("Authorization: Bearer aff_{}\r\n", "x".repeat(60_000)).into(),
            invalid,
        ),
    ]
}

#[tokio::test]
async fn keys_that_can_be_nobodys_open_nothing() {
    let mut scene = Scene::start().await;
    for path in [
        "/api/v1/track/sale",
        "/api/tracking/sale",
        "/api/v1/cli/test-event",
        "/api/v1/track/refund",
        "/api/tracking/refund",
    ] {
        let route = scene.route(path);
        for (what, key, messages) in unusable_keys(&scene.program.token) {
            let message = messages[usize::from(path.ends_with("refund"))];
            // The key is checked before the body, which would be refused too.
            let rest = [&key[..], b"Content-Length: 3\r\n\r\nno!"].concat();
            let bytes = request(&format!("POST {path} HTTP/1.1"), &rest);
            scene
                .check(route, &bytes, Expected::Refused(401, message), what)
                .await;
        }
    }
    scene.nothing_stored("keys").await;
    scene.end().await;
}
