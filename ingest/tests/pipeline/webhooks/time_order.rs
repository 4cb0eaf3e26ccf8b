//! Payments are judged as of their own time: whatever the order in which clicks, leads and payments arrive,
//! the ledger equals that of an arrival in the order of time.

use chrono::{DateTime, TimeDelta, Utc};
use domain::earnings::commission::CommissionType;
use domain::tracking::attribution::AttributionModel;
use reqwest::StatusCode;
use runtime::clock::Clock;
use serde_json::{Value, json};
use sqlx::{Postgres, Transaction};

use super::shop::{Payment, Shape, Shop, event};
use test_harness::{noon, rows};

fn payment(name: &str, subscription: Option<&str>, at: DateTime<Utc>, cents: i64) -> Payment {
    Payment {
        shape: Shape::Acacia,
        name: name.to_owned(),
        customer_key: "user-1".to_owned(),
        subscription: subscription.map(str::to_owned),
        cents,
        began: at.timestamp(),
    }
}

/// An hour of the test's day.
fn hour(hours: i64) -> DateTime<Utc> {
    noon() + TimeDelta::hours(hours)
}

async fn shop() -> Shop {
    Shop::open_at(Clock::manual(noon())).await
}

async fn becomes(shop: &Shop, id: &str, state: &str, reason: Option<&str>) {
    shop.stack
        .eventually(&format!("{id} is {state}: {reason:?}"), async || {
            shop.event(id).await == (state.to_owned(), reason.map(str::to_owned))
        })
        .await;
}

async fn click_again(shop: &Shop, code: &str, click_id: &str, at: DateTime<Utc>) {
    shop.stack.clock.set(at);
    let answer = shop
        .stack
        .click_with(code, json!({ "existing_click_id": click_id }))
        .await;
    assert_eq!(answer.body["click_id"], click_id, "{answer:?}");
}

async fn partner_of(shop: &Shop, transaction_id: &str) -> Value {
    let commissions = rows::commissions(&shop.stack, transaction_id).await;
    let in_force: Vec<&Value> = commissions
        .iter()
        .filter(|commission| commission["superseded_at"].is_null())
        .collect();
    assert_eq!(in_force.len(), 1, "{commissions:?}");
    in_force[0]["partner_id"].clone()
}

#[tokio::test]
async fn a_payment_from_before_the_first_click_earns_nothing() {
    let shop = shop().await;
    let program = shop.program().await;
    shop.stack.clock.set(hour(1));
    shop.report(&program, &payment("1", None, hour(0), 4900).checkout())
        .await;
    becomes(&shop, "evt_checkout_1", "parked", Some("customer_not_found")).await;
    shop.stack.customer(&program, &program.ada.code, "user-1").await;
    becomes(&shop, "evt_checkout_1", "done", Some("before_first_click")).await;
    assert_eq!(shop.stack.balance(program.ada.membership).await, 0);
    assert_eq!(rows::claims(&shop.stack, "in_1").await, 0);
    shop.stack.verify().await;
}

#[tokio::test]
async fn a_click_after_the_payment_does_not_change_whom_it_pays() {
    let shop = shop().await;
    let program = shop.program().await;
    let click_id = shop.stack.customer(&program, &program.ada.code, "user-1").await;
    click_again(&shop, &program.bruno.code, &click_id, hour(3)).await;
    rows::counted(&shop.stack, program.bruno.link, 1).await;
    shop.process(&program, &payment("1", None, hour(1), 4900).checkout())
        .await;
    assert_eq!(partner_of(&shop, "in_1").await, program.ada.partner_id.get());
    assert_eq!(shop.stack.balance(program.bruno.membership).await, 0);
    shop.stack.verify().await;
}

#[tokio::test]
async fn a_click_that_comes_late_gets_the_payment_that_it_brought() {
    let shop = shop().await;
    let program = shop.program().await;
    let click_id = shop.stack.customer(&program, &program.ada.code, "user-1").await;
    shop.stack.clock.set(hour(3));
    shop.process(&program, &payment("1", None, hour(2), 4900).checkout())
        .await;
    assert_eq!(partner_of(&shop, "in_1").await, program.ada.partner_id.get());
    click_again(&shop, &program.bruno.code, &click_id, hour(1)).await;
    rows::counted(&shop.stack, program.bruno.link, 1).await;
    shop.settled().await;
    assert_eq!(partner_of(&shop, "in_1").await, program.bruno.partner_id.get());
    assert_eq!(shop.stack.balance(program.ada.membership).await, 0);
    assert_eq!(shop.stack.balance(program.bruno.membership).await, 980);
    shop.stack.verify().await;
}

