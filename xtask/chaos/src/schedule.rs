//! The plan of a round, drawn only from the seed and the round's number.
//!
//! Bounds: faults begin within [`FIRST`]..[`LAST`] of the load and end by [`HEALED`], so that a round takes
//! about ten seconds. Faults of one round have different targets, so that each begins and ends independently.
//! A cycle of rounds has every kind once as its main fault.

mod fault;
mod kind;

use std::time::Duration;

use anyhow::{Result, ensure};

pub(super) use self::fault::{Fault, Server, Service, Trouble};
use super::rng::Rng;

/// In milliseconds since the start of the load, as [`LAST`].
const FIRST: u64 = 400;
const LAST: u64 = 1_600;
/// End of all faults, since the start of the load.
pub(super) const HEALED: Duration = Duration::from_millis(4_500);
/// How long the load goes on afterwards.
pub(super) const AFTERWARDS: Duration = Duration::from_secs(1);

/// The distance between the kinds of consecutive rounds, which separates similar ones. Coprime to their
/// number, so that every kind occurs.
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
        matches!(self, Self::Faults(_)) && self.faults().all(Fault::is_invisible)
    }

    /// Whether clients send as fast as they are answered.
    pub(super) fn is_full_load(&self) -> bool {
        matches!(self, Self::Grace { .. } | Self::Rolling)
    }

    /// The percentage of requests in which clients disconnect.
    pub(super) fn hang_ups(&self) -> u64 {
        let percents = self.faults().filter_map(|fault| match fault {
            Fault::HangUps(percent) => Some(percent),
            _ => None,
        });
        percents.max().unwrap_or(0)
    }

    /// Adds up to two faults with other targets; none where callers must not notice what there is.
    fn add_faults(&mut self, rng: &mut Rng) {
        let is_invisible = self.is_invisible();
        let Self::Faults(faults) = self else { return };
        for _ in 0..if is_invisible { 0 } else { rng.below(3) } {
            let (_, fault) = pick(kind::drawn(rng), rng.next());
            if faults.iter().all(|other| other.fault.target() != fault.target()) {
                faults.push(scheduled(fault, rng));
            }
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Round {
    pub(super) number: u64,
    pub(super) seed: u64,
    /// The name of its main fault, or of what is done instead.
    pub(super) kind: String,
    pub(super) plan: Plan,
}

impl Round {
    /// `only`: rounds of one kind, by a part of its name. Of several such kinds, each has its turn.
    pub(super) fn draw(seed: u64, number: u64, only: Option<&str>) -> Result<Self> {
        let mut rng = Rng::of(seed, number);
        let round_seed = rng.next();
        let mut kinds = kinds(&mut rng);
        let place = match only {
            Some(only) => {
                let part = only.to_lowercase();
                kinds.retain(|(name, _)| name.contains(&part));
                ensure!(!kinds.is_empty(), "no kind of round has `{only}` in its name");
                seed.wrapping_add(number)
            }
            None => number % cycle() * STRIDE,
        };
        let (kind, mut plan) = pick(kinds, place);
        if only.is_none() {
            plan.add_faults(&mut rng);
        }
        Ok(Self {
            number,
            seed: round_seed,
            kind,
            plan,
        })
    }
}

/// The number of rounds in which every kind occurs once.
pub(super) fn cycle() -> u64 {
    kinds(&mut Rng::of(0, 0)).len() as u64
}

/// Every kind of round, by its name, with its own faults alone.
fn kinds(rng: &mut Rng) -> Vec<(String, Plan)> {
    let faults = kind::drawn(rng).into_iter().map(|(name, fault)| {
        let faults = kind::effective(fault, rng).into_iter();
        (
            name,
            Plan::Faults(faults.map(|fault| scheduled(fault, rng)).collect()),
        )
    });
    let others = [
        Plan::Grace { at_once: false },
        Plan::Grace { at_once: true },
        Plan::Rolling,
    ];
    faults
        .chain(others.map(|plan| (format!("{plan:?}").to_lowercase(), plan)))
        .collect()
}

/// The one at this place, counted round and round.
fn pick<T>(mut of: Vec<T>, place: u64) -> T {
    let place = place % of.len() as u64;
    of.swap_remove(usize::try_from(place).unwrap_or(0))
}

fn scheduled(fault: Fault, rng: &mut Rng) -> Scheduled {
    let begins = rng.millis(FIRST, LAST);
    let lasts = match fault {
        // Longer than `ACK_WAIT_MS` of the services; and filling a disk takes a while.
        Fault::Freeze(_) | Fault::DiskFull(_) => rng.millis(1_800, 2_600),
        // Longer than the timeout of a publisher, and than a claim waits for the relay.
        Fault::Network {
            trouble: Trouble::Silent { .. },
            ..
        } => rng.millis(1_800, 2_900),
        Fault::Crash { .. } => HEALED.saturating_sub(begins),
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
                assert!(
                    scheduled.begins >= Duration::from_millis(FIRST) && scheduled.begins < scheduled.ends
                );
                assert!(scheduled.ends <= HEALED);
                let mut others = faults[index + 1..].iter();
                assert!(others.all(|other| other.fault.target() != scheduled.fault.target()));
            }
        }
    }

    #[test]
    fn every_kind_leads_a_round_of_every_cycle_and_can_be_asked_for() {
        let all: BTreeSet<String> = kinds(&mut Rng::of(0, 0))
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        assert_eq!(all.len() as u64, cycle());
        for first in [0, 17, 3 * cycle()] {
            let led = (first..first + cycle()).map(|number| draw(1, number, None).kind);
            assert_eq!(led.collect::<BTreeSet<String>>(), all);
        }
        for name in &all {
            assert!(draw(1, 0, Some(name)).kind.contains(name));
        }
        assert!(Round::draw(1, 0, Some("earthquake")).is_err());
    }

    #[test]
    fn rounds_of_one_name_go_through_all_its_kinds() {
        let points = (0..15).map(
            |number| match draw(5, number, Some("crash")).plan.faults().next() {
                Some(Fault::Crash { point, .. }) => point,
                other => panic!("{other:?}"),
            },
        );
        assert_eq!(points.collect::<BTreeSet<_>>().len(), 15);
    }
}
