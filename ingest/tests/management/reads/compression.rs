//! Compressed answers of management routes.

use reqwest::header::{ACCEPT_ENCODING, CONTENT_ENCODING, VARY};
use reqwest::{Method, Response};
use test_harness::Shop;

async fn asked(shop: &Shop, path: &str, coding: &str) -> Response {
    let request = shop.stack.request(Method::GET, path);
    let request = request.bearer_auth(&shop.owner.token);
    request.header(ACCEPT_ENCODING, coding).send().await.unwrap()
}

#[tokio::test]
async fn long_answers_are_compressed_for_those_who_can_read_it() {
    let shop = Shop::open().await;
    let report = shop.program.path("report?period=30d");
    let plain = asked(&shop, &report, "identity").await;
    assert!(plain.headers().get(CONTENT_ENCODING).is_none());
    let plain = plain.bytes().await.unwrap();
    let compressed = asked(&shop, &report, "gzip, deflate, br").await;
    assert_eq!(compressed.headers()[CONTENT_ENCODING], "gzip");
    assert_eq!(compressed.headers()[VARY], "accept-encoding");
    let compressed = compressed.bytes().await.unwrap();
    assert!(
        compressed.starts_with(&[0x1f, 0x8b]) && compressed.len() * 4 < plain.len(),
        "{} of {} bytes",
        compressed.len(),
        plain.len()
    );
}

#[tokio::test]
async fn short_answers_and_files_are_sent_as_they_are() {
    let shop = Shop::open().await;
    let events = shop.program.path("events/export?format=csv");
    for path in ["/api/users/me", events.as_str()] {
        let answer = asked(&shop, path, "gzip").await;
        assert!(answer.status().is_success(), "{path}: {}", answer.status());
        assert!(answer.headers().get(CONTENT_ENCODING).is_none(), "{path}");
    }
}
