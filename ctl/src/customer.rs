//! `ctl customer`: what is stored about one customer, for when they ask.

use anyhow::ensure;
use clap::{ArgGroup, Args, Subcommand};
use common::domain::click_id::ClickId;
use common::domain::email::EmailHasher;
use common::domain::ids::{CustomerId, ProgramId, WorkspaceId};
use common::domain::lead::EmailHash;
use common::runtime::clock::Clock;
use common::runtime::config::KeysConfig;
use common::storage::personal_data::{self, Found, Stated};
use serde_json::json;
use sqlx::{PgConnection, PgPool};

use crate::audit::{self, Done};
use crate::{output, program};

#[derive(Debug, Subcommand)]
pub enum Customer {
    /// Print everything that is stored about a customer, as JSON
    Export(Named),
    /// Erase a customer's names, addresses and visits; sales and sums stay. It cannot be undone
    Erase(Named),
}

const EXAMPLES: &str = "\
Examples:
    ctl customer export --program-id 1 --customer-key user-42
    ctl customer erase --program-id 1 --customer-key user-42 --email jane@customer.example

Whoever is meant by any of the names is meant. Both are written into the audit log, without the names.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
#[command(group(ArgGroup::new("name").args(["customer_key", "click_id", "email"]).required(true).multiple(true)))]
pub struct Named {
    /// Whose customer
    #[arg(long, value_name = "ID")]
    program_id: i64,
    /// The advertiser's own id of the customer
    #[arg(long, value_name = "KEY")]
    customer_key: Option<String>,
    /// What the customer's browser keeps in its cookie
    #[arg(long, value_name = "CLICK_ID")]
    click_id: Option<String>,
    /// The customer's address
    #[arg(long, value_name = "ADDRESS")]
    email: Option<String>,
    #[command(flatten)]
    keys: KeysConfig,
}

impl Customer {
    pub async fn run(self, pool: &PgPool) -> anyhow::Result<()> {
        let mut transaction = pool.begin().await?;
        match self {
            Self::Export(named) => {
                let (found, workspace_id) = named.find(&mut transaction).await?;
                let export = personal_data::export(&mut transaction, &found).await?;
                write_down(&mut transaction, &found, workspace_id, "customer.exported").await?;
                transaction.commit().await?;
                output::lines([serde_json::to_string_pretty(&export)?]);
            }
            Self::Erase(named) => {
                let (found, workspace_id) = named.find(&mut transaction).await?;
                let erased = personal_data::erase(&mut transaction, &found, Clock::system().now()).await?;
                write_down(&mut transaction, &found, workspace_id, "customer.erased").await?;
                transaction.commit().await?;
                output::facts([
                    ("customers", erased.customers.to_string()),
                    ("click_events", erased.click_events.to_string()),
                    ("lead_events", erased.lead_events.to_string()),
                    ("sale_events", erased.sale_events.to_string()),
                    ("refunds", erased.refunds.to_string()),
                    ("notifications", erased.notifications.to_string()),
                    ("unprocessed", erased.unprocessed.to_string()),
                ]);
            }
        }
        Ok(())
    }
}

impl Named {
    async fn find(&self, connection: &mut PgConnection) -> anyhow::Result<(Found, WorkspaceId)> {
        let names = [&self.customer_key, &self.click_id, &self.email];
        ensure!(
            names.into_iter().flatten().all(|name| !name.trim().is_empty()),
            "a name must not be empty"
        );
        let program_id = ProgramId::new(self.program_id);
        let program = program::find(&mut *connection, program_id).await?;
        let click_id = self.click_id.as_deref().and_then(ClickId::parse);
        let decoded: Vec<i64> = click_id
            .map(|click_id| {
                self.keys
                    .click_id_codec()
                    .decode(&click_id)
                    .map(CustomerId::get)
                    .collect()
            })
            .unwrap_or_default();
        let hasher = EmailHasher::new(self.keys.email_hash_key.expose());
        let email_hash = self.email.as_deref().and_then(|email| hasher.hash(email));
        let stated = Stated {
            customer_key: self.customer_key.as_deref(),
            click_id: self.click_id.as_deref(),
            click_id_customers: &decoded,
            email: self.email.as_deref(),
            email_hash: email_hash.as_ref().map(EmailHash::as_str),
        };
        let found = personal_data::find(connection, program_id, stated).await?;
        Ok((found, program.workspace_id))
    }
}

/// Ids of rows only: the names must not outlive the erasure here.
async fn write_down(
    connection: &mut PgConnection,
    found: &Found,
    workspace_id: WorkspaceId,
    action: &'static str,
) -> anyhow::Result<()> {
    let customer_ids: Vec<i64> = found.customers.iter().map(|id| id.get()).collect();
    let done = Done {
        at: Clock::system().now(),
        workspace_id,
        program_id: Some(found.program_id),
        action,
        subject_id: Some(found.program_id.get()),
        details: json!({ "customer_ids": customer_ids }),
    };
    Ok(audit::append(connection, done).await?)
}
