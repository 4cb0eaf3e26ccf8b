//! The demo program of `cargo xtask dev`: one workspace, one program, partners with a link each, a default
//! policy and a product policy, and accounts to sign in with.
//!
//! [`feed`] adds a history of events.

mod chance;
pub mod feed;
mod past;

use anyhow::Context;
use chrono::{DateTime, TimeDelta, Utc};
use clap::Args;
use domain::earnings::commission::{CommissionType, Rate};
use domain::ids::{PartnerId, PartnerProgramId, ProgramId, WorkspaceId};
use domain::money::Currency;
use domain::people::account::{EmailAddress, Password, PasswordHash, UserKind};
use domain::people::permission::Role;
use domain::programs::partner::{MembershipStatus, PartnerName, ShortCode};
use domain::programs::program::{Domain, ProgramName, ProgramSettings, ProgramStatus, Slug};
use domain::text::ProductId;
use domain::token::ProgramToken;
use runtime::clock::Clock;
use sqlx::{PgConnection, PgPool};
use storage::people::users::{self, NewUser};
use storage::people::workspaces;
use storage::program::partners::{self, NewMembership, NewPartner};
use storage::program::policies::{self, NewPolicy};
use storage::program::program_settings::{self, NewProgram};
use storage::program::{directory, links};

const PARTNERS: [(&str, &str); 2] = [("Ada's Newsletter", "ada"), ("Bruno's Reviews", "bruno")];
/// Added when the demo has a history.
const MORE_PARTNERS: [(&str, &str); 4] = [
    ("Chloe Codes", "chloe"),
    ("Daily Deals", "deals"),
    ("Elif on Video", "elif"),
    ("Frugal Fox", "fox"),
];
/// A partner that waits for approval.
const APPLICANT: &str = "Gustav's Garden";
/// The site that its links lead to.
const SITE: &str = "shop.example";
/// The workspace's owner, a colleague with an unverified address, and the first partner.
const OWNER: (&str, &str) = ("Olive", "olive@demo.example");
const COLLEAGUE: (&str, &str) = ("Kim", "kim@demo.example");
const PARTNER: (&str, &str) = ("Ada", "ada@demo.example");
/// 20 % of every payment, for as long as the customer pays.
const DEFAULT_RATE_BPS: i64 = 2_000;
/// A product with its own policy: a fixed 10 dollars, once.
const FIXED_PRODUCT: &str = "starter-kit";
const FIXED_CENTS: i64 = 1_000;

#[derive(Debug, Args)]
pub struct SeedDemo {
    /// The tracking token of an earlier run: its program is used again. Tokens are stored as hashes, so it cannot
    /// be read back from the database.
    #[arg(long, env = "DEMO_API_KEY", hide_env_values = true)]
    api_key: Option<String>,
    /// Make a new demo program that many days old, with more partners
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=365))]
    days: u32,
}

impl SeedDemo {
    /// Returns dotenv lines: `DEMO_PROGRAM_ID`, `DEMO_API_KEY`, `DEMO_AFF_A`, `DEMO_AFF_B`, and when the
    /// accounts are created `DEMO_EMAIL`, `DEMO_PARTNER_EMAIL` and `DEMO_PASSWORD`.
    pub async fn run(&self, pool: &PgPool, random: [u8; 32]) -> anyhow::Result<Vec<String>> {
        let given = self.api_key.as_deref().and_then(ProgramToken::parse);
        let token = given.unwrap_or_else(|| ProgramToken::generate(random));
        let earlier = directory::program_ids_by_token(pool, &[token.hash()]).await?;
        let mut transaction = pool.begin().await?;
        let (program_id, accounts) = if let Some(program_id) = earlier.first() {
            (ProgramId::new(*program_id), Vec::new())
        } else {
            let demo = self.create(&mut transaction, &token).await?;
            (demo.program_id, demo.accounts(&mut transaction).await?)
        };
        transaction.commit().await?;
        let [aff_a, aff_b] = PARTNERS.map(|(_, name)| code(name, program_id));
        let mut lines = vec![
            format!("DEMO_PROGRAM_ID={program_id}"),
            format!("DEMO_API_KEY={}", token.expose()),
            format!("DEMO_AFF_A={aff_a}"),
            format!("DEMO_AFF_B={aff_b}"),
        ];
        lines.extend(accounts);
        Ok(lines)
    }