#[tokio::test]
async fn the_first_payment_after_a_trial_is_a_sale_and_pays_the_trials_partner() {
    let shop = shop().await;
    let program = shop.program().await;
    let click_id = shop.stack.customer(&program, &program.ada.code, "user-1").await;
    let trial = payment("0", Some("sub_1"), hour(1), 0);
    shop.report(&program, &trial.invoice("invoice.paid", "subscription_create"))
        .await;
    click_again(&shop, &program.bruno.code, &click_id, hour(2)).await;
    rows::counted(&shop.stack, program.bruno.link, 1).await;
    shop.stack.clock.set(hour(24));
    let first = payment("1", Some("sub_1"), hour(24), 4900);
    shop.process(&program, &first.invoice("invoice.paid", "subscription_cycle"))
        .await;
    assert_eq!(partner_of(&shop, "in_1").await, program.ada.partner_id.get());
    assert_eq!(rows::claims(&shop.stack, "in_0").await, 0);
    shop.stack.verify().await;
}

/// A trigger stops a sale while `sales_held` has a row. A lock would not do, because batches wait only
/// briefly for a lock.
const HOLD_SALES: &str = "CREATE TABLE sales_held AS SELECT true;
    CREATE FUNCTION hold_sale() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        WHILE EXISTS (SELECT FROM public.sales_held) LOOP PERFORM pg_sleep(0.01); END LOOP; RETURN NEW; END $$;
    CREATE TRIGGER hold_sale BEFORE INSERT ON sale_events FOR EACH ROW EXECUTE FUNCTION hold_sale();
    GRANT SELECT ON sales_held TO PUBLIC";

/// The renewal is being recorded when the trial becomes known: neither transaction sees the other.
#[tokio::test]
async fn a_trial_that_becomes_known_while_its_renewal_is_recorded_is_credited_too() {
    let shop = shop().await;
    let program = shop.program().await;
    let click_id = shop.stack.customer(&program, &program.ada.code, "user-1").await;
    click_again(&shop, &program.bruno.code, &click_id, hour(2)).await;
    rows::counted(&shop.stack, program.bruno.link, 1).await;
    shop.stack.clock.set(hour(24));
    shop.stack.execute(HOLD_SALES).await;
    let renewal = payment("1", Some("sub_1"), hour(24), 4900);
    shop.report(&program, &renewal.invoice("invoice.paid", "subscription_cycle"))
        .await;
    shop.stack
        .eventually("the renewal is about to be written", async || {
            shop.stack.sessions("wait_event = 'PgSleep'").await > 0
        })
        .await;
    let trial = payment("0", Some("sub_1"), hour(1), 0);
    shop.report(&program, &trial.invoice("invoice.paid", "subscription_create"))
        .await;
    shop.stack
        .eventually("the trial is known, or waits for the renewal", async || {
            shop.event("evt_invoice.paid_0").await.0 == "done"
                || shop.stack.sessions("wait_event = 'advisory'").await > 0
        })
        .await;
    shop.stack.execute("DELETE FROM sales_held").await;
    shop.settled().await;
    assert_eq!(partner_of(&shop, "in_1").await, program.ada.partner_id.get());
    shop.stack.verify().await;
}

#[tokio::test]
async fn a_renewal_of_an_unknown_subscription_is_a_sale_at_once() {
    let shop = shop().await;
    let program = shop.program().await;
    shop.stack.customer(&program, &program.ada.code, "user-1").await;
    shop.stack.clock.set(hour(24));
    let renewal = payment("7", Some("sub_of_before"), hour(24), 4900);
    shop.process(&program, &renewal.invoice("invoice.paid", "subscription_cycle"))
        .await;
    assert_eq!(rows::sale(&shop.stack, "in_7").await["is_recurring"], true);
    assert_eq!(shop.stack.balance(program.ada.membership).await, 980);
    shop.stack.verify().await;
}

