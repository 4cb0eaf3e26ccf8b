//! Many concurrent callers, over two ingest processes and two workers.

use std::collections::{BTreeMap, HashMap};

use domain::earnings::commission::CommissionType;
use futures::future::join_all;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use reqwest::StatusCode;
use runtime::clock::Clock;
use serde_json::{Value, json};
use test_harness::{Answer, Edge, Json, PATIENT, Program, Stack, allow_open_files, refund_of, sale_of};

/// Starts two ingest processes and two workers. Requests of the stack itself go to the first ingest.
async fn crowd() -> (Stack, [Edge; 2]) {
    let mut stack = Stack::without_services(Clock::system()).await;
    // With short timeouts, ingest sheds callers on a slow machine, which these tests do not test.
    let patient = PATIENT.to_string();
    stack.set("DATABASE_POOL_SIZE", "4");
    stack.set("DATABASE_ACQUIRE_TIMEOUT_MS", &patient);
    stack.set("ANSWER_WITHIN_MS", &patient);
    let addresses = [stack.start_ingest(), stack.start_ingest()];
    stack.use_ingest(addresses[0]);
    let edges = addresses.map(Edge::at);
    for edge in &edges {
        edge.ready(&stack).await;
    }
    for worker in [Edge::at(stack.start_worker()), Edge::at(stack.start_worker())] {
        worker.ready(&stack).await;
    }
    (stack, edges)
}

