//! `ctl link`: creates a partner's link, and the membership that it requires.

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use domain::ids::{EventId, PartnerId, PartnerProgramId, ProgramId};
use domain::people::account::EmailAddress;
use domain::programs::partner::{MembershipStatus, PartnerName, ShortCode};
use runtime::clock::Clock;
use serde_json::json;
use sqlx::{PgConnection, PgPool};
use storage::outbound::outbound_partners;
use storage::program::links;
use storage::program::partners::{self, NewMembership, NewPartner};

use crate::audit::{self, Done};
use crate::{output, program};

#[derive(Debug, Subcommand)]
pub enum Link {
    /// Create a partner's link; the partner is made and joins the program if need be
    Create(Create),
}

const EXAMPLES: &str = "\
Examples:
    ctl link create --program-id 1 --partner Ada
    ctl link create --program-id 1 --partner \"Ada's Newsletter\" --email ada@partner.example --code ada";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Create {
    /// The program it belongs to
    #[arg(long, value_name = "ID")]
    program_id: i64,
    /// Whose link; a name the program's workspace does not know makes a new partner
    #[arg(long, value_name = "NAME", value_parser = PartnerName::parse)]
    partner: PartnerName,
    /// The partner's address; where it is given, it says who is meant
    #[arg(long, value_parser = EmailAddress::parse)]
    email: Option<EmailAddress>,
    /// The `aff` parameter of its URLs; generated unless given
    #[arg(long, value_parser = ShortCode::parse)]
    code: Option<ShortCode>,
}

impl Link {
    pub async fn run(self, pool: &PgPool) -> anyhow::Result<()> {
        match self {
            Self::Create(create) => create.run(pool).await,
        }
    }
}

impl Create {
    async fn run(self, pool: &PgPool) -> anyhow::Result<()> {
        let code = self.code.unwrap_or_else(|| ShortCode::generate(rand::random()));
        let program_id = ProgramId::new(self.program_id);
        let clock = Clock::system();
        let now = clock.now();
        let mut transaction = pool.begin().await?;
        let program = program::find_unarchived(&mut transaction, program_id).await?;
        let new = NewPartner {
            program_id,
            name: &self.partner,
            email: self.email.as_ref(),
            created_at: now,
        };
        let partner_id = partner(&mut transaction, &new).await?;
        let membership = membership(&mut transaction, program_id, partner_id, &clock).await?;
        let link_id = links::create(&mut transaction, membership, &code, now)
            .await?
            .with_context(|| format!("another link has the code {code}"))?;
        let details = json!({ "short_code": code.as_str(), "partner_program_id": membership });
        let done = Done {
            subject_id: Some(link_id.get()),
            ..Done::to_program(&program, now, "referral_link.created", details)
        };
        audit::append(&mut transaction, done).await?;
        transaction.commit().await?;
        output::facts([
            ("link_id", link_id.to_string()),
            ("partner_id", partner_id.to_string()),
            ("code", code.to_string()),
        ]);
        Ok(())
    }
}

/// The partner with this address, or with this name if it is unique; otherwise a new partner.
async fn partner(connection: &mut PgConnection, new: &NewPartner<'_>) -> anyhow::Result<PartnerId> {
    let found = if new.email.is_some() {
        Vec::new()
    } else {
        partners::called(connection, new.program_id, new.name).await?
    };
    match found.as_slice() {
        [] => Ok(partners::provide(connection, new).await?),
        [only] => Ok(*only),
        several => bail!(
            "{} partners are called {}: say who is meant with --email",
            several.len(),
            new.name
        ),
    }
}

/// The partner's approved membership. Joins the program if needed.
async fn membership(
    connection: &mut PgConnection,
    program_id: ProgramId,
    partner_id: PartnerId,
    clock: &Clock,
) -> anyhow::Result<PartnerProgramId> {
    match partners::membership(connection, program_id, partner_id).await? {
        Some((membership, MembershipStatus::Approved)) => return Ok(membership),
        Some((_, MembershipStatus::Pending | MembershipStatus::Suspended)) => {
            bail!("partner {partner_id} is not approved in program {program_id}: their links earn nothing")
        }
        None => {}
    }
    let created_at = clock.now();
    let new = NewMembership {
        program_id,
        partner_id,
        status: MembershipStatus::Approved,
        created_at,
    };
    let membership = partners::join(connection, &new)
        .await?
        .context("the partner has joined the program in this very moment: run it again")?;
    let new_event_id = || EventId::new(clock.mint());
    outbound_partners::joined(connection, program_id, membership, created_at, new_event_id).await?;
    Ok(membership)
}