#[tokio::test]
async fn a_one_time_commission_is_for_the_earliest_payment_whichever_arrives_first() {
    let shop = shop().await;
    let program = shop
        .program_with(AttributionModel::LastClick, CommissionType::CpsOneTime)
        .await;
    shop.stack.customer(&program, &program.ada.code, "user-1").await;
    shop.stack.clock.set(hour(5));
    shop.process(&program, &payment("late", None, hour(4), 1_000).checkout())
        .await;
    assert_eq!(shop.stack.balance(program.ada.membership).await, 200);
    shop.process(&program, &payment("early", None, hour(2), 10_000).checkout())
        .await;
    assert_eq!(shop.stack.balance(program.ada.membership).await, 2_000);
    let late = rows::sale(&shop.stack, "in_late").await;
    assert_eq!(late["no_commission_reason"], "one_time_already_paid");
    let superseded = &rows::commissions(&shop.stack, "in_late").await[0];
    assert_eq!(superseded["status"], "reversed");
    assert!(superseded["superseded_at"].is_string());
    let told = shop
        .stack
        .count("notifications WHERE kind = 'commission_deducted'")
        .await;
    assert_eq!(told, 1);
    shop.stack.verify().await;
}

#[tokio::test]
async fn a_commission_that_takes_the_place_of_a_rejected_one_is_flagged() {
    let shop = shop().await;
    let program = shop
        .program_with(AttributionModel::LastClick, CommissionType::CpsOneTime)
        .await;
    shop.stack.customer(&program, &program.ada.code, "user-1").await;
    shop.stack.clock.set(hour(5));
    for (name, at) in [("third", 4), ("second", 3), ("first", 2)] {
        shop.process(&program, &payment(name, None, hour(at), 1_000).checkout())
            .await;
        if name == "third" {
            let owner = shop.stack.owner_of(&program).await;
            let path = format!(
                "/api/advertiser/affiliate-programs/{}/commissions/reject",
                program.program_id
            );
            let third = rows::commission(&shop.stack, "in_third").await["id"].clone();
            let body = json!({ "commission_ids": [third], "reason": "odd" });
            shop.stack.submitted(&path, Some(&owner.token), body).await;
        } else {
            // This also holds for the commission that replaced the replacement.
            let signals = rows::commissions(&shop.stack, &format!("in_{name}")).await[0]["signals"].clone();
            assert_eq!(signals, json!(["replaces_changed"]), "{name}");
        }
    }
    assert_eq!(shop.stack.balance(program.ada.membership).await, 200);
    shop.stack.verify().await;
}

#[tokio::test]
async fn what_was_paid_out_for_a_later_payment_is_clawed_back() {
    let shop = shop().await;
    let program = shop
        .program_with(AttributionModel::LastClick, CommissionType::CpsOneTime)
        .await;
    let click_id = shop.stack.customer(&program, &program.ada.code, "user-1").await;
    click_again(&shop, &program.bruno.code, &click_id, hour(3)).await;
    rows::counted(&shop.stack, program.bruno.link, 1).await;
    shop.stack.clock.set(hour(5));
    shop.process(&program, &payment("late", None, hour(4), 10_000).checkout())
        .await;
    shop.pay_out(&program).await;
    assert_eq!(shop.stack.balance(program.bruno.membership).await, 0);
    shop.process(&program, &payment("early", None, hour(2), 1_000).checkout())
        .await;
    assert_eq!(shop.stack.balance(program.bruno.membership).await, -2_000);
    assert_eq!(shop.stack.balance(program.ada.membership).await, 200);
    shop.stack.verify().await;
}

#[tokio::test]
async fn a_sale_that_is_undone_as_a_duplicate_is_no_first_payment() {
    let shop = shop().await;
    let program = shop
        .program_with(AttributionModel::LastClick, CommissionType::CpsOneTime)
        .await;
    shop.stack.customer(&program, &program.ada.code, "user-1").await;
    shop.stack.clock.set(hour(5));
    let by_api = json!({ "transaction_id": "pi_1", "amount_cents": 10_000, "customer_key": "user-1" });
    assert_eq!(shop.stack.sale(&program, by_api).await.status, StatusCode::OK);
    let paid = Payment {
        shape: Shape::Basil,
        ..payment("1", Some("sub_1"), hour(2), 10_000)
    };
    shop.process(&program, &paid.invoice("invoice.paid", "subscription_create"))
        .await;
    let reason = async |id: &str| rows::sale(&shop.stack, id).await["no_commission_reason"].clone();
    assert_eq!(reason("pi_1").await, "one_time_already_paid");
    // This event says that both are one payment.
    shop.process(&program, &paid.invoice_payment()).await;
    assert_eq!(reason("pi_1").await, Value::Null);
    assert_eq!(partner_of(&shop, "pi_1").await, program.ada.partner_id.get());
    assert_eq!(shop.stack.balance(program.ada.membership).await, 2_000);
    shop.stack.verify().await;
}

