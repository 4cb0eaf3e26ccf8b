//! What can be measured, one module a scenario.

mod clicks;
mod contest;
mod leads;
mod limiter;
mod reads;
mod sales;
mod stored;
mod webhooks;

use anyhow::Result;
use harness::area::Checkout;
use harness::interrupt::Interrupt;

use self::contest::Contest;
use super::facts;
use super::market::Size;
use super::page;
use super::place::Place;
use super::report::Report;
use super::serve::{What, serve};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// All of them, unless one is named.
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
    /// What the rate limiter adds to a click, and how soon it goes on without Redis.
    Limiter(limiter::Options),
    /// The dashboard with 10^5, 10^6 and 10^7 clicks behind it, and how soon it shows a new one.
    Reads(reads::Options),
    /// Clicks, sales, leads, webhooks: against what the machine allows, and against the ordinary design.
    Goals {
        /// Only these.
        #[arg(value_enum)]
        only: Vec<Noun>,
    },
    /// What a sale costs with 10^4, 10^6 and 10^7 of them stored.
    Stored(stored::Options),
    /// One of those the service is held against, by itself.
    #[command(hide = true)]
    Serve { what: What },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Noun {
    Clicks,
    Sales,
    Leads,
    Webhooks,
}

/// How long and how often.
#[derive(Debug, Clone, Copy)]
struct Effort {
    quick: bool,
}

impl Effort {
    /// Of each figure, of which the median counts.
    const fn rounds(self) -> usize {
        if self.quick { 1 } else { 3 }
    }

    const fn size(self) -> Size {
        Size {
            customers: 100_000,
            hot_customers: 20_000,
            // A lead needs a visitor who was none before.
            visitors: if self.quick { 100_000 } else { 500_000 },
        }
    }
}

pub(crate) fn bench(checkout: &Checkout, options: &Options, interrupt: &Interrupt) -> Result<()> {
    let effort = Effort { quick: options.quick };
    let open = || Place::open(checkout, &effort.size(), interrupt);
    // Quick figures are not kept among those of whole runs.
    let path = checkout.target_dir().join(if options.quick {
        "bench/quick.json"
    } else {
        "bench/report.json"
    });
    let mut report = Report::default();
    let facts = match &options.scenario {
        Some(Scenario::Serve { what }) => return serve(*what, interrupt),
        Some(Scenario::Limiter(limiter)) => return limiter::measure(&mut open()?, limiter),
        Some(Scenario::Reads(reads)) => {
            let mut place = open()?;
            reads::measure(&mut place, reads, effort, &mut report)?;
            facts::of(&place)?
        }
        Some(Scenario::Stored(stored)) => {
            let mut place = open()?;
            stored::measure(&mut place, stored, effort, &mut report)?;
            facts::of(&place)?
        }
        Some(Scenario::Goals { only }) => {
            let mut place = open()?;
            goals(&mut place, only, effort, &mut report)?;
            facts::of(&place)?
        }
        None => {
            goals(&mut open()?, &[], effort, &mut report)?;
            // A past of a known size needs tables that are empty.
            if !effort.quick {
                stored::measure(&mut open()?, &stored::Options::default(), effort, &mut report)?;
            }
            let mut place = open()?;
            reads::measure(&mut place, &reads::Options::default(), effort, &mut report)?;
            facts::of(&place)?
        }
    };
    println!("\n{}", report.table());
    // One scenario leaves what the others have measured.
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

fn goals(place: &mut Place<'_>, only: &[Noun], effort: Effort, report: &mut Report) -> Result<()> {
    let wanted = |noun| only.is_empty() || only.contains(&noun);
    let mut contest = Contest::open(place, effort)?;
    if wanted(Noun::Clicks) {
        contest.stages(place, report)?;
        let settled = clicks::measure(place, &mut contest, report)?;
        clicks::memory(place, &contest, report, settled)?;
    }
    let mut highest = None;
    if wanted(Noun::Sales) {
        highest = Some(sales::measure(place, &mut contest, report)?);
    }
    if wanted(Noun::Leads) {
        leads::measure(place, &mut contest, report)?;
    }
    if wanted(Noun::Webhooks) {
        webhooks::measure(place, &mut contest, report)?;
    }
    // What it leaves behind would be measured with what follows.
    if let Some(highest) = highest {
        sales::overload(place, &mut contest, report, highest)?;
    }
    Ok(())
}
