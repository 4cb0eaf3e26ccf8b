//! Programs, partners, links and customers for the load.
//!
//! Spread: [`PROGRAMS`] programs with [`LINKS`] links each, every link of its own partner. Hot: one program
//! with one link, which gets all the load. Customers have a customer_key and a click, so that leads and sales
//! find them.

use anyhow::Result;
use domain::token::{ProgramToken, SessionToken};
use sha2::{Digest, Sha256};
use sqlx::{PgConnection, PgPool};

pub(super) const PROGRAMS: u64 = 64;
pub(super) const LINKS: u64 = 16;
/// Ids beyond those that the edge leases.
pub(super) const CUSTOMERS_FROM: i64 = 1 << 40;
const HOT_FROM: i64 = 1 << 41;
const VISITORS_FROM: i64 = 3 << 40;

/// Numbers of customers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size {
    /// Customers for sales.
    pub(super) customers: u64,
    pub(super) hot_customers: u64,
    /// Customers for leads, who have bought nothing.
    pub(super) visitors: u64,
}

#[derive(Debug)]
pub(super) struct Market {
    pub(super) size: Size,
    pub(super) workspace_id: i64,
    /// The spread programs, then the hot one.
    pub(super) program_ids: Vec<i64>,
    /// Tokens in the same order, all of the same length.
    pub(super) tokens: Vec<String>,
}

impl Market {
    pub(super) async fn create(pool: &PgPool, size: &Size) -> Result<Self> {
        let tokens: Vec<ProgramToken> = (0..=PROGRAMS)
            .map(|program| ProgramToken::generate(seed("program", program)))
            .collect();
        let hashes: Vec<Vec<u8>> = tokens
            .iter()
            .map(|token| sha256(token.expose()).to_vec())
            .collect();
        let masked: Vec<String> = tokens.iter().map(ProgramToken::masked).collect();
        let mut transaction = pool.begin().await?;
        let workspace_id: i64 =
            sqlx::query_scalar("INSERT INTO workspaces (name) VALUES ('Market') RETURNING id")
                .fetch_one(&mut *transaction)
                .await?;
        let program_ids: Vec<i64> = sqlx::query_scalar(
            "WITH new AS (
                 INSERT INTO programs (workspace_id, name, slug, api_token_hash, api_token_masked)
                 SELECT $1, 'Market ' || number, 'market-' || number, hash, masked
                 FROM UNNEST($2::bytea[], $3::text[]) WITH ORDINALITY AS n (hash, masked, number)
                 RETURNING id, name
             )
             SELECT id FROM new ORDER BY split_part(name, ' ', 2)::bigint",
        )
        .bind(workspace_id)
        .bind(&hashes)
        .bind(&masked)
        .fetch_all(&mut *transaction)
        .await?;
        sqlx::query(
            "INSERT INTO commission_policies (program_id, commission_type, rate_bps)
             SELECT id, 'cps_lifetime', 2000 FROM UNNEST($1::bigint[]) AS p (id)",
        )
        .bind(&program_ids)
        .execute(&mut *transaction)
        .await?;
        add_links(&mut transaction, workspace_id, &program_ids).await?;
        transaction.commit().await?;
        let market = Self {
            size: *size,
            workspace_id,
            program_ids,
            tokens: tokens.iter().map(|token| token.expose().to_owned()).collect(),
        };
        market.add_customers(pool).await?;
        Ok(market)
    }

    async fn add_customers(&self, pool: &PgPool) -> Result<()> {
        let links = i64::try_from(PROGRAMS * LINKS)?;
        for (from, count, letter, first_link, links) in [
            (CUSTOMERS_FROM, self.size.customers, "c", 0, links),
            (HOT_FROM, self.size.hot_customers, "h", links, 1),
            (VISITORS_FROM, self.size.visitors, "v", 0, links),
        ] {
            sqlx::query(
                "INSERT INTO customers (id, program_id, click_id, customer_key, first_click_at, first_referral_link_id,
                                        touched_link_ids, touched_at)
                 SELECT $1 + n, l.program_id, 'cust_' || $1 + n || '_1', $3 || lpad(n::text, 8, '0'), at, l.id,
                        ARRAY[l.id], ARRAY[at]
                 FROM generate_series(0, $2 - 1) AS n
                 CROSS JOIN LATERAL (SELECT now() - interval '5 days' - n * interval '1 second' AS at) AS t
                 JOIN referral_links l ON l.short_code = 'b' || lpad(($4 + n % $5)::text, 5, '0')",
            )
            .bind(from)
            .bind(i64::try_from(count)?)
            .bind(letter)
            .bind(first_link)
            .bind(links)
            .execute(pool)
            .await?;
        }
        sqlx::raw_sql("ANALYZE").execute(pool).await?;
        Ok(())
    }

    /// The program of a customer, as an index of [`Self::tokens`].
    pub(super) const fn program_of(customer: u64) -> u64 {
        customer % (PROGRAMS * LINKS) / LINKS
    }

    pub(super) fn token(&self, program: u64) -> &str {
        usize::try_from(program)
            .ok()
            .and_then(|program| self.tokens.get(program))
            .map_or("", String::as_str)
    }

    pub(super) fn hot_program(&self) -> i64 {
        self.program_ids.last().copied().unwrap_or_default()
    }

    /// Creates a session of an existing user with access to every program of the market; returns its token.
    pub(super) async fn sign_in(&self, pool: &PgPool, email: &str) -> Result<String> {
        let token = SessionToken::generate(seed("session", 0));
        sqlx::query(
            "INSERT INTO sessions (user_id, kind, token_hash, created_at, expires_at)
             SELECT id, 'dashboard', $2, now(), now() + interval '1 day' FROM users WHERE email = $1",
        )
        .bind(email)
        .bind(sha256(token.expose()).to_vec())
        .execute(pool)
        .await?;
        Ok(token.expose().to_owned())
    }
}

