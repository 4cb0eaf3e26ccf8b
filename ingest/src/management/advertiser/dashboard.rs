//! `GET /api/advertiser/dashboard/summary`: the figures of every program within reach, and their sum.

use std::collections::BTreeMap;

use domain::ids::ProgramId;
use domain::people::permission::Permission;
use domain::reports::days::DayRange;
use storage::page::Window;
use storage::people::workspaces;
use storage::people::workspaces::ProgramFilter;
use storage::program::program_settings;
use storage::reads::dashboard::{self, Figures, Money};
use storage::snapshot;

use crate::management::access::Advertiser;
use crate::management::prelude::*;

const DAYS: u64 = 30;

#[derive(Debug, Serialize, ToSchema)]
pub struct Summary {
    programs: Vec<ProgramSummary>,
    total: FiguresView,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct ProgramSummary {
    program_id: i64,
    name: String,
    /// `draft` or `live`.
    status: String,
    #[serde(flatten)]
    figures: FiguresView,
}

/// Real events only.
#[derive(Debug, Serialize, ToSchema)]
pub struct FiguresView {
    clicks_all_time: i64,
    clicks_last_30_days: i64,
    leads_last_30_days: i64,
    sales_last_30_days: i64,
    /// With an approved membership. In the total each partner counts once.
    active_partners: i64,
    unread_notifications: i64,
    /// One a currency.
    money: Vec<MoneyView>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct MoneyView {
    currency: String,
    /// Gross: before refunds.
    revenue_last_30_days_cents: i64,
    /// What was refunded in these days, of sales of any day.
    refunded_last_30_days_cents: i64,
    /// Revenue less refunds; negative where more was refunded.
    net_revenue_last_30_days_cents: i64,
    commissions_pending_cents: i64,
    /// What a payout of everything would move now: debts are off, and suspended partners left out.
    commissions_approved_cents: i64,
    /// What payouts have moved.
    commissions_paid_cents: i64,
}

impl From<Figures> for FiguresView {
    fn from(figures: Figures) -> Self {
        Self {
            clicks_all_time: figures.clicks_all_time,
            clicks_last_30_days: figures.clicks,
            leads_last_30_days: figures.leads,
            sales_last_30_days: figures.sales,
            active_partners: figures.active_partners,
            unread_notifications: figures.unread_notifications,
            money: figures
                .money
                .into_iter()
                .map(|(currency, money)| MoneyView {
                    currency,
                    revenue_last_30_days_cents: money.revenue,
                    refunded_last_30_days_cents: money.refunded,
                    net_revenue_last_30_days_cents: money.revenue.saturating_sub(money.refunded),
                    commissions_pending_cents: money.pending,
                    commissions_approved_cents: money.approved,
                    commissions_paid_cents: money.paid,
                })
                .collect(),
        }
    }
}

/// Read the dashboard's summary
///
/// Programs within reach that are not archived, newest first. The last 30 days are UTC days, today included, and count as
/// `performance` and `report` do: clicks that count, customers who became leads, refunds on their own day. Amounts are in cents of
/// their currency.
#[utoipa::path(
    get,
    path = "/api/advertiser/dashboard/summary",
    responses((status = 200, description = "As of now.", body = Data<Summary>))
)]
pub async fn read_dashboard_summary(State(app): State<App>, advertiser: Advertiser) -> Answer<Summary> {
    advertiser.demand(Permission::DashboardView)?;
    let mut connection = app.management.acquire().await?;
    let reach = advertiser.reach(Permission::ProgramRead);
    let all = ProgramFilter::default();
    let (ids, _) =
        workspaces::programs_within(&mut connection, &reach, &all, None, Window::EVERYTHING).await?;
    let ids: Vec<i64> = ids.into_iter().map(ProgramId::get).collect();
    let mut programs = program_settings::find(&mut connection, &ids).await?;
    programs.reverse();
    drop(connection);
    let now = app.clock.now();
    let range = DayRange::ending(now.date_naive(), DAYS).map_err(ApiError::unexpected)?;
    let mut reads = app.reads.acquire().await?;
    let mut snapshot = snapshot::begin(&mut reads).await?;
    let figures = dashboard::figures(&mut snapshot, &ids, (range.first(), range.last()), now).await?;
    let total = Figures {
        active_partners: dashboard::active_partners(&mut snapshot, &ids).await?,
        ..sum(&figures)
    };
    Ok(data(Summary {
        programs: programs
            .into_iter()
            .zip(figures)
            .map(|(program, figures)| ProgramSummary {
                program_id: program.program_id.get(),
                name: program.settings.name.as_str().to_owned(),
                status: program.status.as_str().to_owned(),
                figures: figures.into(),
            })
            .collect(),
        total: total.into(),
    }))
}

fn sum(figures: &[Figures]) -> Figures {
    let mut total = Figures::default();
    let mut money: BTreeMap<String, Money> = BTreeMap::new();
    for of_program in figures {
        total.clicks_all_time += of_program.clicks_all_time;
        total.clicks += of_program.clicks;
        total.leads += of_program.leads;
        total.sales += of_program.sales;
        total.unread_notifications += of_program.unread_notifications;
        for (currency, more) in &of_program.money {
            let sum = money.entry(currency.clone()).or_default();
            sum.revenue += more.revenue;
            sum.refunded += more.refunded;
            sum.pending += more.pending;
            sum.approved += more.approved;
            sum.paid += more.paid;
        }
    }
    Figures { money, ..total }
}
