//! One round: load, faults, recovery, draining, reconciliation.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::drain;
use super::faults::is_possible;
use super::funnel::subscriber::Subscriber;
use super::funnel::{Load, Phase, RetryBehaviour, Simulation, buy_regularly, probe, visit, warm_up};
use super::journal::{Answer, Call, Journal};
use super::market::Market;
use super::proxy::{NetworkFault, Proxy};
use super::reconcile::{Allowed, violations};
use super::rng::Rng;
use super::rows;
use super::schedule::{AFTERWARDS, Fault, HEALED, Plan, Round, Scheduled, Service};
use super::stack::Stack;
use super::usage::Usage;

const TICK: Duration = Duration::from_millis(20);
/// Between two looks at servers.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// From the end of the faults to the first sale that is answered 200.
const RECOVERY_LIMIT: Duration = Duration::from_secs(30);
/// Claims and events are retried at growing intervals.
const DRAIN_LIMIT: Duration = Duration::from_mins(1);
/// After an outage of minutes: the webhooks of one customer wait for each other, five seconds where one of them is repeated.
const OBSERVED_DRAIN_LIMIT: Duration = Duration::from_mins(6);
/// Customers who buy all the time, in an observed round.
const REGULARS: u64 = 8;
/// Counters are updated after the answer.
const VERIFY_LIMIT: Duration = Duration::from_secs(10);
const VISITORS_LIMIT: Duration = Duration::from_mins(1);
/// For a debug build, after a round.
const USAGE_LIMIT: Usage = Usage {
    resident_kib: 400 * 1024,
    files: 200,
};

#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) round: Round,
    pub(super) requests: usize,
    /// Number by kind.
    pub(super) answers: BTreeMap<String, usize>,
    /// From the end of the faults to the first sale that was answered 200.
    pub(super) recovered: Option<Duration>,
    pub(super) drained: Duration,
    pub(super) took: Duration,
    /// The maximum of all services.
    pub(super) usage: Usage,
    pub(super) notes: Vec<String>,
    pub(super) violations: Vec<String>,
}

/// A running round.
pub(super) struct RunningRound<'a, 'b> {
    pub(super) stack: &'a mut Stack<'b>,
    pub(super) round: &'a Round,
    pub(super) simulation: Arc<Simulation>,
    pub(super) subscriber: Subscriber,
    /// Of other programs, with their own journals.
    pub(super) others: Vec<Arc<Simulation>>,
    /// A directory.
    pub(super) journals: &'a Path,
    /// A customer with a recorded lead.
    pub(super) customer_key: String,
    pub(super) notes: Vec<String>,
    pub(super) violations: Vec<String>,
}

/// `journals`: a directory.
pub(super) fn run(stack: &mut Stack<'_>, round: &Round, journals: &Path) -> Result<Outcome> {
    if round.plan != Plan::Cluster {
        return run_here(stack, round, journals);
    }
    stack.enter_cluster()?;
    let outcome = run_here(stack, round, journals)?;
    if outcome.violations.is_empty() {
        stack.leave_cluster()?;
    }
    Ok(outcome)
}

fn run_here(stack: &mut Stack<'_>, round: &Round, journals: &Path) -> Result<Outcome> {
    let started = Instant::now();
    let (phase, seen) = watch::channel(Phase::Load);
    let journal = journals.join(format!("round-{}.jsonl", round.number));
    let simulation = Arc::new(stack.simulation(round, &journal, seen)?);
    let subscriber = stack.subscriber(round, &simulation, phase.subscribe())?;
    let known = stack.runtime.block_on(warm_up(Arc::clone(&simulation)))?;
    let customer_key = known.context("no customer could be created before the first fault")?;
    let mut visitors: Vec<_> = (0..simulation.load.visitors())
        .map(|number| stack.runtime.spawn(visit(Arc::clone(&simulation), number)))
        .collect();
    if matches!(round.plan, Plan::Observed(_)) {
        // Visitors who cannot sign up buy nothing, and then no alert of sales could fire.
        let regulars = (0..REGULARS).map(|number| buy_regularly(Arc::clone(&simulation), number));
        visitors.extend(regulars.map(|regular| stack.runtime.spawn(regular)));
    }
    let mut running = RunningRound {
        stack,
        round,
        simulation,
        subscriber,
        others: Vec::new(),
        journals,
        customer_key,
        notes: Vec::new(),
        violations: Vec::new(),
    };
    let recovered = running.play()?;
    phase.send_replace(Phase::Closing);
    running.wait_for_visitors(visitors)?;
    let drained = running.drain()?;
    running.finish(started, recovered, drained)
}

impl Stack<'_> {
    /// A new program, and what its visitors share.
    pub(super) fn simulation(
        &self,
        round: &Round,
        journal: &Path,
        phase: watch::Receiver<Phase>,
    ) -> Result<Simulation> {
        let sealing_key = self.env.get("SECRETS_KEYS").context("no sealing key")?;
        let mut rng = Rng::of(round.seed, u64::MAX);
        let demo = self.seed_demo()?;
        let market = Market::found(&self.pool, &demo, sealing_key, &mut rng);
        Ok(Simulation {
            journal: Journal::create(journal.to_owned())?,
            ingests: Service::INGESTS.map(|service| self.address(service)),
            webhook_consumer: self.address(Service::WebhookConsumer),
            market: self.runtime.block_on(market)?,
            seed: round.seed,
            hang_ups: round.plan.hang_ups(),
            retries: match round.plan {
                Plan::Rolling => RetryBehaviour::OnceMore,
                _ => RetryBehaviour::Patient,
            },
            load: if round.plan.is_full_load() {
                Load::Full
            } else {
                Load::Leisurely
            },
            phase,
            complaints: Mutex::default(),
        })
    }
}

