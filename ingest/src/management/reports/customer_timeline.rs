//! `GET …/affiliate-programs/{program_id}/customers/{customer_id}` and `…/sales/{sale_id}`: one customer's
//! events, from the first click to the payout, with the ledger; for a sale only the events that belong to it.

mod view;

use domain::ids::{CustomerId, ProgramId, SaleId};
use domain::reports::program_events::ProgramEventType;
use sqlx::PgConnection;
use storage::reads::customer_timeline;
use storage::reads::customer_timeline::{TimelineCustomer, TimelineSale};
use storage::reads::program_events::{self, EventPage, Filter, PageRead, Subjects};
use storage::snapshot;

use self::view::CustomerTimeline;
use super::dates::Span;
use super::program_events::reader;
use crate::management::access::AdvertiserUser;
use crate::management::answers::Ids;
use crate::management::prelude::*;

const UNKNOWN: ApiError = ApiError::NotFound("Customer not found");
const UNKNOWN_SALE: ApiError = ApiError::NotFound("Sale not found");
/// The most events of a timeline; the newest are shown.
const EVENTS: i64 = 1_000;

/// Read a customer's timeline
///
/// Clicks, leads, sales, refunds, commissions with why they are what they are, the ledger's entries and payouts, oldest first. Commissions, ledger
/// and payouts are shown to those who may also read the program (`program:read`). Of a customer whose data was erased, what is left is shown.
#[utoipa::path(
    get,
    path = "/api/advertiser/affiliate-programs/{program_id}/customers/{customer_id}",
    responses(
        (status = 200, description = "The customer, and what happened.", body = Data<CustomerTimeline>),
        (status = 404, description = "The program has no such customer.", body = PlatformError),
    ),
    extensions(("x-refusals" = json!([UNKNOWN]))),
)]
pub async fn read_customer(
    State(app): State<App>,
    user: AdvertiserUser,
    Ids((program_id, customer_id)): Ids<(ProgramId, CustomerId)>,
) -> Answer<CustomerTimeline> {
    let (_, shows_earnings) = reader(&app, &user, program_id).await?;
    let mut connection = app.reads.acquire().await?;
    let mut snapshot = snapshot::begin(&mut connection).await?;
    let customer = customer_timeline::customer(&mut snapshot, program_id, customer_id).await?;
    let customer = customer.ok_or(UNKNOWN)?;
    let events = Wanted::everything_of(program_id, customer_id);
    let events = events.read(&mut snapshot, shows_earnings).await?;
    let about = (program_id, customer, None);
    timeline(&mut snapshot, about, shows_earnings, events).await
}

/// Read a sale's timeline
///
/// The same of one sale: its customer's clicks and leads before it, the sale, its refunds, its commissions, and what they moved. Of a duplicate,
/// that of the sale that counts.
#[utoipa::path(
    get,
    path = "/api/advertiser/affiliate-programs/{program_id}/sales/{sale_id}",
    responses(
        (status = 200, description = "The sale's customer, and what happened.", body = Data<CustomerTimeline>),
        (status = 404, description = "The program has no such sale.", body = PlatformError),
    ),
    extensions(("x-refusals" = json!([UNKNOWN_SALE]))),
)]
pub async fn read_sale(
    State(app): State<App>,
    user: AdvertiserUser,
    Ids((program_id, sale_id)): Ids<(ProgramId, SaleId)>,
) -> Answer<CustomerTimeline> {
    let (_, shows_earnings) = reader(&app, &user, program_id).await?;
    let mut connection = app.reads.acquire().await?;
    let mut snapshot = snapshot::begin(&mut connection).await?;
    let sale = customer_timeline::sale(&mut snapshot, program_id, sale_id).await?;
    let sale = sale.ok_or(UNKNOWN_SALE)?;
    let customer = customer_timeline::customer(&mut snapshot, program_id, sale.customer_id).await?;
    let customer = customer.ok_or(UNKNOWN_SALE)?;
    let mut events = Wanted::of_sale(program_id, sale)
        .read(&mut snapshot, shows_earnings)
        .await?;
    for event_type in [ProgramEventType::Lead, ProgramEventType::Click] {
        let before = Wanted::before_sale(program_id, sale, event_type);
        let EventPage {
            events: earlier,
            next,
        } = before.read(&mut snapshot, shows_earnings).await?;
        events.events.extend(earlier);
        events.next = events.next.or(next);
    }
    let about = (program_id, customer, Some(sale.sale_id));
    timeline(&mut snapshot, about, shows_earnings, events).await
}

struct Wanted {
    program_id: ProgramId,
    filter: Filter,
}

impl Wanted {
    fn of(program_id: ProgramId, customers: Vec<i64>, sales: Vec<i64>) -> Self {
        let span = Span::whole();
        let filter = Filter {
            subjects: Some(Subjects { customers, sales }),
            ..Filter::of_types(ProgramEventType::ALL.to_vec(), span.from, span.until)
        };
        Self { program_id, filter }
    }

    fn everything_of(program_id: ProgramId, customer_id: CustomerId) -> Self {
        Self::of(program_id, vec![customer_id.get()], Vec::new())
    }

    fn of_sale(program_id: ProgramId, sale: TimelineSale) -> Self {
        Self::of(program_id, Vec::new(), vec![sale.sale_id.get()])
    }

    fn before_sale(program_id: ProgramId, sale: TimelineSale, event_type: ProgramEventType) -> Self {
        let mut wanted = Self::everything_of(program_id, sale.customer_id);
        wanted.filter.types = vec![event_type];
        wanted.filter.until = sale.at;
        wanted
    }

    async fn read(
        &self,
        connection: &mut PgConnection,
        with_commissions: bool,
    ) -> Result<EventPage, ApiError> {
        let read = PageRead {
            program_id: self.program_id,
            filter: &self.filter,
            after: None,
            limit: EVENTS,
            with_commissions,
        };
        Ok(program_events::page(connection, &read).await?)
    }
}

/// The events of one sale or of all, and the ledger entries that they caused.
async fn timeline(
    connection: &mut PgConnection,
    (program_id, customer, sale_id): (ProgramId, TimelineCustomer, Option<SaleId>),
    shows_earnings: bool,
    events: EventPage,
) -> Answer<CustomerTimeline> {
    let customer_id = CustomerId::new(customer.id);
    let mut timeline = CustomerTimeline::new(customer, shows_earnings, events);
    if shows_earnings {
        let commissions =
            customer_timeline::commissions(&mut *connection, program_id, customer_id, sale_id).await?;
        let ids: Vec<i64> = commissions.iter().map(|commission| commission.id).collect();
        let ledger = customer_timeline::ledger(connection, &ids).await?;
        timeline.add_earnings(commissions, ledger);
    }
    timeline.sort();
    Ok(data(timeline))
}
