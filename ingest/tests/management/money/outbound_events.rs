//! Outbound events of changes by hand, payouts and partners, made by routes and by the command line.

use reqwest::StatusCode;
use serde_json::{Value, json};
use test_harness::outbound_events::{outbound_bodies, outbound_types, want_all};
use test_harness::{Shop, succeeds};

async fn adjust(shop: &Shop, id: i64, cents: i64) {
    let body = json!({ "amount_cents": cents, "reason": "agreed" });
    let answer = shop.post(&format!("commissions/{id}/adjust"), body).await;
    assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
}

/// Named fields of an event's data.
fn fields(body: &Value, names: &[&str]) -> Vec<Value> {
    names.iter().map(|name| body["data"][name].clone()).collect()
}

#[tokio::test]
async fn changes_of_commissions_by_hand_are_outbound_events_with_their_reasons() {
    let shop = Shop::open().await;
    let (kept, rejected) = (shop.sell("t1", json!({})).await, shop.sell("t2", json!({})).await);
    want_all(&shop.stack, &shop.program).await;
    adjust(&shop, kept, -500).await;
    let reject = json!({ "commission_ids": [rejected], "reason": "fraud" });
    assert_eq!(
        shop.post("commissions/reject", reject).await.status,
        StatusCode::OK
    );
    shop.approve(&[kept]).await;
    let bonus = json!({ "partner_program_id": shop.program.ada.membership, "amount_cents": 700, "currency": "USD", "note": "May" });
    assert_eq!(shop.post("commissions", bonus).await.status, StatusCode::CREATED);
    let bodies = outbound_bodies(&shop.stack, &shop.program).await;
    let types: Vec<&Value> = bodies.iter().map(|body| &body["type"]).collect();
    assert_eq!(
        types,
        [
            "commission.adjusted",
            "commission.rejected",
            "commission.approved",
            "commission.created"
        ]
    );
    let names = [
        "commission_id",
        "amount_cents",
        "status",
        "changed_by_cents",
        "reason",
        "transaction_id",
    ];
    assert_eq!(
        fields(&bodies[0], &names),
        [
            json!(kept),
            json!(1_500),
            json!("pending"),
            json!(-500),
            json!("agreed"),
            json!("t1")
        ]
    );
    assert_eq!(
        fields(&bodies[1], &names),
        [
            json!(rejected),
            json!(0),
            json!("reversed"),
            json!(-2_000),
            json!("fraud"),
            json!("t2")
        ]
    );
    assert_eq!(
        fields(&bodies[2], &names[..3]),
        [json!(kept), json!(1_500), json!("approved")]
    );
    assert_eq!(
        fields(
            &bodies[3],
            &["sale_id", "amount_cents", "status", "customer_key", "partner_id"]
        ),
        [
            Value::Null,
            json!(700),
            json!("approved"),
            Value::Null,
            json!(shop.program.ada.partner_id)
        ]
    );
    shop.stack.verify().await;
}

#[tokio::test]
async fn the_command_line_tells_of_its_changes() {
    let shop = Shop::open().await;
    let id = shop.sell("t1", json!({})).await.to_string();
    let program_id = shop.program.program_id.to_string();
    let membership = shop.program.ada.membership.to_string();
    want_all(&shop.stack, &shop.program).await;
    let adjust = [
        "commission",
        "adjust",
        "--program-id",
        &program_id,
        "--amount-cents",
        "100",
        "--reason",
        "agreed",
        "--yes",
    ];
    succeeds(&shop.stack, &[&adjust[..], &[&id]].concat()).await;
    let reject = [
        "commission",
        "reject",
        "--program-id",
        &program_id,
        "--reason",
        "fraud",
        "--yes",
    ];
    succeeds(&shop.stack, &[&reject[..], &[&id]].concat()).await;
    let bonus = [
        "commission",
        "add",
        "--program-id",
        &program_id,
        "--partner-program-id",
        &membership,
        "--amount-cents",
        "5",
        "--currency",
        "USD",
        "--note",
        "May",
        "--yes",
    ];
    succeeds(&shop.stack, &bonus).await;
    let link = [
        "link",
        "create",
        "--program-id",
        &program_id,
        "--partner",
        "Carla",
    ];
    succeeds(&shop.stack, &link).await;
    assert_eq!(
        outbound_types(&shop.stack, &shop.program).await,
        [
            "commission.adjusted",
            "commission.rejected",
            "commission.created",
            "partner.enrolled"
        ]
    );
}

