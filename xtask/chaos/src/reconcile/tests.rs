//! Each violation is found, and a correct round has none.

use serde_json::{Value, json};

use super::sales::share;
use super::*;
use crate::journal::{Answer, Event, Names, What};

fn call(asked: Asked, status: u16, body: Value) -> Call {
    Call {
        asked,
        answer: Answer::Received { status, body },
    }
}

fn refused(asked: Asked, message: &str) -> Call {
    call(asked, 400, json!({ "error": { "message": message } }))
}

fn unanswered(asked: Asked) -> Call {
    Call {
        asked,
        answer: Answer::Late,
    }
}

fn click() -> Asked {
    Asked::Click { code: "ada".into() }
}

fn sale(amount_cents: i64) -> Asked {
    Asked::Sale {
        transaction_id: "t1".into(),
        customer_key: "u1".into(),
        amount_cents,
    }
}

fn refund(refund_id: &str, amount_cents: Option<i64>) -> Asked {
    Asked::Refund {
        transaction_id: "t1".into(),
        refund_id: refund_id.into(),
        amount_cents,
    }
}

fn event(id: &str, what: What) -> Asked {
    Asked::Event(Event {
        id: id.into(),
        transaction_id: "pi_1".into(),
        customer_key: "u1".into(),
        amount_cents: 1_000,
        what,
    })
}

/// The answer 200 to [`sale`].
fn sold(amount_cents: i64, sale_id: i64, commission_id: i64) -> Call {
    let body = json!({ "sale_id": sale_id, "commission_id": commission_id });
    call(sale(amount_cents), 200, body)
}

fn refunded(refund_id: &str, amount_cents: i64) -> Call {
    call(
        refund(refund_id, Some(amount_cents)),
        200,
        json!({ "status": "refunded" }),
    )
}

fn lead() -> Asked {
    Asked::Lead {
        click_id: "cust_1_1".into(),
        customer_key: "u1".into(),
    }
}

/// A correct funnel with its rows.
fn correct() -> (Vec<Call>, Rows) {
    let (paid, returned) = (What::Paid(Names::Key), What::Refunded { cents: 250 });
    let calls = vec![
        call(click(), 200, json!({ "click_id": "cust_1_1" })),
        unanswered(click()),
        call(lead(), 200, json!({})),
        unanswered(sale(5_000)),
        call(sale(5_000), 409, json!({})),
        refunded("r1", 500),
        unanswered(refund("r2", Some(700))),
        call(event("evt_0", paid), 200, json!({})),
        call(event("evt_250", returned), 200, json!({})),
    ];
    let rows = Rows {
        clicks: vec!["cust_1_1".into(), "cust_2_2".into()],
        customers: vec![("u1".into(), "cust_1_1".into())],
        leads: vec!["u1".into()],
        sales: vec![
            sale_row(7, "t1", 5_000, (1_200, 0), (1_000, 240)),
            sale_row(8, "pi_1", 1_000, (0, 250), (200, 50)),
        ],
        refunds: vec![refund_row("r1", 500), refund_row("r2", 700)],
        events: vec![("evt_0".into(), "done".into()), ("evt_250".into(), "done".into())],
    };
    (calls, rows)
}

fn sale_row(
    sale_id: i64,
    transaction_id: &str,
    amount_cents: i64,
    (api_refunded_cents, processor_refunded_cents): (i64, i64),
    (commission_cents, deducted_cents): (i64, i64),
) -> SaleRow {
    SaleRow {
        sale_id,
        transaction_id: transaction_id.into(),
        amount_cents,
        customer_key: "u1".into(),
        api_refunded_cents,
        processor_refunded_cents,
        commissions: vec![CommissionRow {
            commission_id: sale_id * 10,
            amount_cents: commission_cents,
            deducted_cents,
        }],
    }
}

fn refund_row(refund_id: &str, cents: i64) -> RefundRow {
    RefundRow {
        transaction_id: "t1".into(),
        refund_id: refund_id.into(),
        requested_cents: Some(cents),
        effective_cents: cents,
    }
}

/// What is found once something is changed about an honest round.
fn found(change: impl FnOnce(&mut Vec<Call>, &mut Rows)) -> Vec<String> {
    let (mut calls, mut rows) = correct();
    change(&mut calls, &mut rows);
    violations(&calls, &rows, false)
}

const MAY_LOSE_CLICKS: bool = true;

#[track_caller]
fn finds(what: &str, change: impl FnOnce(&mut Vec<Call>, &mut Rows)) {
    let found = found(change);
    assert!(found.iter().any(|line| line.contains(what)), "{what}: {found:#?}");
}

#[test]
fn an_honest_round_has_no_violation() {
    assert_eq!(found(|_, _| {}), Vec::<String>::new());
}

