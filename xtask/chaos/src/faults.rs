//! Begins and ends faults.
//!
//! Ending a fault does only what an operator or an orchestrator would do: the service itself must handle the
//! rest (a missing stream, a hanging connection).

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use async_nats::jetstream::{self, stream};
use harness::area::remove;
use harness::progress::note;
use harness::servers::redis;
use messages::subject::Subject;

use super::disk::Disk;
use super::proxy::{Proxy, address_of};
use super::schedule::{Fault, Server};
use super::stack::{STREAM_MAX_BYTES, Stack};

/// Free space in an almost full stream.
const LAST_BYTES: i64 = 2_000;
const LIMIT: Duration = Duration::from_secs(10);

impl Stack<'_> {
    pub(super) fn begin(&mut self, fault: Fault) -> Result<()> {
        match fault {
            Fault::Kill(service) => self.kill_service(service)?,
            Fault::Freeze(service) => self.signal(service.name(), "STOP"),
            Fault::Crash { service, point, time } => {
                self.kill_service(service)?;
                self.armed.insert(service);
                self.start_service(service, &[("CRASH_AT", format!("{point}@{time}"))])?;
            }
            Fault::Network { server, of, trouble } => {
                self.proxies(server, of).for_each(|proxy| proxy.begin(trouble));
            }
            Fault::ServerKill(server) => self.running.kill(server.name())?,
            Fault::DiskFull(server) => self.disk(server)?.fill()?,
            Fault::PostgresStop => self.stop_postgres()?,
            Fault::PostgresTerminate => self.terminate_backends()?,
            Fault::NatsWiped => self.running.kill(Server::Nats.name())?,
            Fault::NatsStreamsFull => self.limit_streams(None)?,
            Fault::NatsConsumerDeleted(subject) => self.on_jetstream(async |jetstream| {
                let stream = jetstream.get_stream(subject.stream_name("")).await?;
                stream.delete_consumer(&subject.consumer_name()).await?;
                Ok(())
            })?,
            Fault::NatsStreamDeleted(subject) => self.on_jetstream(async |jetstream| {
                jetstream.delete_stream(subject.stream_name("")).await?;
                Ok(())
            })?,
            Fault::RedisFreeze => self.signal(Server::Redis.name(), "STOP"),
            Fault::RedisFlush => self.redis_command("FLUSHALL")?,
            Fault::RedisFull => {
                self.redis_command("CONFIG SET maxmemory-policy noeviction")?;
                self.redis_command("CONFIG SET maxmemory 1")?;
            }
            Fault::HangUps(_) => {}
        }
        Ok(())
    }

    pub(super) fn end(&mut self, fault: Fault) -> Result<()> {
        match fault {
            Fault::Kill(service) => self.start_service(service, &[])?,
            // It has crashed, and was restarted without the crash point.
            Fault::Crash { service, .. } if !self.armed.remove(&service) => {}
            Fault::Crash { service, .. } => {
                self.kill_service(service)?;
                self.start_service(service, &[])?;
            }
            Fault::Freeze(service) => self.signal(service.name(), "CONT"),
            Fault::Network { server, of, .. } => self.proxies(server, of).for_each(Proxy::end),
            Fault::ServerKill(server) => self.start_server(server)?,
            Fault::DiskFull(server) => self.clear_disk(server)?,
            Fault::PostgresStop => self.start_server(Server::Postgres)?,
            Fault::PostgresTerminate => self.terminate_backends()?,
            Fault::NatsWiped => {
                remove(&self.area.dir.join(Server::Nats.name()).join("jetstream"))?;
                self.start_server(Server::Nats)?;
            }
            Fault::NatsStreamsFull => self.limit_streams(Some(STREAM_MAX_BYTES))?,
            Fault::RedisFreeze => self.signal(Server::Redis.name(), "CONT"),
            Fault::RedisFull => self.redis_command("CONFIG SET maxmemory 0")?,
            Fault::NatsConsumerDeleted(_)
            | Fault::NatsStreamDeleted(_)
            | Fault::RedisFlush
            | Fault::HangUps(_) => {}
        }
        Ok(())
    }

    /// PostgreSQL's immediate shutdown.
    fn stop_postgres(&mut self) -> Result<()> {
        let name = Server::Postgres.name();
        self.signal(name, "QUIT");
        let interrupt = self.interrupt;
        let ended = interrupt.wait_until(LIMIT, || {
            Ok(self.running.ended(name)?.is_some() || self.running.process(name).is_none())
        })?;
        ensure!(ended, "{name} does not stop");
        Ok(())
    }

    fn terminate_backends(&self) -> Result<()> {
        let terminate = sqlx::query(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
             WHERE datname = current_database() AND application_name <> 'chaos'",
        );
        self.runtime.block_on(terminate.execute(&self.pool))?;
        Ok(())
    }

    fn disk(&self, server: Server) -> Result<&Disk> {
        self.disks
            .get(&server)
            .context("the server has no disk of its own")
    }

    /// PostgreSQL exits if its WAL cannot grow; after a full disk, NATS stores nothing until it is restarted.
    fn clear_disk(&mut self, server: Server) -> Result<()> {
        self.disk(server)?.clear()?;
        if server == Server::Nats {
            self.running.kill(server.name())?;
        }
        let has_ended = self.running.ended(server.name())?.is_some();
        if has_ended || self.running.process(server.name()).is_none() {
            self.start_server(server)?;
        }
        Ok(())
    }

    /// Acts by a direct connection, without a proxy.
    fn on_jetstream(&self, act: impl AsyncFnOnce(jetstream::Context) -> Result<()>) -> Result<()> {
        self.runtime
            .block_on(async { act(trials::jetstream(&self.servers).await?).await })
    }

    /// `None`: to their current size and a little more.
    fn limit_streams(&self, max_bytes: Option<i64>) -> Result<()> {
        self.on_jetstream(async |jetstream| {
            for subject in Subject::ALL {
                let found = jetstream.get_stream(subject.stream_name("")).await?;
                let info = found.cached_info();
                let held = i64::try_from(info.state.bytes).unwrap_or(STREAM_MAX_BYTES);
                let config = stream::Config {
                    max_bytes: max_bytes.unwrap_or(held + LAST_BYTES),
                    ..info.config.clone()
                };
                jetstream.update_stream(&config).await?;
            }
            Ok(())
        })
    }

    fn redis_command(&self, command: &str) -> Result<()> {
        let port = address_of(self.url(Server::Redis))?.port();
        let answer = redis::ask(port, command)?;
        ensure!(answer == "+OK", "Redis refuses {command}: {answer}");
        Ok(())
    }
}

/// Whether this machine allows the fault; prints the reason if not.
pub(super) fn is_possible(fault: Fault, stack: &Stack<'_>) -> bool {
    let is_possible = match fault {
        Fault::DiskFull(server) => stack.disks.contains_key(&server),
        _ => true,
    };
    if !is_possible {
        note(format_args!(
            "SKIPPED: {fault:?}: no disk of its own could be mounted"
        ));
    }
    is_possible
}
