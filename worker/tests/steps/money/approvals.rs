//! The hold period: pending commissions become approved ones.

use chrono::TimeDelta;
use domain::money::Currency;
use runtime::clock::Clock;
use serde_json::{Value, json};
use storage::money::payouts;
use test_harness::{Json, Shop, Stack, noon, rows, sell};

#[tokio::test]
async fn a_commission_is_approved_once_its_hold_period_is_over() {
    let mut stack = Stack::at_noon().await;
    let (program, patient) = (stack.program().await, stack.program().await);
    rows::set(&stack, &program, "hold_days = 0").await;
    rows::set(&stack, &patient, "hold_days = 15").await;
    stack.customer(&program, &program.ada.code, "user-1").await;
    sell(&stack, &program, "t1", 5000, json!({})).await;
    stack.customer(&patient, &patient.ada.code, "user-1").await;
    sell(&stack, &patient, "t2", 5000, json!({})).await;
    // A worker's upkeep starts with a round.
    stack.start_worker();
    approved(&stack, "t1").await;
    assert_eq!(rows::commission(&stack, "t2").await["status"], "pending");
    stack.clock.advance(TimeDelta::days(15));
    stack.start_worker();
    approved(&stack, "t2").await;
    assert_eq!(stack.balance(patient.ada.membership).await, 1000);
    stack.verify().await;
}

#[tokio::test]
async fn approvals_go_on_when_a_months_partition_cannot_be_made() {
    let mut stack = Stack::without_services(Clock::manual(noon())).await;
    // The default partition holds an event of next month, from a wrong clock. So that month cannot get a
    // partition of its own.
    let statement = format!(
        "INSERT INTO click_events (event_id, program_id, referral_link_id, customer_id, click_timestamp, click_id, is_test)
     VALUES (gen_random_uuid(), 1, 1, 1, '{}', 'early', true)",
        noon() + TimeDelta::days(31)
    );
    stack.execute(&statement).await;
    stack.start_services().await;
    let program = stack.program().await;
    rows::set(&stack, &program, "hold_days = 0").await;
    stack.customer(&program, &program.ada.code, "user-1").await;
    sell(&stack, &program, "t1", 5000, json!({})).await;
    stack.start_worker();
    approved(&stack, "t1").await;
    stack.verify().await;
}

/// Creates a program with this setting and three commissions, all past their hold period. Two are of flagged
/// sales (within seconds of the click), one of which is refunded by half. The third is not flagged.
async fn held(needs_approval: &str) -> (Shop, [i64; 3]) {
    let mut shop = Shop::open_at(Clock::manual(noon())).await;
    let setting = format!("needs_approval = '{needs_approval}'");
    rows::set(&shop.stack, &shop.program, &setting).await;
    let flagged = shop.sell("flagged", json!({})).await;
    let refunded = shop.sell("refunded", json!({})).await;
    shop.refund("refunded", 5_000).await;
    shop.stack.clock.advance(TimeDelta::hours(1));
    let plain = shop.sell("plain", json!({})).await;
    shop.stack.clock.advance(TimeDelta::days(15));
    // The earlier session has expired.
    shop.stack.sign_in_again(&mut shop.owner).await;
    (shop, [flagged, refunded, plain])
}

async fn status(shop: &Shop, transaction_id: &str) -> String {
    let status = &rows::commission(&shop.stack, transaction_id).await["status"];
    status.as_str().unwrap().to_owned()
}

/// The owner's dashboard: the amount on hold and the amount that can be paid.
async fn announced(shop: &Shop) -> (Value, Value) {
    let summary = shop.owner.get("/api/advertiser/dashboard/summary").await;
    let money = &summary.body["data"]["programs"][0]["money"][0];
    (
        money["commissions_pending_cents"].clone(),
        money["commissions_approved_cents"].clone(),
    )
}

#[tokio::test]
async fn flagged_commissions_wait_for_approval_by_hand_where_the_program_wants_it() {
    let (mut shop, [flagged, refunded, _]) = held("flagged").await;
    shop.stack.start_worker();
    // The round that approved "plain" has passed the flagged commission, whose hold period ended no later.
    approved(&shop.stack, "plain").await;
    assert_eq!(status(&shop, "flagged").await, "pending");
    assert_eq!(announced(&shop).await, (json!(3_000), json!(2_000)));
    let named = json!({ "commission_ids": [flagged, refunded] });
    let refused = shop.post("payouts", named).await;
    refused.refuses_commissions(&[(flagged, "pending"), (refunded, "needs approval")]);
    let payout = shop.pay_all().await;
    payout.has(json!({ "amount_cents": 2_000, "commission_count": 1 }));
    shop.approve(&[flagged, refunded]).await;
    assert_eq!(announced(&shop).await, (json!(0), json!(3_000)));
    assert_eq!(shop.pay_all().await["amount_cents"], 3_000);
    shop.stack.verify().await;
}

