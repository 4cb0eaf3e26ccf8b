//! One round: load, faults, recovery, draining, reconciliation.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::drain;
use super::faults::is_possible;
use super::funnel::subscriber::Subscriber;
use super::funnel::{Phase, Simulation, probe, visit, warm_up};
use super::http;
use super::journal::{Answer, Call, Journal};
use super::market::Market;
use super::outcome::{Outcome, kinds};
use super::proxy::{NetworkFault, Proxy};
use super::reconcile::{Allowed, violations};
use super::rng::Rng;
use super::rows;
use super::schedule::{AFTERWARDS, Fault, HEALED, Plan, Round, Scheduled, Service};
use super::stack::Stack;
use super::usage;

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
    pub(super) subscriber: Subscriber,
    /// Of other programs, with their own journals.
    pub(super) others: Vec<Arc<Simulation>>,
    /// A customer with a recorded lead.
    pub(super) customer_key: String,
    pub(super) notes: Vec<String>,
    pub(super) violations: Vec<String>,
}

/// Where the journal of a violated round is written. `journals`: a directory.
pub(super) fn journal_of(journals: &Path, round: &Round) -> PathBuf {
    journals.join(format!("round-{}.jsonl", round.number))
}

/// `journal`: where it is written if the round is violated.
pub(super) fn run(stack: &mut Stack<'_>, round: &Round, journal: &Path) -> Result<Outcome> {
    let started = Instant::now();
    let (phase, seen) = watch::channel(Phase::Load);
    let simulation = Arc::new(stack.simulation(round, seen)?);
    let subscriber = stack.subscriber(round, &simulation, phase.subscribe())?;
    let known = stack.runtime.block_on(warm_up(&simulation));
    let customer_key = known.context("no customer could be created before the first fault")?;
    let visitors = (0..simulation.visitors())
        .map(|number| stack.runtime.spawn(visit(Arc::clone(&simulation), number)))
        .collect();
    let mut running = RunningRound {
        stack,
        round,
        simulation: Arc::clone(&simulation),
        subscriber,
        others: Vec::new(),
        customer_key,
        notes: Vec::new(),
        violations: Vec::new(),
    };
    let recovered = running.play()?;
    phase.send_replace(Phase::Closing);
    running.wait_for_visitors(visitors)?;
    let drained = running.drain()?;
    let others = running.others.clone();
    let outcome = running.finish(started, recovered, drained)?;
    if !outcome.violations.is_empty() {
        simulation.journal.write(journal)?;
        for other in others {
            other.journal.write(&journal.with_extension("other.jsonl"))?;
        }
    }
    Ok(outcome)
}

impl Stack<'_> {
    /// A new program, and what its visitors share.
    pub(super) fn simulation(&self, round: &Round, phase: watch::Receiver<Phase>) -> Result<Simulation> {
        let mut rng = Rng::of(round.seed, u64::MAX);
        let (demo, keys) = (self.seed_demo()?, self.sealing_keys()?);
        let market = Market::create(&self.pool, &demo, &keys, &mut rng);
        Ok(Simulation {
            journal: Journal::start(),
            http: http::client()?,
            ingests: Service::INGESTS.map(|service| self.address(service)),
            webhook_consumer: self.address(Service::WEBHOOK_CONSUMER),
            market: self.runtime.block_on(market)?,
            seed: round.seed,
            plan: round.plan.clone(),
            phase,
            complaints: Mutex::default(),
        })
    }

    /// Of the round's program.
    fn subscriber(
        &self,
        round: &Round,
        simulation: &Simulation,
        phase: watch::Receiver<Phase>,
    ) -> Result<Subscriber> {
        let mut rng = Rng::of(round.seed, u64::MAX - 2);
        let (program_id, keys) = (simulation.market.program_id, self.sealing_keys()?);
        let starting = Subscriber::start(&self.pool, program_id, &keys, &mut rng, phase);
        self.runtime.block_on(starting)
    }
}

