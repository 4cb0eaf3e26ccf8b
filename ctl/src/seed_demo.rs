//! The demo program of `cargo xtask dev`: one workspace, one program, two partners with a link each, policies for
//! everything and for one product.

use anyhow::Context;
use chrono::{DateTime, Utc};
use clap::Args;
use common::domain::commission::{CommissionType, Rate};
use common::domain::ids::ProgramId;
use common::domain::money::Currency;
use common::domain::partner::{MembershipStatus, PartnerName, ShortCode};
use common::domain::program::{ProgramSettings, ProgramStatus, Slug};
use common::domain::text::{ProductId, Text};
use common::domain::token::ProgramToken;
use common::runtime::clock::Clock;
use common::storage::partners::{self, NewMembership, NewPartner};
use common::storage::policies::{self, NewPolicy};
use common::storage::program_settings::{self, NewProgram};
use common::storage::{directory, links, workspaces};
use sqlx::{PgConnection, PgPool};

const PARTNERS: [(&str, &str); 2] = [("Ada's Newsletter", "ada"), ("Bruno's Reviews", "bruno")];
/// 20 % of everything, for as long as the customer pays.
const DEFAULT_RATE_BPS: i64 = 2_000;
/// A product with a policy of its own: a fixed 10 dollars, once.
const FIXED_PRODUCT: &str = "starter-kit";
const FIXED_CENTS: i64 = 1_000;

#[derive(Debug, Args)]
pub struct SeedDemo {
    /// The tracking token of an earlier run: its program is used again. Tokens are stored as hashes, so it cannot
    /// be read back from the database.
    #[arg(long, env = "DEMO_API_KEY", hide_env_values = true)]
    api_key: Option<String>,
}

impl SeedDemo {
    /// Dotenv lines: `DEMO_PROGRAM_ID`, `DEMO_API_KEY`, `DEMO_AFF_A`, `DEMO_AFF_B`.
    pub async fn run(&self, pool: &PgPool, random: [u8; 32]) -> anyhow::Result<Vec<String>> {
        let given = self.api_key.as_deref().and_then(ProgramToken::parse);
        let token = given.unwrap_or_else(|| ProgramToken::generate(random));
        let earlier = directory::program_ids_by_token(pool, &[token.hash()]).await?;
        let mut transaction = pool.begin().await?;
        let program_id = match earlier.first() {
            Some(program_id) => ProgramId::new(*program_id),
            None => create_demo(&mut transaction, &token).await?,
        };
        let codes = PARTNERS.map(|(_, name)| code(name, program_id));
        transaction.commit().await?;
        let [aff_a, aff_b] = codes;
        Ok(vec![
            format!("DEMO_PROGRAM_ID={program_id}"),
            format!("DEMO_API_KEY={}", token.expose()),
            format!("DEMO_AFF_A={aff_a}"),
            format!("DEMO_AFF_B={aff_b}"),
        ])
    }
}

async fn create_demo(connection: &mut PgConnection, token: &ProgramToken) -> anyhow::Result<ProgramId> {
    let now = Clock::system().now();
    let workspace_id = workspaces::create(connection, "Demo workspace").await?;
    let name = Text::parse("Demo program")?;
    let slug = Slug::of_name(name.as_str(), rand::random());
    let new = NewProgram {
        workspace_id,
        settings: &ProgramSettings::new(name, slug),
        status: ProgramStatus::Live,
        token,
        created_at: now,
    };
    let program_id = program_settings::create(connection, &new)
        .await?
        .context("another program has this slug: run it again")?;
    let everything = NewPolicy {
        program_id,
        product_id: None,
        effective_from: now,
        commission_type: CommissionType::CpsLifetime,
        rate: &Rate::percentage(DEFAULT_RATE_BPS).context("rate out of range")?,
        created_at: now,
    };
    policies::create(connection, &everything).await?;
    let product_id = ProductId::parse(FIXED_PRODUCT)?;
    let kit = NewPolicy {
        product_id: Some(&product_id),
        commission_type: CommissionType::CpsOneTime,
        rate: &Rate::fixed(FIXED_CENTS, Currency::default()).context("amount out of range")?,
        ..everything
    };
    policies::create(connection, &kit).await?;
    for (name, short) in PARTNERS {
        add_partner(connection, program_id, name, &code(short, program_id), now).await?;
    }
    Ok(program_id)
}

async fn add_partner(
    connection: &mut PgConnection,
    program_id: ProgramId,
    name: &str,
    code: &str,
    created_at: DateTime<Utc>,
) -> anyhow::Result<()> {
    let partner = NewPartner {
        program_id,
        name: &PartnerName::parse(name)?,
        email: None,
        created_at,
    };
    let membership = NewMembership {
        program_id,
        partner_id: partners::provide(connection, &partner).await?,
        status: MembershipStatus::Approved,
        created_at,
    };
    let membership = partners::join(connection, &membership)
        .await?
        .context("a new partner is in no program yet")?;
    links::create(connection, membership, &ShortCode::parse(code)?, created_at)
        .await?
        .with_context(|| format!("another link has the code {code}"))?;
    Ok(())
}

/// Codes are unique over all programs; the first demo program gets the plain names.
fn code(name: &str, program_id: ProgramId) -> String {
    if program_id.get() == 1 {
        name.to_owned()
    } else {
        format!("{name}-{program_id}")
    }
}
