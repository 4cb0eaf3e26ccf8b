//! The events of a payment in any order, each sent one to three times and mixed with reports of the API, give
//! the same rows, balances and statuses.
//!
//! Each permutation is a program of its own, and many run at once. Their events are sent in rounds: one event
//! of each permutation in each round. In half of the runs a round begins when the previous one is settled, so
//! that steps see the events in exactly this order; in the others the events overtake each other.

use std::collections::BTreeMap;

use futures::future::join_all;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use reqwest::StatusCode;
use serde_json::{Value, json};

use super::shop::{Payment, Shape, Shop};
use test_harness::{Json, Program};

const CENTS: i64 = 4900;
/// Concurrent requests.
const AT_ONCE: usize = 40;

/// The rows of a program without ids. `$1` is the program.
const ROWS: [(&str, &str); 10] = [
    (
        "sales",
        "SELECT jsonb_build_object('amount', s.amount_cents, 'currency', s.currency, 'why not', s.no_commission_reason,
               'refunded', least(s.amount_cents, greatest(s.api_refunded_cents, s.processor_refunded_cents)),
               'commissions', (SELECT jsonb_agg(jsonb_build_object('amount', c.amount_cents, 'status', c.status,
                                      'deducted', c.deducted_cents)) FROM commissions c WHERE c.sale_id = s.id))
        FROM sale_events s WHERE s.program_id = $1 AND s.duplicate_of IS NULL ORDER BY 1",
    ),
    (
        "customers",
        "SELECT jsonb_build_object('status', status, 'key', customer_key, 'proposed', proposed_customer_key,
               'is the first purchase', first_purchase_date = (SELECT min(s.sale_date) FROM sale_events s
                   WHERE s.customer_id = c.id AND s.duplicate_of IS NULL))
        FROM customers c WHERE program_id = $1",
    ),
    (
        "balances",
        "SELECT jsonb_build_object('currency', b.currency, 'cents', b.balance_cents) FROM partner_program_balances b
        JOIN partner_programs p ON p.id = b.partner_program_id WHERE p.program_id = $1 ORDER BY 1",
    ),
    (
        "ledger",
        "SELECT jsonb_build_object('cents', sum(amount_cents), 'shortfall', sum(shortfall_cents))
        FROM ledger_entries WHERE program_id = $1",
    ),
    (
        "subscriptions",
        "SELECT jsonb_build_object('id', u.subscription_id, 'began with a sale that stands',
               EXISTS (SELECT 1 FROM sale_events s WHERE s.id = u.first_sale_id AND s.duplicate_of IS NULL
                       AND s.sale_date = u.first_payment_at))
        FROM subscriptions u WHERE u.program_id = $1",
    ),
    (
        "names",
        "SELECT jsonb_build_array(reference, payment) FROM processor_refs WHERE program_id = $1 ORDER BY reference",
    ),
    (
        "reversals",
        "SELECT jsonb_build_object('kind', v.kind, 'source', v.source, 'cents', v.amount_cents,
               'is counted', s.id IS NOT NULL)
        FROM processor_reversals v LEFT JOIN sale_events s ON s.id = v.sale_id AND s.duplicate_of IS NULL
        WHERE v.program_id = $1 ORDER BY v.source, v.amount_cents",
    ),
    (
        "inbox",
        "SELECT jsonb_build_array(processor_event_id, state, payload IS NULL) FROM processor_events
        WHERE program_id = $1 ORDER BY processor_event_id",
    ),
    (
        "days",
        "SELECT jsonb_build_object('sales', sum(sales), 'revenue', sum(revenue_cents), 'commission', sum(commission_cents),
               'conversions', sum(conversions))
        FROM (SELECT sales, revenue_cents, commission_cents, conversions FROM program_days WHERE program_id = $1
              UNION ALL SELECT sales, revenue_cents, commission_cents, conversions FROM rollup_deltas
              WHERE program_id = $1) d",
    ),
    (
        "given back",
        "SELECT jsonb_build_object('refunded', coalesce(sum(refunded_cents), 0), 'deducted', coalesce(sum(deducted_cents), 0))
        FROM (SELECT refunded_cents, deducted_cents FROM program_refund_days WHERE program_id = $1
              UNION ALL SELECT refunded_cents, deducted_cents FROM refund_deltas WHERE program_id = $1) d",
    ),
];
/// If only one source reports sales, they are equal in every column.
const SOLD: (&str, &str) = (
    "what was sold",
    "SELECT jsonb_build_object('id', processor_event_id, 'at', sale_date, 'type', sale_type,
                   'subscription', subscription_id, 'is_recurring', is_recurring,
                   'by processor', processor_refunded_cents, 'duplicate', duplicate_of)
            FROM sale_events WHERE program_id = $1 ORDER BY processor_event_id",
);

