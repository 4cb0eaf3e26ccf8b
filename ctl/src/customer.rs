//! `ctl customer`: the stored data of one customer, for requests about personal data.

mod bound;

use anyhow::{bail, ensure};
use chrono::{DateTime, Utc};
use clap::{ArgGroup, Args, Subcommand};
use domain::email::EmailHasher;
use domain::ids::{CustomerId, ProgramId};
use domain::people::account::EmailAddress;
use domain::tracking::click_id::{ClickId, ClickIdCodec};
use runtime::clock::Clock;
use runtime::config::KeysConfig;
use serde_json::json;
use sqlx::{PgConnection, PgPool};
use storage::people::personal_data::{self, Erased, Found, Identifiers, Reach};
use storage::program::program_settings::StoredProgram;

use self::bound::{Bind, Bound};
use crate::audit::{self, Done};
use crate::consent::Consent;
use crate::{output, program, progress};

#[derive(Debug, Subcommand)]
pub enum Customer {
    /// Print everything that is stored about a customer, as JSON
    Export(Named),
    /// Erase a customer's names, addresses and visits; sales and sums stay. It cannot be undone
    Erase(Erase),
    /// Bind a payment processor's customer to one of the program's, for payments that name no other
    Bind(Bind),
    /// List a program's processor customers and their bindings, those first that an event contradicted
    Bound(Bound),
}

#[derive(Debug, Args)]
pub struct Erase {
    #[command(flatten)]
    named: Named,
    #[command(flatten)]
    consent: Consent,
}

const EXAMPLES: &str = "\
Examples:
    ctl customer export --program-id 1 --customer-key user-42
    ctl customer erase --program-id 1 --customer-key user-42 --email jane@customer.example --dry-run
    ctl customer erase --program-id 1 --customer-key user-42 --email jane@customer.example

Any of the names selects the customer. Records that were put aside count when they name the program, or no program at all.
Exports and erasures are written into the audit log, without the names.";

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
    #[arg(long, value_name = "ADDRESS", value_parser = EmailAddress::parse)]
    email: Option<EmailAddress>,
    #[command(flatten)]
    keys: KeysConfig,
}

impl Customer {
    pub async fn run(self, pool: &PgPool) -> anyhow::Result<()> {
        match self {
            Self::Export(named) => named.export(pool).await,
            Self::Erase(erase) => erase.run(pool).await,
            Self::Bind(bind) => bind.run(pool).await,
            Self::Bound(bound) => bound.run(pool).await,
        }
    }
}

impl Erase {
    async fn run(self, pool: &PgPool) -> anyhow::Result<()> {
        let question = "Erase this customer?";
        self.consent
            .change(pool, question, async |connection| self.erase(connection).await)
            .await
    }

    async fn erase(&self, connection: &mut PgConnection) -> anyhow::Result<Vec<String>> {
        let (found, program) = self.named.find(connection).await?;
        let erased = personal_data::erase(connection, &found, Clock::system().now()).await?;
        if erased.is_nothing() {
            bail!(self.named.nothing_found());
        }
        write_down(connection, &found, &program, "customer.erased").await?;
        Ok(rows_of(erased))
    }
}

/// The erased rows by table.
fn rows_of(erased: Erased) -> Vec<String> {
    let rows = [
        ("customers", erased.customers),
        ("click_events", erased.click_events),
        ("lead_events", erased.lead_events),
        ("sale_events", erased.sale_events),
        ("refunds", erased.refunds),
        ("notifications", erased.notifications),
        ("processor_customers", erased.processor_customers),
        ("outbound_events", erased.outbound_events),
        ("webhook_deliveries", erased.webhook_deliveries),
        ("unprocessed", erased.unprocessed),
    ];
    rows.map(|(table, rows)| format!("{table}: {rows}")).to_vec()
}

impl Named {
    async fn export(self, pool: &PgPool) -> anyhow::Result<()> {
        let mut transaction = pool.begin().await?;
        let (found, program) = self.find(&mut transaction).await?;
        let export = personal_data::export(&mut transaction, &found).await?;
        write_down(&mut transaction, &found, &program, "customer.exported").await?;
        transaction.commit().await?;
        output::lines([serde_json::to_string_pretty(&export)?]);
        Ok(())
    }

    /// A wrong EMAIL_HASH_KEY has the same effect as an unknown address, so the text mentions both.
    fn nothing_found(&self) -> String {
        let program_id = self.program_id;
        let mut message =
            format!("nothing is stored under these names in program {program_id}: nothing was erased");
        if self.email.is_some() {
            message.push_str(
                "; an address is found by its keyed hash, so check its spelling, and that EMAIL_HASH_KEY is the services' own",
            );
        }
        message
    }

    async fn find(&self, connection: &mut PgConnection) -> anyhow::Result<(Found, StoredProgram)> {
        let names = [&self.customer_key, &self.click_id];
        ensure!(
            names.into_iter().flatten().all(|name| !name.trim().is_empty()),
            "a name must not be empty"
        );
        let program_id = ProgramId::new(self.program_id);
        let program = program::find(&mut *connection, program_id).await?;
        let click_id = self.click_id.as_deref().and_then(ClickId::parse);
        let codec = ClickIdCodec::from(self.keys.click_id_keys());
        let decode = |click_id| codec.decode(click_id);
        let decoded: Vec<i64> = click_id.iter().flat_map(decode).map(CustomerId::get).collect();
        let hasher = EmailHasher::from(self.keys.email_hash_keys());
        let by_each_key = self.email.iter().flat_map(|email| hasher.hashes(email.as_str()));
        let email_hashes: Vec<String> = by_each_key.map(String::from).collect();
        let identifiers = Identifiers {
            customer_key: self.customer_key.as_deref(),
            click_id: click_id.as_ref(),
            click_id_customers: &decoded,
            email: self.email.as_ref(),
            email_hashes: &email_hashes,
        };
        let search = progress::waiting("Searching");
        let searching = |hour: DateTime<Utc>| search.set_message(format!("Searching clicks since {hour}"));
        let found = personal_data::find(
            connection,
            program_id,
            identifiers,
            Reach::Installation,
            searching,
        )
        .await;
        search.finish_and_clear();
        Ok((found?, program))
    }
}

/// Stores row ids only: the customer's names must not survive in the audit log.
async fn write_down(
    connection: &mut PgConnection,
    found: &Found,
    program: &StoredProgram,
    action: &'static str,
) -> anyhow::Result<()> {
    let customer_ids: Vec<i64> = found.customers.iter().map(|id| id.get()).collect();
    let details = json!({ "customer_ids": customer_ids });
    let done = Done::to_program(program, Clock::system().now(), action, details);
    Ok(audit::append(connection, done).await?)
}
