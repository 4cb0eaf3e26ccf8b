//! Payments are judged as of their own time: whatever the order in which clicks, leads and payments arrive,
//! the ledger equals that of an arrival in the order of time.

use chrono::{DateTime, TimeDelta, Utc};
use domain::earnings::commission::CommissionType::{self, CpsLifetime, CpsOneTime};
use domain::tracking::attribution::AttributionModel;
use runtime::clock::Clock;
use serde_json::{Value, json};
use sqlx::{Postgres, Transaction};
use storage::processor::processor_events;

use super::shop::{Payment, Shop, ended};
use test_harness::{Json, Partner, Program, noon, rows, sale_of};

mod funnels;

/// An hour of the test's day.
fn hour(hours: i64) -> DateTime<Utc> {
    noon() + TimeDelta::hours(hours)
}

async fn open() -> Shop {
    Shop::open_at(Clock::manual(noon())).await
}

async fn selling() -> (Shop, Program) {
    Shop::selling_at(Clock::manual(noon())).await
}

/// As [`selling`], with commissions of this type. Returns the customer's click_id too.
async fn paying(kind: CommissionType) -> (Shop, Program, String) {
    let shop = open().await;
    let program = shop.program_with(AttributionModel::LastClick, kind).await;
    let click_id = shop.stack.customer(&program, &program.ada.code, "user-1").await;
    (shop, program, click_id)
}

impl Shop {
    fn paid_at(&self, name: &str, at: i64) -> Payment {
        self.payment(name).at(hour(at))
    }

    /// The customer comes back through Bruno's link.
    async fn clicked_again(&self, bruno: &Partner, click_id: &str, at: i64) {
        self.stack.clock.set(hour(at));
        self.stack.returns(bruno, click_id, 1).await;
    }

    async fn no_commission_reason(&self, transaction_id: &str) -> Value {
        rows::sale(&self.stack, transaction_id).await["no_commission_reason"].clone()
    }
}

/// Asserts whose commission of a sale is in force.
async fn pays(shop: &Shop, transaction_id: &str, partner: &Partner) {
    let commissions = rows::commissions(&shop.stack, transaction_id).await;
    let in_force = commissions
        .iter()
        .filter(|commission| commission["superseded_at"].is_null());
    let partners: Vec<_> = in_force.map(|commission| &commission["partner_id"]).collect();
    assert_eq!(partners, [partner.partner_id.get()], "{commissions:?}");
}

#[tokio::test]
async fn a_payment_from_before_the_first_click_earns_nothing() {
    let shop = open().await;
    let program = shop.program().await;
    shop.stack.clock.set(hour(1));
    shop.report(&program, &shop.paid_at("1", 0).checkout()).await;
    shop.becomes("evt_checkout_1", "parked", "customer_not_found")
        .await;
    shop.stack.customer(&program, &program.ada.code, "user-1").await;
    shop.becomes("evt_checkout_1", "done", "before_first_click").await;
    assert_eq!(shop.stack.balances(&program).await, [0, 0]);
    assert_eq!(rows::claims(&shop.stack, "in_1").await, 0);
    shop.stack.verify().await;
}

#[tokio::test]
async fn a_click_after_the_payment_does_not_change_whom_it_pays() {
    let (shop, program, click_id) = paying(CpsLifetime).await;
    shop.clicked_again(&program.bruno, &click_id, 3).await;
    shop.process(&program, &shop.paid_at("1", 1).checkout()).await;
    pays(&shop, "in_1", &program.ada).await;
    assert_eq!(shop.stack.balances(&program).await, [980, 0]);
    shop.stack.verify().await;
}

#[tokio::test]
async fn a_click_that_comes_late_gets_the_payment_that_it_brought() {
    let (shop, program, click_id) = paying(CpsLifetime).await;
    shop.stack.clock.set(hour(3));
    shop.process(&program, &shop.paid_at("1", 2).checkout()).await;
    pays(&shop, "in_1", &program.ada).await;
    shop.clicked_again(&program.bruno, &click_id, 1).await;
    shop.settled().await;
    pays(&shop, "in_1", &program.bruno).await;
    assert_eq!(shop.stack.balances(&program).await, [0, 980]);
    shop.stack.verify().await;
}