/// A step of a permutation.
#[derive(Debug, Clone)]
enum Step {
    Event(Value),
    /// The same payment, reported through the API under one of its ids.
    Sale(Value),
    /// The first refund, reported through the API under one of the payment's ids.
    Refund(Value),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    OneOff,
    Subscription,
    /// The subscription's second payment.
    Renewed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Scenario {
    kind: Kind,
    shape: Shape,
    /// Whether the API also reports a sale and a refund.
    with_api: bool,
}

struct Run {
    scenario: Scenario,
    program: Program,
    payment: Payment,
    steps: Vec<Step>,
    /// For the message of a failure.
    order: Vec<String>,
}

fn events(payment: &Payment, kind: Kind) -> Vec<Value> {
    let reason = match kind {
        Kind::OneOff => "manual",
        Kind::Subscription | Kind::Renewed => "subscription_create",
    };
    let mut events = vec![
        payment.checkout(),
        payment.invoice("invoice.paid", reason),
        payment.charge_succeeded(),
        payment.charge_refunded(1000),
        payment.charge_refunded(1500),
        payment.disputed(500),
    ];
    events.push(match payment.shape {
        // Nothing else names the payment intent of an invoice.
        Shape::Basil => payment.invoice_payment(),
        Shape::Acacia => payment.invoice("invoice.payment_succeeded", reason),
    });
    if kind == Kind::Renewed {
        let renewal = Payment {
            name: format!("{}_renewal", payment.name),
            began: payment.began + 30 * 86_400,
            ..payment.clone()
        };
        events.push(renewal.renewal());
    }
    events
}

fn steps(payment: &Payment, scenario: Scenario, random: &mut StdRng) -> Vec<Step> {
    let mut steps: Vec<Step> = events(payment, scenario.kind)
        .into_iter()
        .flat_map(|event| {
            let copies = random.random_range(1..=3);
            std::iter::repeat_n(Step::Event(event), copies).collect::<Vec<_>>()
        })
        .collect();
    if scenario.with_api {
        if scenario.kind == Kind::OneOff {
            // The processor reports the payment again under another id.
            steps.push(Step::Event(payment.payment_intent()));
        }
        let mut any_id = || payment.id(["pi", "ch", "in", "cs"][random.random_range(0..4)]);
        let sale = json!({
            "transaction_id": any_id(), "amount_cents": CENTS, "customer_key": payment.customer_key,
        });
        let refund = json!({
            "transaction_id": any_id(), "refund_id": "re_1", "refund_amount_cents": 1000,
        });
        steps.push(Step::Sale(sale));
        steps.push(Step::Refund(refund));
    }
    steps.shuffle(random);
    steps
}

async fn run(shop: &Shop, scenario: Scenario, n: usize, seed: u64) -> Run {
    let mut random = StdRng::seed_from_u64(seed);
    let program = shop.program().await;
    // A unique text, so that the normal form can leave it out.
    let name = format!("x{n}x");
    let payment = Payment {
        shape: scenario.shape,
        customer_key: format!("user_{name}"),
        subscription: (scenario.kind != Kind::OneOff).then(|| format!("sub_{name}")),
        name,
        cents: CENTS,
        began: shop.opened,
    };
    shop.stack
        .customer(&program, &program.ada.code, &payment.customer_key)
        .await;
    let steps = steps(&payment, scenario, &mut random);
    let order = steps
        .iter()
        .map(|step| match step {
            Step::Event(event) => event["id"].as_str().unwrap().to_owned(),
            Step::Sale(body) | Step::Refund(body) => body.to_string(),
        })
        .collect();
    Run {
        scenario,
        program,
        payment,
        steps,
        order,
    }
}

impl Run {
    async fn send(&self, shop: &Shop, step: &Step) -> Option<Step> {
        match step {
            Step::Event(event) => {
                shop.report(&self.program, event).await;
                None
            }
            Step::Sale(body) => {
                let answer = shop.stack.sale(&self.program, body.clone()).await;
                let known = [StatusCode::OK, StatusCode::CONFLICT];
                assert!(known.contains(&answer.status), "{answer:?}");
                None
            }
            // A refund whose sale is unknown is sent again later.
            Step::Refund(body) => {
                let answer = shop.stack.refund(&self.program, body.clone()).await;
                (answer.status == StatusCode::NOT_FOUND).then(|| step.clone())
            }
        }
    }

