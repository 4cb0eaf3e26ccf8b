//! What happens in a round: drawn from the seed and the round's number, and from nothing else.
//!
//! Bounds: faults begin within [`FIRST`]..[`LAST`] of the load and are over by [`HEALED`], so that a round takes about ten
//! seconds. Faults of one round hit different targets, so that each can be begun and ended by itself. Every round is led by a
//! kind of its own turn: as many rounds as there are kinds have seen each of them.

use std::fmt;
use std::time::Duration;

use super::dice::Dice;

const FIRST: Duration = Duration::from_millis(400);
const LAST: Duration = Duration::from_millis(1_600);
/// From the beginning of the load: everything is whole again.
pub(super) const HEALED: Duration = Duration::from_millis(4_500);
/// How long the load goes on afterwards.
pub(super) const AFTERWARDS: Duration = Duration::from_secs(1);

/// Rounds of other kinds come in turn among these many.
const CYCLE: u64 = 24;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Service {
    Ingest1,
    Ingest2,
    Worker1,
    Worker2,
    WebhookConsumer,
}

impl Service {
    pub(super) const ALL: [Self; 5] = [
        Self::Worker1,
        Self::Worker2,
        Self::WebhookConsumer,
        Self::Ingest1,
        Self::Ingest2,
    ];
    pub(super) const INGESTS: [Self; 2] = [Self::Ingest1, Self::Ingest2];
    pub(super) const WORKERS: [Self; 2] = [Self::Worker1, Self::Worker2];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Ingest1 => "ingest-1",
            Self::Ingest2 => "ingest-2",
            Self::Worker1 => "worker-1",
            Self::Worker2 => "worker-2",
            Self::WebhookConsumer => "webhook-consumer",
        }
    }

    pub(super) const fn program(self) -> &'static str {
        match self {
            Self::Ingest1 | Self::Ingest2 => "ingest",
            Self::Worker1 | Self::Worker2 => "worker",
            Self::WebhookConsumer => "webhook-consumer",
        }
    }

    /// Where it can be made to die.
    fn crash_point(self, dice: &mut Dice) -> &'static str {
        match self {
            Self::Ingest1 | Self::Ingest2 => dice.pick(&[
                "ingest.after_claim",
                "ingest.after_publish",
                "ingest.before_answer",
            ]),
            Self::Worker1 | Self::Worker2 => dice.pick(&[
                "worker.after_commit",
                "worker.before_ack",
                "worker.after_outbox_publish",
                "worker.after_relay",
            ]),
            Self::WebhookConsumer => {
                dice.pick(&["webhook-consumer.after_commit", "webhook-consumer.before_answer"])
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Server {
    Postgres,
    Nats,
    Redis,
}

impl Server {
    pub(super) const ALL: [Self; 3] = [Self::Postgres, Self::Nats, Self::Redis];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
            Self::Nats => "nats",
            Self::Redis => "redis",
        }
    }
}

