//! The plan of a round, drawn only from the seed and the round's number.
//!
//! Bounds: faults begin within [`FIRST`]..[`LAST`] of the load and end by [`HEALED`], so that a round takes about ten seconds. Faults of
//! one round have different targets, so that each begins and ends independently. A cycle of rounds has every kind ([`Turn`]) once as its
//! main fault.

mod fault;
mod kind;

use std::fmt;
use std::time::Duration;

use anyhow::{Result, ensure};

pub(super) use self::fault::{Fault, Server, Service, Trouble};
use self::kind::Kind;
use super::observed::Outage;
use super::rng::Rng;

const FIRST: Duration = Duration::from_millis(400);
const LAST: Duration = Duration::from_millis(1_600);
/// End of all faults, since the start of the load.
pub(super) const HEALED: Duration = Duration::from_millis(4_500);
/// How long the load goes on afterwards.
pub(super) const AFTERWARDS: Duration = Duration::from_secs(1);

/// The distance between consecutive turns, which separates similar kinds. Coprime to their number, so that every turn occurs.
const STRIDE: usize = 23;

/// A fault, and when it begins and ends after the load has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Scheduled {
    pub(super) fault: Fault,
    pub(super) begins: Duration,
    pub(super) ends: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Plan {
    Faults(Vec<Scheduled>),
    /// Every service is shut down under full load: the edges first, or all at once.
    Grace {
        at_once: bool,
    },
    /// One service after the other is replaced under full load.
    Rolling,
    /// Three NATS servers, one of which is killed and restarted.
    Cluster,
    /// PostgreSQL is lost and restored from an older backup; the streams are newer.
    Restored,
    /// No worker runs, while as many clicks come as otherwise in minutes.
    WorkersAway,
    /// Another program sends more sales than there are permits and places in the queue.
    Flood,
    /// Prometheus watches an outage.
    Observed(Outage),
}

impl Plan {
    pub(super) fn may_lose_clicks(&self) -> bool {
        matches!(self, Self::Faults(faults) if faults.iter().any(|scheduled| scheduled.fault.may_lose_clicks()))
    }

    /// Whether callers must not notice the faults.
    pub(super) fn is_invisible(&self) -> bool {
        match self {
            Self::Faults(faults) => faults.iter().all(|scheduled| scheduled.fault.is_invisible()),
            Self::Observed(outage) => *outage == Outage::RedisAway,
            _ => false,
        }
    }

    /// Whether clients send as fast as they are answered.
    pub(super) fn is_full_load(&self) -> bool {
        matches!(self, Self::Grace { .. } | Self::Rolling)
    }

    pub(super) fn shifts_clock_of(&self, service: Service) -> bool {
        let shifts = |scheduled: &Scheduled| matches!(scheduled.fault, Fault::Clock(of, _) if of == service);
        matches!(self, Self::Faults(faults) if faults.iter().any(shifts))
    }

    /// Names of the kinds, for a table.
    pub(super) fn kinds(&self) -> Vec<String> {
        match self {
            Self::Faults(faults) => faults.iter().map(|scheduled| scheduled.fault.kind()).collect(),
            other => vec![other.to_string()],
        }
    }

    pub(super) fn hang_ups(&self) -> u64 {
        let Self::Faults(faults) = self else { return 0 };
        let percents = faults.iter().filter_map(|scheduled| match scheduled.fault {
            Fault::HangUps(percent) => Some(percent),
            _ => None,
        });
        percents.max().unwrap_or(0)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Round {
    pub(super) number: u64,
    pub(super) seed: u64,
    pub(super) plan: Plan,
}

impl Round {
    pub(super) fn observed(seed: u64, number: u64, outage: Outage) -> Self {
        Self {
            number,
            seed: Rng::of(seed, number).next(),
            plan: Plan::Observed(outage),
        }
    }

    /// `only`: rounds of one kind, by a part of its name.
    pub(super) fn draw(seed: u64, number: u64, only: Option<&str>) -> Result<Self> {
        let mut rng = Rng::of(seed, number);
        let round_seed = rng.next();
        let plan = match only {
            Some(only) => Turn::named(only, seed.wrapping_add(number))?.alone(&mut rng),
            None => Turn::of(number).led(&mut rng),
        };
        Ok(Self {
            number,
            seed: round_seed,
            plan,
        })
    }
}

/// The main fault of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    Fault(Kind),
    Grace { at_once: bool },
    Rolling,
    Cluster,
    Restored,
    WorkersAway,
    Flood,
}

/// The number of rounds in which every turn occurs once.
pub(super) fn cycle() -> u64 {
    Turn::all().len() as u64
}

impl Turn {
    fn all() -> Vec<Self> {
        let faults = Kind::all().into_iter().map(Self::Fault);
        let others = [
            Self::Grace { at_once: false },
            Self::Grace { at_once: true },
            Self::Rolling,
            Self::Cluster,
            Self::Restored,
            Self::WorkersAway,
            Self::Flood,
        ];
        faults.chain(others).collect()
    }

