//! One round: load, faults, recovery, draining, reconciliation.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use domain::ids::ProgramId;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use trials::{jetstream, sealing_keys};

use super::faults::is_possible;
use super::funnel::subscriber::Subscriber;
use super::funnel::{Simulation, probe, visit, warm_up};
use super::journal::{Answer, Call, Journal};
use super::market::Market;
use super::proxy::Proxy;
use super::reconcile::{counts, violations};
use super::rng::Rng;
use super::schedule::{AFTERWARDS, Fault, HEALED, Plan, Round, Scheduled, Service};
use super::stack::Stack;
use super::{drain, http, rows, usage};

const TICK: Duration = Duration::from_millis(20);
/// Between two looks at servers.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// From the end of the faults to the first sale that is answered 200.
const RECOVERY_LIMIT: Duration = Duration::from_secs(30);
/// Claims and events are retried at growing intervals.
const DRAIN_LIMIT: Duration = Duration::from_mins(1);
/// Counters are updated after the answer.
const VERIFY_LIMIT: Duration = Duration::from_secs(10);
const VISITORS_LIMIT: Duration = Duration::from_mins(1);

/// A running round.
pub(super) struct RunningRound<'a, 'b> {
    pub(super) stack: &'a mut Stack<'b>,
    pub(super) round: &'a Round,
    pub(super) simulation: Arc<Simulation>,
    /// A customer with a recorded lead.
    pub(super) customer_key: String,
    pub(super) notes: Vec<String>,
    pub(super) violations: Vec<String>,
}

/// What a round came to.
#[derive(Debug)]
pub(super) struct Outcome {
    /// One line.
    pub(super) summary: String,
    pub(super) requests: usize,
    pub(super) violations: Vec<String>,
}

/// `journal`: where it is written if the round is violated.
pub(super) fn run(stack: &mut Stack<'_>, round: &Round, journal: &Path) -> Result<Outcome> {
    let started = Instant::now();
    let simulation = Arc::new(stack.simulation(round)?);
    let subscriber = stack.subscriber(round, &simulation)?;
    let known = stack.runtime.block_on(warm_up(&simulation));
    let visitors = (0..simulation.visitors())
        .map(|number| stack.runtime.spawn(visit(Arc::clone(&simulation), number)))
        .collect();
    let mut running = RunningRound {
        stack,
        round,
        simulation,
        customer_key: known.context("no customer could be created before the first fault")?,
        notes: Vec::new(),
        violations: Vec::new(),
    };
    let recovered = running.play()?;
    running.simulation.over.cancel();
    running.wait_for_visitors(visitors)?;
    let drained = running.drain()?;
    running.reconcile(&subscriber)?;
    let outcome = running.outcome(&format!(
        "first 200: {recovered:.2?}, drained in {drained:.1?}, {:.1?}",
        started.elapsed()
    ));
    if !outcome.violations.is_empty() {
        running.simulation.journal.write(journal)?;
    }
    Ok(outcome)
}

impl Stack<'_> {
    /// A new program, and what its visitors share.
    fn simulation(&self, round: &Round) -> Result<Simulation> {
        let (demo, keys) = (self.seed_demo()?, sealing_keys(&self.env)?);
        let market = Market::create(&self.pool, &demo, &keys);
        Ok(Simulation {
            journal: Journal::start(),
            http: http::client()?,
            ingests: Service::INGESTS.map(|service| self.address(service)),
            webhook_consumer: self.address(Service::WEBHOOK_CONSUMER),
            market: self.runtime.block_on(market)?,
            seed: round.seed,
            plan: round.plan.clone(),
            over: CancellationToken::new(),
            complaints: Mutex::default(),
        })
    }

    /// Of the round's program.
    fn subscriber(&self, round: &Round, simulation: &Simulation) -> Result<Subscriber> {
        let mut rng = Rng::of(round.seed, u64::MAX - 2);
        let (program_id, keys) = (
            ProgramId::new(simulation.market.program_id),
            sealing_keys(&self.env)?,
        );
        let starting = Subscriber::start(&self.pool, program_id, &keys, &mut rng);
        self.runtime.block_on(starting)
    }
}

impl RunningRound<'_, '_> {
    /// Runs the round up to the end of the load. Returns the time from the end of the faults to the first
    /// 200.
    fn play(&mut self) -> Result<Option<Duration>> {
        match &self.round.plan {
            Plan::Faults(faults) => self.faults(faults)?,
            Plan::Grace { at_once } => self.grace(*at_once)?,
            Plan::Rolling => self.rolling()?,
        }
        let recovered = self.probe()?;
        self.watch_for(AFTERWARDS)?;
        Ok(recovered)
    }

    fn faults(&mut self, faults: &[Scheduled]) -> Result<()> {
        let mut steps: Vec<(Duration, bool, Fault)> = Vec::new();
        for scheduled in faults {
            if is_possible(scheduled.fault, self.stack) {
                steps.push((scheduled.begins, true, scheduled.fault));
                steps.push((scheduled.ends, false, scheduled.fault));
            }
        }
        steps.sort_by_key(|(at, ..)| *at);
        let started = Instant::now();
        for (at, begins, fault) in steps {
            self.watch_for(at.saturating_sub(started.elapsed()))?;
            let (what, done) = if begins {
                ("begin", self.stack.begin(fault))
            } else {
                ("end", self.stack.end(fault))
            };
            done.with_context(|| format!("cannot {what}: {fault:?}"))?;
        }
        self.watch_for(HEALED.saturating_sub(started.elapsed()))?;
        let cuts: u64 = self.stack.all_proxies().map(Proxy::take_cuts).sum();
        let crashes = std::mem::take(&mut self.stack.crashes);
        self.notes.push(format!("{cuts} cut, {crashes} crashed"));
        self.stack.all_proxies().for_each(Proxy::end);
        Ok(())
    }