/// What the network between services and a server does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trouble {
    Slow(Duration),
    /// Nothing passes; afterwards it goes on where it was, or every connection breaks.
    Silent {
        breaks: bool,
    },
    Reset,
    CutAfter(u64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// kill -9, and started again when it is over.
    Kill(Service),
    /// SIGSTOP until it is over: longer than a message waits for its acknowledgement.
    Freeze(Service),
    /// Started so that it dies the n-th time it comes to this point.
    Crash {
        service: Service,
        point: &'static str,
        time: u64,
    },
    /// Its clock is off by so many seconds.
    Clock(Service, i64),
    /// Between one service and the server, or all of them.
    Network {
        server: Server,
        of: Option<Service>,
        trouble: Trouble,
    },
    /// The server commits, and the word about it is lost.
    CommitUnheard {
        service: Service,
        times: u32,
    },
    /// Immediate: every transaction is lost, and the next start recovers.
    PostgresStop,
    PostgresTerminate,
    PostgresDiskFull,
    NatsKill,
    NatsStreamsFull,
    NatsDiskFull,
    NatsConsumerDeleted(&'static str),
    NatsStreamDeleted(&'static str),
    /// It comes back with an empty store.
    NatsWiped,
    RedisKill,
    RedisFreeze,
    RedisFlush,
    RedisFull,
    /// So many percent of all requests are hung up on.
    HangUps(u64),
}

/// What a fault befalls. Two of one round never have the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    Service(Service),
    Server(Server),
    Clients,
}

impl Fault {
    fn target(self) -> Target {
        match self {
            Self::Kill(service)
            | Self::Freeze(service)
            | Self::Crash { service, .. }
            | Self::Clock(service, _) => Target::Service(service),
            Self::Network { server, .. } => Target::Server(server),
            Self::CommitUnheard { .. }
            | Self::PostgresStop
            | Self::PostgresTerminate
            | Self::PostgresDiskFull => Target::Server(Server::Postgres),
            Self::NatsKill
            | Self::NatsStreamsFull
            | Self::NatsDiskFull
            | Self::NatsConsumerDeleted(_)
            | Self::NatsStreamDeleted(_)
            | Self::NatsWiped => Target::Server(Server::Nats),
            Self::RedisKill | Self::RedisFreeze | Self::RedisFlush | Self::RedisFull => {
                Target::Server(Server::Redis)
            }
            Self::HangUps(_) => Target::Clients,
        }
    }

    /// Without what is different from one of its kind to the next.
    fn kind(self) -> String {
        match self {
            Self::Kill(service) => format!("kill {}", service.program()),
            Self::Freeze(service) => format!("freeze {}", service.program()),
            Self::Crash { point, .. } => format!("crash at {point}"),
            Self::Clock(service, _) => format!("clock of {}", service.program()),
            Self::Network { server, trouble, .. } => {
                let trouble = match trouble {
                    Trouble::Slow(_) => "slow",
                    Trouble::Silent { .. } => "silent",
                    Trouble::Reset => "reset",
                    Trouble::CutAfter(_) => "cut",
                };
                format!("network to {} {trouble}", server.name())
            }
            Self::CommitUnheard { service, .. } => format!("commits of {} unheard", service.program()),
            Self::HangUps(_) => "clients hang up".to_owned(),
            other => other.to_string(),
        }
    }

    /// Whether clicks that were acknowledged and not yet written may be gone: their stream is the only place they are in.
    pub(super) fn may_lose_clicks(self) -> bool {
        matches!(self, Self::NatsWiped | Self::NatsStreamDeleted("clicks"))
    }

    /// Whether callers must notice nothing: the limiter is never a reason to fail.
    pub(super) fn is_unfelt(self) -> bool {
        self.target() == Target::Server(Server::Redis)
    }
}

/// Every kind of fault, in the order of their turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Kill,
    Freeze,
    Crash,
    Clock,
    Network,
    CommitUnheard,
    PostgresStop,
    PostgresTerminate,
    PostgresDiskFull,
    NatsKill,
    NatsStreamsFull,
    NatsDiskFull,
    NatsConsumerDeleted,
    NatsStreamDeleted,
    NatsWiped,
    Redis,
    HangUps,
}

const KINDS: [Kind; 21] = [
    Kind::Kill,
    Kind::CommitUnheard,
    Kind::NatsKill,
    Kind::Freeze,
    Kind::PostgresStop,
    Kind::Crash,
    Kind::NatsWiped,
    Kind::Network,
    Kind::Redis,
    Kind::PostgresTerminate,
    Kind::NatsStreamsFull,
    Kind::Crash,
    Kind::HangUps,
    Kind::NatsConsumerDeleted,
    Kind::Clock,
    Kind::CommitUnheard,
    Kind::NatsDiskFull,
    Kind::Network,
    Kind::PostgresDiskFull,
    Kind::NatsStreamDeleted,
    Kind::Crash,
];

/// Those whose loss can be felt.
const NOUNS: [&str; 6] = ["clicks", "leads", "sales", "refunds", "payments", "notifications"];

impl Kind {
    fn draw(self, dice: &mut Dice) -> Fault {
        let service = dice.pick(&Service::ALL);
        match self {
            Self::Kill => Fault::Kill(service),
            Self::Freeze => Fault::Freeze(service),
            Self::Crash => Fault::Crash {
                service,
                point: service.crash_point(dice),
                time: dice.between(1, 12),
            },
            Self::Clock => Fault::Clock(service, dice.pick(&[600, -600])),
            Self::Network => Fault::Network {
                server: dice.pick(&Server::ALL),
                of: dice.chance(50).then_some(service),
                trouble: match dice.below(4) {
                    0 => Trouble::Slow(dice.millis(20, 200)),
                    1 => Trouble::Reset,
                    2 => Trouble::CutAfter(dice.below(4_000)),
                    _ => Trouble::Silent {
                        breaks: dice.chance(50),
                    },
                },
            },
            Self::CommitUnheard => Fault::CommitUnheard {
                service,
                times: u32::try_from(dice.between(1, 5)).unwrap_or(1),
            },
            Self::PostgresStop => Fault::PostgresStop,
            Self::PostgresTerminate => Fault::PostgresTerminate,
            Self::PostgresDiskFull => Fault::PostgresDiskFull,
            Self::NatsKill => Fault::NatsKill,
            Self::NatsStreamsFull => Fault::NatsStreamsFull,
            Self::NatsDiskFull => Fault::NatsDiskFull,
            Self::NatsConsumerDeleted => Fault::NatsConsumerDeleted(dice.pick(&NOUNS)),
            Self::NatsStreamDeleted => Fault::NatsStreamDeleted(dice.pick(&NOUNS)),
            Self::NatsWiped => Fault::NatsWiped,
            Self::Redis => dice.pick(&[
                Fault::RedisKill,
                Fault::RedisFreeze,
                Fault::RedisFlush,
                Fault::RedisFull,
            ]),
            Self::HangUps => Fault::HangUps(dice.between(10, 40)),
        }
    }
}

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
    /// Every service is asked to leave under full load: the edges first, or all at once.
    Grace {
        at_once: bool,
    },
    /// One service after the other is replaced under load.
    Rolling,
    /// Three NATS servers, one of which dies and comes back.
    Cluster,
}

