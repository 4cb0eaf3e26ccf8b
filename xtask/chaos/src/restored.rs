//! Rounds in which PostgreSQL is restored from an older backup beside newer streams, as `docs/runbook.md`
//! describes it.

use std::time::Duration;

use anyhow::{Context, Result};
use bus::stream_trim::remove_settled;
use harness::area::Area;
use harness::process;
use harness::servers::postgres::{self, STANDBY};
use harness::services::ctl;
use messages::subject::Subject;
use runtime::clock::Clock;

use super::drain;
use super::funnel::resend;
use super::rng::Rng;
use super::round::RunningRound;
use super::schedule::{Server, Service};
use super::stack::Stack;

const BEFORE: Duration = Duration::from_millis(500);
/// What happens in this time is lost from PostgreSQL.
const LOST: Duration = Duration::from_secs(2);
/// Claims are rebuilt from a little before the backup.
const MARGIN: Duration = Duration::from_secs(1);
const NO_SERVER: &str = "no PostgreSQL here";
const REPLAY_LIMIT: Duration = Duration::from_mins(1);
/// Streams that are delivered again from their start. A sale is refused while its customer is missing, a
/// refund while its sale has no claim, and refusals are remembered.
const BEFORE_SALES: [Subject; 2] = [Subject::Clicks, Subject::Leads];
const AFTER_SALES: [Subject; 2] = [Subject::Refunds, Subject::Payments];

impl RunningRound<'_, '_> {
    pub(super) fn restored(&mut self) -> Result<()> {
        self.stack.trim_streams()?;
        self.watch_for(BEFORE)?;
        let since = Clock::system().now() - MARGIN;
        self.stack.back_up()?;
        self.watch_for(LOST)?;
        self.lose_everything_but_streams()?;
        self.stack.restore_backup()?;
        self.operate(&["customer-ids", "advance"])?;
        self.deliver_again(&BEFORE_SALES)?;
        let [one, _] = Service::WORKERS;
        self.stack.start_service(one, &[])?;
        self.wait_until_settled(&BEFORE_SALES)?;
        self.operate(&["claims", "rebuild", "--since", &since.to_rfc3339()])?;
        self.deliver_again(&AFTER_SALES)?;
        for service in Service::ALL.into_iter().filter(|service| *service != one) {
            self.stack.start_service(service, &[])?;
        }
        self.stack.wait_until_ready()?;
        // The inbox of the lost time has no other copy.
        let resending = resend(self.simulation.clone());
        let resending = self.stack.runtime.spawn(resending);
        self.watch_until_finished(resending)
    }

    /// Either PostgreSQL fails and services die with it, or an operator stops them first, to go back.
    fn lose_everything_but_streams(&mut self) -> Result<()> {
        if Rng::of(self.round.seed, u64::MAX - 1).chance(50) {
            self.notes.push("services are killed".to_owned());
            self.stack.stop_postgres()?;
            return self.stack.stop_services();
        }
        self.shut_down_and_wait(&Service::ALL)?;
        self.stack.stop_postgres()
    }

    /// Workers create the consumers again, at the start of their streams.
    fn deliver_again(&mut self, subjects: &[Subject]) -> Result<()> {
        let nouns = subjects.iter().map(|subject| subject.noun());
        let arguments: Vec<&str> = ["streams", "replay", "--yes"].into_iter().chain(nouns).collect();
        self.operate(&arguments)
    }

    /// Runs `ctl`, and notes what it prints.
    fn operate(&mut self, arguments: &[&str]) -> Result<()> {
        let printed = process::output(ctl(self.stack.checkout, &self.stack.env).args(arguments))?;
        self.notes.push(printed.trim().to_owned());
        Ok(())
    }

    fn wait_until_settled(&mut self, subjects: &[Subject]) -> Result<()> {
        // The worker has yet to create the consumers, which is an error meanwhile.
        let left = self.watch_until_none(REPLAY_LIMIT, &async |stack: &Stack<'_>| {
            drain::unsettled(&stack.jetstream().await?, subjects).await
        })?;
        self.violations
            .extend(left.into_iter().map(|left| format!("not settled again: {left}")));
        Ok(())
    }
}

impl Stack<'_> {
    /// A standby that is stopped is a backup up to this moment.
    fn back_up(&mut self) -> Result<()> {
        let area = self.standby_area();
        let postgres = self.servers.postgres.as_ref().context(NO_SERVER)?;
        let primary = (&self.area, self.servers.database_url.as_str());
        postgres.start_standby(primary, &area, &mut self.running, self.interrupt)?;
        self.running.stop(STANDBY)
    }

    /// The backup takes the place of the primary, which has stopped, on a timeline of its own.
    fn restore_backup(&mut self) -> Result<()> {
        postgres::replace(&self.area, &self.standby_area())?;
        self.start_server(Server::Postgres)?;
        let postgres = self.servers.postgres.as_ref().context(NO_SERVER)?;
        postgres.query(&self.servers.database_url, "SELECT pg_promote()")?;
        Ok(())
    }

    fn standby_area(&self) -> Area {
        Area::at(self.area.dir.join(STANDBY))
    }

    /// Removes what is settled from the streams. Workers do so from a quarter full on; in this round that
    /// would lose messages of the time that PostgreSQL is about to lose.
    fn trim_streams(&self) -> Result<()> {
        self.on_jetstream(async |jetstream| {
            for subject in Subject::ALL {
                let stream = jetstream.get_stream(subject.stream_name("")).await?;
                remove_settled(&jetstream, &stream, subject).await?;
            }
            Ok(())
        })
    }
}
