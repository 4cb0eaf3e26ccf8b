//! `GET /api/advertiser/affiliate-programs/{program_id}/report`: what a program, or one of its partners,
//! earned and refunded by day.

use chrono::NaiveDate;
use domain::ids::{PartnerProgramId, ProgramId};
use domain::money::{Cents, Currency};
use domain::reports::days::DayRange;
use domain::reports::figures::{Counts, Earnings, Figures, Known, Period, Report};
use sqlx::PgConnection;
use storage::program::partners;
use storage::reads::partner_days;
use storage::reads::refund_rollups::{self, RefundDay};
use storage::reads::rollups::{self, ProgramDay};
use storage::snapshot;

use super::dates::REVERSED;
use super::performance::{Asked, ONE_DATE_ONLY, PerformanceQuery};
use crate::http::query::Query;
use crate::management::access::AdvertiserUser;
use crate::management::advertiser::program::referral_links::UNKNOWN_PARTNER;
use crate::management::answers::Ids;
use crate::management::prelude::*;

/// Amounts are in cents of `currency`, the program's; sales of every currency are counted. `currencies` have the others' amounts.
#[derive(Debug, Serialize, ToSchema)]
pub struct ReportView {
    currency: String,
    range: RangeView,
    /// Every UTC day of the range, in order.
    days: Vec<DayFigures>,
    total: FiguresView,
    /// One of every currency with sales or refunds in either range, the program's first.
    currencies: Vec<CurrencyView>,
    previous: PreviousView,
}

/// UTC days, both included.
#[derive(Debug, Serialize, ToSchema)]
pub struct RangeView {
    #[schema(format = Date)]
    first: String,
    #[schema(format = Date)]
    last: String,
}

/// As many days, which end the day before the range.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PreviousReport)]
struct PreviousView {
    range: RangeView,
    days: Vec<DayFigures>,
    total: FiguresView,
    currencies: Vec<CurrencyView>,
}

#[derive(Debug, Serialize, ToSchema)]
struct DayFigures {
    #[schema(format = Date)]
    date: String,
    #[serde(flatten)]
    figures: FiguresView,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ReportFigures)]
struct FiguresView {
    /// That count.
    clicks: i64,
    /// Customers who became leads.
    leads: i64,
    /// Customers who bought for the first time.
    conversions: i64,
    /// Memberships made.
    partners: i64,
    /// In every currency.
    sales: i64,
    #[serde(flatten)]
    earnings: EarningsView,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = CurrencyFigures)]
struct CurrencyView {
    currency: String,
    /// In this currency.
    sales: i64,
    #[serde(flatten)]
    earnings: EarningsView,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Earnings)]
pub struct EarningsView {
    /// Sales as paid.
    revenue_cents: i64,
    /// What was refunded in these days, of sales of any day.
    refunded_cents: i64,
    /// Revenue less refunds; negative where more was refunded.
    net_revenue_cents: i64,
    /// Commissions as sales earned them. Those that were added without a sale are not among them.
    commission_cents: i64,
    /// What refunds and changes by hand took from commissions in these days. What was added by hand is subtracted, so it may be negative.
    commission_taken_back_cents: i64,
    net_commission_cents: i64,
    /// Revenue a sale, of the sales in this currency; 0 without any.
    average_order_cents: i64,
}

impl From<&Earnings> for EarningsView {
    fn from(earnings: &Earnings) -> Self {
        Self {
            revenue_cents: earnings.revenue.get(),
            refunded_cents: earnings.refunded.get(),
            net_revenue_cents: earnings.net_revenue().get(),
            commission_cents: earnings.commission.get(),
            commission_taken_back_cents: earnings.deducted.get(),
            net_commission_cents: earnings.net_commission().get(),
            average_order_cents: earnings.average_order().get(),
        }
    }
}

impl From<&Figures> for FiguresView {
    fn from(figures: &Figures) -> Self {
        let counts = &figures.counts;
        Self {
            clicks: counts.clicks,
            leads: counts.leads,
            conversions: counts.conversions,
            partners: counts.partners,
            sales: counts.sales,
            earnings: (&figures.earnings).into(),
        }
    }
}

impl RangeView {
    pub fn new(first: NaiveDate, last: NaiveDate) -> Self {
        Self {
            first: first.to_string(),
            last: last.to_string(),
        }
    }
}