    /// All rows of the program.
    async fn normal_form(&self, shop: &Shop) -> BTreeMap<&'static str, Value> {
        let sold = (!self.scenario.with_api).then_some(SOLD);
        let queries = ROWS.into_iter().chain(sold);
        shop.rows(&self.program, &self.payment.name, queries).await
    }
}

/// Sends everything, and repeats refunds whose sale was unknown.
async fn send_all(shop: &Shop, runs: &[Run], in_order: bool) {
    let rounds = runs.iter().map(|run| run.steps.len()).max().unwrap();
    let mut again = vec![Vec::new(); runs.len()];
    for round in 0..rounds {
        for (runs, again) in runs.chunks(AT_ONCE).zip(again.chunks_mut(AT_ONCE)) {
            let sent = runs.iter().map(async |run| match run.steps.get(round) {
                Some(step) => run.send(shop, step).await,
                None => None,
            });
            for (asked, again) in join_all(sent).await.into_iter().zip(again) {
                again.extend(asked);
            }
        }
        if in_order {
            shop.streams.drained(&shop.stack).await;
        }
    }
    shop.settled().await;
    for (run, again) in runs.iter().zip(&again) {
        for step in again {
            assert!(run.send(shop, step).await.is_none(), "{:?}", run.order);
        }
    }
    shop.settled().await;
}

async fn all_end_the_same(scenarios: &[Scenario], runs_each: usize) {
    for in_order in [true, false] {
        let seed: u64 = rand::random();
        let shop = Shop::open().await;
        let mut runs = Vec::new();
        for n in 0..scenarios.len() * runs_each {
            let scenario = scenarios[n % scenarios.len()];
            runs.push(run(&shop, scenario, n, seed.wrapping_add(n as u64)).await);
        }
        send_all(&shop, &runs, in_order).await;
        let mut forms: BTreeMap<Scenario, (BTreeMap<&str, Value>, &[String])> = BTreeMap::new();
        for run in &runs {
            let form = run.normal_form(&shop).await;
            let (expected, order) = forms
                .entry(run.scenario)
                .or_insert_with(|| (form.clone(), &run.order));
            for (what, rows) in &form {
                assert_eq!(
                    rows, &expected[what],
                    "{what} of {:?} (seed {seed}, in order: {in_order})\n{:#?}\nunlike\n{order:#?}",
                    run.scenario, run.order,
                );
            }
        }
        for (scenario, (form, _)) in &forms {
            let payments = if scenario.kind == Kind::Renewed { 2 } else { 1 };
            assert_eq!(form["sales"].as_array().unwrap().len(), payments, "{form:?}");
            let taken = json!([{ "amount": 980, "deducted": 400, "status": "refunded" }]);
            let refunded = form["sales"]
                .as_array()
                .unwrap()
                .iter()
                .filter(|sale| sale["refunded"] == 2000 && sale["commissions"] == taken);
            assert_eq!(refunded.count(), 1, "{form:#?}");
            let owed = 980 * i64::try_from(payments).unwrap() - 400;
            assert_eq!(form["balances"], json!([{ "currency": "USD", "cents": owed }]));
            form["days"][0].has(json!({ "sales": payments, "conversions": 1 }));
        }
        shop.stack.verify().await;
    }
}

fn scenarios(kinds: &[Kind], with_api: bool) -> Vec<Scenario> {
    let shapes = [Shape::Acacia, Shape::Basil];
    kinds
        .iter()
        .flat_map(|kind| {
            shapes.map(|shape| Scenario {
                kind: *kind,
                shape,
                with_api,
            })
        })
        .collect()
}

#[tokio::test]
async fn a_payments_events_end_the_same_in_any_order() {
    all_end_the_same(&scenarios(&[Kind::OneOff, Kind::Subscription], false), 25).await;
}

#[tokio::test]
async fn a_renewal_and_the_first_payment_end_the_same_in_any_order() {
    all_end_the_same(&scenarios(&[Kind::Renewed], false), 25).await;
}

#[tokio::test]
async fn a_payment_reported_by_both_is_one_sale_and_its_refund_one_refund_in_any_order() {
    all_end_the_same(
        &scenarios(&[Kind::OneOff, Kind::Subscription, Kind::Renewed], true),
        20,
    )
    .await;
}
