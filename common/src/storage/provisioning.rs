//! Setting up what a program needs to exist. Small single-row writes: this is nobody's hot path.

use sqlx::PgConnection;

use super::StorageResult;
use crate::domain::attribution::AttributionModel;
use crate::domain::commission::{CommissionType, Rate};
use crate::domain::ids::{PartnerId, PartnerProgramId, PolicyId, ProgramId, ReferralLinkId};
use crate::domain::token::ProgramToken;

pub async fn create_workspace(connection: &mut PgConnection, name: &str) -> StorageResult<i64> {
    Ok(
        sqlx::query_scalar!("INSERT INTO workspaces (name) VALUES ($1) RETURNING id", name)
            .fetch_one(connection)
            .await?,
    )
}

/// Settings a program starts with; everything else has the contract's defaults.
#[derive(Debug)]
pub struct NewProgram<'a> {
    pub workspace_id: i64,
    pub name: &'a str,
    pub attribution_model: AttributionModel,
    /// Only its hash and its masked form are stored.
    pub token: &'a ProgramToken,
}

pub async fn create_program(connection: &mut PgConnection, new: &NewProgram<'_>) -> StorageResult<ProgramId> {
    let token_hash = new.token.hash();
    let id = sqlx::query_scalar!(
        "INSERT INTO programs (workspace_id, name, attribution_model, api_token_hash, api_token_masked)
         VALUES ($1, $2, $3, $4, $5) RETURNING id",
        new.workspace_id,
        new.name,
        new.attribution_model.as_str(),
        token_hash.as_bytes().as_slice(),
        new.token.masked(),
    )
    .fetch_one(connection)
    .await?;
    Ok(ProgramId::new(id))
}

/// Adds a version of a policy, in force from now on. `product_id: None` is the program's default.
pub async fn create_policy(
    connection: &mut PgConnection,
    program_id: ProgramId,
    product_id: Option<&str>,
    commission_type: CommissionType,
    rate: &Rate,
) -> StorageResult<PolicyId> {
    let (rate_bps, fixed_cents) = super::commissions::rate_columns(rate);
    let currency = match rate {
        Rate::Percentage(_) => None,
        Rate::Fixed { currency, .. } => Some(currency.as_str()),
    };
    let id = sqlx::query_scalar!(
        "INSERT INTO commission_policies (program_id, product_id, commission_type, default_duration_months,
             rate_bps, fixed_cents, currency)
         VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING id",
        program_id.get(),
        product_id,
        commission_type.as_str(),
        commission_type.default_duration_months(),
        rate_bps,
        fixed_cents,
        currency,
    )
    .fetch_one(connection)
    .await?;
    Ok(PolicyId::new(id))
}

pub async fn create_partner(connection: &mut PgConnection, name: &str) -> StorageResult<PartnerId> {
    let id = sqlx::query_scalar!("INSERT INTO partners (name) VALUES ($1) RETURNING id", name)
        .fetch_one(connection)
        .await?;
    Ok(PartnerId::new(id))
}

/// Makes a partner an approved member of a program.
pub async fn join_program(
    connection: &mut PgConnection,
    program_id: ProgramId,
    partner_id: PartnerId,
) -> StorageResult<PartnerProgramId> {
    let id = sqlx::query_scalar!(
        "INSERT INTO partner_programs (program_id, partner_id) VALUES ($1, $2) RETURNING id",
        program_id.get(),
        partner_id.get(),
    )
    .fetch_one(connection)
    .await?;
    Ok(PartnerProgramId::new(id))
}

/// Creates an active link for a membership.
pub async fn create_link(
    connection: &mut PgConnection,
    membership: PartnerProgramId,
    short_code: &str,
) -> StorageResult<ReferralLinkId> {
    let id = sqlx::query_scalar!(
        "INSERT INTO referral_links (short_code, program_id, partner_id, partner_program_id)
         SELECT $2, program_id, partner_id, id FROM partner_programs WHERE id = $1
         RETURNING id",
        membership.get(),
        short_code,
    )
    .fetch_one(connection)
    .await?;
    Ok(ReferralLinkId::new(id))
}

/// The link with this code, if any: lets set-up run twice.
pub async fn find_link(
    connection: &mut PgConnection,
    short_code: &str,
) -> StorageResult<Option<ReferralLinkId>> {
    let id = sqlx::query_scalar!("SELECT id FROM referral_links WHERE short_code = $1", short_code)
        .fetch_optional(connection)
        .await?;
    Ok(id.map(ReferralLinkId::new))
}

/// The program this token belongs to, if any.
pub async fn find_program(
    connection: &mut PgConnection,
    token: &ProgramToken,
) -> StorageResult<Option<ProgramId>> {
    let hash = token.hash();
    let id = sqlx::query_scalar!(
        "SELECT id FROM programs WHERE api_token_hash = $1",
        hash.as_bytes().as_slice()
    )
    .fetch_optional(connection)
    .await?;
    Ok(id.map(ProgramId::new))
}
