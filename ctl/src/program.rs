//! `ctl program`: manages programs without the dashboard.

pub mod limits;

use anyhow::{Context, ensure};
use chrono::{DateTime, Utc};
use clap::{Args, Subcommand};
use domain::ids::{ProgramId, WorkspaceId};
use domain::programs::program::{Domain, ProgramName, ProgramSettings, ProgramStatus, Slug};
use domain::token::ProgramToken;
use runtime::clock::Clock;
use serde_json::{Value, json};
use sqlx::{PgConnection, PgPool};
use storage::people::workspaces;
use storage::program::program_settings::{self, NewProgram, StoredProgram};

use crate::audit::{self, Done};
use crate::consent::{Consent, Verdict};
use crate::output;

#[derive(Debug, Subcommand)]
pub enum Program {
    /// Create a program, and print its id and its tracking token, which is shown here only
    Create(Create),
    /// Archive a program for good: no new sales, its links stop working, its key takes refunds only; ledger and debts remain
    Archive(Archive),
}

const EXAMPLES: &str = "\
Examples:
    ctl program create --workspace-id 1 --name \"Shop affiliates\"
    ctl program create --workspace-id 1 --name \"Shop affiliates\" --domain shop.example --slug shop --live";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Create {
    /// Whose it will be
    #[arg(long, value_name = "ID")]
    workspace_id: i64,
    /// What partners see
    #[arg(long, value_parser = ProgramName::parse)]
    name: ProgramName,
    /// The program's name in URLs; made of the name unless given
    #[arg(long, value_parser = Slug::parse)]
    slug: Option<Slug>,
    /// The advertiser's site
    #[arg(long, value_parser = Domain::parse)]
    domain: Option<Domain>,
    /// Live at once; otherwise a draft, which takes events all the same
    #[arg(long)]
    live: bool,
}

#[derive(Debug, Args)]
pub struct Archive {
    /// Which one
    #[arg(long, value_name = "ID")]
    program_id: i64,
    #[command(flatten)]
    consent: Consent,
}

impl Program {
    pub async fn run(self, pool: &PgPool) -> anyhow::Result<()> {
        match self {
            Self::Create(create) => create.run(pool).await,
            Self::Archive(archive) => archive.run(pool).await,
        }
    }
}

/// The program with this id.
pub async fn find(connection: &mut PgConnection, program_id: ProgramId) -> anyhow::Result<StoredProgram> {
    program_settings::find_one(connection, program_id)
        .await?
        .with_context(|| format!("there is no program {program_id}"))
}

/// Appends the entry of an action on a program's subject in the transaction of the action.
pub async fn append_to_audit_log(
    connection: &mut PgConnection,
    program_id: ProgramId,
    subject_id: Option<i64>,
    (action, details): (&'static str, Value),
    at: DateTime<Utc>,
) -> anyhow::Result<()> {
    let program = find(connection, program_id).await?;
    let done = Done {
        subject_id,
        ..Done::to_program(&program, at, action, details)
    };
    Ok(audit::append(connection, done).await?)
}

/// [`find`], for actions that an archived program does not allow.
pub async fn find_unarchived(
    connection: &mut PgConnection,
    program_id: ProgramId,
) -> anyhow::Result<StoredProgram> {
    let program = find(connection, program_id).await?;
    ensure!(
        program.status != ProgramStatus::Archived,
        "program {program_id} is archived"
    );
    Ok(program)
}

impl Create {
    async fn run(self, pool: &PgPool) -> anyhow::Result<()> {
        let slug = self
            .slug
            .unwrap_or_else(|| Slug::of_name(self.name.as_str(), rand::random()));
        let settings = ProgramSettings {
            domain: self.domain,
            ..ProgramSettings::new(self.name, slug)
        };
        let workspace_id = WorkspaceId::new(self.workspace_id);
        let token = ProgramToken::generate(rand::random());
        let new = NewProgram {
            workspace_id,
            settings: &settings,
            status: if self.live {
                ProgramStatus::Live
            } else {
                ProgramStatus::Draft
            },
            token: &token,
            created_at: Clock::system().now(),
        };
        let mut transaction = pool.begin().await?;
        ensure!(
            workspaces::exists(&mut transaction, workspace_id).await?,
            "there is no workspace {workspace_id}"
        );
        let program_id = program_settings::create(&mut transaction, &new)
            .await?
            .with_context(|| format!("another program has the slug {}", settings.slug))?;
        let done = Done {
            at: new.created_at,
            workspace_id,
            program_id: Some(program_id),
            action: "program.created",
            subject_id: Some(program_id.get()),
            details: json!({ "name": settings.name, "slug": settings.slug.as_str() }),
        };
        audit::append(&mut transaction, done).await?;
        transaction.commit().await?;
        output::facts([
            ("program_id", program_id.to_string()),
            ("slug", settings.slug.to_string()),
            ("status", new.status.as_str().to_owned()),
            ("api_token", token.expose().to_owned()),
        ]);
        Ok(())
    }
}

impl Archive {
    async fn run(self, pool: &PgPool) -> anyhow::Result<()> {
        let program_id = ProgramId::new(self.program_id);
        if self.consent.previews() {
            let program = find_unarchived(&mut *pool.acquire().await?, program_id).await?;
            output::facts([
                ("program_id", program_id.to_string()),
                ("name", output::plain(&program.settings.name.to_string())),
                ("status", program.status.as_str().to_owned()),
            ]);
            if self.consent.ask("Archive this program?")? == Verdict::DryRun {
                return Ok(());
            }
        }
        let now = Clock::system().now();
        let mut transaction = pool.begin().await?;
        let program = find_unarchived(&mut transaction, program_id).await?;
        program_settings::archive(&mut transaction, program_id, now).await?;
        let done = Done::to_program(&program, now, "program.archived", json!({}));
        audit::append(&mut transaction, done).await?;
        transaction.commit().await?;
        output::facts([
            ("program_id", program_id.to_string()),
            ("status", ProgramStatus::Archived.as_str().to_owned()),
        ]);
        Ok(())
    }
}