#[tokio::test]
async fn the_first_payment_after_a_trial_is_a_sale_and_pays_the_trials_partner() {
    let (shop, program, click_id) = paying(CpsLifetime).await;
    let trial = shop.paid_at("0", 1).in_subscription("sub_1").of_cents(0);
    shop.report(&program, &trial.first()).await;
    shop.clicked_again(&program.bruno, &click_id, 2).await;
    shop.stack.clock.set(hour(24));
    let first = shop.paid_at("1", 24).in_subscription("sub_1");
    shop.process(&program, &first.renewal()).await;
    pays(&shop, "in_1", &program.ada).await;
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
    let (shop, program, click_id) = paying(CpsLifetime).await;
    shop.clicked_again(&program.bruno, &click_id, 2).await;
    shop.stack.clock.set(hour(24));
    shop.stack.execute(HOLD_SALES).await;
    let renewal = shop.paid_at("1", 24).in_subscription("sub_1");
    shop.report(&program, &renewal.renewal()).await;
    shop.stack
        .eventually("the renewal is about to be written", async || {
            shop.stack.sessions("wait_event = 'PgSleep'").await > 0
        })
        .await;
    let trial = shop.paid_at("0", 1).in_subscription("sub_1").of_cents(0);
    shop.report(&program, &trial.first()).await;
    shop.stack
        .eventually("the trial is known, or waits for the renewal", async || {
            shop.event("evt_invoice.paid_0").await.0 == "done"
                || shop.stack.sessions("wait_event = 'advisory'").await > 0
        })
        .await;
    shop.stack.execute("DELETE FROM sales_held").await;
    shop.settled().await;
    pays(&shop, "in_1", &program.ada).await;
    shop.stack.verify().await;
}

#[tokio::test]
async fn a_renewal_of_an_unknown_subscription_is_a_sale_at_once() {
    let (shop, program) = selling().await;
    shop.stack.clock.set(hour(24));
    let renewal = shop.paid_at("7", 24).in_subscription("sub_of_before");
    shop.process(&program, &renewal.renewal()).await;
    assert_eq!(rows::sale(&shop.stack, "in_7").await["is_recurring"], true);
    assert_eq!(shop.stack.balances(&program).await, [980, 0]);
    shop.stack.verify().await;
}

#[tokio::test]
async fn a_one_time_commission_is_for_the_earliest_payment_whichever_arrives_first() {
    let (shop, program, _) = paying(CpsOneTime).await;
    shop.stack.clock.set(hour(5));
    for (name, at, cents) in [("late", 4, 1_000), ("early", 2, 10_000)] {
        let paid = shop.paid_at(name, at).of_cents(cents);
        shop.process(&program, &paid.checkout()).await;
        assert_eq!(shop.stack.balances(&program).await, [cents / 5, 0], "{name}");
    }
    assert_eq!(
        shop.no_commission_reason("in_late").await,
        "one_time_already_paid"
    );
    let superseded = &rows::commissions(&shop.stack, "in_late").await[0];
    assert_eq!(superseded["status"], "reversed");
    assert!(superseded["superseded_at"].is_string());
    let told = "notifications WHERE kind = 'commission_deducted'";
    assert_eq!(shop.stack.count(told).await, 1);
    shop.stack.verify().await;
}