impl Plan {
    pub(super) fn may_lose_clicks(&self) -> bool {
        matches!(self, Self::Faults(faults) if faults.iter().any(|scheduled| scheduled.fault.may_lose_clicks()))
    }

    /// Whether every request must be answered as if nothing had happened.
    pub(super) fn is_unfelt(&self) -> bool {
        matches!(self, Self::Faults(faults) if faults.iter().all(|scheduled| scheduled.fault.is_unfelt()))
    }

    pub(super) fn shifts_clock_of(&self, service: Service) -> bool {
        let shifts = |scheduled: &Scheduled| matches!(scheduled.fault, Fault::Clock(of, _) if of == service);
        matches!(self, Self::Faults(faults) if faults.iter().any(shifts))
    }

    /// Names of what happens, for a table.
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
    /// `only`: rounds of one kind, by a part of its name.
    pub(super) fn draw(seed: u64, number: u64, only: Option<&str>) -> Self {
        let mut dice = Dice::of(seed, number);
        let round_seed = dice.roll();
        let plan = match only {
            Some(only) => Plan::of_kind(only, number, &mut dice),
            None => Plan::of_turn(number, &mut dice),
        };
        Self {
            number,
            seed: round_seed,
            plan,
        }
    }
}

impl Plan {
    fn of_turn(number: u64, dice: &mut Dice) -> Self {
        match number % CYCLE {
            7 => Self::Grace {
                at_once: dice.chance(50),
            },
            15 => Self::Rolling,
            23 => Self::Cluster,
            turn => {
                let place = turn - u64::from(turn > 7) - u64::from(turn > 15);
                let lead = usize::try_from(place).ok().and_then(|place| KINDS.get(place));
                Self::led_by(lead.copied().unwrap_or(Kind::Kill), dice)
            }
        }
    }

    fn of_kind(only: &str, number: u64, dice: &mut Dice) -> Self {
        let named = |name: &str| name.contains(&only.to_lowercase());
        if named("grace") {
            return Self::Grace {
                at_once: dice.chance(50),
            };
        }
        if named("rolling") {
            return Self::Rolling;
        }
        if named("cluster") {
            return Self::Cluster;
        }
        let kinds: Vec<Kind> = KINDS
            .into_iter()
            .filter(|kind| named(&format!("{kind:?}").to_lowercase()))
            .collect();
        let turn = number.checked_rem(kinds.len() as u64).unwrap_or(0);
        let kind = usize::try_from(turn).ok().and_then(|turn| kinds.get(turn));
        Self::Faults(vec![scheduled(
            kind.copied().unwrap_or(Kind::Kill).draw(dice),
            dice,
        )])
    }

    fn led_by(kind: Kind, dice: &mut Dice) -> Self {
        let mut faults = vec![scheduled(kind.draw(dice), dice)];
        // What nobody may feel is shown by itself.
        let company = if faults.iter().all(|scheduled| scheduled.fault.is_unfelt()) {
            0
        } else {
            dice.below(3)
        };
        for _ in 0..company {
            let fault = dice.pick(&KINDS).draw(dice);
            if faults.iter().all(|other| other.fault.target() != fault.target()) {
                faults.push(scheduled(fault, dice));
            }
        }
        Self::Faults(faults)
    }
}

