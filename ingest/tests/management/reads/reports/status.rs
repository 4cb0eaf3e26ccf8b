use domain::ids::ProgramId;
use reqwest::StatusCode;
use serde_json::{Value, json};

use test_harness::{Json, Stack, test_mode};

/// The status of a program without any test event, without the time.
fn of_nothing(id: ProgramId) -> Value {
    let nothing = json!({ "testEventCount": 0, "hasTestEvents": false, "latestTestEvent": null });
    json!({
        "programId": id.to_string(),
        "stepStatuses": { "pageview": "pending", "referrals": "pending", "payments": "pending" },
        "statistics": {
            "pageview": nothing,
            "referrals": nothing,
            "payments": {
                "stripeConnectionStatus": "not_connected",
                "isStripeConnected": false,
                "stripeAccountId": null,
                "chargesEnabled": false,
                "payoutsEnabled": false,
                "detailsSubmitted": false,
                "connectionDate": null,
            },
        },
        "hasPartners": false,
    })
}

#[tokio::test]
async fn status_follows_test_events_the_processor_and_partners() {
    let (stack, program) = Stack::with_program().await;
    let own = stack.owner_of(&program).await;
    let id = program.program_id;
    let path = format!("/api/tracking/status/{id}");
    let statement = "UPDATE partner_programs SET status = 'pending'";
    stack.execute_on_links(statement).await;
    let fresh = stack.get(&path, &own.token).await.ok();
    let mut data = fresh.body["data"].clone();
    let last_updated = data.as_object_mut().unwrap().remove("lastUpdated").unwrap();
    assert!(last_updated.as_str().unwrap().ends_with('Z'));
    assert_eq!(data, of_nothing(id));

    stack
        .execute_on_links(&format!(
            "UPDATE partner_programs SET status = 'approved' WHERE id = {};
             INSERT INTO processor_connections (program_id, account_id, status, charges_enabled, connected_at)
             VALUES ({id}, 'acct_1', 'connected', true, '2026-01-02T03:04:05Z')",
            program.ada.membership
        ))
        .await;
    // A link works again once its partner is approved.
    stack
        .eventually("the link works", async || {
            stack.click_with(&program.ada.code, json!({})).await.status == StatusCode::OK
        })
        .await;
    for _ in 0..12 {
        stack.click_with(&program.ada.code, test_mode()).await.ok();
    }
    let lead = json!({ "additional_data": { "test_mode": true, "program_id": id } });
    stack.post("lead", None, lead).await.ok();
    let data = stack.get(&path, &own.token).await.body["data"].clone();
    assert_eq!(
        data["stepStatuses"],
        json!({ "pageview": "complete", "referrals": "complete", "payments": "complete" })
    );
    let clicks = &data["statistics"]["pageview"];
    clicks.has(json!({ "testEventCount": 10, "hasTestEvents": true }));
    let query = "SELECT id FROM click_events ORDER BY click_timestamp DESC, id DESC LIMIT 1";
    let latest: i64 = stack.value(query).await;
    assert_eq!(clicks["latestTestEvent"]["id"], latest);
    assert!(
        clicks["latestTestEvent"]["timestamp"].is_string()
            && clicks["latestTestEvent"]["createdAt"].is_string()
    );
    assert_eq!(data["statistics"]["referrals"]["testEventCount"], 1);
    assert_eq!(
        data["statistics"]["payments"],
        json!({
            "stripeConnectionStatus": "connected",
            "isStripeConnected": true,
            "stripeAccountId": "acct_1",
            "chargesEnabled": true,
            "payoutsEnabled": false,
            "detailsSubmitted": false,
            "connectionDate": "2026-01-02T03:04:05.000Z",
        })
    );
    assert_eq!(data["hasPartners"], true);

    stack
        .execute("UPDATE processor_connections SET status = 'disconnected'")
        .await;
    let data = stack.get(&path, &own.token).await.body["data"].clone();
    assert_eq!(data["stepStatuses"]["payments"], "pending");
    assert_eq!(
        data["statistics"]["payments"]["stripeConnectionStatus"],
        "disconnected"
    );
}