#[tokio::test]
async fn a_commission_that_takes_the_place_of_a_rejected_one_is_flagged() {
    let (shop, program, _) = paying(CpsOneTime).await;
    shop.stack.clock.set(hour(5));
    for (name, at) in [("third", 4), ("second", 3), ("first", 2)] {
        let paid = shop.paid_at(name, at).of_cents(1_000);
        shop.process(&program, &paid.checkout()).await;
        if name == "third" {
            let owner = shop.stack.owner_of(&program).await;
            let third = rows::commission(&shop.stack, "in_third").await["id"].clone();
            let body = json!({ "commission_ids": [third], "reason": "odd" });
            owner.submit(&program.path("commissions/reject"), body).await.ok();
        } else {
            // This also holds for the commission that replaced the replacement.
            let signals = rows::commissions(&shop.stack, &format!("in_{name}")).await[0]["signals"].clone();
            assert_eq!(signals, json!(["replaces_changed"]), "{name}");
        }
    }
    assert_eq!(shop.stack.balances(&program).await, [200, 0]);
    shop.stack.verify().await;
}

#[tokio::test]
async fn what_was_paid_out_for_a_later_payment_is_clawed_back() {
    let (shop, program, click_id) = paying(CpsOneTime).await;
    shop.clicked_again(&program.bruno, &click_id, 3).await;
    shop.stack.clock.set(hour(5));
    let late = shop.paid_at("late", 4).of_cents(10_000);
    shop.process(&program, &late.checkout()).await;
    shop.pay_out(&program).await;
    assert_eq!(shop.stack.balances(&program).await, [0, 0]);
    let early = shop.paid_at("early", 2).of_cents(1_000);
    shop.process(&program, &early.checkout()).await;
    assert_eq!(shop.stack.balances(&program).await, [200, -2_000]);
    shop.stack.verify().await;
}

#[tokio::test]
async fn a_sale_that_is_undone_as_a_duplicate_is_no_first_payment() {
    let (shop, program, _) = paying(CpsOneTime).await;
    shop.stack.clock.set(hour(5));
    let by_api = sale_of("pi_1", "user-1").with(json!({ "amount_cents": 10_000 }));
    shop.stack.sold(&program, by_api).await;
    let paid = shop
        .paid_at("1", 2)
        .basil()
        .in_subscription("sub_1")
        .of_cents(10_000);
    shop.process(&program, &paid.first()).await;
    assert_eq!(shop.no_commission_reason("pi_1").await, "one_time_already_paid");
    // This event says that both are one payment.
    shop.process(&program, &paid.invoice_payment()).await;
    assert_eq!(shop.no_commission_reason("pi_1").await, Value::Null);
    pays(&shop, "pi_1", &program.ada).await;
    assert_eq!(shop.stack.balances(&program).await, [2_000, 0]);
    shop.stack.verify().await;
}

#[tokio::test]
async fn the_lead_that_binds_a_key_wakes_the_payments_that_wait_for_it() {
    let shop = open().await;
    let program = shop.program().await;
    let click_id = shop.stack.click(&program.ada.code).await;
    shop.stack.clock.set(hour(1));
    shop.report(&program, &shop.paid_at("1", 1).checkout()).await;
    shop.becomes("evt_checkout_1", "parked", "customer_not_found")
        .await;
    // Its own turn is far in the future.
    shop.stack
        .execute("UPDATE processor_events SET relay_after = now() + interval '1 day'")
        .await;
    shop.stack.signed_up(&program, &click_id, "user-1").await;
    shop.becomes("evt_checkout_1", "done", None).await;
    assert_eq!(shop.stack.balances(&program).await, [980, 0]);
    shop.stack.verify().await;
}

#[tokio::test]
async fn an_organic_payment_ends_quietly_and_nothing_of_it_is_kept() {
    let shop = open().await;
    let program = shop.program().await;
    shop.report(&program, &shop.paid_at("1", 0).checkout()).await;
    shop.becomes("evt_checkout_1", "parked", "customer_not_found")
        .await;
    shop.stack.clock.set(hour(73));
    shop.stack
        .execute("UPDATE processor_events SET relay_after = now()")
        .await;
    shop.becomes("evt_checkout_1", "done", "customer_not_found").await;
    let kept = "processor_events WHERE payload IS NOT NULL OR waits_for IS NOT NULL";
    assert_eq!(shop.stack.count(kept).await, 0);
    shop.stack.verify().await;
}