#[tokio::test]
async fn the_event_of_a_payout_comes_before_those_of_its_commissions() {
    let shop = Shop::open().await;
    let first = shop.sell("t1", json!({})).await;
    shop.approve(&[first]).await;
    shop.pay(json!({ "all_approved": true })).await;
    // A paid commission is refunded, so the partner owes it.
    shop.refund("t1", 5_000).await;
    let second = shop.sell("t2", json!({})).await;
    shop.approve(&[second]).await;
    want_all(&shop.stack, &shop.program).await;
    let payout = shop
        .pay(json!({ "all_approved": true, "reference": "June" }))
        .await;
    let bodies = outbound_bodies(&shop.stack, &shop.program).await;
    assert_eq!(bodies.len(), 2, "{bodies:?}");
    assert_eq!(
        fields(
            &bodies[0],
            &[
                "payout_id",
                "amount_cents",
                "currency",
                "commission_count",
                "reference"
            ]
        ),
        [
            payout["id"].clone(),
            json!(1_000),
            json!("USD"),
            json!(1),
            json!("June")
        ]
    );
    assert_eq!(
        fields(
            &bodies[1],
            &[
                "commission_id",
                "status",
                "payout_id",
                "paid_cents",
                "withheld_cents",
                "transaction_id"
            ]
        ),
        [
            json!(second),
            json!("paid"),
            payout["id"].clone(),
            json!(1_000),
            json!(1_000),
            json!("t2")
        ]
    );
    assert_eq!(
        (&bodies[0]["type"], &bodies[1]["type"]),
        (&json!("payout.created"), &json!("commission.paid"))
    );
    shop.stack.verify().await;
}

#[tokio::test]
async fn each_status_of_a_partner_is_an_outbound_event() {
    let shop = Shop::open().await;
    want_all(&shop.stack, &shop.program).await;
    let invited = json!({ "name": "Carla", "email": "carla@letters.example" });
    let added = shop.post("partners", invited).await;
    assert_eq!(added.status, StatusCode::CREATED, "{added:?}");
    let id = added.body["data"]["id"].clone();
    let path = shop.path(&format!("partners/{id}"));
    for change in [
        json!({ "status": "approved" }),
        // This request changes nothing.
        json!({ "status": "approved", "name": "Carla B." }),
        json!({ "status": "suspended" }),
    ] {
        let answer = shop.stack.put(&path, &shop.owner.token, change).await;
        assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
    }
    let bodies = outbound_bodies(&shop.stack, &shop.program).await;
    let said: Vec<_> = bodies
        .iter()
        .map(|body| {
            (
                body["type"].clone(),
                fields(body, &["partner_program_id", "partner_name", "status"]),
            )
        })
        .collect();
    assert_eq!(
        said,
        [
            (
                json!("partner.applied"),
                vec![id.clone(), json!("Carla"), json!("pending")]
            ),
            (
                json!("partner.enrolled"),
                vec![id.clone(), json!("Carla"), json!("approved")]
            ),
            (
                json!("partner.suspended"),
                vec![id, json!("Carla B."), json!("suspended")]
            ),
        ]
    );
}

#[tokio::test]
async fn a_change_that_is_refused_and_a_program_of_no_interest_tell_nothing() {
    let shop = Shop::open().await;
    let id = shop.sell("t1", json!({})).await;
    adjust(&shop, id, 100).await;
    shop.approve(&[id]).await;
    shop.pay(json!({ "all_approved": true })).await;
    let invited = json!({ "name": "Carla", "email": "carla@letters.example" });
    assert_eq!(shop.post("partners", invited).await.status, StatusCode::CREATED);
    want_all(&shop.stack, &shop.program).await;
    let paid = json!({ "amount_cents": 1, "reason": "agreed" });
    let answer = shop.post(&format!("commissions/{id}/adjust"), paid).await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{answer:?}");
    assert_eq!(shop.stack.count("outbound_events").await, 0);
}
