//! Compares the service with a plain second implementation of the contract, the reference. The same random
//! calls go to both: in sequence, repeated, at once and late. Every answer and every row must agree.
//!
//! Calls that are sent at once may take effect in any order. So the test keeps a list of reference states
//! that could have answered as the service did. It fails if no state is left, or if none agrees with the
//! tables in the end. A case depends on its calls alone, so that a failure shrinks to the few calls that
//! matter: the case moves the clock, and waits for writes behind an answer if the next call depends on them.
//!
//! `PROPTEST_CASES` sets the number of cases.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]
#![expect(
    clippy::too_many_lines,
    reason = "a test reads from its first step to its last"
)]

mod calls;
mod cases;
mod reference;
mod refusals;
mod service;

use std::cell::RefCell;

use chrono::{DateTime, TimeDelta, TimeZone, Utc};
use proptest::prop_assert_eq;
use proptest::test_runner::{Config, TestCaseError, TestCaseResult, TestRunner};
use runtime::clock::Clock;

use self::calls::{Call, Case, Step, Visitor, What};
use self::reference::{Answered, Quoted, Reference};
use self::service::{Service, World};
use test_harness::{Edge, PATIENT, Stack};

/// Later than any test runs, so that every program was changed before the case.
fn morning() -> DateTime<Utc> {
    Utc.with_ymd_and_hms(2100, 3, 1, 8, 0, 0).unwrap()
}

#[test]
fn the_service_answers_and_records_as_the_plain_contract_does() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let service = runtime.block_on(service());
    let mut config = Config::default();
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = 100;
    }
    config.failure_persistence = None;
    config.max_shrink_iters = 600;
    let seen = RefCell::new(Seen::default());
    let agreed = TestRunner::new(config).run(&cases::case(), |case| {
        let (result, of_case) = runtime.block_on(play(&service, &case));
        seen.borrow_mut().add(&of_case);
        result
    });
    if let Err(error) = agreed {
        panic!("{error}");
    }
    seen.borrow().says_something();
    runtime.block_on(service.stack.verify());
}

/// Two ingests and two workers with timeouts so long that no caller is shed.
async fn service() -> Service {
    let mut stack = Stack::without_services(Clock::manual(morning())).await;
    let patience = PATIENT.to_string();
    stack.set("DATABASE_POOL_SIZE", "4");
    stack.set("DATABASE_ACQUIRE_TIMEOUT_MS", &patience);
    stack.set("ANSWER_WITHIN_MS", &patience);
    let edges = [Edge::at(stack.start_ingest()), Edge::at(stack.start_ingest())];
    let workers = [Edge::at(stack.start_worker()), Edge::at(stack.start_worker())];
    for process in edges.iter().chain(&workers) {
        process.ready(&stack).await;
    }
    stack.use_ingest(edges[0].address());
    Service::start(stack, edges).await
}

/// How many calls got which answer: a test whose calls are all refused would show nothing.
#[derive(Debug, Default)]
struct Seen {
    cases: usize,
    answers: std::collections::BTreeMap<u16, usize>,
}

impl Seen {
    fn add(&mut self, answers: &[u16]) {
        self.cases += 1;
        for status in answers {
            *self.answers.entry(*status).or_default() += 1;
        }
    }

    fn says_something(&self) {
        if self.cases < 100 {
            return;
        }
        let seen = |status: u16| self.answers.get(&status).copied().unwrap_or(0);
        for status in [200, 201, 400, 401, 404, 409] {
            assert!(seen(status) > 0, "{status} never came: {self:?}");
        }
        let calls: usize = self.answers.values().sum();
        assert!(3 * seen(200) >= calls, "hardly anything was done: {self:?}");
    }
}

async fn play(service: &Service, case: &Case) -> (TestCaseResult, Vec<u16>) {
    service.stack.clock.set(morning());
    let mut play = Play {
        clock: &service.stack.clock,
        world: service.world(&case.programs).await,
        possible: vec![Reference::new(case.programs.clone())],
        made: Vec::new(),
        visitors: Vec::new(),
        pending: Pending::default(),
        statuses: Vec::new(),
    };
    let mut result = Ok(());
    for step in &case.steps {
        result = play.step(step).await;
        if result.is_err() {
            break;
        }
    }
    // Runs after a failure too: the next case must not meet leftovers of this one.
    if result.is_ok() {
        result = play.compare().await;
    } else {
        play.world.settled().await;
    }
    (result, play.statuses)
}

