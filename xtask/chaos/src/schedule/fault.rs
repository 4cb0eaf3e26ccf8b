//! Faults of services, servers, the network and clients.

use std::time::Duration;

use messages::subject::Subject;

/// A process, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Service(&'static str);

impl Service {
    pub(crate) const INGESTS: [Self; 2] = [Self("ingest-1"), Self("ingest-2")];
    pub(crate) const WORKERS: [Self; 2] = [Self("worker-1"), Self("worker-2")];
    /// Workers in the delivery role.
    pub(crate) const DELIVERIES: [Self; 2] = [Self("delivery-1"), Self("delivery-2")];
    pub(crate) const WEBHOOK_CONSUMER: Self = Self("webhook-consumer");
    /// In the order of their start.
    pub(crate) const ALL: [Self; 7] = [
        Self::WORKERS[0],
        Self::WORKERS[1],
        Self::DELIVERIES[0],
        Self::DELIVERIES[1],
        Self::WEBHOOK_CONSUMER,
        Self::INGESTS[0],
        Self::INGESTS[1],
    ];

    pub(crate) const fn name(self) -> &'static str {
        self.0
    }

    /// Its name without its number.
    pub(crate) fn program(self) -> &'static str {
        self.0.trim_end_matches(['-', '1', '2'])
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

/// A fault of the network between services and a server. It applies to existing connections, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// Each piece is delayed.
    Slow(Duration),
    /// Nothing passes; afterwards connections resume or break.
    Silent {
        breaks: bool,
    },
    Reset,
    /// Connections break after this many bytes of responses.
    CutAfter(u64),
    /// The database commits, and connections break before its confirmation: about as many as `times`.
    CommitUnheard {
        times: u64,
    },
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
    /// Between one service and the server, or all of them.
    Network {
        server: Server,
        of: Option<Service>,
        trouble: Trouble,
    },
    /// kill -9, restarted at the end.
    ServerKill(Server),
    DiskFull(Server),
    /// Immediate: every transaction is lost, and the next start recovers.
    PostgresStop,
    PostgresTerminate,
    NatsStreamsFull,
    NatsConsumerDeleted(Subject),
    NatsStreamDeleted(Subject),
    /// Restarted with an empty store.
    NatsWiped,
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
            Self::Kill(service) | Self::Freeze(service) | Self::Crash { service, .. } => {
                Target::Service(service)
            }
            Self::Network { server, .. } | Self::ServerKill(server) | Self::DiskFull(server) => {
                Target::Server(server)
            }
            Self::PostgresStop | Self::PostgresTerminate => Target::Server(Server::Postgres),
            Self::NatsStreamsFull
            | Self::NatsConsumerDeleted(_)
            | Self::NatsStreamDeleted(_)
            | Self::NatsWiped => Target::Server(Server::Nats),
            Self::RedisFreeze | Self::RedisFlush | Self::RedisFull => Target::Server(Server::Redis),
            Self::HangUps(_) => Target::Clients,
        }
    }

    /// Whether acknowledged clicks that are not stored yet may be lost: only their stream has them.
    pub(super) fn may_lose_clicks(self) -> bool {
        matches!(self, Self::NatsWiped | Self::NatsStreamDeleted(Subject::Clicks))
    }

    /// Whether callers must not notice it: a failed limiter refuses nobody.
    pub(super) fn is_invisible(self) -> bool {
        self.target() == Target::Server(Server::Redis)
    }
}
