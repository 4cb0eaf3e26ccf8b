//! `GET /api/advertiser/affiliate-programs/{program_id}/report/cohorts`: customers by the month of their
//! first sale.

use std::collections::BTreeSet;

use domain::ids::ProgramId;
use domain::money::{Cents, Currency};
use domain::reports::cohorts::{Cohort, CohortFigures, CohortPiece, CohortRange, MOST_MONTHS};
use domain::reports::figures::Earnings;
use storage::reads::cohorts::{self, CohortMonth};

use super::program_report::EarningsView;
use crate::http::field::refused;
use crate::http::query::Query;
use crate::management::access::AdvertiserUser;
use crate::management::answers::Ids;
use crate::management::prelude::*;

const MONTHS: u32 = 12;

/// Amounts are in cents of `currency`; customers of every currency are counted.
#[derive(Debug, Serialize, ToSchema)]
pub struct CohortsView {
    currency: String,
    /// Those in which these cohorts bought anything, and the program's.
    currencies: Vec<String>,
    /// Every month since the first one with a first sale, oldest first.
    cohorts: Vec<CohortView>,
}

/// Customers whose first sale was in one month.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Cohort)]
struct CohortView {
    /// A UTC calendar month, such as `2026-01`.
    month: String,
    /// How many they are.
    customers: i64,
    total: EarningsView,
    /// The cohort's own month and every one since, the present one included.
    months: Vec<CohortMonthView>,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = CohortMonth)]
struct CohortMonthView {
    /// Who bought in this month.
    customers: i64,
    /// In `currency`.
    sales: i64,
    #[serde(flatten)]
    earnings: EarningsView,
}

impl CohortsView {
    fn new(range: CohortRange, currency: Currency, own: Currency, known: &[CohortPiece]) -> Self {
        let used = known
            .iter()
            .filter_map(|piece| piece.earnings.map(|(currency, _)| currency));
        let others: BTreeSet<Currency> = used.filter(|currency| *currency != own).collect();
        let currencies = std::iter::once(own).chain(others);
        Self {
            currency: currency.to_string(),
            currencies: currencies.map(|currency| currency.to_string()).collect(),
            cohorts: range.cohorts(currency, known).iter().map(Into::into).collect(),
        }
    }
}

impl From<&Cohort> for CohortView {
    fn from(cohort: &Cohort) -> Self {
        Self {
            month: cohort.month.format("%Y-%m").to_string(),
            customers: cohort.customers(),
            total: (&cohort.total()).into(),
            months: cohort.months.iter().map(Into::into).collect(),
        }
    }
}

impl From<&CohortFigures> for CohortMonthView {
    fn from(figures: &CohortFigures) -> Self {
        Self {
            customers: figures.customers,
            sales: figures.earnings.sales,
            earnings: (&figures.earnings).into(),
        }
    }
}

/// Report on cohorts of customers
///
/// By the UTC month of their first sale: who bought again in each month since, and what that brought. A refund counts in its own month. Any
/// member of the program's workspace may ask.
#[utoipa::path(
    get,
    path = "/api/advertiser/affiliate-programs/{program_id}/report/cohorts",
    params(
        ("months" = Option<i64>, Query, description = "The cohorts of so many months, this one included: 1 to 36, 12 unless said otherwise."),
        ("currency" = Option<String>, Query, description = "Of the amounts; the program's unless said otherwise.", example = "USD"),
    ),
    responses((status = 200, description = "The cohorts, and their months.", body = Data<CohortsView>)),
    extensions(("x-refusals" = json!([months_refusal(), refused("currency", CURRENCY_RULE)]))),
)]
pub async fn report_on_cohorts(
    State(app): State<App>,
    user: AdvertiserUser,
    Ids(program_id): Ids<ProgramId>,
    query: Query,
) -> Answer<CohortsView> {
    let program = user.member_of(&app, program_id).await?;
    let today = app.clock.now().date_naive();
    let ending = |text: &str| CohortRange::ending(today, text.parse().ok()?);
    let range = match query.parsed("months", MONTHS_RULE, ending)? {
        Some(range) => range,
        None => CohortRange::ending(today, MONTHS).ok_or_else(months_refusal)?,
    };
    let currency = query.parsed("currency", CURRENCY_RULE, Currency::parse)?;
    let mut connection = app.reads.acquire().await?;
    let rows = cohorts::cohorts(&mut connection, program_id, range.first(), range.last()).await?;
    let known: Vec<CohortPiece> = rows.iter().map(piece).collect();
    let currency = currency.unwrap_or(program.currency);
    Ok(data(CohortsView::new(range, currency, program.currency, &known)))
}

fn piece(row: &CohortMonth) -> CohortPiece {
    let earnings = Earnings {
        sales: row.sums.sales,
        revenue: Cents::new(row.sums.revenue_cents),
        refunded: Cents::new(row.sums.refunded_cents),
        commission: Cents::new(row.sums.commission_cents),
        deducted: Cents::new(row.sums.deducted_cents),
    };
    CohortPiece {
        cohort: row.cohort,
        month: row.month,
        customers: row.customers,
        earnings: row.currency.map(|currency| (currency, earnings)),
    }
}

const MONTHS_RULE: &str = "must be an integer from 1 to 36";
const CURRENCY_RULE: &str = "must be a currency code of three letters";
const _: () = assert!(MOST_MONTHS == 36);

fn months_refusal() -> ApiError {
    refused("months", MONTHS_RULE)
}
