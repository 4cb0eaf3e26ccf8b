//! Begins and ends faults.
//!
//! Ending a fault does only what an operator or an orchestrator would do: the service itself must handle the rest (a missing stream, a
//! hanging connection).

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use async_nats::jetstream::stream;
use harness::area::remove;
use harness::progress::note;
use messages::subject::Subject;

use super::disk::Disk;
use super::proxy::{Proxy, address_of};
use super::schedule::{Fault, Server, Service};
use super::stack::{STREAM_MAX_BYTES, Stack};

/// Free space in an almost full stream.
const LAST_BYTES: i64 = 2_000;
const LIMIT: Duration = Duration::from_secs(10);
const LIBRARY: &str = "libfaketimeMT.so.1";

impl Stack<'_> {
    pub(super) fn begin(&mut self, fault: Fault) -> Result<()> {
        match fault {
            Fault::Kill(service) => self.kill_service(service)?,
            Fault::Freeze(service) => self.signal_service(service, "STOP"),
            Fault::Crash { service, point, time } => {
                self.kill_service(service)?;
                self.armed.insert(service);
                self.start_service(service, &[("CRASH_AT", format!("{point}@{time}"))])?;
            }
            Fault::Clock(service, seconds) => self.set_clock(service, seconds)?,
            Fault::Network { server, of, trouble } => {
                self.proxies(server, of).for_each(|proxy| proxy.begin(trouble));
            }
            Fault::PostgresStop => self.stop_postgres()?,
            Fault::PostgresTerminate => self.terminate_backends()?,
            Fault::PostgresDiskFull => self.postgres_disk.as_ref().map_or(Ok(()), Disk::fill)?,
            Fault::NatsKill | Fault::NatsWiped => self.running.kill(Server::Nats.name())?,
            Fault::NatsStreamsFull => self.limit_streams(None)?,
            Fault::NatsDiskFull => self.nats_disk.as_ref().map_or(Ok(()), Disk::fill)?,
            Fault::NatsConsumerDeleted(subject) => self.delete_consumer(subject)?,
            Fault::NatsStreamDeleted(subject) => self.delete_stream(subject)?,
            Fault::RedisKill => self.running.kill(Server::Redis.name())?,
            Fault::RedisFreeze => self.signal_server(Server::Redis, "STOP"),
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
            Fault::Crash { service, .. } | Fault::Clock(service, _) => {
                self.kill_service(service)?;
                self.start_service(service, &[])?;
            }
            Fault::Freeze(service) => self.signal_service(service, "CONT"),
            Fault::Network { server, of, .. } => self.proxies(server, of).for_each(Proxy::end),
            Fault::PostgresStop => self.start_server(Server::Postgres)?,
            Fault::PostgresTerminate => self.terminate_backends()?,
            Fault::PostgresDiskFull => self.clear_postgres_disk()?,
            Fault::NatsKill => self.start_server(Server::Nats)?,
            Fault::NatsWiped => {
                remove(&self.area.dir.join(Server::Nats.name()).join("jetstream"))?;
                self.start_server(Server::Nats)?;
            }
            Fault::NatsStreamsFull => self.limit_streams(Some(STREAM_MAX_BYTES))?,
            Fault::NatsDiskFull => self.clear_nats_disk()?,
            Fault::RedisKill => self.start_server(Server::Redis)?,
            Fault::RedisFreeze => self.signal_server(Server::Redis, "CONT"),
            Fault::RedisFull => self.redis_command("CONFIG SET maxmemory 0")?,
            Fault::NatsConsumerDeleted(_)
            | Fault::NatsStreamDeleted(_)
            | Fault::RedisFlush
            | Fault::HangUps(_) => {}
        }
        Ok(())
    }

    fn set_clock(&mut self, service: Service, seconds: i64) -> Result<()> {
        let library = faketime().context("libfaketime is not on this machine")?;
        self.kill_service(service)?;
        let settings = [
            ("LD_PRELOAD", library.display().to_string()),
            ("FAKETIME", format!("{seconds:+}s")),
            // Timers must go on at their own pace.
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
            ("DONT_FAKE_MONOTONIC", "1".to_owned()),
        ];
        self.start_service(service, &settings)
    }

    fn signal_server(&self, server: Server, signal: &str) {
        if let Some(process) = self.running.process(server.name()) {
            process.send_named(signal);
        }
    }

    /// PostgreSQL's immediate shutdown.
    pub(super) fn stop_postgres(&mut self) -> Result<()> {
        self.signal_server(Server::Postgres, "QUIT");
        self.wait_for_end(Server::Postgres)
    }

    fn wait_for_end(&mut self, server: Server) -> Result<()> {
        let interrupt = self.interrupt;
        let ended = interrupt.wait_until(LIMIT, || {
            Ok(self.running.ended(server.name())?.is_some() || self.running.process(server.name()).is_none())
        })?;
        ensure!(ended, "{} does not stop", server.name());
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

    /// The server exits if its WAL cannot grow.
    fn clear_postgres_disk(&mut self) -> Result<()> {
        let Some(disk) = &self.postgres_disk else {
            return Ok(());
        };
        disk.clear()?;
        let has_ended = self.running.ended(Server::Postgres.name())?.is_some();
        if has_ended || self.running.process(Server::Postgres.name()).is_none() {
            self.start_server(Server::Postgres)?;
        }
        Ok(())
    }

    /// After a full disk, NATS stores nothing until it is restarted.
    fn clear_nats_disk(&mut self) -> Result<()> {
        let Some(disk) = &self.nats_disk else {
            return Ok(());
        };
        disk.clear()?;
        self.running.kill(Server::Nats.name())?;
        self.start_server(Server::Nats)
    }

    /// `None`: to their current size and a little more.
    fn limit_streams(&self, max_bytes: Option<i64>) -> Result<()> {
        self.runtime.block_on(async {
            let jetstream = self.jetstream().await?;
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

    fn delete_consumer(&self, subject: Subject) -> Result<()> {
        self.runtime.block_on(async {
            let jetstream = self.jetstream().await?;
            let stream = jetstream.get_stream(subject.stream_name("")).await?;
            stream.delete_consumer(&subject.consumer_name()).await?;
            Ok(())
        })
    }

    fn delete_stream(&self, subject: Subject) -> Result<()> {
        self.runtime.block_on(async {
            let jetstream = self.jetstream().await?;
            jetstream.delete_stream(subject.stream_name("")).await?;
            Ok(())
        })
    }

    fn redis_command(&self, command: &str) -> Result<()> {
        let mut stream = TcpStream::connect_timeout(&address_of(self.url(Server::Redis))?, LIMIT)?;
        stream.set_read_timeout(Some(LIMIT))?;
        stream.write_all(format!("{command}\r\n").as_bytes())?;
        let mut answer = [0; 3];
        stream.read_exact(&mut answer)?;
        ensure!(&answer == b"+OK", "Redis refuses {command}");
        Ok(())
    }
}

/// The path of libfaketime.
pub(super) fn faketime() -> Option<PathBuf> {
    let libraries = fs::read_dir("/usr/lib").ok()?;
    libraries
        .flatten()
        .map(|entry| entry.path().join("faketime").join(LIBRARY))
        .chain([PathBuf::from("/usr/lib/faketime").join(LIBRARY)])
        .find(|path| path.is_file())
}

/// Whether this machine allows the fault; prints the reason if not.
pub(super) fn is_possible(fault: Fault, stack: &Stack<'_>) -> bool {
    let reason = match fault {
        Fault::PostgresDiskFull if stack.postgres_disk.is_none() => "no disk of its own could be mounted",
        Fault::NatsDiskFull if stack.nats_disk.is_none() => "no disk of its own could be mounted",
        Fault::Clock(..) if faketime().is_none() => "libfaketime is not here",
        _ => return true,
    };
    note(format_args!("SKIPPED: {fault:?}: {reason}"));
    false
}