#[tokio::test]
async fn all_commissions_wait_where_the_program_wants_it_until_it_does_no_more() {
    let (mut shop, _) = held("all").await;
    // Another program's commission shows when a round is over.
    let other = shop.stack.program().await;
    rows::set(&shop.stack, &other, "hold_days = 0").await;
    shop.stack.customer(&other, &other.ada.code, "user-1").await;
    sell(&shop.stack, &other, "other", 5_000, json!({})).await;
    shop.stack.start_worker();
    approved(&shop.stack, "other").await;
    assert_eq!(status(&shop, "plain").await, "pending");
    assert_eq!(announced(&shop).await, (json!(5_000), json!(0)));
    let put = json!({ "needs_approval": null });
    let answer = shop.owner.put(&shop.path(""), put).await;
    assert_eq!(answer.body["data"]["needs_approval"], "none", "{answer:?}");
    shop.stack.start_worker();
    for transaction_id in ["flagged", "plain"] {
        approved(&shop.stack, transaction_id).await;
    }
    assert_eq!(announced(&shop).await, (json!(0), json!(5_000)));
    shop.stack.verify().await;
}

#[tokio::test]
async fn a_flagged_commission_goes_on_waiting_when_its_customer_is_erased() {
    let (mut shop, [flagged, ..]) = held("flagged").await;
    let statement = "UPDATE commissions SET signals = ARRAY['self_referral'] WHERE signals <> '{}'";
    shop.stack.execute(statement).await;
    let customer = json!({ "customer_key": "user-1" });
    let erased = shop.post("customers/erase", customer).await;
    assert_eq!(erased.body["data"]["customers"], 1, "{erased:?}");
    shop.stack.start_worker();
    approved(&shop.stack, "plain").await;
    assert_eq!(status(&shop, "flagged").await, "pending");
    let signals = rows::commission(&shop.stack, "flagged").await["signals"].clone();
    assert_eq!(signals, json!(["erased"]), "commission {flagged}");
    let listed = shop.get("commissions?signal=erased").await;
    assert_eq!(*listed.total(), 2, "{listed:?}");
    shop.stack.verify().await;
}

async fn approved(stack: &Stack, transaction_id: &str) {
    stack
        .eventually("the commission is approved", async || {
            let commission = rows::commission(stack, transaction_id).await;
            commission["status"] == "approved" && !commission["approved_at"].is_null()
        })
        .await;
}

/// Whatever the state of a commission, a payout of everything includes the same commissions as a payout of a
/// list.
#[tokio::test]
async fn a_payout_of_everything_and_one_of_a_list_agree_on_what_can_be_paid() {
    let shop = Shop::open().await;
    let id = shop.sell("t1", json!({})).await;
    let program_id = shop.program.program_id;
    let (now, dollars) = (shop.stack.clock.now(), Currency::parse("USD").unwrap());
    let mut transaction = shop.stack.pool().begin().await.unwrap();
    let mut payable = 0;
    for n in 0..480 {
        let which = |step: usize, of: &[&'static str]| of[n / step % of.len()];
        let needs_approval = which(1, &["none", "flagged", "all"]);
        let status = which(3, &["pending", "approved", "paid", "refunded", "reversed"]);
        let approved_at = which(15, &["NULL", "now()"]);
        let paid_at = which(30, &["NULL", "now()"]);
        let hold_until = which(60, &["now() - interval '1 day'", "now() + interval '1 day'"]);
        let signals = which(120, &["'{}'", "'{fast_sale}'"]);
        let deducted_cents = which(240, &["1", "amount_cents"]);
        let state = format!(
            "UPDATE programs SET needs_approval = '{needs_approval}' WHERE id = {program_id};
             UPDATE commissions SET status = '{status}', approved_at = {approved_at}, paid_at = {paid_at},
                 hold_until = {hold_until}, signals = {signals}, deducted_cents = {deducted_cents} WHERE id = {id}"
        );
        let set = sqlx::raw_sql(sqlx::AssertSqlSafe(state.clone()));
        set.execute(&mut *transaction).await.unwrap();
        let listed = payouts::lock_listed(&mut transaction, program_id, &[id])
            .await
            .unwrap();
        let all = payouts::lock_payable(&mut transaction, program_id, dollars, now, 9)
            .await
            .unwrap();
        assert_eq!(listed[0].state.payable(now).is_ok(), !all.is_empty(), "{state}");
        let currencies = payouts::payable_currencies(&mut transaction, program_id, now)
            .await
            .unwrap();
        assert_eq!(currencies.is_empty(), all.is_empty(), "{state}");
        payable += all.len();
    }
    assert!(payable > 50, "{payable}");
    transaction.rollback().await.unwrap();
    shop.stack.verify().await;
}
