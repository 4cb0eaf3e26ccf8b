//! PostgreSQL's primary is lost, and its standby is promoted; or the copy that a standby was is restored.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use harness::area::Area;
use harness::servers::postgres::{self, STANDBY};

use super::proxy::address_of;
use super::schedule::Server;
use super::stack::Stack;

const SYNCHRONIZED_LIMIT: Duration = Duration::from_secs(10);

impl Stack<'_> {
    /// Every service can reach the standby before it takes writes.
    pub(super) fn promote_standby(&mut self) -> Result<()> {
        let url = self.start_standby()?;
        self.wait_for_standby()?;
        self.stop_postgres()?;
        self.lead_postgres_to(address_of(&url)?);
        self.promote(&url)
    }

    /// The promoted server continues at the first one's address, so that every round begins alike.
    pub(super) fn move_back(&mut self) -> Result<()> {
        self.running.stop(STANDBY)?;
        postgres::replace(&self.area, &self.standby_area())?;
        self.start_server(Server::Postgres)?;
        self.lead_postgres_to(address_of(self.url(Server::Postgres))?);
        Ok(())
    }

    /// A standby that is stopped is a backup up to this moment.
    pub(super) fn back_up(&mut self) -> Result<()> {
        self.start_standby()?;
        self.running.stop(STANDBY)
    }

    /// The backup takes the place of the primary, which has stopped, on a timeline of its own.
    pub(super) fn restore_backup(&mut self) -> Result<()> {
        postgres::replace(&self.area, &self.standby_area())?;
        self.start_server(Server::Postgres)?;
        self.promote(self.url(Server::Postgres))
    }

    /// Returns its URL.
    fn start_standby(&mut self) -> Result<String> {
        let area = self.standby_area();
        let postgres = self.servers.postgres.as_ref().context("no PostgreSQL here")?;
        let primary = (&self.area, self.servers.database_url.as_str());
        postgres.start_standby(primary, &area, &mut self.running, self.interrupt)
    }

    fn promote(&self, url: &str) -> Result<()> {
        let postgres = self.servers.postgres.as_ref().context("no PostgreSQL here")?;
        postgres.query(url, "SELECT pg_promote()")?;
        Ok(())
    }

    fn standby_area(&self) -> Area {
        Area::at(self.area.dir.join(STANDBY))
    }

    /// Afterwards the primary confirms no commit that the standby does not have.
    fn wait_for_standby(&self) -> Result<()> {
        let set = "ALTER SYSTEM SET synchronous_standby_names = '*'";
        for statement in [set, "SELECT pg_reload_conf()"] {
            self.runtime
                .block_on(sqlx::raw_sql(statement).execute(&self.pool))?;
        }
        let synchronous = self.interrupt.wait_until(SYNCHRONIZED_LIMIT, || {
            let found = sqlx::query_scalar(
                "SELECT EXISTS (SELECT FROM pg_stat_replication WHERE sync_state = 'sync')",
            );
            Ok(self.runtime.block_on(found.fetch_one(&self.pool))?)
        })?;
        ensure!(synchronous, "the standby does not stream");
        Ok(())
    }

    fn lead_postgres_to(&self, server: SocketAddr) {
        for proxy in self.proxies(Server::Postgres, None) {
            proxy.lead_to(server);
        }
    }
}
