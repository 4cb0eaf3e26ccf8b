//! An advertiser's notes about a partner.

use reqwest::StatusCode;
use runtime::clock::Clock;
use serde_json::{Value, json};
use test_harness::{Answer, Shop, noon};

async fn put(shop: &Shop, below: &str, body: Value) -> Answer {
    let path = shop.path(below);
    shop.stack.put(&path, &shop.owner.token, body).await
}

#[tokio::test]
async fn a_note_is_kept_replaced_and_removed_and_no_log_has_it() {
    let clock = Clock::manual(noon());
    let shop = Shop::open_at(clock).await;
    let note = format!("partners/{}/note", shop.program.ada.membership);
    let nothing = json!({ "text": null, "updatedAt": null });
    assert_eq!(shop.get(&note).await.body["data"], nothing);

    for text in [
        "Met at the fair.\nCall in May.",
        "\u{1F469}\u{200D}\u{1F4BB} writes on Sundays",
    ] {
        let written = put(&shop, &note, json!({ "text": text })).await;
        assert_eq!(written.status, StatusCode::OK, "{written:?}");
        let kept = json!({ "text": text, "updatedAt": "2026-03-01T12:00:00.000Z" });
        assert_eq!(written.body["data"], kept);
        assert_eq!(shop.get(&note).await.body["data"], kept);
    }
    let other = format!("partners/{}/note", shop.program.bruno.membership);
    assert_eq!(shop.get(&other).await.body["data"], nothing);

    for (text, message) in [
        (json!(7), "text must be a string"),
        (json!("x".repeat(10_001)), "text must be at most 10000 characters"),
    ] {
        put(&shop, &note, json!({ "text": text }))
            .await
            .refused(400, message);
    }
    put(&shop, "partners/999/note", json!({ "text": "Who?" }))
        .await
        .refused(404, "Partner not found");

    assert_eq!(
        put(&shop, &note, json!({ "text": "" })).await.body["data"],
        nothing
    );
    assert_eq!(shop.get(&note).await.body["data"], nothing);
    let audited: Vec<(String, Value)> =
        sqlx::query_as("SELECT action, details FROM audit_log WHERE action LIKE 'partner.note%' ORDER BY id")
            .fetch_all(shop.stack.pool())
            .await
            .unwrap();
    let written = ("partner.note_written".to_owned(), json!({}));
    assert_eq!(audited, vec![written; 3]);
}

#[tokio::test]
async fn a_note_goes_with_its_partner() {
    let shop = Shop::open().await;
    let note = format!("partners/{}/note", shop.program.ada.membership);
    put(&shop, &note, json!({ "text": "Met at the fair." })).await;
    shop.stack
        .execute(&format!(
            "DELETE FROM partners WHERE id = {}",
            shop.program.ada.partner_id
        ))
        .await;
    let left: i64 = shop.stack.value("SELECT count(*) FROM partner_notes").await;
    assert_eq!(left, 0);
    put(&shop, &note, json!({ "text": "Gone." }))
        .await
        .refused(404, "Partner not found");
}
