//! Outbound events of changes by hand, payouts and partners, made by routes and by the command line.

use serde_json::{Value, json};
use test_harness::outbound_events::{outbound_bodies, outbound_types, want_all};
use test_harness::{Json, Shop, ctl};

/// Asserts the type and fields of each event of the program, in order.
async fn outbound_are(shop: &Shop, expected: Value) {
    let bodies = outbound_bodies(&shop.stack, &shop.program).await;
    let expected = expected.as_array().unwrap();
    assert_eq!(bodies.len(), expected.len(), "{bodies:?}");
    for (body, event) in bodies.iter().zip(expected) {
        assert_eq!(body["type"], event[0]);
        body["data"].has(event[1].clone());
    }
}

#[tokio::test]
async fn changes_of_commissions_by_hand_are_outbound_events_with_their_reasons() {
    let shop = Shop::open().await;
    let (kept, rejected) = (shop.sell("t1", json!({})).await, shop.sell("t2", json!({})).await);
    want_all(&shop.stack, &shop.program).await;
    shop.adjust(kept, -500).await.ok();
    shop.reject(&[rejected]).await.ok();
    shop.approve(&[kept]).await;
    shop.add_commission(json!({})).await.created();
    let ada = shop.program.ada.partner_id;
    outbound_are(&shop, json!([
        ["commission.adjusted", { "commission_id": kept, "amount_cents": 1_500, "status": "pending",
                                  "changed_by_cents": -500, "reason": "agreed", "transaction_id": "t1" }],
        ["commission.rejected", { "commission_id": rejected, "amount_cents": 0, "status": "reversed",
                                  "changed_by_cents": -2_000, "reason": "own purchase", "transaction_id": "t2" }],
        ["commission.approved", { "commission_id": kept, "amount_cents": 1_500, "status": "approved" }],
        ["commission.created", { "sale_id": null, "amount_cents": 2_500, "status": "approved", "customer_key": null,
                                 "partner_id": ada }],
    ]))
    .await;
    shop.stack.verify().await;
}

#[tokio::test]
async fn the_command_line_tells_of_its_changes() {
    let shop = Shop::open().await;
    let id = shop.sell("t1", json!({})).await;
    want_all(&shop.stack, &shop.program).await;
    let (program, membership) = (shop.program.program_id, shop.program.ada.membership);
    for line in [
        format!("commission adjust {id} --amount-cents 100 --reason agreed --yes"),
        format!("commission reject {id} --reason fraud --yes"),
        format!(
            "commission add --partner-program-id {membership} --amount-cents 5 --currency USD --note May --yes"
        ),
        "link create --partner Carla".to_owned(),
    ] {
        ctl(&shop.stack, &format!("{line} --program-id {program}"))
            .await
            .says("");
    }
    let types = [
        "commission.adjusted",
        "commission.rejected",
        "commission.created",
        "partner.enrolled",
    ];
    assert_eq!(outbound_types(&shop.stack, &shop.program).await, types);
}

#[tokio::test]
async fn the_event_of_a_payout_comes_before_those_of_its_commissions() {
    let shop = Shop::open().await;
    shop.earn("t1", json!({})).await;
    shop.pay_all().await;
    // A paid commission is refunded, so the partner owes it.
    shop.refund("t1", 5_000).await;
    let second = shop.earn("t2", json!({})).await;
    want_all(&shop.stack, &shop.program).await;
    let payout = shop
        .pay(json!({ "all_approved": true, "reference": "June" }))
        .await;
    outbound_are(&shop, json!([
        ["payout.created", { "payout_id": payout["id"], "amount_cents": 1_000, "currency": "USD", "commission_count": 1,
                             "reference": "June" }],
        ["commission.paid", { "commission_id": second, "status": "paid", "payout_id": payout["id"], "paid_cents": 1_000,
                              "withheld_cents": 1_000, "transaction_id": "t2" }],
    ]))
    .await;
    shop.stack.verify().await;
}

#[tokio::test]
async fn each_status_of_a_partner_is_an_outbound_event() {
    let shop = Shop::open().await;
    want_all(&shop.stack, &shop.program).await;
    let invited = json!({ "name": "Carla", "email": "carla@letters.example" });
    let added = shop.post("partners", invited).await.created();
    let id = added.body["data"]["id"].clone();
    let path = shop.path(&format!("partners/{id}"));
    for change in [
        json!({ "status": "approved" }),
        // This request changes nothing.
        json!({ "status": "approved", "name": "Carla B." }),
        json!({ "status": "suspended" }),
    ] {
        shop.stack.put(&path, &shop.owner.token, change).await.ok();
    }
    outbound_are(&shop, json!([
        ["partner.applied", { "partner_program_id": id, "partner_name": "Carla", "status": "pending" }],
        ["partner.enrolled", { "partner_program_id": id, "partner_name": "Carla", "status": "approved" }],
        ["partner.suspended", { "partner_program_id": id, "partner_name": "Carla B.", "status": "suspended" }],
    ]))
    .await;
}

#[tokio::test]
async fn a_change_that_is_refused_and_a_program_of_no_interest_tell_nothing() {
    let shop = Shop::open().await;
    let id = shop.sell("t1", json!({})).await;
    shop.adjust(id, 100).await.ok();
    shop.approve(&[id]).await;
    shop.pay_all().await;
    let invited = json!({ "name": "Carla", "email": "carla@letters.example" });
    shop.post("partners", invited).await.created();
    want_all(&shop.stack, &shop.program).await;
    shop.adjust(id, 1)
        .await
        .refuses_commissions(&[(id, "already paid")]);
    assert_eq!(shop.stack.count("outbound_events").await, 0);
}
