//! Servers, services and the network between them: started once for all rounds.
//!
//! Servers and services are supervised separately: a service may die in a round, a server only by a fault of
//! its own.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitStatus;
use std::time::Duration;

use anyhow::{Result, ensure};
use harness::area::{Area, Checkout};
use harness::env_file::EnvFile;
use harness::interrupt::Interrupt;
use harness::keys;
use harness::ports::Ports;
use harness::process::{self, Running, in_own_session, tail};
use harness::progress::{Step, note};
use harness::servers::{self, Servers, postgres, provide};
use harness::services::{DELIVERY, ctl, program, readiness};
use harness::stop::start_empty;
use harness::stop::stop_area;
use sqlx::PgPool;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use tokio::runtime::Runtime;

use super::disk::Disk;
use super::funnel::TIMEOUT_MS;
use super::proxy::{Proxy, address_of};
use super::schedule::{Server, Service};

/// So that a frozen worker's messages are redelivered within a round.
const ACK_WAIT_MS: u64 = 1_500;
pub(super) const STREAM_MAX_BYTES: i64 = 8 << 20;
/// Enough for a few hundred rounds with the WAL below, and for eight streams.
const POSTGRES_MEBIBYTES: u64 = 768;
const NATS_MEBIBYTES: u64 = 128;
const READY_LIMIT: Duration = Duration::from_secs(40);

pub(super) struct Stack<'a> {
    pub(super) checkout: &'a Checkout,
    pub(super) area: Area,
    pub(super) services_area: Area,
    /// Declared before the servers, so that they are dropped first.
    services: Running,
    pub(super) running: Running,
    pub(super) servers: Servers,
    pub(super) runtime: Runtime,
    pub(super) interrupt: &'a Interrupt,
    pub(super) pool: PgPool,
    pub(super) env: EnvFile,
    proxies: BTreeMap<(Service, Server), Proxy>,
    ports: BTreeMap<Service, u16>,
    /// Services that are not restarted for now.
    pub(super) down: BTreeSet<Service>,
    /// Services that run with a crash point.
    pub(super) armed: BTreeSet<Service>,
    /// Crashes at crash points.
    pub(super) crashes: u32,
    /// Unexpected exits.
    pub(super) surprises: Vec<String>,
    pub(super) disks: BTreeMap<Server, Disk>,
    _lock: File,
}

impl<'a> Stack<'a> {
    pub(super) fn start(checkout: &'a Checkout, interrupt: &'a Interrupt) -> Result<Self> {
        let area = checkout.chaos_area();
        let lock = area.lock()?;
        let services_area = Area::at(area.dir.join("services"));
        stop_area(&services_area)?;
        stop_area(&area)?;
        unmount_disks(&area);
        start_empty(&area)?;
        let owner = postgres::is_root().then_some("postgres");
        let mut disks = BTreeMap::new();
        for (server, mebibytes, owner) in [
            (Server::Postgres, POSTGRES_MEBIBYTES, owner),
            (Server::Nats, NATS_MEBIBYTES, None),
        ] {
            let disk = Disk::mount(&area.dir.join(server.name()), mebibytes, owner)?;
            disks.extend(disk.map(|disk| (server, disk)));
        }
        let mut running = Running::none(&area)?;
        let servers = provide(checkout, &area, &mut running, interrupt)?;
        let mut env = keys::read_or_create(&area)?;
        env.set_all(servers.urls());
        process::output(ctl(checkout, &env).arg("migrate"))?;
        let runtime = Runtime::new()?;
        let pool = runtime.block_on(connect(&servers.database_url))?;
        for (setting, value) in settings() {
            env.set(setting, value);
        }
        let mut stack = Self {
            checkout,
            services: Running::none(&services_area)?,
            area,
            services_area,
            running,
            servers,
            runtime,
            interrupt,
            pool,
            env,
            proxies: BTreeMap::new(),
            ports: BTreeMap::new(),
            down: BTreeSet::new(),
            armed: BTreeSet::new(),
            crashes: 0,
            surprises: Vec::new(),
            disks,
            _lock: lock,
        };
        stack.start_proxies()?;
        let step = Step::start("Starting the services");
        stack.start_services()?;
        step.done("ready");
        Ok(stack)
    }