struct Play<'a> {
    clock: &'a Clock,
    world: World<'a>,
    /// The states that the reference may be in.
    possible: Vec<Reference>,
    /// All calls so far; the index of a call is its number.
    made: Vec<Call<Quoted>>,
    /// Numbers of the calls that created a customer.
    visitors: Vec<usize>,
    pending: Pending,
    statuses: Vec<u16>,
}

/// Clicks that may not be stored yet: of new and of returning customers.
#[derive(Default)]
struct Pending {
    new: bool,
    returning: bool,
}

impl Play<'_> {
    async fn step(&mut self, step: &Step) -> TestCaseResult {
        // No two steps share a millisecond.
        self.clock.advance(TimeDelta::milliseconds(1));
        match step {
            Step::Wait(milliseconds) => {
                // The service waits for a recent click, but not for one of an hour ago.
                self.store().await;
                self.clock.advance(TimeDelta::milliseconds(*milliseconds));
            }
            Step::EndOfWindow(visitor) => {
                self.store().await;
                let Quoted::Of(number) = self.quoted(*visitor) else {
                    return Ok(());
                };
                if let Some(end) = self.possible[0]
                    .end_of_window(number)
                    .filter(|end| *end > self.now())
                {
                    // The next step begins with the last millisecond of the window.
                    self.clock.set(DateTime::from_timestamp_millis(end - 1).unwrap());
                }
            }
            Step::Redeliver(which) => self.world.redeliver(*which).await,
            Step::PayOut(wanted) => {
                let mut payable = self.possible[0].payable();
                payable.retain(|sale| self.possible.iter().all(|state| state.payable().contains(sale)));
                let other = payable.get(wanted % payable.len().max(1));
                if let Some(sale) = payable.iter().find(|sale| *sale == wanted).or(other) {
                    let status = self.world.pay_out(*sale).await;
                    prop_assert_eq!(status, 201, "the payout of sale {}", sale);
                    self.statuses.push(status);
                    for state in &mut self.possible {
                        state.pay(*sale);
                    }
                }
            }
            Step::ByHand(wanted, change) => {
                let sales = self.possible[0].changeable(&self.possible);
                let other = sales.get(wanted % sales.len().max(1));
                if let Some(sale) = sales.iter().find(|sale| *sale == wanted).or(other) {
                    let status = self.world.change_by_hand(*sale, *change).await;
                    self.statuses.push(status);
                    for state in &mut self.possible {
                        prop_assert_eq!(
                            status,
                            state.change_by_hand(*sale, *change),
                            "{:?} of {}",
                            change,
                            sale
                        );
                    }
                }
            }
            Step::Call(call) => {
                let call = self.resolved(call);
                self.make(vec![call]).await?;
            }
            Step::Again(which) => {
                let earlier = self.made.get(which % self.made.len().max(1)).cloned();
                self.make(earlier.into_iter().collect()).await?;
            }
            Step::Burst(calls) => {
                self.store().await;
                let mut calls: Vec<Call<Quoted>> = calls.iter().map(|call| self.resolved(call)).collect();
                // Calls of one burst share a clock.
                for call in &mut calls {
                    call.late = 0;
                }
                self.make(calls).await?;
            }
        }
        Ok(())
    }

    fn now(&self) -> i64 {
        self.clock.now().timestamp_millis()
    }

    async fn make(&mut self, calls: Vec<Call<Quoted>>) -> TestCaseResult {
        let depends = calls.iter().any(|call| match &call.what {
            What::Click { existing, .. } => {
                existing.is_some() && (self.pending.new || self.pending.returning)
            }
            // The service itself waits for the click of a new customer.
            What::Lead { .. } | What::Sale(_) => self.pending.returning,
            _ => false,
        });
        if depends {
            self.store().await;
        }
        let first = self.made.len();
        let numbered: Vec<(usize, Call<Quoted>)> = (first..).zip(calls).collect();
        self.made.extend(numbered.iter().map(|(_, call)| call.clone()));
        let now = self.clock.now();
        let late = numbered.first().map_or(0, |(_, call)| call.late);
        self.clock.set(now - TimeDelta::milliseconds(late));
        let answers = self.world.call(&numbered).await;
        let at = self.now();
        self.clock.set(now);
        self.statuses.extend(answers.iter().map(|answer| answer.status));
        self.follow(&numbered, &answers, at)?;
        for ((number, call), answer) in numbered.iter().zip(&answers) {
            if answer.body["click_id"] == format!("click_id {number}") {
                self.visitors.push(*number);
                self.pending.new = true;
            } else if matches!(call.what, What::Click { .. }) {
                self.pending.returning = true;
            }
        }
        if late > 0 {
            self.store().await;
        }
        Ok(())
    }

    /// Keeps the states that could have answered like this, in any order of the calls.
    fn follow(&mut self, calls: &[(usize, Call<Quoted>)], answers: &[Answered], at: i64) -> TestCaseResult {
        let mut next: Vec<Reference> = Vec::new();
        let mut expected = Vec::new();
        for state in &self.possible {
            let mut told = Vec::new();
            in_any_order(state, calls, answers, at, &mut Vec::new(), &mut next, &mut told);
            expected.push(told);
        }
        if next.is_empty() {
            let message =
                format!("calls {calls:#?}\nwere answered {answers:#?}\nand not, in turn, {expected:#?}");
            return Err(TestCaseError::fail(message));
        }
        self.possible = next;
        Ok(())
    }

    async fn store(&mut self) {
        let clicks = self.possible[0].clicks();
        self.world.stored(clicks).await;
        self.pending = Pending::default();
    }

    async fn compare(&mut self) -> TestCaseResult {
        self.store().await;
        self.world.settled().await;
        let books = self.world.books().await;
        let expected: Vec<_> = self.possible.iter().map(Reference::books).collect();
        if !expected.contains(&books) {
            let differing = expected.iter().map(|expected| difference(expected, &books, ""));
            let message = format!("the tables differ: {:#?}", differing.collect::<Vec<_>>());
            return Err(TestCaseError::fail(message));
        }
        let violations = self.world.new_violations().await;
        if !violations.is_empty() {
            return Err(TestCaseError::fail(format!(
                "the books are wrong: {violations:#?}"
            )));
        }
        Ok(())
    }

    fn quoted(&self, visitor: Visitor) -> Quoted {
        match visitor {
            Visitor::Known(place) if !self.visitors.is_empty() => {
                Quoted::Of(self.visitors[place % self.visitors.len()])
            }
            _ => Quoted::Forged,
        }
    }

    fn resolved(&self, call: &Call<Visitor>) -> Call<Quoted> {
        call.quoting(|visitor| self.quoted(*visitor))
    }
}