#[test]
fn what_was_left_open_may_be_there_or_not() {
    let found = found(|calls, rows| {
        calls.retain(|call| call.answer.status() != Some(409));
        calls.retain(|call| !matches!(call.asked, Asked::Refund { .. }));
        rows.clicks.pop();
        rows.refunds.clear();
        rows.sales.remove(0);
    });
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn a_lost_sale_is_found() {
    finds("answered as recorded and is missing", |calls, rows| {
        calls.push(call(sale(5_000), 409, json!({})));
        rows.sales.remove(0);
    });
    finds("sale pi_1 was answered as recorded and is missing", |_, rows| {
        rows.sales.remove(1);
    });
}

#[test]
fn a_doubled_sale_is_found() {
    finds("is recorded 2 times", |_, rows| {
        rows.sales
            .push(sale_row(9, "t1", 5_000, (1_200, 0), (1_000, 240)));
    });
    finds("was answered 200 2 times", |calls, _| {
        calls.extend([sold(5_000, 7, 70), sold(5_000, 7, 70)]);
    });
    finds("sale t9 was never sent", |_, rows| {
        rows.sales.push(sale_row(9, "t9", 5_000, (0, 0), (1_000, 0)));
    });
}

#[test]
fn a_sale_with_other_fields_is_found() {
    finds("is not the one that was answered 200", |calls, _| {
        calls.push(sold(4_000, 7, 70));
    });
    finds("is not the one that was answered 200", |calls, _| {
        calls.push(sold(5_000, 5, 70));
    });
    finds("like this", |_, rows| rows.sales[0].customer_key = "u2".into());
    finds("has not the commission", |calls, _| {
        calls.push(sold(5_000, 7, 71));
    });
    finds("and 1000 is due", |_, rows| {
        rows.sales[0].commissions[0].amount_cents = 999;
    });
    finds("has 0 commissions", |_, rows| rows.sales[0].commissions.clear());
}

#[test]
fn a_doubled_refund_is_found() {
    finds("refund r1 of t1 is recorded 2 times", |_, rows| {
        rows.refunds.push(refund_row("r1", 500));
    });
    finds("was applied 2 times", |calls, _| {
        calls.push(refunded("r1", 500));
    });
    finds("and its refunds add up to 1200", |_, rows| {
        rows.sales[0].api_refunded_cents = 1_700;
    });
    finds("and 240 is due for its refunds", |_, rows| {
        rows.sales[0].commissions[0].deducted_cents = 340;
    });
    finds("had an effect of 1700", |_, rows| {
        rows.refunds[0].effective_cents = 1_000;
    });
}

#[test]
fn a_lost_refund_is_found() {
    finds(
        "refund r1 of t1 was answered as recorded and is missing",
        |_, rows| {
            rows.refunds.remove(0);
        },
    );
    finds("250 of sale pi_1 were refunded", |_, rows| {
        rows.sales[1].processor_refunded_cents = 0;
    });
}

#[test]
fn a_missing_click_is_found_unless_its_stream_was_taken_away() {
    finds("cust_1_1 was answered as recorded and is missing", |_, rows| {
        rows.clicks.remove(0);
    });
    let (calls, mut rows) = correct();
    rows.clicks.remove(0);
    assert_eq!(violations(&calls, &rows, MAY_LOSE_CLICKS), Vec::<String>::new());
}

#[test]
fn a_click_too_many_is_found() {
    finds("click cust_1_1 is recorded 2 times", |_, rows| {
        rows.clicks.push("cust_1_1".into());
    });
    finds("2 clicks without an answer are recorded", |_, rows| {
        rows.clicks.push("cust_3_3".into());
    });
}

#[test]
fn a_lead_that_is_lost_doubled_or_bound_elsewhere_is_found() {
    finds(
        "the lead of u1 was answered as recorded and is missing",
        |_, rows| {
            rows.leads.clear();
        },
    );
    finds("the lead of u1 is recorded 2 times", |_, rows| {
        rows.leads.push("u1".into());
    });
    finds("is not the key of the one customer", |_, rows| {
        rows.customers[0].1 = "cust_2_2".into();
    });
}

#[test]
fn an_event_that_is_lost_or_unsettled_is_found() {
    finds("event evt_0 was answered as recorded", |_, rows| {
        rows.events.remove(0);
    });
    finds("event evt_0 was answered 200 and is open", |_, rows| {
        rows.events[0].1 = "open".into();
    });
    finds(
        "event evt_0 was answered 200 and is done (duplicate)",
        |_, rows| {
            rows.events[0].1 = "done (duplicate)".into();
        },
    );
    finds("was never sent", |_, rows| {
        rows.events.push(("evt_9".into(), "done".into()));
    });
}

#[test]
fn an_answer_that_cannot_be_right_is_found() {
    finds("was answered 404", |calls, _| {
        calls.push(call(refund("r3", None), 404, json!({})));
    });
    finds("was answered 400", |calls, _| {
        calls.push(refused(sale(5_000), "Customer not found"));
    });
}

#[test]
fn a_lead_that_is_refused_although_its_click_was_answered_is_found() {
    let message = "Customer not found. Provide a valid click_id or customer_key.";
    finds("was answered 400: Customer not found", |calls, _| {
        calls.push(refused(lead(), message));
    });
    let (mut calls, rows) = correct();
    calls.push(refused(lead(), message));
    assert_eq!(violations(&calls, &rows, MAY_LOSE_CLICKS), Vec::<String>::new());
}

#[test]
fn shares_are_rounded_away_from_zero_at_the_half() {
    assert_eq!(
        [share(5, 1, 2), share(1_001, 2_000, 10_000), share(0, 1, 2)],
        [3, 200, 0]
    );
}