    fn of(number: u64) -> Self {
        let place = (number % cycle()).wrapping_mul(STRIDE as u64);
        pick(&Self::all(), place).unwrap_or(Self::Rolling)
    }

    /// Turns whose name contains `only`, in rotation.
    fn named(only: &str, number: u64) -> Result<Self> {
        let only = only.to_lowercase();
        let mut named = Self::all();
        named.retain(|turn| turn.name().contains(&only));
        let turn = pick(&named, number);
        ensure!(turn.is_some(), "no kind of round has `{only}` in its name");
        Ok(turn.unwrap_or(Self::Rolling))
    }

    fn name(self) -> String {
        match self {
            Self::Fault(kind) => kind.name(),
            Self::Grace { .. } => "grace".to_owned(),
            Self::Rolling => "rolling".to_owned(),
            Self::Cluster => "cluster".to_owned(),
            Self::Restored => "restored".to_owned(),
            Self::WorkersAway => "workersaway".to_owned(),
            Self::Flood => "flood".to_owned(),
        }
    }

    fn alone(self, rng: &mut Rng) -> Plan {
        match self {
            Self::Fault(kind) => {
                let faults = kind.faults(rng).into_iter();
                Plan::Faults(faults.map(|fault| scheduled(fault, rng)).collect())
            }
            Self::Grace { at_once } => Plan::Grace { at_once },
            Self::Rolling => Plan::Rolling,
            Self::Cluster => Plan::Cluster,
            Self::Restored => Plan::Restored,
            Self::WorkersAway => Plan::WorkersAway,
            Self::Flood => Plan::Flood,
        }
    }

