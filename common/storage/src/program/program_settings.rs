//! Programs with their settings, lifecycle and tracking token. The parts that the worker's steps read are in
//! [`programs`](crate::program::programs), those that the edge caches in
//! [`directory`](crate::program::directory).

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::error::StorageResult;
use domain::earnings::commission::{HoldPeriod, NeedsApproval, SelfReferrals};
use domain::ids::{ProgramId, WorkspaceId};
use domain::money::Currency;
use domain::name::Name;
use domain::people::account::EmailAddress;
use domain::programs::key_rotation::KeyRotation;
use domain::programs::program::{
    Color, CookieWindow, Description, Domain, LogoUrl, PartnerLinkLimit, ProgramSettings, ProgramStatus, Slug,
};
use domain::text::Text;
use domain::token::ProgramToken;
use domain::tracking::attribution::{AttributionModel, AttributionWindow};
use domain::tracking::lead::LeadAuth;

#[derive(Debug, Clone)]
pub struct StoredProgram {
    pub program_id: ProgramId,
    pub workspace_id: WorkspaceId,
    pub settings: ProgramSettings,
    pub status: ProgramStatus,
    pub api_token_masked: String,
    pub rotation: Option<KeyRotation>,
    pub published_at: Option<DateTime<Utc>>,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
}

#[derive(Debug)]
pub struct NewProgram<'a> {
    pub workspace_id: WorkspaceId,
    pub settings: &'a ProgramSettings,
    pub status: ProgramStatus,
    /// Only its hash and its masked form are stored.
    pub token: &'a ProgramToken,
    pub created_at: DateTime<Utc>,
}

/// `None` when another program has the slug.
pub async fn create(connection: &mut PgConnection, new: &NewProgram<'_>) -> StorageResult<Option<ProgramId>> {
    let settings = new.settings;
    let hash = new.token.hash();
    Ok(fetch_optional_scalar!(
        connection,
        r#"INSERT INTO programs (workspace_id, name, slug, description, domain, currency, attribution_model,
             attribution_window_days, cookie_window_days, lead_auth, hold_days, exclude_bots, status, published_at,
             api_token_hash, api_token_masked, created_at, needs_approval, self_referrals, logo_url, reply_to_email, color,
             partner_link_limit)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, CASE WHEN $13 = 'live' THEN $16::timestamptz END,
             $14, $15, $16, $17, $18, $19, $20, $21, $22)
         ON CONFLICT (slug) DO NOTHING
         RETURNING id AS "id: ProgramId""#,
        new.workspace_id.get(),
        settings.name.as_str(),
        settings.slug.as_str(),
        settings.description.as_ref().map(Text::as_str),
        settings.domain.as_ref().map(Domain::as_str),
        settings.currency.as_str(),
        settings.attribution_model.as_str(),
        small(settings.attribution_window.days()),
        small(settings.cookie_window.days()),
        settings.lead_auth.as_str(),
        i16::from(settings.hold.days()),
        settings.exclude_bots,
        new.status.as_str(),
        hash.as_bytes().as_slice(),
        new.token.masked(),
        new.created_at,
        settings.needs_approval.as_str(),
        settings.self_referrals.as_str(),
        settings.logo_url.as_ref().map(LogoUrl::as_str),
        settings.reply_to.as_ref().map(EmailAddress::as_str),
        settings.color.map(|color| color.to_string()),
        i16::from(settings.partner_link_limit.links()),
    ))
}

pub async fn find(connection: &mut PgConnection, ids: &[i64]) -> StorageResult<Vec<StoredProgram>> {
    Ok(sqlx::query!(
        r#"SELECT id AS "id: ProgramId", workspace_id AS "workspace_id: WorkspaceId", name AS "name: Name", slug AS "slug: Slug",
                  description AS "description: Description", domain AS "domain: Domain",
                  currency AS "currency: Currency", attribution_model AS "attribution_model: AttributionModel",
                  attribution_window_days AS "attribution_window: AttributionWindow", cookie_window_days AS "cookie_window: CookieWindow",
                  lead_auth AS "lead_auth: LeadAuth", hold_days AS "hold: HoldPeriod", needs_approval AS "needs_approval: NeedsApproval",
                  self_referrals AS "self_referrals: SelfReferrals", partner_link_limit AS "partner_link_limit: PartnerLinkLimit", exclude_bots,
                  logo_url AS "logo_url: LogoUrl", reply_to_email AS "reply_to: EmailAddress", color AS "color: Color", status AS "status: ProgramStatus",
                  api_token_masked, key_rotation_marked_at, key_rotation_rotate_by, published_at, created_at, updated_at
           FROM programs WHERE id = ANY($1) ORDER BY id"#,
        ids,
    )
    .map(|row| StoredProgram {
        program_id: row.id,
        workspace_id: row.workspace_id,
        settings: ProgramSettings {
            name: row.name,
            slug: row.slug,
            description: row.description,
            domain: row.domain,
            currency: row.currency,
            attribution_model: row.attribution_model,
            attribution_window: row.attribution_window,
            cookie_window: row.cookie_window,
            lead_auth: row.lead_auth.unwrap_or(LeadAuth::AnyCaller),
            hold: row.hold,
            needs_approval: row.needs_approval,
            self_referrals: row.self_referrals,
            partner_link_limit: row.partner_link_limit,
            exclude_bots: row.exclude_bots,
            logo_url: row.logo_url,
            color: row.color,
            reply_to: row.reply_to,
        },
        status: row.status,
        api_token_masked: row.api_token_masked,
        rotation: KeyRotation::of(row.key_rotation_marked_at, row.key_rotation_rotate_by),
        published_at: row.published_at,
        created_at: row.created_at,
        updated_at: row.updated_at,
    })
    .fetch_all(connection)
    .await?)
}

