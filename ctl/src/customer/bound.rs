//! `ctl customer bind` and `bound`: bindings of a payment processor's customers to a program's customers.

use anyhow::{Context, bail};
use clap::{ArgGroup, Args};
use domain::ids::ProgramId;
use domain::processors::payer::Payer;
use domain::processors::processor::ProcessorId;
use domain::text::CustomerKey;
use domain::tracking::click_id::ClickId;
use runtime::clock::Clock;
use serde_json::json;
use sqlx::PgPool;
use storage::processor::processor_customers::{self, Binding};

use crate::audit::{self, Done};
use crate::{output, program};

const EXAMPLES: &str = "\
Examples:
    ctl customer bind --program-id 1 --processor-customer cus_NffrFeUfNV2Hib --customer-key user-42

What it was bound to before is replaced. Payments that wait for it are sales within seconds; those of before are not, unless the
processor sends their events again. Written into the audit log, without the names.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
#[command(group(ArgGroup::new("name").args(["customer_key", "click_id"]).required(true).multiple(true)))]
pub struct Bind {
    /// Whose customer
    #[arg(long, value_name = "ID")]
    program_id: i64,
    /// The processor's id of the customer
    #[arg(long, value_name = "ID")]
    processor_customer: String,
    /// The advertiser's own id of the customer
    #[arg(long, value_name = "KEY")]
    customer_key: Option<String>,
    /// What the customer's browser keeps in its cookie
    #[arg(long, value_name = "CLICK_ID")]
    click_id: Option<String>,
}

#[derive(Debug, Args)]
pub struct Bound {
    /// Whose customers
    #[arg(long, value_name = "ID")]
    program_id: i64,
    /// So many at most
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(i64).range(1..=10_000))]
    limit: i64,
}

impl Bind {
    pub async fn run(self, pool: &PgPool) -> anyhow::Result<()> {
        let program_id = ProgramId::new(self.program_id);
        let id = ProcessorId::parse(self.processor_customer.trim()).context("--processor-customer")?;
        let payer = self.payer()?;
        let mut transaction = pool.begin().await?;
        let program = program::find(&mut transaction, program_id).await?;
        let binding = processor_customers::bind(&mut transaction, &(program_id, id), &payer).await?;
        let now = Clock::system().now();
        let done = Done::to_program(&program, now, "processor_customer.bound", json!({}));
        audit::append(&mut transaction, done).await?;
        transaction.commit().await?;
        output::lines([line(&binding)]);
        Ok(())
    }

    fn payer(&self) -> anyhow::Result<Payer> {
        let customer_key = self
            .customer_key
            .as_deref()
            .map(CustomerKey::parse)
            .transpose()
            .context("--customer-key")?;
        let click_id = self
            .click_id
            .as_deref()
            .map(|text| ClickId::parse(text).context("--click-id is no click_id"))
            .transpose()?;
        let Some(payer) = Payer::new(click_id, customer_key) else {
            bail!("--customer-key or --click-id is required");
        };
        Ok(payer)
    }
}

impl Bound {
    pub async fn run(self, pool: &PgPool) -> anyhow::Result<()> {
        let mut connection = pool.acquire().await?;
        let program_id = ProgramId::new(self.program_id);
        program::find(&mut connection, program_id).await?;
        let bound = processor_customers::list(&mut connection, program_id, self.limit).await?;
        output::lines(bound.iter().map(line));
        Ok(())
    }
}

fn line(binding: &Binding) -> String {
    let Binding {
        processor_customer,
        payer,
        bound_at,
        contested_at,
    } = binding;
    let name = |name: Option<&str>| name.map_or_else(|| "-".to_owned(), output::plain);
    let contested =
        contested_at.map_or_else(String::new, |at| format!("  contested {}", output::instant(at)));
    format!(
        "{}  customer_key {}  click_id {}  bound {}{contested}",
        output::plain(processor_customer.as_str()),
        name(payer.customer_key.as_ref().map(CustomerKey::as_str)),
        name(payer.click_id.as_ref().map(ClickId::as_str)),
        output::instant(*bound_at),
    )
}
