//! The demo program of `cargo xtask dev`: one workspace, one program, two partners with a link each, policies for
//! everything and for one product.

use anyhow::Context;
use clap::Args;
use common::domain::commission::{CommissionType, Rate};
use common::domain::ids::ProgramId;
use common::domain::money::{BasisPoints, Cents, Currency};
use common::domain::program::{ProgramSettings, ProgramStatus, Slug};
use common::domain::text::Text;
use common::domain::token::ProgramToken;
use common::runtime::clock::Clock;
use common::storage::program_settings::{self, NewProgram};
use common::storage::provisioning::{
    create_link, create_partner, create_policy, find_link, find_program, join_program,
};
use common::storage::workspaces;
use sqlx::{PgConnection, PgPool};

const PARTNERS: [(&str, &str); 2] = [("Ada's Newsletter", "ada"), ("Bruno's Reviews", "bruno")];
/// 20 % of everything, for as long as the customer pays.
const DEFAULT_RATE_BPS: u32 = 2_000;
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
        let mut transaction = pool.begin().await?;
        let program_id = match find_program(&mut transaction, &token).await? {
            Some(program_id) => program_id,
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
    let workspace_id = workspaces::create(connection, "Demo workspace").await?;
    let name = Text::parse("Demo program")?;
    let slug = Slug::of_name(name.as_str(), rand::random());
    let new = NewProgram {
        workspace_id,
        settings: &ProgramSettings::new(name, slug),
        status: ProgramStatus::Live,
        token,
        created_at: Clock::system().now(),
    };
    let program_id = program_settings::create(connection, &new)
        .await?
        .context("another program has this slug: run it again")?;
    let everything = Rate::Percentage(BasisPoints::new(DEFAULT_RATE_BPS).context("rate out of range")?);
    create_policy(
        connection,
        program_id,
        None,
        CommissionType::CpsLifetime,
        &everything,
    )
    .await?;
    let fixed = Rate::Fixed {
        amount: Cents::new(FIXED_CENTS),
        currency: Currency::default(),
    };
    create_policy(
        connection,
        program_id,
        Some(FIXED_PRODUCT),
        CommissionType::CpsOneTime,
        &fixed,
    )
    .await?;
    for (name, short) in PARTNERS {
        let code = code(short, program_id);
        if find_link(connection, &code).await?.is_none() {
            let partner_id = create_partner(connection, program_id, name).await?;
            let membership = join_program(connection, program_id, partner_id).await?;
            create_link(connection, membership, &code).await?;
        }
    }
    Ok(program_id)
}

/// Codes are unique over all programs; the first demo program gets the plain names.
fn code(name: &str, program_id: ProgramId) -> String {
    if program_id.get() == 1 {
        name.to_owned()
    } else {
        format!("{name}-{program_id}")
    }
}