/// Creates links, each of its own partner, and of its own hour: an ingest reads those of the latest minute
/// every five seconds.
async fn add_links(connection: &mut PgConnection, workspace_id: i64, program_ids: &[i64]) -> Result<()> {
    let links = (0..PROGRAMS).flat_map(|program| (0..LINKS).map(move |link| (program, link)));
    let (mut programs, mut codes) = (Vec::new(), Vec::new());
    for (program, link) in links.chain([(PROGRAMS, 0)]) {
        programs.extend(program_ids.get(usize::try_from(program)?).copied());
        codes.push(code(program * LINKS + link));
    }
    sqlx::query(
        "WITH links AS (
             SELECT * FROM UNNEST($2::bigint[], $3::text[]) AS n (program_id, code)
         ), new_partners AS (
             INSERT INTO partners (name, workspace_id) SELECT code, $1 FROM links RETURNING id, name
         ), members AS (
             INSERT INTO partner_programs (program_id, partner_id)
             SELECT program_id, id FROM links JOIN new_partners ON name = code
             RETURNING id, program_id, partner_id
         ), counted AS (
             INSERT INTO rollup_deltas (program_id, day, partners)
             SELECT program_id, (now() AT TIME ZONE 'UTC')::date, count(*) FROM members GROUP BY 1
         )
         INSERT INTO referral_links (short_code, program_id, partner_id, partner_program_id, updated_at)
         SELECT p.name, m.program_id, m.partner_id, m.id, now() - row_number() OVER () * interval '1 hour'
         FROM members m JOIN new_partners p ON p.id = m.partner_id",
    )
    .bind(workspace_id)
    .bind(&programs)
    .bind(&codes)
    .execute(connection)
    .await?;
    Ok(())
}

/// The short code of a link; the hot link is the last.
pub(super) fn code(link: u64) -> String {
    format!("b{link:05}")
}

fn sha256(text: &str) -> [u8; 32] {
    Sha256::digest(text).into()
}

/// Deterministic: the same secrets in each run.
fn seed(what: &str, number: u64) -> [u8; 32] {
    sha256(&format!("{what} {number}"))
}

#[cfg(test)]
impl Market {
    /// Without a database: programs from 101 on, with the tokens `aff_000` and so on.
    pub(super) fn of_test() -> Self {
        Self {
            size: Size {
                customers: 5000,
                hot_customers: 10,
                visitors: 100,
            },
            workspace_id: 1,
            program_ids: (101..).take(65).collect(),
            tokens: (0..=PROGRAMS)
                .map(|program| format!("aff_{program:03}"))
                .collect(),
        }
    }
}
