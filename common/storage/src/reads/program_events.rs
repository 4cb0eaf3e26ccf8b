//! A program's clicks, leads, sales and refunds as one list, newest first, in pieces.
//!
//! An index drives the read of each type: by program and time; by link and time for clicks of one partner; by
//! customer or sale for a search ([`search()`]). Other conditions (the country of clicks, the partner of
//! leads) have no index. For these, the read filters rows along the index by program and time, some thousand
//! rows in one walk and at most [`WALKS`] walks. Such a page may have fewer events than its limit, or no
//! events, and still have a next page.

mod clicks;
mod edge;
mod leads;
mod refunds;
mod sales;
mod search;

use std::cmp::Reverse;

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::PgConnection;

use self::edge::edge;
pub use self::sales::SaleCommission;
pub use self::search::{Searched, Subjects, links_of_partner, search};
use crate::error::StorageResult;
use domain::ids::ProgramId;
use domain::reports::program_events::{EventPlace, ProgramEventType};

/// Maximum number of walks for one page.
const WALKS: usize = 5;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramEvent {
    pub id: i64,
    pub at: DateTime<Utc>,
    pub created_at: DateTime<Utc>,
    pub is_test: bool,
    /// Test events have no customer.
    pub customer_id: Option<i64>,
    /// For a sale or refund, the customer's.
    pub click_id: Option<String>,
    /// The key that was sent with a lead; for other events, the customer's key.
    pub customer_key: Option<String>,
    pub link: Option<CreditedLink>,
    pub details: ProgramEventDetails,
}

