//! Faults of services, servers, the network and clients.

use std::fmt;
use std::time::Duration;

use harness::services::DELIVERY;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Service {
    Ingest1,
    Ingest2,
    Worker1,
    Worker2,
    Delivery1,
    Delivery2,
    WebhookConsumer,
}

impl Service {
    pub(crate) const ALL: [Self; 7] = [
        Self::Worker1,
        Self::Worker2,
        Self::Delivery1,
        Self::Delivery2,
        Self::WebhookConsumer,
        Self::Ingest1,
        Self::Ingest2,
    ];
    pub(crate) const INGESTS: [Self; 2] = [Self::Ingest1, Self::Ingest2];
    pub(crate) const WORKERS: [Self; 2] = [Self::Worker1, Self::Worker2];
    /// Workers in the delivery role.
    pub(crate) const DELIVERIES: [Self; 2] = [Self::Delivery1, Self::Delivery2];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Ingest1 => "ingest-1",
            Self::Ingest2 => "ingest-2",
            Self::Worker1 => "worker-1",
            Self::Worker2 => "worker-2",
            Self::Delivery1 => "delivery-1",
            Self::Delivery2 => "delivery-2",
            Self::WebhookConsumer => "webhook-consumer",
        }
    }

    pub(crate) const fn program(self) -> &'static str {
        match self {
            Self::Ingest1 | Self::Ingest2 => "ingest",
            Self::Worker1 | Self::Worker2 => "worker",
            Self::Delivery1 | Self::Delivery2 => DELIVERY,
            Self::WebhookConsumer => "webhook-consumer",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Server {
    Postgres,
    Nats,
    Redis,
}

impl Server {
    pub(crate) const ALL: [Self; 3] = [Self::Postgres, Self::Nats, Self::Redis];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
            Self::Nats => "nats",
            Self::Redis => "redis",
        }
    }
}

/// A fault of the network between services and a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trouble {
    Slow(Duration),
    /// Nothing passes; afterwards connections resume or break.
    Silent {
        breaks: bool,
    },
    Reset,
    CutAfter(u64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// kill -9, restarted at the end.
    Kill(Service),
    /// SIGSTOP until the end: longer than the acknowledgement timeout.
    Freeze(Service),
    /// Crashes the n-th time it reaches this point.
    Crash {
        service: Service,
        point: &'static str,
        time: u64,
    },
    /// Its clock is shifted by seconds.
    Clock(Service, i64),
    /// Between one service and the server, or all of them.
    Network {
        server: Server,
        of: Option<Service>,
        trouble: Trouble,
    },
    /// The server commits, and its confirmation is lost.
    CommitUnheard {
        service: Service,
        times: u32,
    },
    /// Immediate: every transaction is lost, and the next start recovers.
    PostgresStop,
    PostgresTerminate,
    PostgresDiskFull,
    /// The primary is lost for good: its standby is promoted, and the address moves. At the end it moves back.
    PostgresPromoted,
    NatsKill,
    NatsStreamsFull,
    NatsDiskFull,
    NatsConsumerDeleted(&'static str),
    NatsStreamDeleted(&'static str),
    /// Restarted with an empty store.
    NatsWiped,
    RedisKill,
    RedisFreeze,
    RedisFlush,
    RedisFull,
    /// Clients disconnect in this percentage of requests.
    HangUps(u64),
}

/// The target of a fault. Faults of one round have different targets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    Service(Service),
    Server(Server),
    Clients,
}

impl Fault {
    pub(super) fn target(self) -> Target {
        match self {
            Self::Kill(service)
            | Self::Freeze(service)
            | Self::Crash { service, .. }
            | Self::Clock(service, _) => Target::Service(service),
            Self::Network { server, .. } => Target::Server(server),
            Self::CommitUnheard { .. }
            | Self::PostgresStop
            | Self::PostgresTerminate
            | Self::PostgresDiskFull
            | Self::PostgresPromoted => Target::Server(Server::Postgres),
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

    /// The kind, without drawn parameters.
    pub(super) fn kind(self) -> String {
        match self {
            Self::Kill(service) => format!("kill {}", service.program()),
            Self::Freeze(service) => format!("freeze {}", service.program()),
            Self::Crash { point, .. } => format!("crash at {point}"),
            Self::Clock(service, _) => format!("clock of {}", service.program()),
            Self::Network { server, trouble, .. } => {
                let trouble = match trouble {
                    Trouble::Slow(_) => "slow",
                    Trouble::Silent { breaks: false } => "silent",
                    Trouble::Silent { breaks: true } => "silent, then broken",
                    Trouble::Reset => "reset",
                    Trouble::CutAfter(_) => "cut",
                };
                format!("network to {} {trouble}", server.name())
            }
            Self::CommitUnheard { service, .. } => format!("commits of {} unconfirmed", service.program()),
            Self::NatsConsumerDeleted(_) => "nats consumer deleted".to_owned(),
            Self::NatsStreamDeleted(_) => "nats stream deleted".to_owned(),
            Self::HangUps(_) => "clients hang up".to_owned(),
            other => other.to_string(),
        }
    }

    /// Whether acknowledged clicks that are not stored yet may be lost: only their stream has them.
    pub(super) fn may_lose_clicks(self) -> bool {
        matches!(self, Self::NatsWiped | Self::NatsStreamDeleted("clicks"))
    }

    /// Whether callers must not notice it: a failed limiter refuses nobody.
    pub(super) fn is_invisible(self) -> bool {
        self.target() == Target::Server(Server::Redis)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kill(service) => write!(f, "kill {}", service.name()),
            Self::Freeze(service) => write!(f, "freeze {}", service.name()),
            Self::Crash { service, point, time } => write!(f, "{} crashes at {point}@{time}", service.name()),
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
                write!(f, "{times} commits of {} unconfirmed", service.name())
            }
            Self::PostgresStop => f.write_str("postgres stopped"),
            Self::PostgresTerminate => f.write_str("postgres backends terminated"),
            Self::PostgresDiskFull => f.write_str("postgres disk full"),
            Self::PostgresPromoted => f.write_str("postgres standby promoted"),
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
