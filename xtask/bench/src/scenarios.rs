//! One module a scenario.

mod clicks;
mod comparison;
mod instructions;
mod leads;
mod reads;
mod sales;
mod webhooks;

use anyhow::Result;
use harness::area::Checkout;
use harness::interrupt::Interrupt;

use self::comparison::Comparison;
use super::environment::BenchEnvironment;
use super::facts;
use super::market::Size;
use super::page;
use super::report::Report;
use super::serve::{What, serve};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// All scenarios unless one is named.
    #[command(subcommand)]
    scenario: Option<Scenario>,
    /// Once instead of three times, shorter, and with less data: for daily use.
    #[arg(long, global = true)]
    quick: bool,
    /// Write the figures into docs/performance.md too.
    #[arg(long, global = true)]
    page: bool,
}

#[derive(clap::Subcommand)]
enum Scenario {
    /// The dashboard with 10^5, 10^6 and 10^7 clicks.
    Reads(reads::Options),
    /// Clicks, sales, leads, webhooks: compared with a constant handler and with the baseline.
    Goals {
        /// Only these.
        #[arg(value_enum)]
        only: Vec<Noun>,
    },
    /// The instructions that one request costs, by route, compared with the kept ones: needs no quiet
    /// machine.
    Instructions(instructions::Options),
    /// Serve one of the baselines.
    #[command(hide = true)]
    Serve { what: What },
}

/// Length and number of measurements.
#[derive(Debug, Clone, Copy)]
struct Effort {
    quick: bool,
}

impl Effort {
    /// The result is their median.
    const fn rounds(self) -> usize {
        if self.quick { 1 } else { 3 }
    }

    const fn size(self) -> Size {
        Size {
            customers: 100_000,
            hot_customers: 20_000,
            // Each lead needs a visitor without a lead.
            visitors: if self.quick { 400_000 } else { 1_200_000 },
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Noun {
    Clicks,
    Sales,
    Leads,
    Webhooks,
}

pub(crate) fn bench(checkout: &Checkout, options: &Options, interrupt: &Interrupt) -> Result<()> {
    let effort = Effort { quick: options.quick };
    let open = || BenchEnvironment::open(checkout, &effort.size(), interrupt);
    // Quick figures have their own report.
    let path = checkout.target_dir().join(if options.quick {
        "bench/quick.json"
    } else {
        "bench/report.json"
    });
    let mut report = Report::default();
    let facts = match &options.scenario {
        Some(Scenario::Serve { what }) => return serve(*what, interrupt),
        Some(Scenario::Instructions(options)) => return instructions::compare(checkout, options, interrupt),
        Some(Scenario::Reads(reads)) => {
            let mut bench = open()?;
            reads::measure(&mut bench, reads, effort, &mut report)?;
            facts::of(&bench)?
        }
        Some(Scenario::Goals { only }) => {
            let compared = goals(open()?, only, effort)?;
            report = compared.report;
            facts::of(&compared.bench)?
        }
        None => {
            report = goals(open()?, &[], effort)?.report;
            // Empty tables, for a history of known size.
            let mut bench = open()?;
            reads::measure(&mut bench, &reads::Options::default(), effort, &mut report)?;
            facts::of(&bench)?
        }
    };
    println!("\n{}", report.table());
    // Figures of other scenarios are kept.
    let mut kept = match &options.scenario {
        Some(_) => Report::read(&path),
        None => Report::default(),
    };
    report.rows.into_iter().for_each(|row| kept.add(row));
    kept.write(&path)?;
    if options.page {
        page::write(&checkout.root.join("docs"), &facts, &kept)?;
    }
    Ok(())
}

fn goals<'a>(bench: BenchEnvironment<'a>, only: &[Noun], effort: Effort) -> Result<Comparison<'a>> {
    let wanted = |noun| only.is_empty() || only.contains(&noun);
    let mut comparison = Comparison::open(bench, effort)?;
    if wanted(Noun::Clicks) {
        let settled = comparison.measure_clicks()?;
        comparison.measure_memory(settled)?;
    }
    let mut highest = None;
    if wanted(Noun::Sales) {
        highest = Some(comparison.measure_sales()?);
    }
    if wanted(Noun::Leads) {
        comparison.measure_leads()?;
    }
    if wanted(Noun::Webhooks) {
        comparison.measure_webhooks()?;
    }
    // Its backlog would affect the next measurement.
    if let Some(highest) = highest {
        comparison.overload(highest)?;
    }
    Ok(comparison)
}
