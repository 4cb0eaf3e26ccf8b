//! `ctl processor-connection`: which program owns a processor account and receives the platform's events of
//! it.

use anyhow::{Context, ensure};
use chrono::{DateTime, Utc};
use clap::{Args, Subcommand};
use domain::ids::ProgramId;
use domain::processors::processor::ProcessorId;
use runtime::clock::Clock;
use serde_json::json;
use sqlx::{PgConnection, PgPool};
use storage::operations::notifications::{self, NewNotification};
use storage::processor::processor_accounts::{self, ListedConnection};
use storage::processor::processor_connections;

use crate::audit::{self, Done};
use crate::consent::Consent;
use crate::{output, program};

const ABOUT: &str = "\
Ask the account's owner before, by a way that does not go through this service: an account's id is no secret, and who
connects it here has shown nothing but that they know it.

Examples:
    ctl processor-connection list --unconfirmed
    ctl processor-connection confirm --program-id 1 acct_1032D82eZvKYlo2C";

#[derive(Debug, Subcommand)]
pub enum ProcessorConnection {
    /// List them by account, a line each: account, program, workspace, status, when it was confirmed
    List(List),
    /// Confirm an account: the platform's events of it reach the connected program from now on
    Confirm(Confirm),
    /// Take an account from a program it does not belong to: the connection and its secrets are deleted
    Refuse(Refuse),
}

#[derive(Debug, Args)]
pub struct List {
    /// Only those that wait to be confirmed
    #[arg(long)]
    unconfirmed: bool,
    /// So many at most
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(i64).range(1..=10_000))]
    limit: i64,
}

#[derive(Debug, Clone, Args)]
pub struct Which {
    /// The program that is connected
    #[arg(long, value_name = "ID")]
    program_id: i64,
    /// The account it is connected to
    #[arg(value_parser = ProcessorId::parse)]
    account_id: ProcessorId,
}

#[derive(Debug, Args)]
#[command(after_help = ABOUT)]
pub struct Confirm {
    #[command(flatten)]
    which: Which,
}

#[derive(Debug, Args)]
pub struct Refuse {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    consent: Consent,
}

impl ProcessorConnection {
    pub async fn run(self, pool: &PgPool) -> anyhow::Result<()> {
        match self {
            Self::List(list) => list.run(pool).await,
            Self::Confirm(confirm) => confirm.run(pool).await,
            Self::Refuse(refuse) => refuse.run(pool).await,
        }
    }
}

impl List {
    async fn run(self, pool: &PgPool) -> anyhow::Result<()> {
        let mut connection = pool.acquire().await?;
        let found = processor_accounts::list(&mut connection, self.unconfirmed, self.limit).await?;
        output::list(&found, "no processor connections", line);
        Ok(())
    }
}

fn line(connection: &ListedConnection) -> String {
    let confirmed = connection
        .confirmed_at
        .map_or_else(|| "unconfirmed".to_owned(), output::instant);
    format!(
        "{}  program {}  workspace {}  {}  {confirmed}",
        output::plain(&connection.account_id),
        connection.program_id,
        connection.workspace_id,
        connection.status,
    )
}

impl Which {
    fn program_id(&self) -> ProgramId {
        ProgramId::new(self.program_id)
    }

    /// Locks the connection, and checks that it belongs to this account.
    async fn lock(&self, connection: &mut PgConnection) -> anyhow::Result<()> {
        let program_id = self.program_id();
        processor_connections::lock(connection, program_id).await?;
        let found = processor_connections::find(connection, program_id)
            .await?
            .with_context(|| format!("program {program_id} has no processor connection"))?;
        ensure!(
            found.account_id == self.account_id,
            "program {program_id} is connected to {}",
            found.account_id
        );
        Ok(())
    }

    async fn write_down(
        &self,
        connection: &mut PgConnection,
        at: DateTime<Utc>,
        action: &'static str,
    ) -> anyhow::Result<()> {
        let program = program::find(connection, self.program_id()).await?;
        let done = Done::to_program(&program, at, action, json!({ "account_id": self.account_id }));
        Ok(audit::append(connection, done).await?)
    }
}

impl Confirm {
    async fn run(self, pool: &PgPool) -> anyhow::Result<()> {
        let Which {
            program_id,
            account_id,
        } = &self.which;
        let now = Clock::system().now();
        let mut transaction = pool.begin().await?;
        self.which.lock(&mut transaction).await?;
        let held = processor_accounts::claim(&mut transaction, self.which.program_id(), account_id).await?;
        if let Some(held) = held {
            anyhow::bail!(
                "program {} of another workspace is connected to {account_id} too: refuse one of them first",
                held.held_by
            );
        }
        processor_accounts::confirm(&mut transaction, self.which.program_id(), now).await?;
        self.which
            .write_down(&mut transaction, now, "processor_connection.confirmed")
            .await?;
        transaction.commit().await?;
        output::lines([format!(
            "the platform's events of {account_id} reach program {program_id}, while it is connected"
        )]);
        Ok(())
    }
}

impl Refuse {
    async fn run(self, pool: &PgPool) -> anyhow::Result<()> {
        let (program_id, account_id) = (self.which.program_id, &self.which.account_id);
        let question = format!("Disconnect program {program_id} from {account_id}?");
        self.consent
            .change(pool, &question, async |connection| self.refuse(connection).await)
            .await
    }

    async fn refuse(&self, connection: &mut PgConnection) -> anyhow::Result<Vec<String>> {
        let clock = Clock::system();
        let Which {
            program_id,
            account_id,
        } = &self.which;
        self.which.lock(connection).await?;
        processor_connections::remove(connection, self.which.program_id()).await?;
        self.which
            .write_down(connection, clock.now(), "processor_connection.refused")
            .await?;
        let notice = NewNotification {
            event_id: clock.mint(),
            program_id: *program_id,
            partner_id: None,
            kind: "processor_connection_refused",
            message: format!(
                "The connection to {account_id} was taken back by the operator: the account is not confirmed as yours"
            ),
            details: json!({ "account_id": account_id }),
        };
        notifications::add(connection, &[notice]).await?;
        Ok(vec![format!(
            "program {program_id} is connected to no account any more"
        )])
    }
}
