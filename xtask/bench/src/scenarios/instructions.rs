//! The instructions of one request, by route: unlike times, they are the same on a busy machine.
//!
//! Callgrind counts those of the service, without the kernel's. Requests come one at a time, so every batch
//! holds one of them. What the service does by itself meanwhile (pings, looking for changes) is counted too:
//! one or two percent.

mod callgrind;
mod counts;

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::ops::Range;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, ensure};
use harness::area::Checkout;
use harness::interrupt::Interrupt;
use harness::process;
use harness::progress::Step;
use harness::services::{INGEST, WEBHOOK_CONSUMER};
use runtime::clock::Clock;

use self::callgrind::Callgrind;
use self::counts::Counts;
use crate::answer::Answer;
use crate::environment::BenchEnvironment;
use crate::load::Requests;
use crate::market::Size;
use crate::outcome::is_ok;
use crate::payments::{Payments, connect};
use crate::requests::{Leads, Refunds, Sales, Target};

const SIZE: Size = Size {
    customers: 20_000,
    hot_customers: 0,
    visitors: 20_000,
};
const FILE: &str = "xtask/bench/instructions.json";
/// Fills caches, and the click limiter's minute.
const WARMING_UP: u64 = 200;
const COUNTED: u64 = 1_000;
/// The service takes fifty times as long as by itself.
const PATIENCE: Duration = Duration::from_secs(30);
const MINUTE: Duration = Duration::from_mins(1);
const RUN: &str = "count";

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Keep the counts in xtask/bench/instructions.json, for later comparisons.
    #[arg(long)]
    keep: bool,
}

/// Fails if a route costs more than the kept count allows.
pub(super) fn compare(checkout: &Checkout, options: &Options, interrupt: &Interrupt) -> Result<()> {
    callgrind::check()?;
    let path = checkout.root.join(FILE);
    let kept = match Counts::read(&path) {
        // There may be none yet.
        Err(_) if options.keep => Counts::default(),
        kept => kept?,
    };
    let mut bench = BenchEnvironment::open(checkout, &SIZE, interrupt)?;
    let counts = Counts {
        compiler: process::output(Command::new("rustc").arg("--version"))?
            .trim()
            .to_owned(),
        routes: count(&mut bench)?,
    };
    println!("\n{}", counts.table(&kept));
    if options.keep {
        return counts.write(&path);
    }
    let costlier = counts.costlier(&kept);
    ensure!(
        costlier.is_empty(),
        "over 5 % more instructions than kept: {}",
        costlier.join(", ")
    );
    Ok(())
}

fn count(bench: &mut BenchEnvironment<'_>) -> Result<BTreeMap<String, u64>> {
    bench.start("worker", "worker")?;
    let market = Arc::clone(&bench.market);
    let routes = [
        Route::of("click", bench.clicks(Target::Spread)),
        Route {
            is_limited: true,
            ..Route::of("limited click", Repeated(bench.clicks(Target::Spread)))
        },
        Route::of("lead", Leads::new(&market, 0)),
        Route::of("sale", Sales::new(&market, Target::Spread, RUN)),
        Route::of("refund", Refunds(Sales::new(&market, Target::Spread, RUN))),
    ];
    let mut counts = count_all(bench, INGEST, routes)?;
    connect(bench)?;
    let webhooks = [Route::of("webhook", Payments::new(&market, RUN))];
    counts.extend(count_all(bench, WEBHOOK_CONSUMER, webhooks)?);
    Ok(counts)
}

struct Route {
    name: &'static str,
    requests: Box<dyn Requests>,
    /// Answered 429, after the warm-up has used the limit.
    is_limited: bool,
}

impl Route {
    fn of(name: &'static str, requests: impl Requests + 'static) -> Self {
        Self {
            name,
            requests: Box::new(requests),
            is_limited: false,
        }
    }

    /// One at a time.
    fn send(&mut self, connection: &mut TcpStream, numbers: Range<u64>, interrupt: &Interrupt) -> Result<()> {
        let mut buffer = [0; 16 * 1024];
        for number in numbers {
            interrupt.check()?;
            connection.write_all(self.requests.request(number).as_bytes())?;
            let mut length = 0;
            let status = loop {
                let rest = buffer.get_mut(length..).unwrap_or_default();
                let read = connection.read(rest)?;
                ensure!(read > 0, "the connection ended before the answer");
                length += read;
                if let Some(answer) = Answer::parse(buffer.get(..length).unwrap_or_default()) {
                    break answer.status;
                }
            };
            let is_expected = if self.is_limited {
                status == 429
            } else {
                is_ok(status)
            };
            ensure!(
                number < WARMING_UP || is_expected,
                "{} was answered {status}",
                self.name
            );
        }
        Ok(())
    }
}

/// The same request again and again.
struct Repeated<R>(R);

impl<R: Requests> Requests for Repeated<R> {
    fn request(&mut self, _number: u64) -> String {
        self.0.request(0)
    }
}

fn count_all(
    bench: &mut BenchEnvironment<'_>,
    service: &'static str,
    routes: impl IntoIterator<Item = Route>,
) -> Result<BTreeMap<String, u64>> {
    let mut callgrind = Callgrind::start(bench, service)?;
    let mut counts = BTreeMap::new();
    for mut route in routes {
        let step = Step::start(format_args!("Counting: {}", route.name));
        if route.is_limited {
            early_in_a_minute(bench.interrupt)?;
        }
        let mut connection = TcpStream::connect(callgrind.address)?;
        connection.set_nodelay(true)?;
        connection.set_read_timeout(Some(PATIENCE))?;
        route.send(&mut connection, 0..WARMING_UP, bench.interrupt)?;
        callgrind.taken()?;
        route.send(&mut connection, WARMING_UP..WARMING_UP + COUNTED, bench.interrupt)?;
        let count = callgrind.taken()? / COUNTED;
        step.done(format_args!("{count} instructions"));
        counts.insert(route.name.to_owned(), count);
    }
    bench.stop(service)?;
    Ok(counts)
}

/// Waits until the limiter's minute will not end soon: with a new one it would admit requests again.
fn early_in_a_minute(interrupt: &Interrupt) -> Result<()> {
    let clock = Clock::system();
    interrupt.wait_until(MINUTE, || Ok(clock.now().timestamp() % 60 < 30))?;
    Ok(())
}
