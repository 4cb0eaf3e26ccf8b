//! Values of `affiliate_url`.

use serde_json::json;

use super::route::{NOT_JSON, Scene};

const MISSING: &str = "affiliate_url is required";
const INVALID: &str = "Invalid affiliate_url";
const NO_CODE: &str = "No aff parameter found in affiliate_url";
const UNKNOWN: &str = "Referral link not found";

/// `CODE` stands for the code of a link.
const REFUSED: [(&str, &str); 41] = [
    ("", MISSING),
    ("CODE", INVALID),
    ("/landing?aff=CODE", INVALID),
    ("//shop.example/?aff=CODE", INVALID),
    ("shop.example/?aff=CODE", INVALID),
    ("?aff=CODE", INVALID),
    ("https://?aff=CODE", INVALID),
    ("https:///?aff=", INVALID),
    ("https://shop example/?aff=CODE", INVALID),
    ("https://shop.example:99999/?aff=CODE", INVALID),
    ("https://[::1/?aff=CODE", INVALID),
    ("https://1.2.3.4.5/?aff=CODE", INVALID),
    ("https://%00.example/?aff=CODE", INVALID),
    ("https://xn--a/?aff=CODE", INVALID),
    ("javascript:alert(1)?aff=CODE", INVALID),
    ("javascript://shop.example/?aff=CODE", INVALID),
    ("JaVaScRiPt:alert(1)//?aff=CODE", INVALID),
    ("\u{1}javascript:alert(1)?aff=CODE", INVALID),
    ("java\nscript:alert(1)?aff=CODE", INVALID),
    ("data:text/html,<script>?aff=CODE", INVALID),
    ("vbscript:x?aff=CODE", INVALID),
    ("blob:https://shop.example/?aff=CODE", INVALID),
    ("view-source:https://shop.example/?aff=CODE", INVALID),
    ("file:///etc/passwd?aff=CODE", INVALID),
    ("ftp://shop.example/?aff=CODE", INVALID),
    ("ws://shop.example/?aff=CODE", INVALID),
    ("mailto:a@shop.example?aff=CODE", INVALID),
    ("https://shop.example/", NO_CODE),
    ("https://shop.example/?aff=", NO_CODE),
    ("https://shop.example/?aff", NO_CODE),
    ("https://shop.example/?AFF=CODE", NO_CODE),
    ("https://shop.example/?aff[]=CODE", NO_CODE),
    ("https://shop.example/?xaff=CODE", NO_CODE),
    ("https://shop.example/#aff=CODE", NO_CODE),
    ("https://shop.example/#?aff=CODE", NO_CODE),
    ("https://aff=CODE@shop.example/", NO_CODE),
    ("https://shop.example/?aff=%00", NO_CODE),
    ("https://shop.example/?aff=CODE%00", NO_CODE),
    ("https://shop.example/?aff=%ff%fe", UNKNOWN),
    ("https://shop.example/?aff=' OR 1=1 --", UNKNOWN),
    ("https://shop.example/?aff=%25&aff=CODE", UNKNOWN),
];

const ACCEPTED: [&str; 18] = [
    "https://shop.example/?aff=CODE",
    "HTTPS://SHOP.EXAMPLE/?aff=CODE",
    "  https://shop.example/?aff=CODE  ",
    "https://shop.example?aff=CODE",
    "https://shop.example/?x=1&aff=CODE#aff=other",
    "https://shop.example/?%61%66%66=CODE",
    "https://shop.example/?aff=&aff=CODE",
    "https://shop.example/?aff=CODE&aff=other",
    "https://user:secret@shop.example/?aff=CODE",
    "https://aff@shop.example:8443/?aff=CODE",
    "https://münchen.example/?aff=CODE",
    "https://xn--mnchen-3ya.example/?aff=CODE",
    "https://\u{4f8b}\u{3048}.example/?aff=CODE",
    "https://[::1]/?aff=CODE",
    "https://127.0.0.1/?aff=CODE",
    "https:\\\\shop.example\\?aff=CODE",
    "https://shop.example/?aff=CO\nDE",
    "https://shop.example/a?b?aff=1&aff=CODE",
];

#[tokio::test]
async fn only_web_addresses_with_a_code_in_their_query_are_taken() {
    let mut scene = Scene::start().await;
    let code = scene.program.ada.code.clone();
    let spelled = |url: &str| {
        let (start, end) = code.split_at(1);
        url.replace("CODE", &code)
            .replace("CO\nDE", &format!("{start}\n{end}"))
    };
    let long = "x".repeat(60_000);
    for path in ["/api/v1/track/click", "/api/tracking/click"] {
        let route = scene.route(path);
        let body = |url: &str| route.with("affiliate_url", json!(url).to_string());
        for (url, message) in REFUSED {
            scene.refused(route, body(&spelled(url)), message, url).await;
        }
        let url = format!("https://shop.example/?aff={long}");
        scene.refused(route, body(&url), UNKNOWN, "a long code").await;
        for (value, message) in [
            ("null", MISSING),
            ("5", INVALID),
            ("true", INVALID),
            ("{}", INVALID),
            (r#"["https://shop.example/?aff=a"]"#, INVALID),
            (r#""https://shop.example/?aff=\ud800""#, NOT_JSON),
            (r#""https://shop.example/?aff=a\u0000b""#, NO_CODE),
            // At its end it does not belong to the URL, like blanks.
            (r#""https://shop.example/?aff=a\u0000""#, UNKNOWN),
        ] {
            scene.refuses(route, "affiliate_url", value, message).await;
        }
    }
    scene.nothing_stored("landing URLs").await;
    for path in ["/api/v1/track/click", "/api/tracking/click"] {
        let route = scene.route(path);
        for url in ACCEPTED {
            let body = route.with("affiliate_url", json!(spelled(url)).to_string());
            let answer = scene.accepted(route, body, url).await;
            assert_eq!(answer.body["partner_code"], code, "{url}");
        }
    }
    scene.end().await;
}
