//! Keys that no program can have, on routes that require one.

use super::raw::{Expected, request};
use super::route::Scene;

const MALFORMED_KEY: &str = "Missing or malformed Authorization header. Expected: Bearer <PROGRAM_API_KEY>";

/// What follows `Authorization:`, `TOKEN` being a valid token; and the refusals of a sale and a refund.
const UNUSABLE: [(&str, [&str; 2]); 19] = [
    ("", MALFORMED),
    (" Bearer TOKEN\r\nAuthorization: Bearer TOKEN", MALFORMED),
    (" Bearer TOKEN\r\nAuthorization: Basic eDp5", MALFORMED),
    (" TOKEN", MALFORMED),
    (" Bearer\tTOKEN", MALFORMED),
    (" BearerTOKEN", MALFORMED),
    (" Bearer: TOKEN", MALFORMED),
    (" \"Bearer TOKEN\"", MALFORMED),
    (" Bearer", EMPTY),
    (" Bearer  \t ", EMPTY),
    (" Bearer TOKEN TOKEN", INVALID),
    (" Bearer TOKEN,TOKEN", INVALID),
    (" Bearer token=TOKEN", INVALID),
    (" Bearer \"TOKEN\"", INVALID),
    (" Bearer UPPERCASE", INVALID),
    (" Bearer ENCODED", INVALID),
    (" Bearer TOKENx", INVALID),
    (" Bearer MANAGEMENT", INVALID),
    (" Bearer ' OR '1'='1", INVALID),
];

const MALFORMED: [&str; 2] = [MALFORMED_KEY; 2];
const EMPTY: [&str; 2] = ["Missing API token", "Invalid API token"];
const INVALID: [&str; 2] = ["Invalid API token"; 2];

/// The header lines, and the refusals of a sale and a refund.
fn unusable_keys(token: &str) -> Vec<(Vec<u8>, [&'static str; 2])> {
    let filled = UNUSABLE.map(|(header, refusals)| {
        let header = header
            .replace("TOKEN", token)
            .replace("UPPERCASE", &token.to_uppercase())
            .replace("ENCODED", &token.replace('_', "%5F"))
            .replace("MANAGEMENT", &token.replacen("aff_", "affk_", 1));
        (format!("Authorization:{header}\r\n").into_bytes(), refusals)
    });
    let long = format!("Authorization: Bearer aff_{}\r\n", "x".repeat(60_000));
    let beyond_ascii = b"Authorization: Bearer aff_\xe4\xff\r\n".to_vec();
    let mut keys = filled.to_vec();
    keys.extend([
        (Vec::new(), MALFORMED),
        (beyond_ascii, MALFORMED),
        (long.into_bytes(), INVALID),
    ]);
    keys
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
        for (key, messages) in unusable_keys(&scene.program.token) {
            let message = messages[usize::from(path.ends_with("refund"))];
            // The key is checked before the body, which would be refused too.
            let rest = [&key[..], b"Content-Length: 3\r\n\r\nno!"].concat();
            let bytes = request(&format!("POST {path} HTTP/1.1"), &rest);
            let what = String::from_utf8_lossy(&key[..key.len().min(80)]);
            let expected = Expected::Refused(401, message);
            scene.check(route, &bytes, expected, &what).await;
        }
    }
    scene.nothing_stored("keys").await;
    scene.end().await;
}
