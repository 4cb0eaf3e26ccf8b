//! Setting up what a program needs to exist. Small single-row writes: this is nobody's hot path.

use sqlx::PgConnection;

use super::StorageResult;
use crate::domain::commission::{CommissionType, Rate};
use crate::domain::ids::{PartnerId, PartnerProgramId, PolicyId, ProgramId, ReferralLinkId};
use crate::domain::token::ProgramToken;

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

/// A partner, as the workspace of a program knows them.
pub async fn create_partner(
    connection: &mut PgConnection,
    program_id: ProgramId,
    name: &str,
) -> StorageResult<PartnerId> {
    let id = sqlx::query_scalar!(
        "INSERT INTO partners (workspace_id, name) SELECT workspace_id, $2 FROM programs WHERE id = $1 RETURNING id",
        program_id.get(),
        name,
    )
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
