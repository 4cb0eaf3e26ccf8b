//! A program's event stream: its outbound events in the order of their positions, and its clicks, which are
//! not stored as outbound events.
//!
//! The click step writes one row for the clicks of a batch, with their event ids ([`mark`]). A read takes
//! rows up to its limit, and then looks up the clicks that these rows name ([`read`]) by the primary key of
//! `click_events`. Its ids ascend with time, so the clicks of a batch are neighbours in index and table.
//! Deleted and erased clicks are left out.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::batch::array_literal;
use crate::error::StorageResult;
use domain::ids::ProgramId;
use domain::programs::event_stream::{StreamPlace, StreamTypes};

/// Maximum number of rows in one read.
const ROWS: i64 = 256;

/// New clicks of one program, in reading order.
#[derive(Debug)]
pub struct MarkedClicks {
    pub program_id: ProgramId,
    /// Event ids and click times.
    pub clicks: Vec<(Uuid, DateTime<Utc>)>,
}

pub async fn mark(connection: &mut PgConnection, marked: &[MarkedClicks]) -> StorageResult<()> {
    let times = |marked: &MarkedClicks| {
        marked
            .clicks
            .iter()
            .map(|(_, clicked_at)| *clicked_at)
            .collect::<Vec<_>>()
    };
    write_batch!(
        connection,
        "INSERT INTO outbound_events (event_id, program_id, event_type, occurred_at, body, clicks, click_event_ids, first_clicked_at,
                                      last_clicked_at)
         SELECT gen_random_uuid(), program_id, 'clicks', last_clicked_at, '', clicks, click_event_ids::uuid[], first_clicked_at,
                last_clicked_at
         FROM UNNEST($1::bigint[], $2::int[], $3::text[], $4::timestamptz[], $5::timestamptz[])
              AS m (program_id, clicks, click_event_ids, first_clicked_at, last_clicked_at)
         ORDER BY program_id",
        marked in marked =>
            programs: i64 = marked.program_id.get(),
            counts: i32 = i32::try_from(marked.clicks.len()).unwrap_or(i32::MAX),
            events: String = array_literal(marked.clicks.iter().map(|(event_id, _)| event_id)),
            first: Option<DateTime<Utc>> = times(marked).into_iter().min(),
            last: Option<DateTime<Utc>> = times(marked).into_iter().max()
    );
    Ok(())
}

#[derive(Debug)]
pub struct StreamRead<'a> {
    pub program_id: ProgramId,
    /// The stream has no earlier events.
    pub since: DateTime<Utc>,
    pub after: StreamPlace,
    pub types: &'a StreamTypes,
    pub limit: u32,
}

#[derive(Debug)]
pub enum StreamEvent {
    Stored {
        event_id: Uuid,
        /// JSON, in the form that endpoints receive.
        body: String,
    },
    Click(Box<StreamedClick>),
}

#[derive(Debug)]
pub struct StreamedClick {
    pub event_id: Uuid,
    pub clicked_at: DateTime<Utc>,
    pub click_id: String,
    /// The link's current data.
    pub partner_id: Option<i64>,
    pub referral_link_code: Option<String>,
    pub session_id: Option<String>,
    pub page_url: Option<String>,
    pub referrer_url: Option<String>,
    pub geo_country: Option<String>,
    pub geo_region: Option<String>,
    pub geo_city: Option<String>,
    pub device_type: Option<String>,
    pub device_os: Option<String>,
    pub browser_name: Option<String>,
    pub is_bot: bool,
    pub counted: bool,
}

/// Events in stream order. May be empty although more events follow: the rows of this read may be of other
/// types, erased or deleted.
#[derive(Debug)]
pub struct Piece {
    pub events: Vec<StreamEvent>,
    pub next: StreamPlace,
    /// When the last row of this read was written.
    pub read_until: Option<DateTime<Utc>>,
    /// No row followed.
    pub is_last: bool,
}

/// The part of one row that a piece returns.
enum Entry {
    Stored { event_id: Uuid, body: String },
    Clicks(Slice),
}

/// Some of the clicks that a row names, from `first` to `last`, counted from 1.
struct Slice {
    position: i64,
    created_at: DateTime<Utc>,
    first: i32,
    last: i32,
}

struct Row {
    position: i64,
    created_at: DateTime<Utc>,
    event_id: Uuid,
    clicks: Option<i32>,
    body: Option<String>,
}

/// Reads the next events. All queries use one connection: a replica that has a row also has the clicks that
/// the row names, and another replica may lag behind.
pub async fn read(connection: &mut PgConnection, read: &StreamRead<'_>) -> StorageResult<Piece> {
    let types: Vec<&str> = read.types.others.iter().map(|kind| kind.as_str()).collect();
    let StreamPlace { position, clicks } = read.after;
    let rows = fetch_all!(
        &mut *connection,
        Row,
        r#"SELECT position AS "position!", created_at, event_id, clicks, CASE WHEN event_type = ANY($5) THEN body END AS body
           FROM outbound_events
           WHERE program_id = $1 AND created_at >= $2 AND position > $3
           ORDER BY position LIMIT $4"#,
        read.program_id.get(),
        read.since,
        if clicks == 0 { position } else { position - 1 },
        ROWS,
        &types as &[&str],
    );
    let is_end = i64::try_from(rows.len()).is_ok_and(|count| count < ROWS);
    let (entries, next, read_until, all_read) = choose(rows, read);
    let slices: Vec<&Slice> = entries
        .iter()
        .filter_map(|entry| match entry {
            Entry::Clicks(slice) => Some(slice),
            Entry::Stored { .. } => None,
        })
        .collect();
    let mut clicks = named(connection, read.program_id, &slices).await?;
    let mut events = Vec::with_capacity(read.limit as usize);
    for entry in entries {
        match entry {
            Entry::Stored { event_id, body } => events.push(StreamEvent::Stored { event_id, body }),
            Entry::Clicks(slice) => {
                let of_row = clicks.remove(&slice.position).unwrap_or_default();
                events.extend(of_row.into_iter().map(StreamEvent::Click));
            }
        }
    }
    Ok(Piece {
        events,
        next,
        read_until,
        is_last: is_end && all_read,
    })
}

