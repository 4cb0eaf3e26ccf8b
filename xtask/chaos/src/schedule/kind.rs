//! Every kind of fault that can lead a round.

use messages::subject::Subject;

use super::fault::{Fault, Server, Service, Trouble};
use crate::rng::Rng;

/// A program: one of its interchangeable services, and its crash points.
type Program = (&'static str, fn(&mut Rng) -> Service, &'static [&'static str]);

const PROGRAMS: [Program; 4] = [
    (
        "ingest",
        |rng| rng.pick(&Service::INGESTS),
        &[
            "ingest.after_claim",
            "ingest.after_publish",
            "ingest.before_answer",
        ],
    ),
    (
        "worker",
        |rng| rng.pick(&Service::WORKERS),
        &[
            "worker.after_commit",
            "worker.before_ack",
            "worker.after_outbox_publish",
            AFTER_RELAY,
        ],
    ),
    (
        "delivery",
        |rng| rng.pick(&Service::DELIVERIES),
        &[
            "delivery.after_place",
            "delivery.after_take",
            "delivery.after_send",
            "delivery.before_finish",
            "delivery.after_finish",
        ],
    ),
    (
        "webhookconsumer",
        |_| Service::WEBHOOK_CONSUMER,
        &[
            "webhook-consumer.after_commit",
            "webhook-consumer.before_answer",
            "webhook-consumer.after_publish",
        ],
    ),
];

/// The relay has work only if an ingest could not publish its claims.
const AFTER_RELAY: &str = "worker.after_relay";

type DrawTrouble = fn(&mut Rng) -> Trouble;

const TROUBLES: [(&str, DrawTrouble); 5] = [
    ("slow", |rng| Trouble::Slow(rng.millis(20, 200))),
    ("silent", |_| Trouble::Silent { breaks: false }),
    ("silentthenbroken", |_| Trouble::Silent { breaks: true }),
    ("reset", |_| Trouble::Reset),
    ("cut", |rng| Trouble::CutAfter(rng.below(4_000))),
];

/// Streams whose loss has visible effects.
const STREAMS: [Subject; 6] = [
    Subject::Clicks,
    Subject::Leads,
    Subject::Sales,
    Subject::Refunds,
    Subject::Payments,
    Subject::Notifications,
];

/// A [`Fault`] before its target and parameters are drawn.
pub(super) struct Kind {
    /// `natswiped`, `killworker`, `networkredissilent`: `--only` matches a part of it.
    pub(super) name: String,
    draw: Box<dyn Fn(&mut Rng) -> Fault>,
}

impl Kind {
    fn new(name: impl Into<String>, draw: impl Fn(&mut Rng) -> Fault + 'static) -> Self {
        Self {
            name: name.into(),
            draw: Box::new(draw),
        }
    }

    /// Without a parameter.
    fn plain(fault: Fault) -> Self {
        Self::new(format!("{fault:?}").to_lowercase(), move |_| fault)
    }

    pub(super) fn all() -> Vec<Self> {
        let mut kinds = vec![
            Self::plain(Fault::PostgresStop),
            Self::plain(Fault::PostgresTerminate),
            Self::plain(Fault::PostgresDiskFull),
            Self::plain(Fault::PostgresPromoted),
            Self::plain(Fault::NatsKill),
            Self::plain(Fault::NatsStreamsFull),
            Self::plain(Fault::NatsDiskFull),
            Self::new("natsconsumerdeleted", |rng| {
                Fault::NatsConsumerDeleted(rng.pick(&STREAMS))
            }),
            Self::new("natsstreamdeleted", |rng| {
                Fault::NatsStreamDeleted(rng.pick(&STREAMS))
            }),
            Self::plain(Fault::NatsWiped),
            Self::plain(Fault::RedisKill),
            Self::plain(Fault::RedisFreeze),
            Self::plain(Fault::RedisFlush),
            Self::plain(Fault::RedisFull),
            Self::new("hangups", |rng| Fault::HangUps(rng.between(10, 40))),
        ];
        kinds.extend(PROGRAMS.into_iter().flat_map(Self::of_program));
        kinds.extend(Server::ALL.into_iter().flat_map(Self::of_network));
        kinds
    }

    fn of_program((program, service, crash_points): Program) -> Vec<Self> {
        let mut kinds = vec![
            Self::new(format!("kill{program}"), move |rng| Fault::Kill(service(rng))),
            Self::new(format!("freeze{program}"), move |rng| Fault::Freeze(service(rng))),
            Self::new(format!("clock{program}"), move |rng| {
                Fault::Clock(service(rng), rng.pick(&[600, -600]))
            }),
            Self::new(format!("commitunheard{program}"), move |rng| {
                Fault::CommitUnheard {
                    service: service(rng),
                    times: u32::try_from(rng.between(1, 5)).unwrap_or(1),
                }
            }),
        ];
        kinds.extend(crash_points.iter().map(|point| {
            Self::new(format!("crash{point}"), move |rng| Fault::Crash {
                service: service(rng),
                point,
                time: rng.between(1, 12),
            })
        }));
        kinds
    }

    fn of_network(server: Server) -> Vec<Self> {
        let kind = |(name, trouble): (&str, DrawTrouble)| {
            Self::new(format!("network{}{name}", server.name()), move |rng| {
                Fault::Network {
                    server,
                    of: rng.chance(50).then(|| rng.pick(&Service::ALL)),
                    trouble: trouble(rng),
                }
            })
        };
        TROUBLES.map(kind).into()
    }

    pub(super) fn draw(&self, rng: &mut Rng) -> Fault {
        (self.draw)(rng)
    }

    /// Usually one fault; more if one alone would have no effect.
    pub(super) fn faults(&self, rng: &mut Rng) -> Vec<Fault> {
        if !self.name.ends_with(AFTER_RELAY) {
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
}