#[tokio::test]
async fn the_lead_that_binds_a_key_wakes_the_payments_that_wait_for_it() {
    let shop = shop().await;
    let program = shop.program().await;
    let click_id = shop.stack.click(&program.ada.code).await;
    shop.stack.clock.set(hour(1));
    shop.report(&program, &payment("1", None, hour(1), 4900).checkout())
        .await;
    becomes(&shop, "evt_checkout_1", "parked", Some("customer_not_found")).await;
    // Its own turn is far in the future.
    shop.stack
        .execute("UPDATE processor_events SET relay_after = now() + interval '1 day'")
        .await;
    shop.stack.signed_up(&program, &click_id, "user-1").await;
    becomes(&shop, "evt_checkout_1", "done", None).await;
    assert_eq!(shop.stack.balance(program.ada.membership).await, 980);
    shop.stack.verify().await;
}

#[tokio::test]
async fn an_organic_payment_ends_quietly_and_nothing_of_it_is_kept() {
    let shop = shop().await;
    let program = shop.program().await;
    shop.report(&program, &payment("1", None, hour(0), 4900).checkout())
        .await;
    becomes(&shop, "evt_checkout_1", "parked", Some("customer_not_found")).await;
    shop.stack.clock.set(hour(73));
    shop.stack
        .execute("UPDATE processor_events SET relay_after = now()")
        .await;
    becomes(&shop, "evt_checkout_1", "done", Some("customer_not_found")).await;
    let kept: bool = shop
        .stack
        .value("SELECT payload IS NOT NULL OR waits_for IS NOT NULL FROM processor_events")
        .await;
    assert!(!kept);
    shop.stack.verify().await;
}

#[tokio::test]
async fn a_payment_for_a_suspended_partner_is_kept_until_they_are_restored() {
    let shop = shop().await;
    let program = shop.program().await;
    shop.stack.customer(&program, &program.ada.code, "user-1").await;
    let set_status = async |status: &str| {
        sqlx::query("UPDATE partner_programs SET status = $2 WHERE id = $1")
            .bind(program.ada.membership.get())
            .bind(status)
            .execute(shop.stack.pool())
            .await
            .unwrap();
    };
    set_status("suspended").await;
    shop.stack.clock.set(hour(1));
    shop.report(&program, &payment("1", None, hour(1), 4900).checkout())
        .await;
    becomes(&shop, "evt_checkout_1", "parked", Some("partner_not_approved")).await;
    set_status("approved").await;
    let mut connection = shop.stack.pool().acquire().await.unwrap();
    storage::processor::processor_events::wake(
        &mut connection,
        &[(
            program.program_id,
            storage::processor::processor_events::PARTNER_APPROVED.to_owned(),
        )],
    )
    .await
    .unwrap();
    drop(connection);
    becomes(&shop, "evt_checkout_1", "done", None).await;
    assert_eq!(shop.stack.balance(program.ada.membership).await, 980);
    shop.stack.verify().await;
}

#[tokio::test]
async fn an_end_that_becomes_known_late_takes_back_what_was_paid_after_it() {
    let shop = shop().await;
    let program = shop.program().await;
    shop.stack.customer(&program, &program.ada.code, "user-1").await;
    let pay = async |name: &str, at: i64, reason: &str| {
        let paid = payment(name, Some("sub_1"), hour(at), 4900);
        shop.process(&program, &paid.invoice("invoice.paid", reason))
            .await;
    };
    shop.stack.clock.set(hour(10));
    pay("1", 1, "subscription_create").await;
    pay("2", 5, "subscription_cycle").await;
    assert_eq!(shop.stack.balance(program.ada.membership).await, 2 * 980);
    let object = json!({ "id": "sub_1", "object": "subscription", "metadata": {} });
    let ended = event(
        "evt_ended",
        "customer.subscription.deleted",
        hour(3).timestamp(),
        object,
    );
    shop.process(&program, &ended).await;
    assert_eq!(shop.stack.balance(program.ada.membership).await, 980);
    let second = rows::sale(&shop.stack, "in_2").await;
    assert_eq!(second["no_commission_reason"], "subscription_ended");
    shop.stack.verify().await;
}