    /// Starts a proxy for each pair of service and server, and chooses the ports of each service.
    fn start_proxies(&mut self) -> Result<()> {
        let mut ports = Ports::of(&self.services_area)?;
        for service in Service::ALL {
            self.ports.insert(service, ports.choose(service.name(), None)?);
            for server in Server::ALL {
                let address = address_of(self.url(server))?;
                let handle = self.runtime.handle();
                let proxy = Proxy::start(handle, address, server == Server::Postgres)?;
                self.proxies.insert((service, server), proxy);
            }
        }
        Ok(())
    }

    pub(super) fn url(&self, server: Server) -> &str {
        match server {
            Server::Postgres => &self.servers.database_url,
            Server::Nats => &self.servers.nats_url,
            Server::Redis => &self.servers.redis_url,
        }
    }

    /// Creates a program for one round; returns the variables that `ctl` prints.
    pub(super) fn seed_demo(&self) -> Result<EnvFile> {
        let printed = process::output(ctl(self.checkout, &self.env).arg("seed-demo"))?;
        Ok(EnvFile::parse(&printed))
    }

    /// The proxies between a server and one service, or all services.
    pub(super) fn proxies(&self, server: Server, of: Option<Service>) -> impl Iterator<Item = &Proxy> {
        self.proxies
            .iter()
            .filter(move |((service, to), _)| *to == server && of.is_none_or(|of| of == *service))
            .map(|(_, proxy)| proxy)
    }

    pub(super) fn all_proxies(&self) -> impl Iterator<Item = &Proxy> {
        self.proxies.values()
    }

    pub(super) fn address(&self, service: Service) -> SocketAddr {
        let port = self.ports.get(&service).copied().unwrap_or(0);
        SocketAddr::from((Ipv4Addr::LOCALHOST, port))
    }

    /// `more`: settings of this process only.
    pub(super) fn start_service(&mut self, service: Service, more: &[(&str, String)]) -> Result<()> {
        let mut command = in_own_session(self.checkout.bin_dir.join(program(service.program())));
        command
            .current_dir(&self.checkout.root)
            .envs(self.env.iter())
            .env("LISTEN", self.address(service).to_string())
            // The shell's address would be the same for all services.
            .env_remove("METRICS_LISTEN");
        if service.program() == DELIVERY {
            command.env("WORKER_ROLE", DELIVERY);
        }
        for (server, (name, url)) in Server::ALL.into_iter().zip(self.servers.urls()) {
            let through = match self.proxies.get(&(service, server)) {
                Some(proxy) => url.replace(&address_of(url)?.to_string(), &proxy.address.to_string()),
                None => url.to_owned(),
            };
            command.env(name, through);
        }
        command.envs(more.iter().map(|(name, value)| (name, value)));
        self.down.remove(&service);
        let log = self.services_area.log(service.name());
        self.services.start(service.name(), command, log)
    }

    /// `None` while it does not run.
    pub(super) fn pid(&self, service: Service) -> Option<u32> {
        self.services.process(service.name()).map(|process| process.pid)
    }

    pub(super) fn kill_service(&mut self, service: Service) -> Result<()> {
        self.down.insert(service);
        self.services.kill(service.name())
    }

    /// To a service or a server.
    pub(super) fn signal(&self, name: &str, signal: &str) {
        let process = self.services.process(name).or_else(|| self.running.process(name));
        if let Some(process) = process {
            process.send(signal);
        }
    }

    /// Starts its shutdown; it is not restarted.
    pub(super) fn shut_down(&mut self, service: Service) {
        self.down.insert(service);
        self.services.shut_down(service.name());
    }

    /// Its exit status, once it has ended.
    pub(super) fn ended(&mut self, service: Service) -> Result<Option<ExitStatus>> {
        self.services.ended(service.name())
    }

    pub(super) fn start_services(&mut self) -> Result<()> {
        for service in Service::ALL {
            self.start_service(service, &[])?;
        }
        self.wait_until_ready()
    }

