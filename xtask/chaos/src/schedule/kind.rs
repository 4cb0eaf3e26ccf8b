//! Every kind of fault that can lead a round.

use super::fault::{Fault, Server, Service, Trouble};
use crate::rng::Rng;

/// A program; its services are interchangeable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Program {
    Ingest,
    Worker,
    Delivery,
    WebhookConsumer,
}

impl Program {
    const ALL: [Self; 4] = [Self::Ingest, Self::Worker, Self::Delivery, Self::WebhookConsumer];

    fn service(self, rng: &mut Rng) -> Service {
        match self {
            Self::Ingest => rng.pick(&Service::INGESTS),
            Self::Worker => rng.pick(&Service::WORKERS),
            Self::Delivery => rng.pick(&Service::DELIVERIES),
            Self::WebhookConsumer => Service::WebhookConsumer,
        }
    }

    /// Its crash points.
    const fn crash_points(self) -> &'static [&'static str] {
        match self {
            Self::Ingest => &[
                "ingest.after_claim",
                "ingest.after_publish",
                "ingest.before_answer",
            ],
            Self::Worker => &[
                "worker.after_commit",
                "worker.before_ack",
                "worker.after_outbox_publish",
                AFTER_RELAY,
            ],
            Self::Delivery => &[
                "delivery.after_place",
                "delivery.after_take",
                "delivery.after_send",
                "delivery.before_finish",
                "delivery.after_finish",
            ],
            Self::WebhookConsumer => &[
                "webhook-consumer.after_commit",
                "webhook-consumer.before_answer",
                "webhook-consumer.after_publish",
            ],
        }
    }
}

/// The relay has work only if an ingest could not publish its claims.
const AFTER_RELAY: &str = "worker.after_relay";

/// A [`Trouble`] before its parameters are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Disturbance {
    Slow,
    Silent,
    SilentThenBroken,
    Reset,
    Cut,
}

impl Disturbance {
    const ALL: [Self; 5] = [
        Self::Slow,
        Self::Silent,
        Self::SilentThenBroken,
        Self::Reset,
        Self::Cut,
    ];

    fn draw(self, rng: &mut Rng) -> Trouble {
        match self {
            Self::Slow => Trouble::Slow(rng.millis(20, 200)),
            Self::Silent => Trouble::Silent { breaks: false },
            Self::SilentThenBroken => Trouble::Silent { breaks: true },
            Self::Reset => Trouble::Reset,
            Self::Cut => Trouble::CutAfter(rng.below(4_000)),
        }
    }
}

/// A [`Fault`] before its target and parameters are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Kill(Program),
    Freeze(Program),
    Crash(Program, &'static str),
    Clock(Program),
    Network(Server, Disturbance),
    CommitUnheard(Program),
    PostgresStop,
    PostgresTerminate,
    PostgresDiskFull,
    PostgresPromoted,
    NatsKill,
    NatsStreamsFull,
    NatsDiskFull,
    NatsConsumerDeleted,
    NatsStreamDeleted,
    NatsWiped,
    RedisKill,
    RedisFreeze,
    RedisFlush,
    RedisFull,
    HangUps,
}

const OF_SERVERS_AND_CLIENTS: [Kind; 15] = [
    Kind::PostgresStop,
    Kind::PostgresTerminate,
    Kind::PostgresDiskFull,
    Kind::PostgresPromoted,
    Kind::NatsKill,
    Kind::NatsStreamsFull,
    Kind::NatsDiskFull,
    Kind::NatsConsumerDeleted,
    Kind::NatsStreamDeleted,
    Kind::NatsWiped,
    Kind::RedisKill,
    Kind::RedisFreeze,
    Kind::RedisFlush,
    Kind::RedisFull,
    Kind::HangUps,
];

/// Streams whose loss has visible effects.
const NOUNS: [&str; 6] = ["clicks", "leads", "sales", "refunds", "payments", "notifications"];

impl Kind {
    pub(super) fn all() -> Vec<Self> {
        let mut kinds = OF_SERVERS_AND_CLIENTS.to_vec();
        for program in Program::ALL {
            kinds.extend([
                Self::Kill(program),
                Self::Freeze(program),
                Self::Clock(program),
                Self::CommitUnheard(program),
            ]);
            let points = program.crash_points().iter();
            kinds.extend(points.map(|point| Self::Crash(program, point)));
        }
        for server in Server::ALL {
            kinds.extend(Disturbance::ALL.map(|disturbance| Self::Network(server, disturbance)));
        }
        kinds
    }

    /// `natswiped`, `killworker`, `networkredissilent`: `--only` matches a part of it.
    pub(super) fn name(self) -> String {
        let name = format!("{self:?}").to_lowercase();
        name.chars().filter(|sign| !"(), \"".contains(*sign)).collect()
    }

    /// Usually one fault; more if one alone would have no effect.
    pub(super) fn faults(self, rng: &mut Rng) -> Vec<Fault> {
        if !matches!(self, Self::Crash(_, AFTER_RELAY)) {
            return vec![self.draw(rng)];
        }
        // Either worker may be the one that relays.
        let mut faults = Vec::from(Service::WORKERS.map(|service| Fault::Crash {
            service,
            point: AFTER_RELAY,
            time: 1,
        }));
        faults.push(Fault::Network {
            server: Server::Nats,
            of: Some(rng.pick(&Service::INGESTS)),
            trouble: Trouble::Silent { breaks: true },
        });
        faults
    }

    pub(super) fn draw(self, rng: &mut Rng) -> Fault {
        match self {
            Self::Kill(program) => Fault::Kill(program.service(rng)),
            Self::Freeze(program) => Fault::Freeze(program.service(rng)),
            Self::Crash(program, point) => Fault::Crash {
                service: program.service(rng),
                point,
                time: rng.between(1, 12),
            },
            Self::Clock(program) => Fault::Clock(program.service(rng), rng.pick(&[600, -600])),
            Self::Network(server, disturbance) => Fault::Network {
                server,
                of: rng.chance(50).then(|| rng.pick(&Service::ALL)),
                trouble: disturbance.draw(rng),
            },
            Self::CommitUnheard(program) => Fault::CommitUnheard {
                service: program.service(rng),
                times: u32::try_from(rng.between(1, 5)).unwrap_or(1),
            },
            Self::PostgresStop => Fault::PostgresStop,
            Self::PostgresTerminate => Fault::PostgresTerminate,
            Self::PostgresDiskFull => Fault::PostgresDiskFull,
            Self::PostgresPromoted => Fault::PostgresPromoted,
            Self::NatsKill => Fault::NatsKill,
            Self::NatsStreamsFull => Fault::NatsStreamsFull,
            Self::NatsDiskFull => Fault::NatsDiskFull,
            Self::NatsConsumerDeleted => Fault::NatsConsumerDeleted(rng.pick(&NOUNS)),
            Self::NatsStreamDeleted => Fault::NatsStreamDeleted(rng.pick(&NOUNS)),
            Self::NatsWiped => Fault::NatsWiped,
            Self::RedisKill => Fault::RedisKill,
            Self::RedisFreeze => Fault::RedisFreeze,
            Self::RedisFlush => Fault::RedisFlush,
            Self::RedisFull => Fault::RedisFull,
            Self::HangUps => Fault::HangUps(rng.between(10, 40)),
        }
    }
}