impl Stack<'_> {
    /// Of the round's program.
    fn subscriber(
        &self,
        round: &Round,
        simulation: &Simulation,
        phase: watch::Receiver<Phase>,
    ) -> Result<Subscriber> {
        let sealing_key = self.env.get("SECRETS_KEYS").context("no sealing key")?;
        let mut rng = Rng::of(round.seed, u64::MAX - 2);
        let program_id = simulation.market.program_id;
        let starting = Subscriber::start(&self.pool, program_id, sealing_key, &mut rng, phase);
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
            Plan::Cluster => self.cluster()?,
            Plan::Restored => self.restored()?,
            Plan::WorkersAway => self.workers_away()?,
            Plan::Flood => self.flood()?,
            Plan::Observed(outage) => self.observed(*outage)?,
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
            done.with_context(|| format!("cannot {what}: {fault}"))?;
        }
        self.watch_for(HEALED.saturating_sub(started.elapsed()))?;
        self.note_injected(faults);
        for proxy in self.stack.all_proxies() {
            proxy.set(NetworkFault::None);
        }
        Ok(())
    }

    fn note_injected(&mut self, faults: &[Scheduled]) {
        let cuts: u32 = self.stack.all_proxies().map(Proxy::take_cuts).sum();
        if cuts > 0 {
            self.notes.push(format!("{cuts} cut"));
        }
        for scheduled in faults {
            if let Fault::Crash { service, .. } = scheduled.fault
                && self.stack.has_crashed.remove(&service)
            {
                self.notes.push("crashed".to_owned());
            }
        }
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
    pub(super) fn watch_until(&mut self, limit: Duration, holds: impl Fn(&Self) -> bool) -> Result<bool> {
        let until = Instant::now() + limit;
        while !holds(self) {
            if Instant::now() > until {
                return Ok(false);
            }
            self.watch_for(LOOK_EVERY)?;
        }
        Ok(true)
    }

    pub(super) fn watch_until_finished<T>(&mut self, task: JoinHandle<Result<T>>) -> Result<T> {
        while !task.is_finished() {
            self.watch_for(TICK)?;
        }
        self.stack.runtime.block_on(task)?
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

    fn wait_for_visitors(&mut self, visitors: Vec<JoinHandle<Result<()>>>) -> Result<()> {
        let until = Instant::now() + VISITORS_LIMIT;
        while !visitors.iter().all(JoinHandle::is_finished) && Instant::now() < until {
            self.watch_for(TICK)?;
        }
        for visitor in visitors {
            if visitor.is_finished() {
                self.stack.runtime.block_on(visitor)??;
            } else {
                visitor.abort();
                self.violations.push("a visitor does not end".to_owned());
            }
        }
        Ok(())
    }

    /// Waits until nothing is in flight. Returns how long that took.
    fn drain(&mut self) -> Result<Duration> {
        let limit = match self.round.plan {
            Plan::Observed(_) => OBSERVED_DRAIN_LIMIT,
            _ => DRAIN_LIMIT,
        };
        let started = Instant::now();
        loop {
            let left = self.stack.runtime.block_on(async {
                let jetstream = self.stack.jetstream().await?;
                drain::pending(&self.stack.pool, &jetstream).await
            });
            let left = left.unwrap_or_else(|error| vec![format!("{error:#}")]);
            if left.is_empty() {
                return Ok(started.elapsed());
            }
            if started.elapsed() > limit {
                let seconds = limit.as_secs();
                let left = left.join(", ");
                self.violations
                    .push(format!("after {seconds} s there are still {left}"));
                return Ok(started.elapsed());
            }
            self.watch_for(LOOK_EVERY)?;
        }
    }

    fn finish(mut self, started: Instant, recovered: Option<Duration>, drained: Duration) -> Result<Outcome> {
        let calls = self.simulation.journal.calls()?;
        let plan = &self.round.plan;
        let allowed = Allowed {
            lost_clicks: plan.may_lose_clicks(),
            refused_events: plan.shifts_clock_of(Service::WebhookConsumer),
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
                .extend(violations(&other.journal.calls()?, &rows, allowed));
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
            self.violations.extend(visible_failures(&calls, |answer| {
                answer.is_unknown() || *answer == Answer::Refused
            }));
        }
        let usage = self.usage();
        Ok(Outcome {
            round: self.round.clone(),
            requests: calls.len(),
            answers: kinds(&calls),
            recovered,
            drained,
            took: started.elapsed(),
            usage,
            notes: self.notes,
            violations: self.violations,
        })
    }

    fn verify(&mut self) -> Result<()> {
        let started = Instant::now();
        loop {
            let broken = self
                .stack
                .runtime
                .block_on(drain::broken_invariants(&self.stack.pool))?;
            if broken.is_empty() || started.elapsed() > VERIFY_LIMIT {
                self.violations.extend(broken);
                return Ok(());
            }
            self.watch_for(Duration::from_millis(200))?;
        }
    }

    fn usage(&mut self) -> Usage {
        let mut most = Usage::default();
        for service in Service::ALL {
            let Some(usage) = self.stack.pid(service).and_then(Usage::of) else {
                self.violations.push(format!("{} does not run", service.name()));
                continue;
            };
            if usage.resident_kib > USAGE_LIMIT.resident_kib || usage.files > USAGE_LIMIT.files {
                self.violations.push(format!("{} holds {usage}", service.name()));
            }
            most = most.max(usage);
        }
        most
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

fn kinds(calls: &[Call]) -> BTreeMap<String, usize> {
    let mut kinds = BTreeMap::new();
    for call in calls {
        let kind = call.answer.as_ref().map_or("none".to_owned(), Answer::kind);
        *kinds.entry(kind).or_default() += 1;
    }
    kinds
}