/// Takes as many rows as the limit allows. Also returns where the next read starts, when the last taken row
/// was written, and whether all rows were taken.
fn choose(rows: Vec<Row>, read: &StreamRead<'_>) -> (Vec<Entry>, StreamPlace, Option<DateTime<Utc>>, bool) {
    let (mut entries, mut next, mut read_until) = (Vec::new(), read.after, None);
    let mut left = read.limit;
    for row in rows {
        if left == 0 {
            return (entries, next, read_until, false);
        }
        read_until = Some(row.created_at);
        let mut unread = 0;
        if let Some(count) = row.clicks.filter(|_| read.types.clicks) {
            let count = count.unsigned_abs();
            let begun = if row.position == read.after.position {
                read.after.clicks
            } else {
                0
            };
            let first = begun.min(count);
            let last = first.saturating_add(left).min(count);
            left -= last - first;
            unread = if last < count { last } else { 0 };
            entries.push(Entry::Clicks(Slice {
                position: row.position,
                created_at: row.created_at,
                first: i32::try_from(first + 1).unwrap_or(i32::MAX),
                last: i32::try_from(last).unwrap_or(i32::MAX),
            }));
        } else if let Some(body) = row.body {
            left -= 1;
            entries.push(Entry::Stored {
                event_id: row.event_id,
                body,
            });
        }
        next = StreamPlace {
            position: row.position,
            clicks: unread,
        };
    }
    (entries, next, read_until, next.clicks == 0)
}

/// The clicks that rows name, if still stored, by the row's position and in stream order.
async fn named(
    connection: &mut PgConnection,
    program_id: ProgramId,
    slices: &[&Slice],
) -> StorageResult<HashMap<i64, Vec<Box<StreamedClick>>>> {
    if slices.is_empty() {
        return Ok(HashMap::new());
    }
    columns!(slice in slices =>
        positions: i64 = slice.position,
        created_at: DateTime<Utc> = slice.created_at,
        first: i32 = slice.first,
        last: i32 = slice.last,
    );
    let marks = fetch_all!(
        &mut *connection,
        r#"SELECT e.position AS "position!", e.click_event_ids[s.first:s.last] AS "event_ids!: Vec<Uuid>",
                  e.first_clicked_at AS "first_clicked_at!", e.last_clicked_at AS "last_clicked_at!"
           FROM UNNEST($2::bigint[], $3::timestamptz[], $4::int[], $5::int[]) AS s (position, created_at, first, last)
           -- One by one (OFFSET 0): each looks into one day, by its index.
           CROSS JOIN LATERAL (SELECT o.* FROM outbound_events o
                               WHERE o.program_id = $1 AND o.created_at = s.created_at AND o.position = s.position OFFSET 0) e"#,
        program_id.get(),
        &positions,
        &created_at,
        &first,
        &last,
    );
    let event_ids: Vec<Uuid> = marks
        .iter()
        .flat_map(|mark| mark.event_ids.iter().copied())
        .collect();
    let clicks = fetch_all!(
        connection,
        StreamedClick,
        r#"SELECT e.event_id AS "event_id!", e.click_timestamp AS "clicked_at!", e.click_id AS "click_id!",
                  l.partner_id AS "partner_id?", l.short_code AS "referral_link_code?", e.session_id, e.page_url, e.referrer_url,
                  e.geo_country, e.geo_region, e.geo_city, e.device_type, e.device_os, e.browser_name, e.is_bot AS "is_bot!",
                  e.counted AS "counted!"
           FROM click_events e LEFT JOIN referral_links l ON l.id = e.referral_link_id
           WHERE e.event_id = ANY($1) AND e.click_timestamp >= $2 AND e.click_timestamp <= $3
             AND e.click_id <> 'erased_' || e.customer_id"#,
        &event_ids,
        marks.iter().map(|mark| mark.first_clicked_at).min(),
        marks.iter().map(|mark| mark.last_clicked_at).max(),
    );
    let mut clicks: HashMap<Uuid, StreamedClick> =
        clicks.into_iter().map(|click| (click.event_id, click)).collect();
    let mut of_row = |event_ids: &[Uuid]| {
        let of_row = event_ids.iter().filter_map(|event_id| clicks.remove(event_id));
        of_row.map(Box::new).collect::<Vec<_>>()
    };
    Ok(marks
        .iter()
        .map(|mark| (mark.position, of_row(&mark.event_ids)))
        .collect())
}

/// The last position of each of these programs, if it has a position within the last two days.
pub async fn last_positions(
    connection: &mut PgConnection,
    programs: &[i64],
) -> StorageResult<HashMap<ProgramId, i64>> {
    let rows = fetch_all!(
        connection,
        r#"SELECT p.id AS "program_id!", e.position AS "position!"
           FROM UNNEST($1::bigint[]) AS p (id)
           CROSS JOIN LATERAL (SELECT max(position) AS position FROM outbound_events
                               WHERE program_id = p.id AND created_at >= now() - interval '2 days' AND position IS NOT NULL) e
           WHERE e.position IS NOT NULL"#,
        programs,
    );
    Ok(rows
        .into_iter()
        .map(|row| (ProgramId::new(row.program_id), row.position))
        .collect())
}