mod funnels;

/// Locks a sale as a refund of the sale does.
async fn held_sale(shop: &Shop, transaction_id: &str) -> Transaction<'static, Postgres> {
    let mut holding = shop.stack.pool().begin().await.unwrap();
    sqlx::query("SELECT 1 FROM sale_events WHERE processor_event_id = $1 FOR UPDATE")
        .bind(transaction_id)
        .fetch_one(&mut *holding)
        .await
        .unwrap();
    holding
}

/// A transaction that waits for the held sale must not have locked a balance: a transaction that reverses a
/// sale locks balances next.
async fn balances_are_free(shop: &Shop, mut holding: Transaction<'static, Postgres>) {
    let holder: i32 = sqlx::query_scalar("SELECT pg_backend_pid()")
        .fetch_one(&mut *holding)
        .await
        .unwrap();
    shop.stack
        .eventually("a batch waits for the sale", async || {
            let waits = format!("{holder} = ANY (pg_blocking_pids(pid))");
            shop.stack.sessions(&waits).await > 0
        })
        .await;
    sqlx::query("SELECT 1 FROM partner_program_balances FOR UPDATE NOWAIT")
        .fetch_all(&mut *holding)
        .await
        .unwrap();
    holding.rollback().await.unwrap();
}

#[tokio::test]
async fn a_payment_that_has_a_later_one_judged_again_locks_that_before_any_balance() {
    let shop = shop().await;
    let program = shop.program().await;
    shop.stack.customer(&program, &program.ada.code, "user-1").await;
    shop.stack.clock.set(hour(24));
    shop.process(&program, &payment("2", None, hour(2), 4900).checkout())
        .await;
    let holding = held_sale(&shop, "in_2").await;
    shop.report(&program, &payment("1", None, hour(1), 4900).checkout())
        .await;
    balances_are_free(&shop, holding).await;
    shop.settled().await;
    assert_eq!(shop.stack.balance(program.ada.membership).await, 2 * 980);
    shop.stack.verify().await;
}

#[tokio::test]
async fn an_earlier_end_of_a_subscription_and_a_refund_lock_sales_before_balances() {
    let mut shop = shop().await;
    let program = shop.program().await;
    shop.stack.customer(&program, &program.ada.code, "user-1").await;
    shop.stack.clock.set(hour(24));
    let first = payment("1", Some("sub_1"), hour(1), 4900);
    shop.process(&program, &first.invoice("invoice.paid", "subscription_create"))
        .await;
    let renewal = payment("2", Some("sub_1"), hour(3), 4900);
    shop.process(&program, &renewal.invoice("invoice.paid", "subscription_cycle"))
        .await;
    shop.stack.customer(&program, &program.ada.code, "user-2").await;
    let other = Payment {
        customer_key: "user-2".to_owned(),
        ..payment("3", None, hour(25), 4900)
    };
    shop.stack.clock.set(hour(26));
    shop.process(&program, &other.checkout()).await;
    assert_eq!(shop.stack.balance(program.ada.membership).await, 3 * 980);

    // While no worker runs, the following records gather into one batch.
    shop.stack.stop_workers().await;
    let ended = json!({ "id": "sub_1", "object": "subscription", "metadata": {} });
    let ended_at = hour(2).timestamp();
    shop.report(
        &program,
        &event("evt_ended", "customer.subscription.deleted", ended_at, ended),
    )
    .await;
    shop.report(&program, &other.charge_refunded(4900)).await;
    let holding = held_sale(&shop, "in_3").await;
    shop.stack.start_worker();
    balances_are_free(&shop, holding).await;
    shop.settled().await;
    assert_eq!(shop.stack.balance(program.ada.membership).await, 980);
    shop.stack.verify().await;
}