impl RunningRound<'_, '_> {
    /// Runs the round up to the end of the load. Returns the time from the end of the faults to the first 200.
    fn play(&mut self) -> Result<Option<Duration>> {
        match &self.round.plan {
            Plan::Faults(faults) => self.faults(faults)?,
            Plan::Grace { at_once } => self.grace(*at_once)?,
            Plan::Rolling => self.rolling()?,
            Plan::Restored => self.restored()?,
            Plan::Flood => self.flood()?,
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
            let done = if begins {
                self.stack.begin(fault)
            } else {
                self.stack.end(fault)
            };
            let what = if begins { "begin" } else { "end" };
            done.with_context(|| format!("cannot {what}: {fault:?}"))?;
        }
        self.watch_for(HEALED.saturating_sub(started.elapsed()))?;
        let cuts: u32 = self.stack.all_proxies().map(Proxy::take_cuts).sum();
        let crashes = std::mem::take(&mut self.stack.crashes);
        self.notes.push(format!("{cuts} cut, {crashes} crashed"));
        for proxy in self.stack.all_proxies() {
            proxy.set(NetworkFault::None);
        }
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
    pub(super) fn watch_until(
        &mut self,
        limit: Duration,
        mut holds: impl FnMut(&Self) -> bool,
    ) -> Result<bool> {
        let until = Instant::now() + limit;
        while !holds(self) {
            if Instant::now() > until {
                return Ok(false);
            }
            self.watch_for(LOOK_EVERY)?;
        }
        Ok(true)
    }

    pub(super) fn watch_until_finished<T>(&mut self, task: JoinHandle<T>) -> Result<T> {
        while !task.is_finished() {
            self.watch_for(TICK)?;
        }
        Ok(self.stack.runtime.block_on(task)?)
    }

    pub(super) fn probe(&mut self) -> Result<Option<Duration>> {
        let simulation = Arc::clone(&self.simulation);
        let probing = probe(simulation, self.customer_key.clone(), RECOVERY_LIMIT);
        let probing = self.stack.runtime.spawn(probing);
        let recovered = self.watch_until_finished(probing)?;
        if recovered.is_none() {
            let limit = RECOVERY_LIMIT.as_secs();
            self.violations.push(format!(
                "no sale was answered 200 within {limit} s of the end of the faults"
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
        let mut left = Vec::new();
        let is_empty = self.watch_until(DRAIN_LIMIT, |round| {
            let found = round.stack.runtime.block_on(async {
                let jetstream = round.stack.jetstream().await?;
                drain::pending(&round.stack.pool, &jetstream).await
            });
            left = found.unwrap_or_else(|error| vec![format!("{error:#}")]);
            left.is_empty()
        })?;
        if !is_empty {
            let (seconds, left) = (DRAIN_LIMIT.as_secs(), left.join(", "));
            self.violations
                .push(format!("after {seconds} s there are still {left}"));
        }
        Ok(started.elapsed())
    }

    fn finish(mut self, started: Instant, recovered: Option<Duration>, drained: Duration) -> Result<Outcome> {
        let calls = self.simulation.journal.calls();
        let plan = &self.round.plan;
        let allowed = Allowed {
            lost_clicks: plan.may_lose_clicks(),
            refused_events: plan.shifts_clock_of(Service::WEBHOOK_CONSUMER),
            restored: *plan == Plan::Restored,
        };
        let (rows, dead_letters) = self.stack.runtime.block_on(async {
            let rows = rows::read(&self.stack.pool, self.simulation.market.program_id).await?;
            anyhow::Ok((rows, drain::dead_letters(&self.stack.pool).await?))
        })?;
        self.violations.extend(violations(&calls, &rows, allowed));
        for other in &self.others {
            let rows = rows::read(&self.stack.pool, other.market.program_id);
            let rows = self.stack.runtime.block_on(rows)?;
            self.violations
                .extend(violations(&other.journal.calls(), &rows, allowed));
        }
        self.violations.extend(dead_letters);
        let subscribed = self.subscriber.violations(&self.stack.pool);
        let (webhooks, missed) = self.stack.runtime.block_on(subscribed)?;
        self.notes.push(format!("{webhooks} webhooks"));
        self.violations.extend(missed);
        self.violations.append(&mut self.stack.surprises);
        let mut complaints = self
            .simulation
            .complaints
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        self.violations.append(&mut complaints);
        drop(complaints);
        self.verify()?;
        if plan.is_invisible() {
            self.violations
                .extend(visible_failures(&calls, Answer::is_retryable));
        }
        self.violations.extend(usage::violations(self.stack));
        Ok(Outcome {
            round: self.round.clone(),
            requests: calls.len(),
            answers: kinds(&calls),
            recovered,
            drained,
            took: started.elapsed(),
            notes: self.notes,
            violations: self.violations,
        })
    }

    fn verify(&mut self) -> Result<()> {
        let mut broken = Vec::new();
        self.watch_until(VERIFY_LIMIT, |round| {
            let found = drain::broken_invariants(&round.stack.pool);
            let found = round.stack.runtime.block_on(found);
            broken = found.unwrap_or_else(|error| vec![format!("{error:#}")]);
            broken.is_empty()
        })?;
        self.violations.extend(broken);
        Ok(())
    }
}

/// Answers that show a caller the fault.
pub(super) fn visible_failures(calls: &[Call], is_failure: impl Fn(&Answer) -> bool) -> Vec<String> {
    let answered = calls
        .iter()
        .filter_map(|call| Some((&call.asked, call.answer.as_ref()?)));
    answered
        .filter(|(_, answer)| is_failure(answer))
        .map(|(asked, answer)| format!("visible to a caller: {asked:?}: {answer:?}"))
        .collect()
}
