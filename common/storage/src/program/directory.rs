//! The data that the edge caches to answer without a query: programs with their tokens, and referral links.

use chrono::{DateTime, Utc};
use sqlx::PgPool;

use crate::error::{StorageError, StorageResult};
use domain::ids::{PartnerId, ProgramId, ReferralLinkId};
use domain::programs::key_rotation::KeyRotation;
use domain::programs::program::CookieWindow;
use domain::programs::tracking_token::TokenScopes;
use domain::token::TokenHash;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectoryProgram {
    pub program_id: ProgramId,
    /// All tokens that the program accepts.
    pub tokens: Vec<DirectoryToken>,
    pub cookie_window_days: u16,
    /// The program's tokens are accepted for refunds only.
    pub archived: bool,
    /// Sales and refunds a minute for each of the program's tokens. `None` means the installation's setting.
    pub sale_refund_limit: Option<u32>,
    pub updated_at: DateTime<Utc>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DirectoryToken {
    pub hash: TokenHash,
    pub scopes: TokenScopes,
    /// Set when the token is marked for rotation.
    pub rotation: Option<KeyRotation>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectoryLink {
    pub referral_link_id: ReferralLinkId,
    pub short_code: String,
    pub program_id: Option<ProgramId>,
    pub partner_id: Option<PartnerId>,
    /// The link is turned on, its membership (if any) is approved, and its program is not archived.
    pub active: bool,
    pub updated_at: DateTime<Utc>,
}

#[derive(Debug, Clone)]
pub enum Selection {
    /// Rows changed at or after this instant; `None` reads all.
    ChangedSince(Option<DateTime<Utc>>),
    Ids(Vec<i64>),
}

pub async fn programs(pool: &PgPool, selection: &Selection) -> StorageResult<Vec<DirectoryProgram>> {
    let (since, ids) = selection.parameters();
    let rows = fetch_all!(
        pool,
        r#"SELECT p.id AS "id: ProgramId", p.cookie_window_days AS "cookie_window: CookieWindow",
                  p.status = 'archived' AS "archived!", p.sale_refund_limit, p.updated_at,
                  t.token_hash AS "token_hash!: TokenHash", t.scopes AS "scopes!: TokenScopes", t.marked_at, t.rotate_by
           FROM programs p JOIN accepted_tokens t ON t.program_id = p.id
           WHERE ($1::timestamptz IS NULL OR p.updated_at >= $1) AND ($2::bigint[] IS NULL OR p.id = ANY($2))
           ORDER BY p.id"#,
        since,
        ids as Option<&[i64]>,
    );
    let mut programs: Vec<DirectoryProgram> = Vec::new();
    for row in rows {
        let token = DirectoryToken {
            hash: row.token_hash,
            scopes: row.scopes,
            rotation: KeyRotation::of(row.marked_at, row.rotate_by),
        };
        match programs.last_mut() {
            Some(program) if program.program_id == row.id => program.tokens.push(token),
            _ => programs.push(DirectoryProgram {
                program_id: row.id,
                tokens: vec![token],
                cookie_window_days: row.cookie_window.days(),
                archived: row.archived,
                sale_refund_limit: row
                    .sale_refund_limit
                    .map(u32::try_from)
                    .transpose()
                    .map_err(|_| StorageError::corrupt("programs", "sale_refund_limit", row.id))?,
                updated_at: row.updated_at,
            }),
        }
    }
    Ok(programs)
}

pub async fn links(pool: &PgPool, selection: &Selection) -> StorageResult<Vec<DirectoryLink>> {
    let (since, ids) = selection.parameters();
    Ok(fetch_all!(
        pool,
        DirectoryLink,
        r#"SELECT l.id AS "referral_link_id!", l.short_code AS "short_code!", l.program_id AS "program_id: _",
                  l.partner_id AS "partner_id: _", l.updated_at AS "updated_at!",
                  l.status = 'active' AND coalesce(m.status, 'approved') = 'approved'
                      AND coalesce(p.status, 'live') <> 'archived' AS "active!"
           FROM referral_links l
           LEFT JOIN partner_programs m ON m.id = l.partner_program_id
           LEFT JOIN programs p ON p.id = l.program_id
           WHERE ($1::timestamptz IS NULL OR l.updated_at >= $1) AND ($2::bigint[] IS NULL OR l.id = ANY($2))"#,
        since,
        ids as Option<&[i64]>,
    ))
}

/// Ids of the links with these short codes, for codes that the directory does not hold yet.
pub async fn link_ids_by_code(pool: &PgPool, codes: &[String]) -> StorageResult<Vec<i64>> {
    Ok(fetch_scalars!(
        pool,
        "SELECT id FROM referral_links WHERE short_code = ANY($1)",
        codes
    ))
}

/// Ids of the programs with these tokens, for tokens that the directory does not hold yet.
pub async fn program_ids_by_token(pool: &PgPool, hashes: &[TokenHash]) -> StorageResult<Vec<i64>> {
    let hashes: Vec<&[u8]> = hashes.iter().map(|hash| hash.as_bytes().as_slice()).collect();
    Ok(fetch_scalars!(
        pool,
        r#"SELECT program_id AS "program_id!" FROM accepted_tokens WHERE token_hash = ANY($1)"#,
        &hashes as &[&[u8]]
    ))
}

impl Selection {
    fn parameters(&self) -> (Option<DateTime<Utc>>, Option<&[i64]>) {
        match self {
            Self::ChangedSince(since) => (*since, None),
            Self::Ids(ids) => (None, Some(ids)),
        }
    }
}
