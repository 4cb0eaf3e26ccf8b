//! `click_origin_deltas` and `click_origin_days`: a program's clicks by country, device and referrer, by UTC
//! day.
//!
//! The transaction that inserts the clicks writes the deltas, which are folded with the other
//! [`rollups`](super::rollups). Browsers can send any referrer, so a day keeps [`VALUES`] values of each
//! kind, and all further values count as [`OTHER`]. Days from before these tables have no rows, and nothing
//! is recomputed: raw clicks are too many, and retention drops them.

use std::collections::BTreeMap;

use chrono::{DateTime, NaiveDate, Utc};
use sqlx::PgConnection;

use crate::error::StorageResult;
use crate::page::Window;
use domain::ids::ProgramId;
use domain::reports::breakdown::{Origin, referring_host};
use domain::tracking::visitor::{CountryCode, DeviceType};

use crate::tracking::clicks::NewClick;

/// Number of values of each kind for one day of a program. Later values are counted together.
pub const VALUES: i64 = 100;
/// The value under which later values are counted.
pub const OTHER: &str = "other";

/// Additions of a batch. Add only clicks that count and that the batch has inserted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClickOrigins(BTreeMap<(ProgramId, NaiveDate, &'static str, String), i64>);

impl ClickOrigins {
    pub fn click(&mut self, click: &NewClick<'_>) {
        let NewClick { record, visitor, .. } = click;
        let country = visitor.place.country.as_ref().map(CountryCode::as_str);
        let device = visitor.software.device_type.map(DeviceType::as_str);
        let referrer = record.visit.referrer_url.as_ref();
        let referrer = referrer.map(|url| referring_host(url.as_str()));
        let referrer = referrer.map(|host| host.unwrap_or_else(|| OTHER.to_owned()));
        self.count(
            record.program_id,
            record.clicked_at,
            Origin::Country,
            country.unwrap_or_default().to_owned(),
        );
        self.count(
            record.program_id,
            record.clicked_at,
            Origin::Device,
            device.unwrap_or_default().to_owned(),
        );
        self.count(
            record.program_id,
            record.clicked_at,
            Origin::Referrer,
            referrer.unwrap_or_default(),
        );
    }

    fn count(&mut self, program_id: ProgramId, at: DateTime<Utc>, origin: Origin, value: String) {
        *self
            .0
            .entry((program_id, at.date_naive(), origin.as_str(), value))
            .or_default() += 1;
    }

    /// Must run in the transaction that inserts the clicks.
    pub async fn append(&self, connection: &mut PgConnection) -> StorageResult<()> {
        write_batch!(
            connection,
            "INSERT INTO click_origin_deltas (program_id, day, origin, value, clicks)
             SELECT * FROM UNNEST($1::bigint[], $2::date[], $3::text[], $4::text[], $5::bigint[])",
            ((program_id, day, origin, value), clicks) in self.0 =>
                programs: i64 = program_id.get(),
                days: NaiveDate = *day,
                origins: &str = *origin,
                values: &str = value.as_str(),
                counts: i64 = *clicks
        );
        Ok(())
    }
}

/// Folds these deltas in the transaction and under the lock of [`rollups::fold`](super::rollups::fold).
pub(super) async fn fold(connection: &mut PgConnection, limit: i64) -> StorageResult<i64> {
    Ok(fetch_scalar!(
        connection,
        r#"WITH taken AS (
               DELETE FROM click_origin_deltas
               WHERE id <= (SELECT max(id) FROM (SELECT id FROM click_origin_deltas ORDER BY id LIMIT $1) AS oldest)
               RETURNING *
           ), sums AS (
               SELECT program_id, origin, day, value, sum(clicks) AS clicks FROM taken GROUP BY 1, 2, 3, 4
           ), ranked AS (
               SELECT s.*, d.value IS NOT NULL AS known,
                      row_number() OVER (PARTITION BY s.program_id, s.origin, s.day, d.value IS NOT NULL
                                         ORDER BY s.clicks DESC, s.value) AS place
               FROM sums s LEFT JOIN click_origin_days d USING (program_id, origin, day, value)
           ), days AS (
               SELECT program_id, origin, day, $2 - (SELECT count(*) FROM click_origin_days d
                                                     WHERE d.program_id = s.program_id AND d.origin = s.origin AND d.day = s.day) AS room
               FROM (SELECT DISTINCT program_id, origin, day FROM sums) s
           ), kept AS (
               INSERT INTO click_origin_days AS d
               SELECT r.program_id, r.origin, r.day, CASE WHEN r.known OR r.place <= y.room THEN r.value ELSE 'other' END, sum(r.clicks)
               FROM ranked r JOIN days y USING (program_id, origin, day)
               GROUP BY 1, 2, 3, 4
               ON CONFLICT (program_id, origin, day, value) DO UPDATE SET clicks = d.clicks + excluded.clicks
           )
           SELECT count(*) AS "folded!" FROM taken"#,
        limit,
        VALUES,
    ))
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OriginRow {
    /// A country code, a device or a host; `None` if unknown.
    pub value: Option<String>,
    pub clicks: i64,
}

/// A page of a program's values within these days (both included), most clicks first, and the total number.
pub async fn page(
    connection: &mut PgConnection,
    program_id: ProgramId,
    origin: Origin,
    (first, last): (NaiveDate, NaiveDate),
    window: Window,
) -> StorageResult<(Vec<OriginRow>, i64)> {
    let rows = fetch_all!(
        connection,
        r#"SELECT value AS "value!", sum(clicks)::bigint AS "clicks!"
           FROM (SELECT value, clicks FROM click_origin_days WHERE program_id = $1 AND origin = $2 AND day BETWEEN $3 AND $4
                 UNION ALL
                 SELECT value, clicks FROM click_origin_deltas WHERE program_id = $1 AND origin = $2 AND day BETWEEN $3 AND $4) pieces
           GROUP BY value ORDER BY sum(clicks) DESC, value"#,
        program_id.get(),
        origin.as_str(),
        first,
        last,
    );
    let total = i64::try_from(rows.len()).unwrap_or(i64::MAX);
    let rows = rows.into_iter().map(|row| OriginRow {
        value: (!row.value.is_empty()).then_some(row.value),
        clicks: row.clicks,
    });
    Ok((window.of(rows.collect()), total))
}