#[tokio::test]
async fn a_payment_for_a_suspended_partner_is_kept_until_they_are_restored() {
    let (shop, program) = selling().await;
    let set_status = async |status: &str| {
        let id = program.ada.membership;
        let statement = format!("UPDATE partner_programs SET status = '{status}' WHERE id = {id}");
        shop.stack.execute(&statement).await;
    };
    set_status("suspended").await;
    shop.stack.clock.set(hour(1));
    shop.report(&program, &shop.paid_at("1", 1).checkout()).await;
    shop.becomes("evt_checkout_1", "parked", "partner_not_approved")
        .await;
    set_status("approved").await;
    let mut connection = shop.stack.pool().acquire().await.unwrap();
    let approved = processor_events::PARTNER_APPROVED.to_owned();
    processor_events::wake(&mut connection, &[(program.program_id, approved)])
        .await
        .unwrap();
    drop(connection);
    shop.becomes("evt_checkout_1", "done", None).await;
    assert_eq!(shop.stack.balances(&program).await, [980, 0]);
    shop.stack.verify().await;
}

#[tokio::test]
async fn an_end_that_becomes_known_late_takes_back_what_was_paid_after_it() {
    let (shop, program) = selling().await;
    let paid = |name: &str, at: i64| shop.paid_at(name, at).in_subscription("sub_1");
    shop.stack.clock.set(hour(10));
    shop.process(&program, &paid("1", 1).first()).await;
    shop.process(&program, &paid("2", 5).renewal()).await;
    assert_eq!(shop.stack.balances(&program).await, [2 * 980, 0]);
    let ended = ended("sub_1", "evt_ended", hour(3).timestamp());
    shop.process(&program, &ended).await;
    assert_eq!(shop.stack.balances(&program).await, [980, 0]);
    assert_eq!(shop.no_commission_reason("in_2").await, "subscription_ended");
    shop.stack.verify().await;
}

/// Locks a sale as a refund of the sale does.
async fn held_sale(shop: &Shop, transaction_id: &str) -> Transaction<'static, Postgres> {
    let of_sale =
        format!("SELECT 1 FROM sale_events WHERE processor_event_id = '{transaction_id}' FOR UPDATE");
    shop.stack.holding(&of_sale).await
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
    let (shop, program) = selling().await;
    shop.stack.clock.set(hour(24));
    shop.process(&program, &shop.paid_at("2", 2).checkout()).await;
    let holding = held_sale(&shop, "in_2").await;
    shop.report(&program, &shop.paid_at("1", 1).checkout()).await;
    balances_are_free(&shop, holding).await;
    shop.settled().await;
    assert_eq!(shop.stack.balances(&program).await, [2 * 980, 0]);
    shop.stack.verify().await;
}

#[tokio::test]
async fn an_earlier_end_of_a_subscription_and_a_refund_lock_sales_before_balances() {
    let (mut shop, program) = selling().await;
    shop.stack.clock.set(hour(24));
    let first = shop.paid_at("1", 1).in_subscription("sub_1").first();
    let renewal = shop.paid_at("2", 3).in_subscription("sub_1").renewal();
    shop.process(&program, &first).await;
    shop.process(&program, &renewal).await;
    shop.stack.customer(&program, &program.ada.code, "user-2").await;
    let other = shop.paid_at("3", 25).by("user-2");
    shop.stack.clock.set(hour(26));
    shop.process(&program, &other.checkout()).await;
    assert_eq!(shop.stack.balances(&program).await, [3 * 980, 0]);

    // While no worker runs, the following records gather into one batch.
    shop.stack.stop_workers().await;
    let ended = ended("sub_1", "evt_ended", hour(2).timestamp());
    shop.report(&program, &ended).await;
    shop.report(&program, &other.charge_refunded(4900)).await;
    let holding = held_sale(&shop, "in_3").await;
    shop.stack.start_worker();
    balances_are_free(&shop, holding).await;
    shop.settled().await;
    assert_eq!(shop.stack.balances(&program).await, [980, 0]);
    shop.stack.verify().await;
}
