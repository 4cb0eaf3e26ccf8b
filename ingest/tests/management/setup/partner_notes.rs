//! An advertiser's notes about a partner.

use runtime::clock::Clock;
use serde_json::{Value, json};
use test_harness::managed::{audit_actions, audit_details};
use test_harness::{Answer, Shop, noon, refused_each};

async fn put(shop: &Shop, note: &str, text: impl Into<Value>) -> Answer {
    let body = json!({ "text": text.into() });
    shop.owner.put(&shop.path(note), body).await
}

#[tokio::test]
async fn a_note_is_kept_replaced_and_removed_and_no_log_has_it() {
    let shop = Shop::open_at(Clock::manual(noon())).await;
    let note = format!("partners/{}/note", shop.program.ada.membership);
    let nothing = json!({ "text": null, "updatedAt": null });
    assert_eq!(*shop.get(&note).await.data(), nothing);

    for text in [
        "Met at the fair.\nCall in May.",
        "\u{1F469}\u{200D}\u{1F4BB} writes on Sundays",
    ] {
        let kept = json!({ "text": text, "updatedAt": "2026-03-01T12:00:00.000Z" });
        assert_eq!(*put(&shop, &note, text).await.data(), kept);
        assert_eq!(*shop.get(&note).await.data(), kept);
    }
    let other = format!("partners/{}/note", shop.program.bruno.membership);
    assert_eq!(*shop.get(&other).await.data(), nothing);

    let refusals = json!({
        "text must be a string": [7],
        "text must be at most 10000 characters": ["x".repeat(10_001)],
    });
    refused_each(400, refusals, |text| put(&shop, &note, text)).await;
    let unknown = put(&shop, "partners/999/note", "Who?").await;
    unknown.refused(404, "Partner not found");

    assert_eq!(*put(&shop, &note, "").await.data(), nothing);
    assert_eq!(*shop.get(&note).await.data(), nothing);
    let written = audit_actions(&shop.stack, "action LIKE 'partner.note%'").await;
    assert_eq!(written, ["partner.note_written"; 3]);
    let details = audit_details(&shop.stack, "partner.note_written").await;
    assert_eq!(details, vec![json!({}); 3]);
}

#[tokio::test]
async fn a_note_goes_with_its_partner() {
    let shop = Shop::open().await;
    let ada = &shop.program.ada;
    let note = format!("partners/{}/note", ada.membership);
    put(&shop, &note, "Met at the fair.").await.ok();
    let removed = format!("DELETE FROM partners WHERE id = {}", ada.partner_id);
    shop.stack.execute(&removed).await;
    assert_eq!(shop.stack.count("partner_notes").await, 0);
    put(&shop, &note, "Gone.").await.refused(404, "Partner not found");
}