/// Tries the remaining calls in every order; `next` gets the states for which all answers are right.
fn in_any_order(
    state: &Reference,
    calls: &[(usize, Call<Quoted>)],
    answers: &[Answered],
    at: i64,
    taken: &mut Vec<usize>,
    next: &mut Vec<Reference>,
    told: &mut Vec<Answered>,
) {
    if taken.len() == calls.len() {
        if !next.contains(state) {
            next.push(state.clone());
        }
        return;
    }
    for place in 0..calls.len() {
        if taken.contains(&place) {
            continue;
        }
        let (number, call) = &calls[place];
        let contended = taken
            .iter()
            .any(|earlier| same_transaction(&calls[*earlier].1, call));
        for (after, answered) in state.after(*number, call, at, contended) {
            if answered == answers[place] {
                taken.push(place);
                in_any_order(&after, calls, answers, at, taken, next, told);
                taken.pop();
            } else {
                told.push(answered);
            }
        }
    }
}

fn same_transaction(one: &Call<Quoted>, other: &Call<Quoted>) -> bool {
    match (&one.what, &other.what) {
        (What::Sale(one), What::Sale(other)) => one.transaction == other.transaction,
        _ => false,
    }
}

/// The differences of two values, as lines.
fn difference(expected: &serde_json::Value, found: &serde_json::Value, path: &str) -> Vec<String> {
    let (Some(left), Some(right)) = (expected.as_object(), found.as_object()) else {
        let differ = expected != found;
        return differ
            .then(|| format!("{path}: {expected} expected, {found} found"))
            .into_iter()
            .collect();
    };
    let mut names: Vec<&String> = left.keys().chain(right.keys()).collect();
    names.sort_unstable();
    names.dedup();
    names
        .into_iter()
        .flat_map(|name| difference(&expected[name], &found[name], &format!("{path}/{name}")))
        .collect()
}