/// The link of a click, the customer's last link before a lead, or the last link that a sale credits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreditedLink {
    pub code: String,
    /// `None` until the partner has joined.
    pub partner_program_id: Option<i64>,
    /// `None` when the partner's record was removed.
    pub partner_id: Option<i64>,
    pub partner_name: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProgramEventDetails {
    Click(ClickDetails),
    Lead(LeadDetails),
    Sale(SaleDetails),
    Refund(RefundDetails),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClickDetails {
    pub session_id: Option<String>,
    pub page_url: Option<String>,
    pub referrer_url: Option<String>,
    pub geo_country: Option<String>,
    pub geo_region: Option<String>,
    pub geo_city: Option<String>,
    pub device_type: Option<String>,
    pub device_os: Option<String>,
    pub browser_name: Option<String>,
    /// The customer has become a conversion by now.
    pub converted: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeadDetails {
    pub customer_key: Option<String>,
    pub session_id: Option<String>,
    pub page_url: Option<String>,
    /// The customer has become a conversion by now.
    pub converted: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SaleDetails {
    /// As the caller sent it.
    pub transaction_id: String,
    pub amount_cents: i64,
    pub currency: String,
    pub sale_type: String,
    pub payment_status: String,
    pub is_recurring: bool,
    /// The total of refunds so far.
    pub refunded_cents: i64,
    /// Why the sale earned no commission.
    pub no_commission_reason: Option<String>,
    /// `None` when they were not requested.
    pub commissions: Option<Vec<SaleCommission>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefundDetails {
    pub sale_id: i64,
    /// The sale's.
    pub transaction_id: String,
    /// The increase of the sale's total refund.
    pub amount_cents: i64,
    pub currency: String,
    /// `api` or `processor`.
    pub channel: String,
}

impl ProgramEvent {
    pub const fn event_type(&self) -> ProgramEventType {
        match self.details {
            ProgramEventDetails::Click(_) => ProgramEventType::Click,
            ProgramEventDetails::Lead(_) => ProgramEventType::Lead,
            ProgramEventDetails::Sale(_) => ProgramEventType::Sale,
            ProgramEventDetails::Refund(_) => ProgramEventType::Refund,
        }
    }

    pub const fn place(&self) -> EventPlace {
        EventPlace {
            at: self.at,
            event_type: self.event_type(),
            id: self.id,
        }
    }
}

/// The event of a row, with the columns that all types have.
macro_rules! event {
    ($row:ident, $is_test:expr, $details:expr) => {{
        let details = $details;
        $crate::reads::program_events::ProgramEvent {
            id: $row.id,
            at: $row.timestamp,
            created_at: $row.created_at,
            is_test: $is_test,
            customer_id: $row.customer_id,
            click_id: $row.click_id,
            customer_key: $row.customer_key,
            link: $row
                .link_code
                .map(|code| $crate::reads::program_events::CreditedLink {
                    code,
                    partner_program_id: $row.partner_program_id,
                    partner_id: $row.partner_id,
                    partner_name: $row.partner_name,
                }),
            details,
        }
    }};
}

use event;

#[derive(Debug, Clone)]
pub struct Filter {
    pub types: Vec<ProgramEventType>,
    pub from: DateTime<Utc>,
    /// Exclusive.
    pub until: DateTime<Utc>,
    /// Only test events if true, only real events if false.
    pub is_test: bool,
    pub origin: ClickOrigin,
    /// Links of one partner. Only clicks that count match.
    pub links: Option<Vec<i64>>,
    /// The customers or sales of a search.
    pub subjects: Option<Subjects>,
}

/// The known origin of a click. Only clicks have an origin.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClickOrigin {
    pub country: Option<String>,
    pub device: Option<String>,
    /// Host of the referring page, without `www.`, in lower case.
    pub source: Option<String>,
}

impl Filter {
    /// Real events of these types from `from` on, before `until`.
    pub fn of_types(types: Vec<ProgramEventType>, from: DateTime<Utc>, until: DateTime<Utc>) -> Self {
        Self {
            types,
            from,
            until,
            is_test: false,
            origin: ClickOrigin::default(),
            links: None,
            subjects: None,
        }
    }

    fn types(&self) -> impl Iterator<Item = ProgramEventType> {
        let of_clicks = self.origin != ClickOrigin::default();
        let is_read =
            move |event_type: &ProgramEventType| !of_clicks || *event_type == ProgramEventType::Click;
        self.types.iter().copied().filter(is_read)
    }

    /// Whether the filter selects real events of all types, partners and customers.
    fn is_plain(&self) -> bool {
        self.types.len() == ProgramEventType::ALL.len()
            && !self.is_test
            && self.origin == ClickOrigin::default()
            && self.links.is_none()
            && self.subjects.is_none()
    }

    fn passes_nothing(&self) -> bool {
        self.links.as_ref().is_some_and(Vec::is_empty)
            || self.subjects.as_ref().is_some_and(Subjects::is_nobody)
    }

    /// Whether rows of this type are filtered without an index. Test events never are, because they are few.
    fn is_walked(&self, event_type: ProgramEventType) -> bool {
        let has_condition = match event_type {
            ProgramEventType::Click => self.origin != ClickOrigin::default(),
            ProgramEventType::Lead | ProgramEventType::Sale | ProgramEventType::Refund => {
                self.links.is_some()
            }
        };
        has_condition && !self.is_test && self.subjects.is_none()
    }
}

#[derive(Debug, Clone, Copy)]
pub struct PageRead<'a> {
    pub program_id: ProgramId,
    pub filter: &'a Filter,
    /// The page starts after this place; `None` starts at the newest event.
    pub after: Option<EventPlace>,
    pub limit: i64,
    /// Also read the commissions of sales.
    pub with_commissions: bool,
}

#[derive(Debug, Default)]
pub struct EventPage {
    pub events: Vec<ProgramEvent>,
    /// Where the next page starts; `None` at the end.
    pub next: Option<EventPlace>,
}

/// A place in the list of one type, newest first.
#[derive(Debug, Clone, Copy)]
struct Before {
    timestamp: DateTime<Utc>,
    id: i64,
}

impl Before {
    /// The place of all events before this time.
    const fn instant(timestamp: DateTime<Utc>) -> Self {
        Self {
            timestamp,
            id: i64::MIN,
        }
    }
}

/// Events of one type, from `from` up to `before`.
#[derive(Debug, Clone, Copy)]
struct Span<'a> {
    program_id: ProgramId,
    from: DateTime<Utc>,
    before: Before,
    limit: i64,
    filter: &'a Filter,
    with_commissions: bool,
}

impl Span<'_> {
    /// The latest time in the span, in the microseconds of stored rows.
    fn latest(&self) -> DateTime<Utc> {
        let at = self.before.timestamp;
        if self.before.id == i64::MIN {
            at - TimeDelta::microseconds(1)
        } else {
            at
        }
    }
}

struct Piece {
    events: Vec<ProgramEvent>,
    /// Events before this time were not read.
    unread_before: Option<DateTime<Utc>>,
}

