//! `GET /api/advertiser/affiliate-programs/{program_id}/report/breakdown`: a program's figures by partner or
//! link, and its clicks by country, device or referrer.

use domain::ids::ProgramId;
use domain::reports::breakdown::{Dimension, Measure, Origin};
use domain::reports::figures::Earnings;
use storage::reads::breakdowns::{self, BreakdownRow, Wanted};
use storage::reads::click_origins::{self, OriginRow};

use super::dates::REVERSED;
use super::performance::{Asked, ONE_DATE_ONLY, PerformanceQuery};
use super::program_report::EarningsView;
use crate::http::query::Query;
use crate::management::access::AdvertiserUser;
use crate::management::answers::{Ids, List, Listed, Page, PageQuery};
use crate::management::prelude::*;

const BY: &str = "must be one of partner, link, country, device, referrer";
const SORT: &str = "must be one of clicks, leads, conversions, sales, revenue, refunded, net_revenue, commission, net_commission";
const NO_DIMENSION: ApiError =
    ApiError::refusal("by must be one of partner, link, country, device, referrer");

/// Amounts are in cents of the program's currency; sales of every currency are counted. By country, device and referrer only clicks are
/// counted, and all else is 0.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = BreakdownRow)]
pub struct RowView {
    /// Of the membership, or of the link; else null.
    id: Option<i64>,
    /// The partner's, null once their record is gone; or the link's code. A country's code, a device or the host of a referrer, null where
    /// none is known; `other` are those beyond a hundred of a day.
    name: Option<String>,
    clicks: i64,
    leads: i64,
    conversions: i64,
    sales: i64,
    #[serde(flatten)]
    earnings: EarningsView,
}

impl From<BreakdownRow> for RowView {
    fn from(row: BreakdownRow) -> Self {
        let counts = &row.figures.counts;
        Self {
            id: Some(row.id),
            name: row.name,
            clicks: counts.clicks,
            leads: counts.leads,
            conversions: counts.conversions,
            sales: counts.sales,
            earnings: (&row.figures.earnings).into(),
        }
    }
}

impl From<OriginRow> for RowView {
    fn from(row: OriginRow) -> Self {
        Self {
            id: None,
            name: row.value,
            clicks: row.clicks,
            leads: 0,
            conversions: 0,
            sales: 0,
            earnings: (&Earnings::default()).into(),
        }
    }
}

/// Break a program's figures down
///
/// Those of the range, as `report` has it. Rows without any figure are left out, and so is what is no link's. Any member of the program's
/// workspace may ask.
#[utoipa::path(
    get,
    path = "/api/advertiser/affiliate-programs/{program_id}/report/breakdown",
    params(
        (
            "by" = String, Query, example = "partner",
            description = "`partner` or `link`; or of clicks alone, `country`, `device` or `referrer`.",
        ),
        (
            "sort" = Option<String>, Query, example = "revenue",
            description = "The measure of which a row has most comes first: `clicks`, `leads`, `conversions`, `sales`, `revenue`, `refunded`, `net_revenue`,\n\
                           `commission` or `net_commission`; `revenue` unless said otherwise. Of clicks alone there is no other.",
        ),
        PerformanceQuery,
        PageQuery,
    ),
    responses((status = 200, description = "A page of rows.", body = Listed<RowView>)),
    extensions(("x-refusals" = json!([ONE_DATE_ONLY, REVERSED, NO_DIMENSION]))),
)]
pub async fn break_report_down(
    State(app): State<App>,
    user: AdvertiserUser,
    Ids(program_id): Ids<ProgramId>,
    query: Query,
    page: Page,
) -> List<RowView> {
    let program = user.member_of(&app, program_id).await?;
    let by = query.parsed("by", BY, Dimension::parse)?.ok_or(NO_DIMENSION)?;
    let sort = query.parsed("sort", SORT, Measure::parse)?;
    let range = Asked::of(&query)?.range(app.clock.now(), program.created_at)?;
    let wanted = Wanted {
        program_id,
        first: range.first(),
        last: range.last(),
        currency: program.currency,
        sort: sort.unwrap_or(Measure::Revenue),
    };
    let mut connection = app.reads.acquire().await?;
    let origin = match by {
        Dimension::Partner => {
            let found = breakdowns::by_partner(&mut connection, &wanted, page.window()).await?;
            return Ok(page.listed(found));
        }
        Dimension::Link => {
            let found = breakdowns::by_link(&mut connection, &wanted, page.window()).await?;
            return Ok(page.listed(found));
        }
        Dimension::Country => Origin::Country,
        Dimension::Device => Origin::Device,
        Dimension::Referrer => Origin::Referrer,
    };
    let days = (range.first(), range.last());
    let found = click_origins::page(&mut connection, program_id, origin, days, page.window()).await?;
    Ok(page.listed(found))
}
