//! The plan of a round, drawn only from the seed and the round's number.
//!
//! Bounds: faults begin within [`FIRST`]..[`LAST`] of the load and end by [`HEALED`], so that a round takes about ten seconds. Faults of
//! one round have different targets, so that each begins and ends independently. A cycle of rounds has every kind ([`Turn`]) once as its
//! main fault.

mod fault;
mod kind;

use std::time::Duration;

use anyhow::{Context, Result};

pub(super) use self::fault::{Fault, Server, Service, Trouble};
use self::kind::Kind;
use super::rng::Rng;

const FIRST: Duration = Duration::from_millis(400);
const LAST: Duration = Duration::from_millis(1_600);
/// End of all faults, since the start of the load.
pub(super) const HEALED: Duration = Duration::from_millis(4_500);
/// How long the load goes on afterwards.
pub(super) const AFTERWARDS: Duration = Duration::from_secs(1);

/// The distance between consecutive turns, which separates similar kinds. Coprime to their number, so that every turn occurs.
const STRIDE: u64 = 23;

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
    /// PostgreSQL is lost and restored from an older backup; the streams are newer.
    Restored,
    /// Another program sends more sales than there are permits and places in the queue.
    Flood,
}

impl Plan {
    fn faults(&self) -> impl Iterator<Item = Fault> {
        let scheduled = match self {
            Self::Faults(faults) => faults.as_slice(),
            _ => &[],
        };
        scheduled.iter().map(|scheduled| scheduled.fault)
    }

    pub(super) fn may_lose_clicks(&self) -> bool {
        self.faults().any(Fault::may_lose_clicks)
    }

    /// Whether callers must not notice the faults.
    pub(super) fn is_invisible(&self) -> bool {
        match self {
            Self::Faults(_) => self.faults().all(Fault::is_invisible),
            _ => false,
        }
    }

    /// Whether clients send as fast as they are answered.
    pub(super) fn is_full_load(&self) -> bool {
        matches!(self, Self::Grace { .. } | Self::Rolling)
    }

    pub(super) fn shifts_clock_of(&self, service: Service) -> bool {
        self.faults()
            .any(|fault| matches!(fault, Fault::Clock(of, _) if of == service))
    }

    /// The percentage of requests in which clients disconnect.
    pub(super) fn hang_ups(&self) -> u64 {
        let percents = self.faults().filter_map(|fault| match fault {
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
    /// `only`: rounds of one kind, by a part of its name.
    pub(super) fn draw(seed: u64, number: u64, only: Option<&str>) -> Result<Self> {
        let mut rng = Rng::of(seed, number);
        let round_seed = rng.next();
        let plan = match only {
            Some(only) => Turn::named(only, seed.wrapping_add(number))?.alone(&mut rng),
            None => Turn::of(number)?.led(&mut rng),
        };
        Ok(Self {
            number,
            seed: round_seed,
            plan,
        })
    }
}

/// The main fault of a round.
enum Turn {
    Fault(Kind),
    Other(Plan),
}

/// The number of rounds in which every turn occurs once.
pub(super) fn cycle() -> u64 {
    Turn::all().len() as u64
}

impl Turn {
    fn all() -> Vec<Self> {
        let faults = Kind::all().into_iter().map(Self::Fault);
        let others = [
            Plan::Grace { at_once: false },
            Plan::Grace { at_once: true },
            Plan::Rolling,
            Plan::Restored,
            Plan::Flood,
        ];
        faults.chain(others.map(Self::Other)).collect()
    }

    fn of(number: u64) -> Result<Self> {
        let place = (number % cycle()).wrapping_mul(STRIDE);
        pick(Self::all(), place).context("no kind of round")
    }

    /// Turns whose name contains `only`, in rotation.
    fn named(only: &str, number: u64) -> Result<Self> {
        let lower = only.to_lowercase();
        let named = Self::all()
            .into_iter()
            .filter(|turn| turn.name().contains(&lower));
        pick(named.collect(), number).with_context(|| format!("no kind of round has `{only}` in its name"))
    }

    fn name(&self) -> String {
        match self {
            Self::Fault(kind) => kind.name.clone(),
            Self::Other(plan) => format!("{plan:?}").to_lowercase(),
        }
    }

    fn alone(&self, rng: &mut Rng) -> Plan {
        match self {
            Self::Fault(kind) => {
                let faults = kind.faults(rng).into_iter();
                Plan::Faults(faults.map(|fault| scheduled(fault, rng)).collect())
            }
            Self::Other(plan) => plan.clone(),
        }
    }

    /// With up to two more faults. A fault that callers must not notice has no others.
    fn led(&self, rng: &mut Rng) -> Plan {
        let mut plan = self.alone(rng);
        let is_invisible = plan.is_invisible();
        if let Plan::Faults(faults) = &mut plan
            && !is_invisible
        {
            for _ in 0..rng.below(3) {
                let Some(kind) = pick(Kind::all(), rng.next()) else {
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

/// `None` if there are none.
fn pick<T>(mut of: Vec<T>, number: u64) -> Option<T> {
    let place = number.checked_rem(of.len() as u64)?;
    Some(of.swap_remove(usize::try_from(place).ok()?))
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
        let all: BTreeSet<String> = Turn::all().iter().map(Turn::name).collect();
        for first in [0, 17, 3 * cycle()] {
            let led: BTreeSet<String> = (first..first + cycle())
                .map(|number| Turn::of(number).unwrap().name())
                .collect();
            assert_eq!(led, all);
        }
    }

    #[test]
    fn a_kind_can_be_asked_for_by_its_name() {
        for turn in Turn::all() {
            assert!(Round::draw(1, 0, Some(&turn.name())).is_ok(), "{}", turn.name());
        }
        let only = |name| match draw(1, 0, Some(name)).plan {
            Plan::Faults(faults) => faults[0].fault,
            other => panic!("{other:?}"),
        };
        assert_eq!(only("natswiped"), Fault::NatsWiped);
        assert!(matches!(
            only("killwebhook"),
            Fault::Kill(Service::WEBHOOK_CONSUMER)
        ));
        let cut = only("networkrediscut");
        assert!(
            matches!(
                cut,
                Fault::Network {
                    server: Server::Redis,
                    ..
                }
            ),
            "{cut:?}"
        );
        assert_eq!(draw(1, 0, Some("flood")).plan, Plan::Flood);
        assert!(Round::draw(1, 0, Some("earthquake")).is_err());
    }

    #[test]
    fn rounds_of_one_name_go_through_all_its_kinds() {
        let points: BTreeSet<String> = (0..15)
            .map(|number| match draw(5, number, Some("crash")).plan {
                Plan::Faults(faults) => match faults[0].fault {
                    Fault::Crash { point, .. } => point.to_owned(),
                    other => panic!("{other:?}"),
                },
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(points.len(), 15);
    }
}
