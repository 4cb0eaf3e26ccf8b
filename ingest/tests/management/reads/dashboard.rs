//! The summary counts every program within reach, but no other program and no test events.

use chrono::TimeDelta;
use serde_json::{Value, json};
use test_harness::{Program, Shop, Stack, rows, test_mode};

const SUMMARY: &str = "/api/advertiser/dashboard/summary";

#[tokio::test]
async fn the_summary_adds_up_what_is_within_reach_without_tests() {
    let shop = Shop::open().await;
    let stack = &shop.stack;
    // A second program of the same workspace, and a program of another workspace.
    let (second, rival) = (stack.program().await, stack.program().await);
    let statement = format!(
        "UPDATE programs SET workspace_id = (SELECT workspace_id FROM programs WHERE id = {}) WHERE id = {}",
        shop.program.program_id, second.program_id
    );
    stack.execute(&statement).await;
    stack.customer(&second, &second.bruno.code, "user-1").await;
    stack.customer(&rival, &rival.ada.code, "user-1").await;
    let statement = format!(
        "UPDATE partner_programs SET status = 'suspended' WHERE id = {}",
        second.ada.membership
    );
    stack.execute_on_links(&statement).await;
    let (paid, part) = (shop.sell("t1", json!({})).await, shop.sell("t2", json!({})).await);
    shop.sell("t3", json!({ "currency": "EUR" })).await;
    shop.approve(&[paid, part]).await;
    shop.refund("t2", 5_000).await;
    shop.pay(json!({ "commission_ids": [paid] })).await;
    // Now a commission waits for review.
    shop.refund("t1", 2_500).await;
    stack.click_with(&shop.program.ada.code, test_mode()).await.ok();
    stack.sold(&shop.program, test_mode()).await;
    rows::counted(stack, shop.program.ada.link, 1).await;
    rows::counted(stack, second.bruno.link, 1).await;
    let ask = async || stack.get(SUMMARY, &shop.owner.token).await.body["data"].clone();
    stack
        .eventually("the notification is there", async || {
            ask().await["total"]["unread_notifications"] == 1
        })
        .await;
    let summary = ask().await;
    let money = json!([
        { "currency": "EUR", "revenue_last_30_days_cents": 10_000, "refunded_last_30_days_cents": 0,
          "net_revenue_last_30_days_cents": 10_000, "commissions_pending_cents": 2_000,
          "commissions_approved_cents": 0, "commissions_paid_cents": 0 },
        { "currency": "USD", "revenue_last_30_days_cents": 20_000, "refunded_last_30_days_cents": 7_500,
          "net_revenue_last_30_days_cents": 12_500, "commissions_pending_cents": 0,
          "commissions_approved_cents": 500, "commissions_paid_cents": 2_000 },
    ]);
    let own = |program: &Program, sales: i64, partners: i64, unread: i64, money: &Value| {
        json!({ "program_id": program.program_id, "name": "Program", "status": "live", "clicks_all_time": 1,
                "clicks_last_30_days": 1, "leads_last_30_days": 1, "sales_last_30_days": sales,
                "active_partners": partners, "unread_notifications": unread, "money": money })
    };
    let first = own(&shop.program, 3, 2, 1, &money);
    let other = own(&second, 0, 1, 0, &json!([]));
    let total = json!({
        "clicks_all_time": 2, "clicks_last_30_days": 2, "leads_last_30_days": 2, "sales_last_30_days": 3,
        "active_partners": 3, "unread_notifications": 1, "money": money,
    });
    assert_eq!(summary, json!({ "programs": [other, first], "total": total }));
    shop.stack.verify().await;
}

#[tokio::test]
async fn a_member_sees_the_programs_they_may_read() {
    let shop = Shop::open().await;
    let stack = &shop.stack;
    let member = stack.member_of(&shop.program, "member@program.example").await;
    let programs = async || {
        let answer = stack.get(SUMMARY, &member.token).await;
        answer.data()["programs"].as_array().unwrap().len()
    };
    assert_eq!(programs().await, 0);
    stack.permit(&shop.program, &member, "program:read").await;
    assert_eq!(programs().await, 1);
    shop.stack.verify().await;
}

#[tokio::test]
async fn the_last_thirty_days_end_where_they_say() {
    let (stack, program) = Stack::with_customer_at_noon().await;
    let mut owner = stack.owner_of(&program).await;
    let clicks = async |token: &str| -> Value {
        let summary = stack.get(SUMMARY, token).await;
        summary.body["data"]["total"]["clicks_last_30_days"].clone()
    };
    assert_eq!(clicks(&owner.token).await, 1);
    stack.clock.advance(TimeDelta::days(30));
    stack.sign_in_again(&mut owner).await;
    assert_eq!(clicks(&owner.token).await, 0);
    let summary = stack.get(SUMMARY, &owner.token).await;
    assert_eq!(summary.body["data"]["total"]["clicks_all_time"], 1);
}
