//! `weekly_summary_weeks` and `weekly_summaries`: a week is summed once for all partners. Then the e-mails
//! are written in batches.

use chrono::{DateTime, Days, NaiveDate, Utc};
use serde_json::Value;
use sqlx::{PgConnection, PgPool};

use crate::error::{StorageError, StorageResult};
use domain::ids::UserId;
use domain::people::account::EmailAddress;
use domain::people::weekly_summary::{Week, WeekLine};

/// How long a week stays recorded as summed.
const WEEKS_KEPT: Days = Days::new(35);

/// Sums a week, and returns the number of users with a summary; `None` when a process has already summed the
/// week. Users who opted out, or whose address is not verified, get no summary. Deletes unsent summaries of
/// earlier weeks.
///
/// Concurrent calls are serialised: the second waits for the first one's row of the week, and finds it.
pub async fn add_up(pool: &PgPool, week: Week, now: DateTime<Utc>) -> StorageResult<Option<u64>> {
    let mut transaction = pool.begin().await?;
    let begun = execute!(
        &mut *transaction,
        "INSERT INTO weekly_summary_weeks (week, added_up_at) VALUES ($1, $2) ON CONFLICT DO NOTHING",
        week.monday,
        now,
    );
    if begun == 0 {
        return Ok(None);
    }
    // The statement reads all movements of a week, once.
    execute!(&mut *transaction, "SET LOCAL statement_timeout = '10min'");
    forget(&mut transaction, week.monday).await?;
    let users = insert(&mut transaction, week).await?;
    transaction.commit().await?;
    Ok(Some(users))
}

async fn forget(connection: &mut PgConnection, monday: NaiveDate) -> StorageResult<()> {
    execute!(
        &mut *connection,
        "DELETE FROM weekly_summaries WHERE week < $1",
        monday
    );
    let horizon = monday.checked_sub_days(WEEKS_KEPT).unwrap_or(monday);
    execute!(
        connection,
        "DELETE FROM weekly_summary_weeks WHERE week < $1",
        horizon
    );
    Ok(())
}

