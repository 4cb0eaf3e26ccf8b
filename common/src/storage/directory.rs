//! What the edge must know to answer without asking: programs with their tokens, and referral links.

use chrono::{DateTime, Utc};
use sqlx::PgPool;

use super::{StorageError, StorageResult};
use crate::domain::ids::{PartnerId, ProgramId, ReferralLinkId};
use crate::domain::key_rotation::KeyRotation;
use crate::domain::token::TokenHash;

/// A program as the edge needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectoryProgram {
    pub program_id: ProgramId,
    pub token_hash: TokenHash,
    pub cookie_window_days: u16,
    pub rotation: Option<KeyRotation>,
    /// Its token opens refunds only.
    pub archived: bool,
    pub updated_at: DateTime<Utc>,
}

/// A referral link as the edge needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectoryLink {
    pub referral_link_id: ReferralLinkId,
    pub short_code: String,
    pub program_id: Option<ProgramId>,
    pub partner_id: Option<PartnerId>,
    /// It is turned on, its membership is approved (if it has one) and its program is not archived.
    pub active: bool,
    pub updated_at: DateTime<Utc>,
}

/// Which programs or links to read.
#[derive(Debug, Clone)]
pub enum Selection {
    /// Rows changed at or after this instant; `None` reads all.
    ChangedSince(Option<DateTime<Utc>>),
    Ids(Vec<i64>),
}

pub async fn programs(pool: &PgPool, selection: &Selection) -> StorageResult<Vec<DirectoryProgram>> {
    let (since, ids) = selection.parameters();
    let rows = sqlx::query!(
        r#"SELECT id, api_token_hash, cookie_window_days, key_rotation_marked_at, key_rotation_rotate_by,
                  status = 'archived' AS "archived!", updated_at
           FROM programs
           WHERE ($1::timestamptz IS NULL OR updated_at >= $1) AND ($2::bigint[] IS NULL OR id = ANY($2))"#,
        since,
        ids as Option<&[i64]>,
    )
    .fetch_all(pool)
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok(DirectoryProgram {
                program_id: ProgramId::new(row.id),
                token_hash: token_hash(&row.api_token_hash, row.id)?,
                cookie_window_days: u16::try_from(row.cookie_window_days)
                    .map_err(|_| StorageError::corrupt("programs", "cookie_window_days", row.id))?,
                rotation: row
                    .key_rotation_marked_at
                    .zip(row.key_rotation_rotate_by)
                    .map(|(marked_at, rotate_by)| KeyRotation { marked_at, rotate_by }),
                archived: row.archived,
                updated_at: row.updated_at,
            })
        })
        .collect()
}

pub async fn links(pool: &PgPool, selection: &Selection) -> StorageResult<Vec<DirectoryLink>> {
    let (since, ids) = selection.parameters();
    let rows = sqlx::query!(
        r#"SELECT l.id AS "id!", l.short_code AS "short_code!", l.program_id, l.partner_id,
                  l.updated_at AS "updated_at!",
                  l.status = 'active' AND coalesce(m.status, 'approved') = 'approved'
                      AND coalesce(p.status, 'live') <> 'archived' AS "active!"
           FROM referral_links l
           LEFT JOIN partner_programs m ON m.id = l.partner_program_id
           LEFT JOIN programs p ON p.id = l.program_id
           WHERE ($1::timestamptz IS NULL OR l.updated_at >= $1) AND ($2::bigint[] IS NULL OR l.id = ANY($2))"#,
        since,
        ids as Option<&[i64]>,
    )
    .fetch_all(pool)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| DirectoryLink {
            referral_link_id: ReferralLinkId::new(row.id),
            short_code: row.short_code,
            program_id: row.program_id.map(ProgramId::new),
            partner_id: row.partner_id.map(PartnerId::new),
            active: row.active,
            updated_at: row.updated_at,
        })
        .collect())
}

/// Ids of the links with one of these short codes: for codes the directory has not heard of yet.
pub async fn link_ids_by_code(pool: &PgPool, codes: &[String]) -> StorageResult<Vec<i64>> {
    Ok(
        sqlx::query_scalar!("SELECT id FROM referral_links WHERE short_code = ANY($1)", codes)
            .fetch_all(pool)
            .await?,
    )
}

/// Ids of the programs with one of these tokens: for tokens the directory has not heard of yet.
pub async fn program_ids_by_token(pool: &PgPool, hashes: &[TokenHash]) -> StorageResult<Vec<i64>> {
    let hashes: Vec<&[u8]> = hashes.iter().map(|hash| hash.as_bytes().as_slice()).collect();
    Ok(sqlx::query_scalar!(
        "SELECT id FROM programs WHERE api_token_hash = ANY($1)",
        &hashes as &[&[u8]]
    )
    .fetch_all(pool)
    .await?)
}

impl Selection {
    fn parameters(&self) -> (Option<DateTime<Utc>>, Option<&[i64]>) {
        match self {
            Self::ChangedSince(since) => (*since, None),
            Self::Ids(ids) => (None, Some(ids)),
        }
    }
}

fn token_hash(bytes: &[u8], program_id: i64) -> StorageResult<TokenHash> {
    <[u8; 32]>::try_from(bytes)
        .map(TokenHash::from_bytes)
        .map_err(|_| StorageError::corrupt("programs", "api_token_hash", program_id))
}
