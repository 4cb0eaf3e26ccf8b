//! `GET /api/tracking/performance/{program_id}`: a program's figures by day.

use axum::Json;
use chrono::{DateTime, NaiveDate, Utc};
use domain::ids::ProgramId;
use domain::money::{Cents, Currency};
use domain::reports::days::{DayRange, DayRangeError};
use domain::reports::performance::{Performance, Totals, Trend};
use messages::instant::instant;
use storage::reads::rollups::{self, ProgramDay};

use super::dates::{REVERSED, date_from, date_to};
use crate::http::query::Query;
use crate::management::access::AdvertiserUser;
use crate::management::answers::Ids;
use crate::management::prelude::*;

#[derive(Debug, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "described, never built: a query is read by name")]
pub struct PerformanceQuery {
    /// `7d`, `30d`, `90d` or `all`, ending today; 7 days unless said otherwise. Ignored when both dates are given.
    #[param(example = "30d")]
    period: Option<String>,
    /// ISO 8601, of the years 1970 to 9999; the range begins with its UTC day. Goes with `dateTo`.
    #[param(rename = "dateFrom", example = "2026-01-01")]
    date_from: Option<String>,
    /// The range ends with its UTC day.
    #[param(rename = "dateTo", example = "2026-01-31")]
    date_to: Option<String>,
}

/// Amounts are dollars in the program's currency; those in others are not added up.
#[derive(Debug, Serialize, ToSchema)]
pub struct PerformanceAnswer {
    /// Every UTC calendar day of the range, in order.
    data: Vec<DayView>,
    metrics: Metrics,
    meta: Meta,
}