/// Movements come from the ledger, which never changes. Approvals move no money: they are in commissions.
async fn insert(connection: &mut PgConnection, week: Week) -> StorageResult<u64> {
    Ok(execute!(
        connection,
        "WITH moved AS (
             SELECT partner_id, program_id, currency,
                    count(*) FILTER (WHERE kind = 'accrual') AS earned,
                    sum(amount_cents) FILTER (WHERE kind = 'accrual') AS earned_cents,
                    count(*) FILTER (WHERE kind = 'adjustment') AS adjusted,
                    sum(CASE WHEN amount_cents < 0 OR shortfall_cents > 0 THEN -requested_cents ELSE requested_cents END)
                        FILTER (WHERE kind = 'adjustment') AS adjusted_cents,
                    count(DISTINCT commission_id) FILTER (WHERE kind = 'reversal') AS reversed,
                    sum(requested_cents) FILTER (WHERE kind = 'reversal') AS reversed_cents,
                    count(DISTINCT entry_group) FILTER (WHERE kind = 'payout') AS paid,
                    -sum(amount_cents) FILTER (WHERE kind = 'payout') AS paid_cents
             FROM ledger_entries WHERE created_at >= $1 AND created_at < $2 GROUP BY 1, 2, 3
         ), approved AS (
             SELECT partner_id, program_id, currency, count(*) AS approved, sum(amount_cents - deducted_cents) AS approved_cents
             FROM commissions WHERE approved_at >= $1 AND approved_at < $2 AND superseded_at IS NULL GROUP BY 1, 2, 3
         ), given AS (
             SELECT * FROM moved FULL JOIN approved USING (partner_id, program_id, currency)
         ), lines AS (
             SELECT p.user_id, g.id AS program_id, g.name, g.logo_url, g.reply_to_email, given.currency,
                    sum(earned) AS earned, sum(earned_cents) AS earned_cents, sum(approved) AS approved, sum(approved_cents) AS approved_cents,
                    sum(adjusted) AS adjusted, sum(adjusted_cents) AS adjusted_cents, sum(reversed) AS reversed,
                    sum(reversed_cents) AS reversed_cents, sum(paid) AS paid, sum(paid_cents) AS paid_cents
             FROM given
             JOIN partners p ON p.id = given.partner_id
             JOIN users u ON u.id = p.user_id AND u.kind = 'partner' AND u.status = 'active' AND u.verified_at IS NOT NULL AND u.weekly_summary
             JOIN programs g ON g.id = given.program_id
             GROUP BY p.user_id, g.id, g.name, g.logo_url, g.reply_to_email, given.currency
         )
         INSERT INTO weekly_summaries (week, user_id, lines)
         SELECT $3, user_id, jsonb_agg(jsonb_build_object('program', name, 'logo_url', logo_url, 'reply_to', reply_to_email, 'currency', currency,
                    'earned', jsonb_build_object('count', coalesce(earned, 0)::bigint, 'cents', coalesce(earned_cents, 0)::bigint),
                    'approved', jsonb_build_object('count', coalesce(approved, 0)::bigint, 'cents', coalesce(approved_cents, 0)::bigint),
                    'adjusted', jsonb_build_object('count', coalesce(adjusted, 0)::bigint, 'cents', coalesce(adjusted_cents, 0)::bigint),
                    'reversed', jsonb_build_object('count', coalesce(reversed, 0)::bigint, 'cents', coalesce(reversed_cents, 0)::bigint),
                    'paid', jsonb_build_object('count', coalesce(paid, 0)::bigint, 'cents', coalesce(paid_cents, 0)::bigint))
                    ORDER BY name, program_id, currency)
         FROM lines
         WHERE coalesce(earned, 0) + coalesce(approved, 0) + coalesce(adjusted, 0) + coalesce(reversed, 0) + coalesce(paid, 0) > 0
         GROUP BY user_id",
        week.start(),
        week.end(),
        week.monday,
    ))
}

#[derive(Debug)]
pub struct TakenSummary {
    pub user_id: UserId,
    /// `None` when no e-mail is sent: the user opted out meanwhile, the address is not verified, or the
    /// address is valid only by an earlier version's rules.
    pub recipient: Option<EmailAddress>,
    /// The Monday of the week.
    pub week: NaiveDate,
    pub lines: Vec<WeekLine>,
}

/// Takes at most `limit` summaries, in one transaction with their e-mails. Skips those being taken.
pub async fn take(connection: &mut PgConnection, limit: i64) -> StorageResult<Vec<TakenSummary>> {
    let rows = fetch_all!(
        connection,
        r#"WITH taken AS (
               DELETE FROM weekly_summaries WHERE (week, user_id) IN (
                   SELECT week, user_id FROM weekly_summaries ORDER BY week, user_id LIMIT $1 FOR UPDATE SKIP LOCKED)
               RETURNING week, user_id, lines
           )
           SELECT t.week AS "week!", t.user_id AS "user_id!", t.lines AS "lines!: Value", u.email AS "email?"
           FROM taken t
           LEFT JOIN users u ON u.id = t.user_id AND u.status = 'active' AND u.verified_at IS NOT NULL AND u.weekly_summary"#,
        limit,
    );
    let read = |row: Value, user_id| {
        serde_json::from_value(row).map_err(|_| StorageError::corrupt("weekly_summaries", "lines", user_id))
    };
    rows.into_iter()
        .map(|row| {
            Ok(TakenSummary {
                user_id: UserId::new(row.user_id),
                recipient: row.email.and_then(|email| EmailAddress::parse(&email).ok()),
                week: row.week,
                lines: read(row.lines, row.user_id)?,
            })
        })
        .collect()
}