impl ReportView {
    fn new(report: &Report, range: &DayRange, currency: Currency) -> Self {
        let (previous_first, previous_last) = range.previous_bounds();
        let previous = PreviousView {
            range: RangeView::new(previous_first.date_naive(), previous_last.date_naive()),
            days: days(&report.previous),
            total: (&report.previous.total).into(),
            currencies: currencies(&report.previous),
        };
        Self {
            currency: currency.to_string(),
            range: RangeView::new(range.first(), range.last()),
            days: days(&report.range),
            total: (&report.range.total).into(),
            currencies: currencies(&report.range),
            previous,
        }
    }
}

fn days(period: &Period) -> Vec<DayFigures> {
    let of = |(day, figures): &(NaiveDate, Figures)| DayFigures {
        date: day.to_string(),
        figures: figures.into(),
    };
    period.days.iter().map(of).collect()
}

fn currencies(period: &Period) -> Vec<CurrencyView> {
    let of = |(currency, earnings): &(Currency, Earnings)| CurrencyView {
        currency: currency.to_string(),
        sales: earnings.sales,
        earnings: earnings.into(),
    };
    period.currencies.iter().map(of).collect()
}

/// Report on a program's days
///
/// With what was given back, the days before, and every currency; of the whole program, or of what one partner brought. Days are UTC calendar
/// days; a refund counts on its own day. Any member of the program's workspace may ask.
#[utoipa::path(
    get,
    path = "/api/advertiser/affiliate-programs/{program_id}/report",
    params(
        ("partner_program_id" = Option<i64>, Query, description = "Of one membership; none is made by it, so `partners` is 0."),
        PerformanceQuery,
    ),
    responses((status = 200, description = "The days, their sums, and those before.", body = Data<ReportView>)),
    extensions(("x-refusals" = json!([ONE_DATE_ONLY, REVERSED, UNKNOWN_PARTNER]))),
)]
pub async fn report_on_program(
    State(app): State<App>,
    user: AdvertiserUser,
    Ids(program_id): Ids<ProgramId>,
    query: Query,
) -> Answer<ReportView> {
    let membership = query.integer("partner_program_id")?.map(PartnerProgramId::new);
    let program = user.member_of(&app, program_id).await?;
    if let Some(membership) = membership {
        let mut connection = app.management.acquire().await?;
        partners::find(&mut connection, program_id, membership)
            .await?
            .ok_or(UNKNOWN_PARTNER)?;
    }
    let range = Asked::of(&query)?.range(app.clock.now(), program.created_at)?;
    let mut connection = app.reads.acquire().await?;
    let mut snapshot = snapshot::begin(&mut connection).await?;
    let known = match membership {
        Some(membership) => {
            let (first, last) = (range.previous_first(), range.last());
            partner_days::partner_days(&mut snapshot, &[membership.get()], first, last).await?
        }
        None => known(&mut snapshot, program_id, &range).await?,
    };
    let report = Report::of(&range, program.currency, &known);
    Ok(data(ReportView::new(&report, &range, program.currency)))
}

async fn known(
    connection: &mut PgConnection,
    program_id: ProgramId,
    range: &DayRange,
) -> Result<Vec<Known>, ApiError> {
    let (first, last) = (range.previous_first(), range.last());
    let programs = [program_id.get()];
    let sold = rollups::program_days(connection, &programs, first, last).await?;
    let refunded = refund_rollups::refund_days(connection, &programs, first, last).await?;
    Ok(sold
        .iter()
        .map(counted)
        .chain(refunded.iter().map(given_back))
        .collect())
}

fn counted(day: &ProgramDay) -> Known {
    let sums = &day.sums;
    let earnings = Earnings {
        sales: sums.sales,
        revenue: Cents::new(sums.revenue_cents),
        commission: Cents::new(sums.commission_cents),
        ..Earnings::default()
    };
    Known {
        day: day.day,
        counts: Counts {
            clicks: sums.clicks,
            leads: sums.leads,
            conversions: sums.conversions,
            partners: sums.partners,
            sales: sums.sales,
        },
        earnings: day.currency.map(|currency| (currency, earnings)),
    }
}

fn given_back(day: &RefundDay) -> Known {
    let earnings = Earnings {
        refunded: Cents::new(day.sums.refunded_cents),
        deducted: Cents::new(day.sums.deducted_cents),
        ..Earnings::default()
    };
    Known {
        day: day.day,
        counts: Counts::default(),
        earnings: Some((day.currency, earnings)),
    }
}
