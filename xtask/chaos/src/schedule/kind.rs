//! Every kind of fault that can lead a round.

use messages::subject::Subject;

use super::fault::{Fault, Server, Service, Trouble};
use crate::rng::Rng;

/// The interchangeable services of each program.
const PROGRAMS: [&[Service]; 4] = [
    &Service::INGESTS,
    &Service::WORKERS,
    &Service::DELIVERIES,
    &[Service::WEBHOOK_CONSUMER],
];

/// Where a process can be made to exit, each after the name of its program.
const CRASH_POINTS: [&str; 15] = [
    "ingest.after_claim",
    "ingest.after_publish",
    "ingest.before_answer",
    "worker.after_commit",
    "worker.before_ack",
    "worker.after_outbox_publish",
    AFTER_RELAY,
    "delivery.after_place",
    "delivery.after_take",
    "delivery.after_send",
    "delivery.before_finish",
    "delivery.after_finish",
    "webhook-consumer.after_commit",
    "webhook-consumer.before_answer",
    "webhook-consumer.after_publish",
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

/// A fault of each kind, whose target and parameters are drawn, by the kind's name: `natswiped`,
/// `killworker`, `networkredissilent`.
pub(super) fn drawn(rng: &mut Rng) -> Vec<(String, Fault)> {
    let mut kinds: Vec<(String, Fault)> = [
        ("postgresstop", Fault::PostgresStop),
        ("postgresterminate", Fault::PostgresTerminate),
        ("postgresdiskfull", Fault::DiskFull(Server::Postgres)),
        ("natskill", Fault::ServerKill(Server::Nats)),
        ("natsstreamsfull", Fault::NatsStreamsFull),
        ("natsdiskfull", Fault::DiskFull(Server::Nats)),
        (
            "natsconsumerdeleted",
            Fault::NatsConsumerDeleted(rng.pick(&STREAMS)),
        ),
        ("natsstreamdeleted", Fault::NatsStreamDeleted(rng.pick(&STREAMS))),
        ("natswiped", Fault::NatsWiped),
        ("rediskill", Fault::ServerKill(Server::Redis)),
        ("redisfreeze", Fault::RedisFreeze),
        ("redisflush", Fault::RedisFlush),
        ("redisfull", Fault::RedisFull),
        ("hangups", Fault::HangUps(rng.between(10, 40))),
    ]
    .map(|(name, fault)| (name.to_owned(), fault))
    .into();
    for services in PROGRAMS {
        let service = rng.pick(services);
        let program = service.program().replace('-', "");
        kinds.extend(
            [
                ("kill", Fault::Kill(service)),
                ("freeze", Fault::Freeze(service)),
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
        for point in CRASH_POINTS {
            if point.split('.').next() == Some(service.program()) {
                let time = rng.between(1, 12);
                kinds.push((format!("crash{point}"), Fault::Crash { service, point, time }));
            }
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