#[derive(Debug, Serialize, ToSchema)]
struct DayView {
    #[schema(format = Date)]
    date: String,
    /// As `date`.
    #[schema(format = Date)]
    period: String,
    clicks: i64,
    leads: i64,
    conversions: i64,
    revenue: f64,
    partners: i64,
    /// Always 0.
    sales: i64,
    commission: f64,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Metrics {
    total_clicks: i64,
    total_leads: i64,
    total_conversions: i64,
    /// Amounts in the currency's smallest unit, divided by a hundred: so in yen a hundredth of them, and in dinars ten times as many.
    total_revenue: f64,
    /// Conversions in a hundred clicks; 0 without clicks.
    conversion_rate: f64,
    /// Revenue a conversion; 0 without conversions.
    average_order_value: f64,
    total_partners: i64,
    /// Paid sale events.
    total_sales: i64,
    total_partners_commission: f64,
    clicks_trend: TrendView,
    leads_trend: TrendView,
    conversions_trend: TrendView,
    revenue_trend: TrendView,
    partners_trend: TrendView,
    sales_trend: TrendView,
    commission_trend: TrendView,
}

/// How a total compares with that of the same number of days before.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Trend)]
#[serde(rename_all = "camelCase")]
struct TrendView {
    /// Percent, without sign; 100 when there was nothing before.
    #[schema(minimum = 0)]
    trend: f64,
    /// `up`, `down` or `stable`.
    trend_direction: &'static str,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PerformanceMeta)]
#[serde(rename_all = "camelCase")]
struct Meta {
    /// The query's value. Without one it is `all`, though the range is 7 days.
    period: &'static str,
    #[schema(format = DateTime)]
    date_from: String,
    #[schema(format = DateTime)]
    date_to: String,
    previous_period: PreviousPeriod,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct PreviousPeriod {
    #[schema(format = DateTime)]
    date_from: String,
    #[schema(format = DateTime)]
    date_to: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Period {
    Days(u64, &'static str),
    All,
}

impl Period {
    const DEFAULT: Self = Self::Days(7, "7d");

    fn parse(text: &str) -> Option<Self> {
        match text {
            "7d" => Some(Self::DEFAULT),
            "30d" => Some(Self::Days(30, "30d")),
            "90d" => Some(Self::Days(90, "90d")),
            "all" => Some(Self::All),
            _ => None,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Days(_, name) => name,
            Self::All => "all",
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Asked {
    period: Option<Period>,
    dates: Option<DayRange>,
}

impl Asked {
    pub fn of(query: &Query) -> Result<Self, ApiError> {
        let period = query.parsed("period", "must be one of 7d, 30d, 90d, all", Period::parse);
        match (date_from(query)?, date_to(query)?) {
            (None, None) => Ok(Self {
                period: period?,
                dates: None,
            }),
            (Some(from), Some(to)) => Ok(Self {
                // With both dates the period is ignored, even an invalid one.
                period: period.ok().flatten(),
                dates: Some(DayRange::new(from.day(), to.day()).map_err(refusal)?),
            }),
            _ => Err(ONE_DATE_ONLY),
        }
    }

    pub fn range(&self, now: DateTime<Utc>, created_at: DateTime<Utc>) -> Result<DayRange, ApiError> {
        let today = now.date_naive();
        match (self.dates, self.period.unwrap_or(Period::DEFAULT)) {
            (Some(dates), _) => Ok(dates),
            (None, Period::Days(days, _)) => DayRange::ending(today, days).map_err(refusal),
            (None, Period::All) => DayRange::since(created_at.date_naive(), today).map_err(refusal),
        }
    }
}

pub const ONE_DATE_ONLY: ApiError = ApiError::refusal("dateFrom and dateTo must be given together");

fn refusal(error: DayRangeError) -> ApiError {
    match error {
        DayRangeError::Reversed => REVERSED,
        DayRangeError::TooLong => {
            ApiError::bad_request(format!("A range has at most {} days", DayRange::MAX_DAYS))
        }
        DayRangeError::BeforeTheCalendar => ApiError::unexpected(error),
    }
}

/// A program's figures by day
///
/// Days are UTC calendar days. Any member of the program's workspace may ask.
#[utoipa::path(
    get,
    path = "/api/tracking/performance/{program_id}",
    params(PerformanceQuery),
    responses(
        (status = 200, description = "The days, their sums, and how they compare.", body = PerformanceAnswer),
    ),
    extensions(("x-refusals" = json!([ONE_DATE_ONLY, REVERSED, refusal(DayRangeError::TooLong)]))),
)]
pub async fn performance(
    State(app): State<App>,
    user: AdvertiserUser,
    Ids(program_id): Ids<ProgramId>,
    query: Query,
) -> Result<Json<PerformanceAnswer>, ApiError> {
    let program = user.member_of(&app, program_id).await?;
    let asked = Asked::of(&query)?;
    let range = asked.range(app.clock.now(), program.created_at)?;
    let mut connection = app.reads.acquire().await?;
    let programs = [program_id.get()];
    let days =
        rollups::program_days(&mut connection, &programs, range.previous_first(), range.last()).await?;
    let known = days.iter().map(|day| (day.day, totals(day, program.currency)));
    let performance = Performance::of(&range, known);
    Ok(Json(PerformanceAnswer::new(&performance, &range, asked.period)))
}

/// Sales of every currency are counted; amounts in another currency than the program's are left out.
fn totals(day: &ProgramDay, currency: Currency) -> Totals {
    let cents = |cents| match day.currency {
        Some(its) if its == currency => Cents::new(cents),
        _ => Cents::ZERO,
    };
    Totals {
        clicks: day.sums.clicks,
        leads: day.sums.leads,
        conversions: day.sums.conversions,
        partners: day.sums.partners,
        sales: day.sums.sales,
        revenue: cents(day.sums.revenue_cents),
        commission: cents(day.sums.commission_cents),
    }
}

impl PerformanceAnswer {
    fn new(performance: &Performance, range: &DayRange, period: Option<Period>) -> Self {
        let (from, to) = range.bounds();
        let (previous_from, previous_to) = range.previous_bounds();
        Self {
            data: performance
                .days
                .iter()
                .map(|(day, totals)| DayView::new(*day, totals))
                .collect(),
            metrics: Metrics::new(performance),
            meta: Meta {
                period: period.unwrap_or(Period::All).name(),
                date_from: instant(from),
                date_to: instant(to),
                previous_period: PreviousPeriod {
                    date_from: instant(previous_from),
                    date_to: instant(previous_to),
                },
            },
        }
    }
}

impl DayView {
    fn new(day: NaiveDate, totals: &Totals) -> Self {
        Self {
            date: day.to_string(),
            period: day.to_string(),
            clicks: totals.clicks,
            leads: totals.leads,
            conversions: totals.conversions,
            revenue: totals.revenue.to_dollars(),
            partners: totals.partners,
            sales: 0,
            commission: totals.commission.to_dollars(),
        }
    }
}

impl Metrics {
    fn new(performance: &Performance) -> Self {
        let total = &performance.total;
        let trend = |number: fn(&Totals) -> i64| TrendView::new(performance.trend(number));
        Self {
            total_clicks: total.clicks,
            total_leads: total.leads,
            total_conversions: total.conversions,
            total_revenue: total.revenue.to_dollars(),
            conversion_rate: total.conversion_rate(),
            average_order_value: total.average_order_value(),
            total_partners: total.partners,
            total_sales: total.sales,
            total_partners_commission: total.commission.to_dollars(),
            clicks_trend: trend(|totals| totals.clicks),
            leads_trend: trend(|totals| totals.leads),
            conversions_trend: trend(|totals| totals.conversions),
            revenue_trend: trend(|totals| totals.revenue.get()),
            partners_trend: trend(|totals| totals.partners),
            sales_trend: trend(|totals| totals.sales),
            commission_trend: trend(|totals| totals.commission.get()),
        }
    }
}

impl TrendView {
    fn new(trend: Trend) -> Self {
        Self {
            trend: trend.percent(),
            trend_direction: trend.direction.as_str(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_named_periods_are_periods() {
        for name in ["7d", "30d", "90d", "all"] {
            assert_eq!(Period::parse(name).map(Period::name), Some(name));
        }
        assert_eq!(Period::parse("1d"), None);
    }
}
