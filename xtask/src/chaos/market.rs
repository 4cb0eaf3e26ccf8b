//! A round's own program: two partners with a link each, one policy, a connection to a payment processor.

use std::str::FromStr;

use anyhow::{Context, Result};
use common::domain::commission::{CommissionType, Rate};
use common::domain::ids::ProgramId;
use common::domain::partner::{MembershipStatus, PartnerName, ShortCode};
use common::domain::processor::{ConnectionStatus, ProcessorId, WebhookSecret};
use common::domain::program::{ProgramSettings, ProgramStatus, Slug};
use common::domain::sealed::SealingKeys;
use common::domain::text::Text;
use common::domain::token::ProgramToken;
use common::runtime::clock::Clock;
use common::runtime::config::SecretKey;
use common::storage::partners::{self, NewMembership, NewPartner};
use common::storage::policies::{self, NewPolicy};
use common::storage::processor_connections::{self, Connection, SealedSecret};
use common::storage::program_settings::{self, NewProgram};
use common::storage::{links, workspaces};
use sqlx::{PgConnection, PgPool};

use super::dice::Dice;
use super::reconcile::RATE_BPS;

const PARTNERS: [&str; 2] = ["ada", "bruno"];

#[derive(Debug, Clone)]
pub(super) struct Market {
    pub(super) program_id: i64,
    pub(super) token: String,
    pub(super) codes: [String; 2],
    /// What the processor signs with.
    pub(super) secret: String,
}

impl Market {
    /// `sealing_key`: as the services have it.
    pub(super) async fn found(pool: &PgPool, sealing_key: &str, dice: &mut Dice) -> Result<Self> {
        let now = Clock::system().now();
        let mut transaction = pool.begin().await?;
        let token = ProgramToken::generate(random(dice));
        let workspace_id = workspaces::create(&mut transaction, "Chaos").await?;
        let name = Text::parse("Chaos")?;
        let slug = Slug::of_name(name.as_str(), u32::from_be_bytes(random(dice)));
        let new = NewProgram {
            workspace_id,
            settings: &ProgramSettings::new(name, slug),
            status: ProgramStatus::Live,
            token: &token,
            created_at: now,
        };
        let program_id = program_settings::create(&mut transaction, &new)
            .await?
            .context("another program has this slug")?;
        // Before anything that a clock which is off can say.
        let long_ago = now - chrono::TimeDelta::days(1);
        let policy = NewPolicy {
            program_id,
            product_id: None,
            effective_from: long_ago,
            commission_type: CommissionType::CpsLifetime,
            rate: &Rate::percentage(RATE_BPS).context("rate out of range")?,
            created_at: long_ago,
        };
        policies::create(&mut transaction, &policy).await?;
        let codes = PARTNERS.map(|name| format!("{name}-{program_id}"));
        for (name, code) in PARTNERS.iter().zip(&codes) {
            add_partner(&mut transaction, program_id, name, code).await?;
        }
        let secret = format!("whsec_of_program_{program_id}_chaos");
        let connection = connection(program_id, &secret, sealing_key, dice)?;
        processor_connections::save(&mut transaction, program_id, &connection, now).await?;
        transaction.commit().await?;
        Ok(Self {
            program_id: program_id.get(),
            token: token.expose().to_owned(),
            codes,
            secret,
        })
    }
}

async fn add_partner(
    connection: &mut PgConnection,
    program_id: ProgramId,
    name: &str,
    code: &str,
) -> Result<()> {
    let created_at = Clock::system().now();
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

fn connection(program_id: ProgramId, secret: &str, sealing_key: &str, dice: &mut Dice) -> Result<Connection> {
    let key = SecretKey::from_str(sealing_key)?;
    let keys = SealingKeys::new(key.expose(), &[]);
    let secret = WebhookSecret::parse(secret)?;
    Ok(Connection {
        account_id: ProcessorId::parse(&format!("acct_{program_id}")).context("not an account")?,
        webhook_endpoint_id: None,
        status: ConnectionStatus::Connected,
        charges_enabled: true,
        payouts_enabled: true,
        connected_at: Some(Clock::system().now()),
        secret: Some(SealedSecret::seal(&keys, program_id, &secret, random(dice))?),
        previous: None,
    })
}

fn random<const N: usize>(dice: &mut Dice) -> [u8; N] {
    std::array::from_fn(|_| u8::try_from(dice.below(256)).unwrap_or(0))
}