    /// Waits, and restarts services that end meanwhile.
    pub(super) fn watch_for(&mut self, time: Duration) -> Result<()> {
        let until = Instant::now() + time;
        loop {
            self.stack.supervise()?;
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            thread::sleep(left.min(TICK));
        }
    }

    /// Waits until it holds, as [`Self::watch_for`] does; `false` if it does not within the limit.
    fn watch_until(&mut self, limit: Duration, mut holds: impl FnMut(&Self) -> bool) -> Result<bool> {
        let until = Instant::now() + limit;
        while !holds(self) {
            if Instant::now() > until {
                return Ok(false);
            }
            self.watch_for(LOOK_EVERY)?;
        }
        Ok(true)
    }

    /// Waits until nothing is found any more; returns what is left at the limit.
    fn watch_until_none(
        &mut self,
        limit: Duration,
        find: &impl AsyncFn(&Stack<'_>) -> Result<Vec<String>>,
    ) -> Result<Vec<String>> {
        let mut left = Vec::new();
        self.watch_until(limit, |round| {
            let found = round.stack.runtime.block_on(find(round.stack));
            left = found.unwrap_or_else(|error| vec![format!("{error:#}")]);
            left.is_empty()
        })?;
        Ok(left)
    }

    fn watch_until_finished<T>(&mut self, task: JoinHandle<T>) -> Result<T> {
        while !task.is_finished() {
            self.watch_for(TICK)?;
        }
        Ok(self.stack.runtime.block_on(task)?)
    }

    fn probe(&mut self) -> Result<Option<Duration>> {
        let simulation = Arc::clone(&self.simulation);
        let probing = probe(simulation, self.customer_key.clone(), RECOVERY_LIMIT);
        let probing = self.stack.runtime.spawn(probing);
        let recovered = self.watch_until_finished(probing)?;
        if recovered.is_none() {
            self.violations.push(format!(
                "no sale was answered 200 within {RECOVERY_LIMIT:?} of the end of the faults"
            ));
        }
        Ok(recovered)
    }

    fn wait_for_visitors(&mut self, visitors: Vec<JoinHandle<()>>) -> Result<()> {
        let have_finished = || visitors.iter().all(JoinHandle::is_finished);
        if !self.watch_until(VISITORS_LIMIT, |_| have_finished())? {
            self.violations.push("a visitor does not end".to_owned());
        }
        for visitor in visitors {
            if visitor.is_finished() {
                self.stack.runtime.block_on(visitor)?;
            } else {
                visitor.abort();
            }
        }
        Ok(())
    }

    /// Waits until nothing is in flight. Returns how long that took.
    fn drain(&mut self) -> Result<Duration> {
        let started = Instant::now();
        let left = self.watch_until_none(DRAIN_LIMIT, &async |stack: &Stack<'_>| {
            drain::pending(&stack.pool, &jetstream(&stack.servers).await?).await
        })?;
        self.violations.extend(
            left.into_iter()
                .map(|left| format!("after {DRAIN_LIMIT:?} there are still {left}")),
        );
        Ok(started.elapsed())
    }

    /// Compares what was answered and received with what is recorded.
    fn reconcile(&mut self, subscriber: &Subscriber) -> Result<()> {
        let plan = &self.round.plan;
        let calls = self.simulation.journal.calls();
        let rows = rows::read(&self.stack.pool, self.simulation.market.program_id);
        let rows = self.stack.runtime.block_on(rows)?;
        self.violations
            .extend(violations(&calls, &rows, plan.may_lose_clicks()));
        let delivered = subscriber.violations(&self.stack.pool);
        let (webhooks, missed) = self.stack.runtime.block_on(delivered)?;
        self.notes.push(format!("{webhooks} webhooks"));
        self.violations.extend(missed);
        self.violations.append(&mut self.stack.surprises);
        let complaints = &self.simulation.complaints;
        self.violations
            .append(&mut complaints.lock().unwrap_or_else(PoisonError::into_inner));
        let broken = self.watch_until_none(VERIFY_LIMIT, &async |stack: &Stack<'_>| {
            drain::broken(&stack.pool).await
        })?;
        self.violations.extend(broken);
        if plan.is_invisible() {
            self.violations
                .extend(visible_failures(&calls, Answer::is_retryable));
        }
        self.violations.extend(usage::violations(self.stack));
        Ok(())
    }

    fn outcome(&mut self, times: &str) -> Outcome {
        let calls = self.simulation.journal.calls();
        let answers = counts(calls.iter().map(|call| call.answer.kind()));
        let violations = std::mem::take(&mut self.violations);
        let Round {
            number, seed, plan, ..
        } = self.round;
        let (requests, notes) = (calls.len(), &self.notes);
        let result = if violations.is_empty() { "ok" } else { "VIOLATED" };
        Outcome {
            summary: format!(
                "round {number}, seed {seed:016x}: {plan:?} {notes:?} | {requests} requests {answers:?} | {times} | {result}"
            ),
            requests,
            violations,
        }
    }
}

/// Answers that show a caller the fault. One that is missing may yet come.
pub(super) fn visible_failures(calls: &[Call], is_failure: impl Fn(&Answer) -> bool) -> Vec<String> {
    calls
        .iter()
        .filter(|call| call.answer != Answer::Missing && is_failure(&call.answer))
        .map(|call| format!("visible to a caller: {call:?}"))
        .collect()
}
