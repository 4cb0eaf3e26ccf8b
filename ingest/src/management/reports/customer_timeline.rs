//! `GET …/affiliate-programs/{program_id}/customers/{customer_id}`: one customer's journey, from the first click to the payout, with the books.

mod view;

use domain::ids::{CustomerId, ProgramId};
use storage::program_events::{self, ClickOrigin, Filter, PageRead, Subjects};
use storage::{customer_timeline, snapshot};

use self::view::CustomerTimeline;
use super::dates::Span;
use super::program_events::reader;
use crate::management::prelude::*;

const UNKNOWN: ApiError = ApiError::NotFound("Customer not found");
/// The newest ones.
const EVENTS: i64 = 1_000;

/// Read a customer's timeline
///
/// Clicks, leads, sales, refunds, commissions with why they are what they are, the ledger's entries and payouts, oldest first. Commissions, ledger
/// and payouts are shown to those who may also read the program (`program:read`). Of a customer whose data was erased, what is left is shown.
#[utoipa::path(
    get,
    path = "/api/advertiser/affiliate-programs/{program_id}/customers/{customer_id}",
    operation_id = "read_customer",
    responses(
        (status = 200, description = "The customer, and what happened.", body = Data<CustomerTimeline>),
        (status = 404, description = "The program has no such customer.", body = PlatformError),
    )
)]
pub async fn read(
    State(app): State<App>,
    user: AdvertiserUser,
    Ids((program_id, customer_id)): Ids<(ProgramId, CustomerId)>,
) -> Answer<CustomerTimeline> {
    let (_, shows_earnings) = {
        let mut connection = app.management.acquire().await?;
        reader(&user, &mut connection, program_id).await?
    };
    let mut connection = app.reads.acquire().await?;
    let mut snapshot = snapshot::begin(&mut connection).await?;
    let customer = customer_timeline::customer(&mut snapshot, program_id, customer_id)
        .await?
        .ok_or(UNKNOWN)?;
    let span = Span::whole();
    let filter = Filter {
        event_type: None,
        from: span.from,
        until: span.until,
        is_test: false,
        origin: ClickOrigin::default(),
        links: None,
        subjects: Some(Subjects {
            customers: vec![customer.id],
            sales: Vec::new(),
        }),
    };
    let read = PageRead {
        program_id,
        filter: &filter,
        after: None,
        limit: EVENTS,
        with_commissions: shows_earnings,
    };
    let events = program_events::page(&mut snapshot, &read).await?;
    let mut timeline = CustomerTimeline::new(customer, shows_earnings, events);
    if shows_earnings {
        let commissions = customer_timeline::commissions(&mut snapshot, program_id, customer_id).await?;
        let ids: Vec<i64> = commissions.iter().map(|commission| commission.id).collect();
        let ledger = customer_timeline::ledger(&mut snapshot, &ids).await?;
        timeline.add_earnings(commissions, ledger);
    }
    Ok(data(timeline))
}

pub fn examples() -> Examples {
    Examples::of_refusals([UNKNOWN]).data("From a click to a commission", CustomerTimeline::example())
}