    /// With up to two more faults. A fault that callers must not notice has no others.
    fn led(self, rng: &mut Rng) -> Plan {
        let mut plan = self.alone(rng);
        let is_invisible = plan.is_invisible();
        if let Plan::Faults(faults) = &mut plan
            && !is_invisible
        {
            for _ in 0..rng.below(3) {
                let kinds = Kind::all();
                let Some(kind) = pick(&kinds, rng.next()) else {
                    continue;
                };
                let fault = kind.draw(rng);
                if faults.iter().all(|other| other.fault.target() != fault.target()) {
                    faults.push(scheduled(fault, rng));
                }
            }
        }
        plan
    }
}

/// `None` for an empty slice.
fn pick<T: Copy>(of: &[T], number: u64) -> Option<T> {
    let place = number.checked_rem(of.len() as u64)?;
    of.get(usize::try_from(place).ok()?).copied()
}

fn scheduled(fault: Fault, rng: &mut Rng) -> Scheduled {
    let first = u64::try_from(FIRST.as_millis()).unwrap_or(0);
    let last = u64::try_from(LAST.as_millis()).unwrap_or(0);
    let begins = rng.millis(first, last);
    let lasts = match fault {
        // Longer than `ACK_WAIT_MS` of the services; and filling a disk or copying a server takes a while.
        Fault::Freeze(_) | Fault::PostgresDiskFull | Fault::NatsDiskFull | Fault::PostgresPromoted => {
            rng.millis(1_800, 2_600)
        }
        // Longer than the timeout of a publisher, and than a claim waits for the relay.
        Fault::Network {
            trouble: Trouble::Silent { .. },
            ..
        } => rng.millis(1_800, 2_900),
        Fault::Crash { .. } | Fault::Clock(..) => HEALED.saturating_sub(begins),
        _ => rng.millis(200, 2_200),
    };
    Scheduled {
        fault,
        begins,
        ends: (begins + lasts).min(HEALED),
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let faults = match self {
            Self::Faults(faults) => faults,
            Self::Grace { at_once: false } => {
                return f.write_str("everything is shut down under full load, the edges first");
            }
            Self::Grace { at_once: true } => {
                return f.write_str("everything is shut down under full load, at once");
            }
            Self::Rolling => return f.write_str("everything is replaced under full load, one by one"),
            Self::Cluster => return f.write_str("a cluster of three loses its leader"),
            Self::Restored => return f.write_str("PostgreSQL is restored from an older backup"),
            Self::WorkersAway => return f.write_str("no worker runs while thousands click"),
            Self::Flood => return f.write_str("another program floods"),
            Self::Observed(outage) => return write!(f, "{outage}"),
        };
        for (index, scheduled) in faults.iter().enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            let (begins, ends) = (scheduled.begins.as_secs_f32(), scheduled.ends.as_secs_f32());
            write!(f, "{comma}{} ({begins:.1}–{ends:.1} s)", scheduled.fault)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn draw(seed: u64, number: u64, only: Option<&str>) -> Round {
        Round::draw(seed, number, only).unwrap()
    }

    #[test]
    fn a_round_is_drawn_from_seed_and_number_alone() {
        assert_eq!(draw(1, 2, None), draw(1, 2, None));
        assert_ne!(draw(1, 2, None).seed, draw(1, 3, None).seed);
        assert_ne!(draw(1, 2, None).seed, draw(2, 2, None).seed);
    }

    #[test]
    fn faults_of_a_round_have_targets_of_their_own_and_end_in_time() {
        for number in 0..500 {
            let Plan::Faults(faults) = draw(7, number, None).plan else {
                continue;
            };
            for (index, scheduled) in faults.iter().enumerate() {
                assert!(scheduled.begins >= FIRST && scheduled.begins < scheduled.ends);
                assert!(scheduled.ends <= HEALED);
                let others = &faults[index + 1..];
                assert!(
                    others
                        .iter()
                        .all(|other| other.fault.target() != scheduled.fault.target())
                );
            }
        }
    }

    #[test]
    fn every_kind_leads_a_round_of_every_cycle() {
        let mut kinds: Vec<String> = Turn::all()
            .into_iter()
            .map(|turn| turn.alone(&mut Rng::of(1, 1)).kinds().remove(0))
            .collect();
        kinds.sort();
        for (seed, first) in [(3, 0), (4, 17), (5, 3 * cycle())] {
            let rounds = (first..first + cycle()).map(|number| draw(seed, number, None).plan);
            let mut led: Vec<String> = rounds.map(|plan| plan.kinds().remove(0)).collect();
            led.sort();
            assert_eq!(led, kinds);
        }
    }

    /// Its variant in lower case.
    fn name_of(fault: Fault) -> String {
        let name = format!("{fault:?}").to_lowercase();
        name.split([' ', '(']).next().unwrap_or_default().to_owned()
    }

    #[test]
    fn a_kind_can_be_asked_for_by_its_name() {
        for number in 0..2 * cycle() {
            if let Plan::Faults(faults) = draw(9, number, None).plan {
                let name = name_of(faults[0].fault);
                let Plan::Faults(asked) = draw(1, number, Some(&name)).plan else {
                    panic!("no faults")
                };
                // A part of a name is enough, so `freeze` finds `redisfreeze` too.
                assert!(name_of(asked[0].fault).contains(&name));
            }
        }
        assert_eq!(draw(1, 0, Some("cluster")).plan, Plan::Cluster);
        assert_eq!(draw(1, 0, Some("restored")).plan, Plan::Restored);
        assert_eq!(draw(1, 0, Some("away")).plan, Plan::WorkersAway);
        assert_eq!(draw(1, 0, Some("flood")).plan, Plan::Flood);
        assert!(Round::draw(1, 0, Some("earthquake")).is_err());
    }

    #[test]
    fn rounds_of_one_name_go_through_all_its_kinds() {
        let points: BTreeSet<Vec<String>> = (0..9)
            .map(|number| draw(5, number, Some("crash")).plan.kinds())
            .collect();
        assert_eq!(points.len(), 9);
    }
}
