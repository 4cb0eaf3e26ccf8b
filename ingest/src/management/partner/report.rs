//! `GET /api/partner/report`: a partner's clicks, leads, sales and earnings by day and currency. The payments
//! of customers are the advertiser's data and left out.

use chrono::NaiveDate;
use domain::ids::ProgramId;
use domain::money::Currency;
use domain::reports::days::DayRange;
use domain::reports::figures::{Earnings, Known};
use domain::reports::partner_figures::{ByCurrency, PartnerFigures};
use storage::reads::{partner_days, partner_view};

use crate::http::query::Query;
use crate::management::access::PartnerUser;
use crate::management::prelude::*;
use crate::management::reports::dates::REVERSED;
use crate::management::reports::performance::{Asked, ONE_DATE_ONLY, PerformanceQuery};
use crate::management::reports::program_report::RangeView;

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PartnerReport)]
pub struct PartnerReportView {
    range: RangeView,
    /// Every UTC day of the range, in order.
    days: Vec<PartnerDayView>,
    total: PartnerFiguresView,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PartnerDay)]
struct PartnerDayView {
    #[schema(format = Date)]
    date: String,
    #[serde(flatten)]
    figures: PartnerFiguresView,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PartnerFigures)]
struct PartnerFiguresView {
    /// That count.
    clicks: i64,
    /// Customers who became leads.
    leads: i64,
    /// Customers who bought for the first time.
    conversions: i64,
    sales: i64,
    /// One of each currency with sales or refunds, by name.
    currencies: Vec<PartnerEarningsView>,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PartnerEarnings)]
struct PartnerEarningsView {
    currency: String,
    /// In this currency.
    sales: i64,
    /// As sales earned them. Those that were added without a sale are not among them.
    commission_cents: i64,
    /// What refunds and changes by hand took in these days, from commissions of any day; negative where more was added by hand.
    commission_taken_back_cents: i64,
    net_commission_cents: i64,
}

impl From<&ByCurrency> for PartnerFiguresView {
    fn from(figures: &ByCurrency) -> Self {
        let counts = &figures.counts;
        let earned = |(currency, earnings): (&Currency, &Earnings)| PartnerEarningsView {
            currency: currency.to_string(),
            sales: earnings.sales,
            commission_cents: earnings.commission.get(),
            commission_taken_back_cents: earnings.deducted.get(),
            net_commission_cents: earnings.net_commission().get(),
        };
        Self {
            clicks: counts.clicks,
            leads: counts.leads,
            conversions: counts.conversions,
            sales: counts.sales,
            currencies: figures.currencies.iter().map(earned).collect(),
        }
    }
}

impl PartnerReportView {
    fn new(range: &DayRange, known: &[Known]) -> Self {
        let figures = PartnerFigures::of(range, known);
        let of_day = |(day, figures): &(NaiveDate, ByCurrency)| PartnerDayView {
            date: day.to_string(),
            figures: figures.into(),
        };
        Self {
            range: RangeView::new(range.first(), range.last()),
            days: figures.days.iter().map(of_day).collect(),
            total: (&figures.total).into(),
        }
    }
}

/// Report on a partner's days
///
/// Of all programs they take part in, or of one. Days are UTC calendar days; a refund counts on its own day. `all` begins with their first
/// membership.
#[utoipa::path(
    get,
    path = "/api/partner/report",
    params(
        ("program_id" = Option<i64>, Query, description = "Only what they brought to this program."),
        PerformanceQuery,
    ),
    responses((status = 200, description = "The days and their sums.", body = Data<PartnerReportView>)),
    extensions(("x-refusals" = json!([ONE_DATE_ONLY, REVERSED, UNKNOWN_PROGRAM]))),
)]
pub async fn report_on_partner(
    State(app): State<App>,
    partner: PartnerUser,
    query: Query,
) -> Answer<PartnerReportView> {
    let program_id = query.integer("program_id")?.map(ProgramId::new);
    let asked = Asked::of(&query)?;
    let memberships = {
        let mut connection = app.management.acquire().await?;
        partner_view::own_memberships(&mut connection, partner.user.user_id, program_id).await?
    };
    if program_id.is_some() && memberships.is_empty() {
        return Err(UNKNOWN_PROGRAM);
    }
    let now = app.clock.now();
    let joined = memberships.iter().map(|membership| membership.created_at).min();
    let range = asked.range(now, joined.unwrap_or(now))?;
    let ids: Vec<i64> = memberships
        .iter()
        .map(|membership| membership.partner_program_id)
        .collect();
    let mut connection = app.reads.acquire().await?;
    let known = partner_days::partner_days(&mut connection, &ids, range.first(), range.last()).await?;
    Ok(data(PartnerReportView::new(&range, &known)))
}

const UNKNOWN_PROGRAM: ApiError = ApiError::NotFound("Program not found");
