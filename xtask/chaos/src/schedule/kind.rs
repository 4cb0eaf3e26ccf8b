//! Every kind of fault that can lead a round.

use messages::subject::Subject;

use super::fault::{Fault, Server, Service, Trouble};
use crate::rng::Rng;

/// A program, its interchangeable services, and its crash points.
type Program = (&'static str, &'static [Service], &'static [&'static str]);

const PROGRAMS: [Program; 4] = [
    (
        "ingest",
        &Service::INGESTS,
        &[
            "ingest.after_claim",
            "ingest.after_publish",
            "ingest.before_answer",
        ],
    ),
    (
        "worker",
        &Service::WORKERS,
        &[
            "worker.after_commit",
            "worker.before_ack",
            "worker.after_outbox_publish",
            AFTER_RELAY,
        ],
    ),
    (
        "delivery",
        &Service::DELIVERIES,
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
        &[Service::WEBHOOK_CONSUMER],
        &[
            "webhook-consumer.after_commit",
            "webhook-consumer.before_answer",
            "webhook-consumer.after_publish",
        ],
    ),
];

/// The relay has work only if an ingest could not publish its claims.
const AFTER_RELAY: &str = "worker.after_relay";

/// Streams whose loss has visible effects.
const STREAMS: [Subject; 6] = [
    Subject::Clicks,
    Subject::Leads,
    Subject::Sales,
    Subject::Refunds,
    Subject::Payments,
    Subject::Notifications,
];

/// A fault of each kind, whose target and parameters are drawn, by the kind's name: `natswiped`, `killworker`,
/// `networkredissilent`.
pub(super) fn drawn(rng: &mut Rng) -> Vec<(String, Fault)> {
    let mut kinds: Vec<(String, Fault)> = [
        ("postgresstop", Fault::PostgresStop),
        ("postgresterminate", Fault::PostgresTerminate),
        ("postgresdiskfull", Fault::PostgresDiskFull),
        ("natskill", Fault::NatsKill),
        ("natsstreamsfull", Fault::NatsStreamsFull),
        ("natsdiskfull", Fault::NatsDiskFull),
        (
            "natsconsumerdeleted",
            Fault::NatsConsumerDeleted(rng.pick(&STREAMS)),
        ),
        ("natsstreamdeleted", Fault::NatsStreamDeleted(rng.pick(&STREAMS))),
        ("natswiped", Fault::NatsWiped),
        ("rediskill", Fault::RedisKill),
        ("redisfreeze", Fault::RedisFreeze),
        ("redisflush", Fault::RedisFlush),
        ("redisfull", Fault::RedisFull),
        ("hangups", Fault::HangUps(rng.between(10, 40))),
    ]
    .map(|(name, fault)| (name.to_owned(), fault))
    .into();
    for (program, services, crash_points) in PROGRAMS {
        let service = rng.pick(services);
        kinds.extend(
            [
                ("kill", Fault::Kill(service)),
                ("freeze", Fault::Freeze(service)),
                ("clock", Fault::Clock(service, rng.pick(&[600, -600]))),
                (
                    "commitunheard",
                    Fault::Network {
                        server: Server::Postgres,
                        of: Some(service),
                        trouble: Trouble::CommitUnheard {
                            times: rng.between(1, 5),
                        },
                    },
                ),
            ]
            .map(|(name, fault)| (format!("{name}{program}"), fault)),
        );
        for point in crash_points {
            let time = rng.between(1, 12);
            let crash = Fault::Crash { service, point, time };
            kinds.push((format!("crash{point}"), crash));
        }
    }
    for server in Server::ALL {
        let of = rng.chance(50).then(|| rng.pick(&Service::ALL));
        let kind = |(name, trouble)| {
            let fault = Fault::Network { server, of, trouble };
            (format!("network{}{name}", server.name()), fault)
        };
        let troubles = [
            ("slow", Trouble::Slow(rng.millis(20, 200))),
            ("silent", Trouble::Silent { breaks: false }),
            ("silentthenbroken", Trouble::Silent { breaks: true }),
            ("reset", Trouble::Reset),
            ("cut", Trouble::CutAfter(rng.between(0, 4_000))),
        ];
        kinds.extend(troubles.map(kind));
    }
    kinds
}

/// Usually the fault alone; more if it alone would have no effect.
pub(super) fn effective(fault: Fault, rng: &mut Rng) -> Vec<Fault> {
    let Fault::Crash {
        point: AFTER_RELAY, ..
    } = fault
    else {
        return vec![fault];
    };
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