fn scheduled(fault: Fault, dice: &mut Dice) -> Scheduled {
    let first = u64::try_from(FIRST.as_millis()).unwrap_or(0);
    let last = u64::try_from(LAST.as_millis()).unwrap_or(0);
    let begins = dice.millis(first, last);
    let lasts = match fault {
        // Longer than `ACK_WAIT_MS` of the services; and filling a disk takes a while.
        Fault::Freeze(_) | Fault::PostgresDiskFull | Fault::NatsDiskFull => dice.millis(1_800, 2_600),
        Fault::Crash { .. } | Fault::Clock(..) => HEALED.saturating_sub(begins),
        _ => dice.millis(200, 2_200),
    };
    Scheduled {
        fault,
        begins,
        ends: (begins + lasts).min(HEALED),
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kill(service) => write!(f, "kill {}", service.name()),
            Self::Freeze(service) => write!(f, "freeze {}", service.name()),
            Self::Crash { service, point, time } => write!(f, "{} dies at {point}@{time}", service.name()),
            Self::Clock(service, seconds) => write!(f, "clock of {} {seconds:+} s", service.name()),
            Self::Network { server, of, trouble } => {
                let of = of.map_or("all", Service::name);
                write!(f, "{of}-{} ", server.name())?;
                match trouble {
                    Trouble::Slow(by) => write!(f, "slow by {} ms", by.as_millis()),
                    Trouble::Silent { breaks: true } => f.write_str("silent, then broken"),
                    Trouble::Silent { breaks: false } => f.write_str("silent"),
                    Trouble::Reset => f.write_str("reset"),
                    Trouble::CutAfter(bytes) => write!(f, "cut after {bytes} bytes"),
                }
            }
            Self::CommitUnheard { service, times } => {
                write!(f, "{times} commits of {} unheard", service.name())
            }
            Self::PostgresStop => f.write_str("postgres stopped"),
            Self::PostgresTerminate => f.write_str("postgres backends terminated"),
            Self::PostgresDiskFull => f.write_str("postgres disk full"),
            Self::NatsKill => f.write_str("kill nats"),
            Self::NatsStreamsFull => f.write_str("nats streams full"),
            Self::NatsDiskFull => f.write_str("nats disk full"),
            Self::NatsConsumerDeleted(noun) => write!(f, "nats consumer of {noun} deleted"),
            Self::NatsStreamDeleted(noun) => write!(f, "nats stream of {noun} deleted"),
            Self::NatsWiped => f.write_str("nats wiped"),
            Self::RedisKill => f.write_str("kill redis"),
            Self::RedisFreeze => f.write_str("freeze redis"),
            Self::RedisFlush => f.write_str("redis flushed"),
            Self::RedisFull => f.write_str("redis full"),
            Self::HangUps(percent) => write!(f, "{percent} % hang up"),
        }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let faults = match self {
            Self::Faults(faults) => faults,
            Self::Grace { at_once: false } => return f.write_str("everything leaves, the edges first"),
            Self::Grace { at_once: true } => return f.write_str("everything leaves at once"),
            Self::Rolling => return f.write_str("everything is replaced, one by one"),
            Self::Cluster => return f.write_str("a cluster of three loses its leader"),
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

    fn rounds() -> impl Iterator<Item = Round> {
        (0..500).map(|number| Round::draw(7, number, None))
    }

    #[test]
    fn a_round_is_drawn_from_seed_and_number_alone() {
        assert_eq!(Round::draw(1, 2, None), Round::draw(1, 2, None));
        assert_ne!(Round::draw(1, 2, None).seed, Round::draw(1, 3, None).seed);
        assert_ne!(Round::draw(1, 2, None).seed, Round::draw(2, 2, None).seed);
    }

    #[test]
    fn faults_of_a_round_have_targets_of_their_own_and_end_in_time() {
        for round in rounds() {
            let Plan::Faults(faults) = round.plan else {
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
    fn every_kind_has_its_turn_within_a_cycle() {
        let cycle: Vec<Plan> = (0..CYCLE)
            .map(|number| Round::draw(3, number, None).plan)
            .collect();
        let led = cycle.iter().filter_map(|plan| match plan {
            Plan::Faults(faults) => faults.first().map(|scheduled| scheduled.fault),
            _ => None,
        });
        assert_eq!(led.count(), KINDS.len());
        for plan in [Plan::Rolling, Plan::Cluster] {
            assert!(cycle.contains(&plan));
        }
        assert!(cycle.iter().any(|plan| matches!(plan, Plan::Grace { .. })));
    }

    #[test]
    fn a_kind_can_be_asked_for() {
        for number in 0..10 {
            let Plan::Faults(faults) = Round::draw(1, number, Some("natswiped")).plan else {
                panic!("no faults")
            };
            assert_eq!(faults[0].fault, Fault::NatsWiped);
        }
        assert_eq!(Round::draw(1, 0, Some("cluster")).plan, Plan::Cluster);
    }
}