pub async fn page(connection: &mut PgConnection, read: &PageRead<'_>) -> StorageResult<EventPage> {
    if read.filter.passes_nothing() {
        return Ok(EventPage::default());
    }
    let limit = usize::try_from(read.limit).unwrap_or(usize::MAX);
    let mut events = Vec::new();
    let mut unread_before = None;
    let mut from = read.filter.from;
    let mut absent = Vec::new();
    for event_type in read.filter.types() {
        if absent.contains(&event_type) {
            continue;
        }
        let piece = piece(connection, read, event_type, from).await?;
        unread_before = unread_before.max(piece.unread_before);
        events.extend(piece.events);
        events.sort_unstable_by_key(|event| Reverse(event.place()));
        events.truncate(limit.saturating_add(1));
        // Earlier events of other types cannot be on this page. Clicks come first: they are most frequent.
        let beyond = events.get(limit).map(|event| event.at);
        from = from.max(beyond.max(unread_before).unwrap_or(from));
        if event_type == ProgramEventType::Click && beyond.is_some() && read.filter.is_plain() {
            absent = absent_since(connection, read, from).await?;
        }
    }
    // Before this time, events of some types were not read. The next page reads all events before it.
    let unread = unread_before.map(EventPlace::before);
    events.retain(|event| unread.is_none_or(|unread| event.place() > unread));
    let has_more = events.len() > limit;
    events.truncate(limit);
    let next = if has_more {
        events.last().map(ProgramEvent::place)
    } else {
        unread
    };
    Ok(EventPage { events, next })
}

/// The other types without an event between `from` and the start of the page. A page full of clicks covers a
/// short time, so this one query usually replaces three reads.
async fn absent_since(
    connection: &mut PgConnection,
    read: &PageRead<'_>,
    from: DateTime<Utc>,
) -> StorageResult<Vec<ProgramEventType>> {
    let until = read.after.map_or(read.filter.until, |after| after.at);
    let since = fetch_one!(
        connection,
        r#"SELECT EXISTS (SELECT FROM lead_events
                          WHERE program_id = $1 AND NOT is_test AND lead_timestamp >= $2 AND lead_timestamp <= $3) AS "leads!",
                  EXISTS (SELECT FROM sale_events WHERE program_id = $1 AND NOT is_test AND sale_date >= $2 AND sale_date <= $3) AS "sales!",
                  EXISTS (SELECT FROM refunds WHERE program_id = $1 AND refunded_at >= $2 AND refunded_at <= $3) AS "refunds!""#,
        read.program_id.get(),
        from,
        until,
    );
    let types = [
        (ProgramEventType::Lead, since.leads),
        (ProgramEventType::Sale, since.sales),
        (ProgramEventType::Refund, since.refunds),
    ];
    Ok(types
        .into_iter()
        .filter_map(|(event_type, has_happened)| (!has_happened).then_some(event_type))
        .collect())
}

/// Reads one event more than the page has, to know whether another page follows.
async fn piece(
    connection: &mut PgConnection,
    read: &PageRead<'_>,
    event_type: ProgramEventType,
    from: DateTime<Utc>,
) -> StorageResult<Piece> {
    let filter = read.filter;
    let before = match read.after {
        Some(after) if after.at < filter.until => Before {
            timestamp: after.at,
            id: after.lowest_read_id(event_type),
        },
        Some(_) | None => Before::instant(filter.until),
    };
    let mut span = Span {
        program_id: read.program_id,
        from,
        before,
        limit: read.limit + 1,
        filter,
        with_commissions: read.with_commissions,
    };
    if !filter.is_walked(event_type) {
        return Ok(Piece {
            events: rows(connection, &span, event_type).await?,
            unread_before: None,
        });
    }
    let mut events = Vec::new();
    for _ in 0..WALKS {
        let edge = edge(connection, &span, event_type).await?;
        span.from = edge.unwrap_or(from);
        let found = rows(connection, &span, event_type).await?;
        span.limit -= i64::try_from(found.len()).unwrap_or(span.limit);
        events.extend(found);
        match edge {
            Some(edge) if span.limit > 0 => {
                span.before = Before::instant(edge);
                span.from = from;
            }
            Some(_) | None => {
                return Ok(Piece {
                    events,
                    unread_before: None,
                });
            }
        }
    }
    Ok(Piece {
        events,
        unread_before: Some(span.before.timestamp),
    })
}

async fn rows(
    connection: &mut PgConnection,
    span: &Span<'_>,
    event_type: ProgramEventType,
) -> StorageResult<Vec<ProgramEvent>> {
    match event_type {
        ProgramEventType::Click => clicks::read(connection, span).await,
        ProgramEventType::Lead => leads::read(connection, span).await,
        ProgramEventType::Sale => sales::read(connection, span).await,
        ProgramEventType::Refund => refunds::read(connection, span).await,
    }
}