fn count(answers: &[Answer], status: StatusCode) -> usize {
    answers.iter().filter(|answer| answer.status == status).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_thousand_calls_with_one_transaction_id_exactly_one_is_recorded() {
    allow_open_files(8192);
    let (stack, edges) = crowd().await;
    let program = stack.program_with_customer().await;
    let body = sale_of("t1", "user-1");
    let calls = (0..1_000).map(|n| edges[n % 2].sale(&program, &body));
    let answers = join_all(calls).await;
    let answered: BTreeMap<u16, usize> = answers.iter().fold(BTreeMap::new(), |mut statuses, answer| {
        *statuses.entry(answer.status.as_u16()).or_default() += 1;
        statuses
    });
    assert_eq!(answered, BTreeMap::from([(200, 1), (409, 999)]));
    assert_eq!(stack.count("sale_events").await, 1);
    assert_eq!(stack.count("commissions").await, 1);
    assert_eq!(stack.balance(program.ada.membership).await, 1_000);
    stack.verify().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_refunds_of_one_sale_at_once_take_back_exactly_their_share_of_the_commission() {
    let (stack, edges) = crowd().await;
    let program = stack.program_with_customer().await;
    // Amounts that need rounding, and pairs of refunds below, at and above the sale.
    let refunds = |n: i64| [1 + 13 * n, 250 * (1 + n % 5) + n];
    let sales: Vec<(String, i64, [i64; 2])> = (0..40)
        .map(|n| (format!("t{n}"), 1_000 + 37 * n, refunds(n)))
        .collect();
    let bodies: Vec<Value> = sales
        .iter()
        .map(|(id, cents, _)| sale_of(id, "user-1").with(json!({ "amount_cents": cents })))
        .collect();
    let recorded = join_all(bodies.iter().map(|body| edges[0].sale(&program, body))).await;
    assert_eq!(count(&recorded, StatusCode::OK), sales.len());
    let refunds: Vec<Value> = sales
        .iter()
        .flat_map(|(id, _, [first, second])| {
            let named = |cents: i64, name: &str| refund_of(id, cents).with(json!({ "refund_id": name }));
            [named(*first, "first"), named(*second, "second")]
        })
        .collect();
    let calls = refunds.iter().zip(edges.iter().cycle());
    let answers = join_all(calls.map(|(body, edge)| edge.refund(&program, body))).await;
    let mut left = 0;
    for ((_, amount, refunds), answers) in sales.iter().zip(answers.chunks(2)) {
        let commission = commission(*amount);
        let deducted = proportion(commission, refunds.iter().sum::<i64>().min(*amount), *amount);
        let told: i64 = answers.iter().map(deducted_cents).sum();
        assert_eq!(told, deducted, "{answers:?}");
        left += commission - deducted;
    }
    assert_eq!(stack.balance(program.ada.membership).await, left);
    stack.verify().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_first_payments_at_once_a_one_time_program_pays_for_one() {
    let (stack, edges) = crowd().await;
    let program = stack.program_paying(CommissionType::CpsOneTime).await;
    stack.customer(&program, &program.ada.code, "user-1").await;
    let bodies: Vec<Value> = (0..60).map(|n| sale_of(&format!("t{n}"), "user-1")).collect();
    let calls = bodies.iter().zip(edges.iter().cycle());
    let answers = join_all(calls.map(|(body, edge)| edge.sale(&program, body))).await;
    assert_eq!(count(&answers, StatusCode::OK), 60);
    let paid = answers
        .iter()
        .filter(|answer| answer.body["commission_id"].is_i64());
    assert_eq!(paid.count(), 1);
    assert_eq!(stack.count("sale_events").await, 60);
    assert_eq!(stack.count("commissions").await, 1);
    assert_eq!(stack.balance(program.ada.membership).await, 1_000);
    stack.verify().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lead_sent_fifty_times_at_once_counts_once() {
    let (stack, edges) = crowd().await;
    let program = stack.program().await;
    let click_id = stack.click(&program.ada.code).await;
    let calls = (0..50).map(|n| edges[n % 2].lead(&program, &click_id, "user-1"));
    let answers = join_all(calls).await;
    assert_eq!(count(&answers, StatusCode::OK), 1, "{answers:?}");
    assert_eq!(count(&answers, StatusCode::BAD_REQUEST), 49, "{answers:?}");
    assert_eq!(stack.count("lead_events").await, 1);
    assert_eq!(stack.count("customers WHERE status = 'lead'").await, 1);
    stack.verify().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_random_traffic_on_a_hot_partner_balances_are_what_the_rules_say() {
    let (stack, edges) = crowd().await;
    let program = stack.program().await;
    let visitors = (0..48).map(|seed| {
        let visitor = Visitor {
            stack: &stack,
            edges: &edges,
            program: &program,
            random: StdRng::seed_from_u64(seed),
            name: format!("user-{seed}"),
        };
        visitor.visit()
    });
    let mut expected: HashMap<bool, i64> = HashMap::new();
    for (through_ada, cents) in join_all(visitors).await {
        *expected.entry(through_ada).or_default() += cents;
    }
    let expected = [expected[&true], expected[&false]];
    assert_eq!(stack.balances(&program).await, expected);
    stack.verify().await;
}

/// One customer's funnel, drawn from a seed. Each request goes to a random ingest.
struct Visitor<'a> {
    stack: &'a Stack,
    edges: &'a [Edge; 2],
    program: &'a Program,
    random: StdRng,
    name: String,
}

impl Visitor<'_> {
    /// Returns whether Ada is the partner, and what the partner has earned.
    async fn visit(mut self) -> (bool, i64) {
        let mut through_ada = self.random.random_bool(0.8);
        let mut click_id = self.edge().click(self.code(through_ada), None).await;
        if self.random.random_bool(0.3) {
            through_ada = !through_ada;
            // A click is stored shortly after its answer. Until then the visitor is unknown. The visitor also
            // stays unknown while the database is too slow for a click, which then creates a new customer.
            self.stored(&click_id, 1).await;
            let second = self.edge().click(self.code(through_ada), Some(&click_id)).await;
            self.stored(&second, if second == click_id { 2 } else { 1 }).await;
            click_id = second;
        }
        self.edge().lead(self.program, &click_id, &self.name).await.ok();
        let mut earned = 0;
        for sale in 0..self.random.random_range(1..5) {
            earned += self.buy(&format!("{}-{sale}", self.name)).await;
        }
        (through_ada, earned)
    }

    /// Sends a sale and some refunds, each perhaps repeated. Returns the rest of the commission.
    async fn buy(&mut self, transaction_id: &str) -> i64 {
        let amount = self.random.random_range(1..100_000);
        let body = sale_of(transaction_id, &self.name).with(json!({ "amount_cents": amount }));
        self.edge().sale(self.program, &body).await.ok();
        if self.random.random_bool(0.2) {
            self.edge().sale(self.program, &body).await.is(409);
        }
        let mut refunded = 0;
        for refund in 0..self.random.random_range(0..3) {
            let part = self.random.random_range(1..=amount);
            let body = refund_of(transaction_id, part).with(json!({ "refund_id": format!("r{refund}") }));
            for _ in 0..self.random.random_range(1..3) {
                self.edge().refund(self.program, &body).await.ok();
            }
            refunded = amount.min(refunded + part);
        }
        commission(amount) - proportion(commission(amount), refunded, amount)
    }

    fn edge(&mut self) -> Edge {
        self.edges[self.random.random_range(0..2)].clone()
    }

    fn code(&self, through_ada: bool) -> &str {
        if through_ada {
            &self.program.ada.code
        } else {
            &self.program.bruno.code
        }
    }

    async fn stored(&self, click_id: &str, clicks: i64) {
        let stored = format!("click_events WHERE click_id = '{click_id}'");
        self.stack.reaches(&stored, clicks).await;
    }
}

/// 20 % of an amount in cents.
fn commission(amount: i64) -> i64 {
    proportion(amount, 20, 100)
}

/// `whole * part / of`, rounded to the nearest integer, halves up. Written again here, because the product's
/// own function is under test.
fn proportion(whole: i64, part: i64, of: i64) -> i64 {
    (2 * whole * part + of) / (2 * of)
}

/// The deduction in a refund's answer. A skipped refund deducts nothing.
fn deducted_cents(answer: &Answer) -> i64 {
    let dollars = answer.body["deductionAmount"].as_f64().unwrap_or(0.0);
    #[expect(clippy::cast_possible_truncation, reason = "small amounts")]
    let cents = (dollars * 100.0).round() as i64;
    cents
}