pub async fn find_one(
    connection: &mut PgConnection,
    program_id: ProgramId,
) -> StorageResult<Option<StoredProgram>> {
    Ok(find(connection, &[program_id.get()]).await?.pop())
}

/// Finds and locks a program for a change: of two concurrent changes, the second reads what the first wrote.
pub async fn lock(
    connection: &mut PgConnection,
    program_id: ProgramId,
) -> StorageResult<Option<StoredProgram>> {
    fetch_optional!(
        &mut *connection,
        "SELECT id FROM programs WHERE id = $1 FOR NO KEY UPDATE",
        program_id.get()
    );
    find_one(connection, program_id).await
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Updated {
    Done,
    /// Another program has the slug; nothing was changed.
    SlugTaken,
}

pub async fn update(
    connection: &mut PgConnection,
    program_id: ProgramId,
    settings: &ProgramSettings,
) -> StorageResult<Updated> {
    let updated = sqlx::query!(
        "UPDATE programs SET name = $2, slug = $3, description = $4, domain = $5, currency = $6,
             attribution_model = $7, attribution_window_days = $8, cookie_window_days = $9, lead_auth = $10,
             hold_days = $11, exclude_bots = $12, needs_approval = $13, self_referrals = $14, logo_url = $15, reply_to_email = $16,
             color = $17, partner_link_limit = $18,
             -- Ownership was shown for the domain that was.
             dns_verified = dns_verified AND domain IS NOT DISTINCT FROM $5
         WHERE id = $1 AND NOT EXISTS (SELECT 1 FROM programs o WHERE o.slug = $3 AND o.id <> $1)",
        program_id.get(),
        settings.name.as_str(),
        settings.slug.as_str(),
        settings.description.as_ref().map(Text::as_str),
        settings.domain.as_ref().map(Domain::as_str),
        settings.currency.as_str(),
        settings.attribution_model.as_str(),
        small(settings.attribution_window.days()),
        small(settings.cookie_window.days()),
        settings.lead_auth.as_str(),
        i16::from(settings.hold.days()),
        settings.exclude_bots,
        settings.needs_approval.as_str(),
        settings.self_referrals.as_str(),
        settings.logo_url.as_ref().map(LogoUrl::as_str),
        settings.reply_to.as_ref().map(EmailAddress::as_str),
        settings.color.map(|color| color.to_string()),
        i16::from(settings.partner_link_limit.links()),
    )
    .execute(connection)
    .await;
    match updated {
        Ok(updated) if updated.rows_affected() == 1 => Ok(Updated::Done),
        Ok(_) => Ok(Updated::SlugTaken),
        // A concurrent update took the slug after the check: the unique index detects it.
        Err(sqlx::Error::Database(error)) if error.constraint() == Some("programs_slug") => {
            Ok(Updated::SlugTaken)
        }
        Err(error) => Err(error.into()),
    }
}

/// Publishes a draft. A live program keeps the time of its first publication.
pub async fn publish(
    connection: &mut PgConnection,
    program_id: ProgramId,
    now: DateTime<Utc>,
) -> StorageResult<()> {
    execute!(
        connection,
        "UPDATE programs SET status = 'live', published_at = coalesce(published_at, $2) WHERE id = $1 AND status = 'draft'",
        program_id.get(),
        now,
    );
    Ok(())
}

pub async fn has_sales(connection: &mut PgConnection, program_id: ProgramId) -> StorageResult<bool> {
    Ok(fetch_scalar!(
        connection,
        r#"SELECT EXISTS (SELECT FROM sale_events WHERE program_id = $1 AND NOT is_test) AS "has!""#,
        program_id.get(),
    ))
}

/// Archives a program: its key and links stop working at once, and its ledger stays.
pub async fn archive(
    connection: &mut PgConnection,
    program_id: ProgramId,
    now: DateTime<Utc>,
) -> StorageResult<()> {
    execute!(
        connection,
        "UPDATE programs SET status = 'archived', archived_at = $2 WHERE id = $1 AND status <> 'archived'",
        program_id.get(),
        now,
    );
    Ok(())
}

/// Sets the sales and refunds a minute for each key of the program. `None` means the installation's setting.
pub async fn limit_sales_and_refunds(
    connection: &mut PgConnection,
    program_id: ProgramId,
    limit: Option<i32>,
) -> StorageResult<()> {
    execute!(
        connection,
        "UPDATE programs SET sale_refund_limit = $2 WHERE id = $1",
        program_id.get(),
        limit,
    );
    Ok(())
}

/// Marks the token for rotation. `None` removes the mark.
pub async fn mark_rotation(
    connection: &mut PgConnection,
    program_id: ProgramId,
    rotation: Option<KeyRotation>,
) -> StorageResult<()> {
    execute!(
        connection,
        "UPDATE programs SET key_rotation_marked_at = $2, key_rotation_rotate_by = $3 WHERE id = $1",
        program_id.get(),
        rotation.map(|rotation| rotation.marked_at),
        rotation.map(|rotation| rotation.rotate_by),
    );
    Ok(())
}

fn small(days: u16) -> i16 {
    i16::try_from(days).unwrap_or(i16::MAX)
}