    async fn create(&self, connection: &mut PgConnection, token: &ProgramToken) -> anyhow::Result<Demo> {
        let since = Clock::system().now() - TimeDelta::days(i64::from(self.days));
        let workspace_id = workspaces::create(connection, "Demo workspace").await?;
        let name = ProgramName::parse("Demo program")?;
        let slug = Slug::of_name(name.as_str(), rand::random());
        let settings = ProgramSettings {
            domain: Some(Domain::parse(SITE)?),
            ..ProgramSettings::new(name, slug)
        };
        let new = NewProgram {
            workspace_id,
            settings: &settings,
            status: ProgramStatus::Live,
            token,
            created_at: since,
        };
        let program_id = program_settings::create(connection, &new)
            .await?
            .context("another program has this slug: run it again")?;
        set_policies(connection, program_id, since).await?;
        let mut first_partner = None;
        let more: &[(&str, &str)] = if self.days > 0 { &MORE_PARTNERS } else { &[] };
        for (name, short) in PARTNERS.iter().chain(more) {
            let partner_id = add_partner(connection, program_id, name, since).await?;
            add_link(
                connection,
                program_id,
                partner_id,
                &code(short, program_id),
                since,
            )
            .await?;
            first_partner.get_or_insert(partner_id);
        }
        if self.days > 0 {
            let applicant = add_partner(connection, program_id, APPLICANT, since).await?;
            join(
                connection,
                program_id,
                applicant,
                MembershipStatus::Pending,
                since,
            )
            .await?;
        }
        Ok(Demo {
            workspace_id,
            program_id,
            first_partner: first_partner.context("the demo has partners")?,
        })
    }
}

struct Demo {
    workspace_id: WorkspaceId,
    program_id: ProgramId,
    first_partner: PartnerId,
}

impl Demo {
    /// Creates accounts of two members and one partner, with the same password. Does nothing if an earlier
    /// demo created them.
    async fn accounts(&self, connection: &mut PgConnection) -> anyhow::Result<Vec<String>> {
        let password = Password::generate(rand::random());
        let hash = PasswordHash::of(&password, rand::random())?;
        let now = Clock::system().now();
        let mut account = async |kind, (name, email): (&str, &str), verified_at| {
            let user = NewUser {
                kind,
                name,
                email: &EmailAddress::parse(email)?,
                password_hash: &hash,
                verified_at,
            };
            anyhow::Ok(users::create(&mut *connection, &user).await?)
        };
        let Some(owner) = account(UserKind::Advertiser, OWNER, Some(now)).await? else {
            return Ok(Vec::new());
        };
        let colleague = account(UserKind::Advertiser, COLLEAGUE, None).await?;
        let partner = account(UserKind::Partner, PARTNER, Some(now)).await?;
        workspaces::add_member(connection, self.workspace_id, owner, Role::Owner).await?;
        if let Some(colleague) = colleague {
            workspaces::add_member(connection, self.workspace_id, colleague, Role::Admin).await?;
        }
        if let Some(partner) = partner {
            partners::give_to(connection, self.first_partner, partner).await?;
        }
        Ok(vec![
            format!("DEMO_EMAIL={}", OWNER.1),
            format!("DEMO_COLLEAGUE_EMAIL={}", COLLEAGUE.1),
            format!("DEMO_PARTNER_EMAIL={}", PARTNER.1),
            format!("DEMO_PASSWORD={}", password.expose()),
        ])
    }
}

async fn set_policies(
    connection: &mut PgConnection,
    program_id: ProgramId,
    since: DateTime<Utc>,
) -> anyhow::Result<()> {
    let everything = NewPolicy {
        program_id,
        product_id: None,
        effective_from: since,
        commission_type: CommissionType::CpsLifetime,
        rate: &Rate::percentage(DEFAULT_RATE_BPS).context("rate out of range")?,
        created_at: since,
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
    Ok(())
}

async fn add_partner(
    connection: &mut PgConnection,
    program_id: ProgramId,
    name: &str,
    created_at: DateTime<Utc>,
) -> anyhow::Result<PartnerId> {
    let partner = NewPartner {
        program_id,
        name: &PartnerName::parse(name)?,
        email: None,
        created_at,
    };
    Ok(partners::provide(connection, &partner).await?)
}

async fn join(
    connection: &mut PgConnection,
    program_id: ProgramId,
    partner_id: PartnerId,
    status: MembershipStatus,
    created_at: DateTime<Utc>,
) -> anyhow::Result<PartnerProgramId> {
    let membership = NewMembership {
        program_id,
        partner_id,
        status,
        created_at,
    };
    partners::join(connection, &membership)
        .await?
        .context("a new partner is in no program yet")
}

async fn add_link(
    connection: &mut PgConnection,
    program_id: ProgramId,
    partner_id: PartnerId,
    code: &str,
    created_at: DateTime<Utc>,
) -> anyhow::Result<()> {
    let membership = join(
        connection,
        program_id,
        partner_id,
        MembershipStatus::Approved,
        created_at,
    )
    .await?;
    links::create(connection, membership, &ShortCode::parse(code)?, created_at)
        .await?
        .with_context(|| format!("another link has the code {code}"))?;
    Ok(())
}

/// Codes are unique across all programs. The first demo program gets the plain names.
fn code(name: &str, program_id: ProgramId) -> String {
    if program_id.get() == 1 {
        name.to_owned()
    } else {
        format!("{name}-{program_id}")
    }
}