    /// Restarts services that have ended, as an orchestrator does.
    pub(super) fn supervise(&mut self) -> Result<()> {
        self.interrupt.check()?;
        for service in Service::ALL {
            if !self.down.contains(&service)
                && let Some(status) = self.ended(service)?
            {
                if self.armed.remove(&service) {
                    self.crashes += 1;
                } else {
                    let tail = self.tail(service);
                    self.surprises
                        .push(format!("{} ended by itself ({status})\n{tail}", service.name()));
                }
                self.start_service(service, &[])?;
            }
        }
        Ok(())
    }

    pub(super) fn wait_until_ready(&mut self) -> Result<()> {
        let mut unready = None;
        let interrupt = self.interrupt;
        let ready = interrupt.wait_until(READY_LIMIT, || {
            self.supervise()?;
            unready = Service::ALL.into_iter().find_map(|service| {
                let error = readiness(self.address(service).port()).err()?;
                Some((service.name(), error))
            });
            Ok(unready.is_none())
        })?;
        ensure!(ready, "not ready: {unready:?}");
        Ok(())
    }

    pub(super) fn tail(&self, service: Service) -> String {
        tail(&self.services_area.log(service.name()))
    }

    /// Empties the logs of the services.
    pub(super) fn forget_logs(&self) -> Result<()> {
        for service in Service::ALL {
            File::create(self.services_area.log(service.name()))?;
        }
        Ok(())
    }

    /// Restarts a server on its port and data, and returns once it answers.
    pub(super) fn start_server(&mut self, server: Server) -> Result<()> {
        // Other servers may have ended too, which is not an error here.
        for other in Server::ALL {
            if self.running.ended(other.name())?.is_some() && other != server {
                note(format_args!("{} had ended", other.name()));
            }
        }
        servers::start_again(
            server.name(),
            &self.servers,
            &self.area,
            &mut self.running,
            self.interrupt,
        )
    }

    /// Stops everything and unmounts the disks.
    pub(super) fn clear(self) {
        let area = Area::at(self.area.dir.clone());
        self.stop();
        unmount_disks(&area);
    }

    /// Stops everything, and keeps data and logs.
    pub(super) fn stop(self) {
        let Self {
            services,
            running,
            runtime,
            ..
        } = self;
        drop(services);
        drop(running);
        // Does not wait for connections to stopped servers.
        runtime.shutdown_background();
    }
}

/// Also those that an earlier command left.
fn unmount_disks(area: &Area) {
    for server in [Server::Postgres, Server::Nats] {
        Disk::unmount(&area.dir.join(server.name()));
    }
}

/// What differs from the defaults.
fn settings() -> [(&'static str, String); 8] {
    let unlimited = || u32::MAX.to_string();
    [
        ("STREAM_MAX_BYTES", STREAM_MAX_BYTES.to_string()),
        ("ACK_WAIT_MS", ACK_WAIT_MS.to_string()),
        ("WEBHOOK_ALLOW_LOOPBACK", "true".to_owned()),
        ("WEBHOOK_TIMEOUT_MS", TIMEOUT_MS.to_string()),
        // The limiter counts, and never refuses.
        ("CLICK_LIMIT", unlimited()),
        ("LEAD_LIMIT", unlimited()),
        ("BROWSER_LEAD_LIMIT", unlimited()),
        ("SALE_REFUND_LIMIT", unlimited()),
    ]
}

async fn connect(url: &str) -> Result<PgPool> {
    let session = url.parse::<PgConnectOptions>()?.application_name("chaos");
    let pool = PgPoolOptions::new()
        .max_connections(4)
        .acquire_timeout(Duration::from_secs(5))
        .connect_with(session)
        .await?;
    // The WAL must not fill the small disk.
    for statement in [
        "ALTER SYSTEM SET max_wal_size = '96MB'",
        "ALTER SYSTEM SET min_wal_size = '64MB'",
        "SELECT pg_reload_conf()",
    ] {
        sqlx::raw_sql(statement).execute(&pool).await?;
    }
    Ok(pool)
}
