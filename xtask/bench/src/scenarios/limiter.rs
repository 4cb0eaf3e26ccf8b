//! The cost of the rate limiter for a click.
//!
//! Two ingests run side by side: one counts in Redis, as in production; the other has the address of a missing Redis and counts in its own
//! memory. The difference is the round trip to Redis. Phases: the highest rate of clicks with the limiter → at half of it, rounds that
//! alternate between the two → Redis hangs.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Result;
use harness::pids::Recorded;
use harness::progress::note;
use harness::servers::redis;
use harness::services::INGEST;

use crate::environment::BenchEnvironment;
use crate::load::Load;
use crate::outcome::{Outcome, Span, milliseconds};
use crate::requests::Target;

/// Name of the second ingest.
const ALONE: &str = "ingest-alone";
const CONNECTIONS: usize = 256;
const HANGING: Duration = Duration::from_secs(4);

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Seconds of each measurement.
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// Pairs of rounds, with the limiter and without.
    #[arg(long, default_value_t = 4)]
    rounds: u32,
}

pub(super) fn measure(bench: &mut BenchEnvironment<'_>, options: &Options) -> Result<()> {
    let (with, without) = start(bench)?;
    let length = Duration::from_secs(options.seconds);
    let run = |bench: &mut BenchEnvironment<'_>, load: &Load| -> Result<Outcome> {
        let mut clicks = bench.clicks(Target::Spread);
        Ok(bench.run(load, &mut clicks)?.outcome)
    };
    run(bench, &Load::closed(without, CONNECTIONS, length))?;
    let highest = run(bench, &Load::closed(with, CONNECTIONS, length))?.rate();
    println!("highest rate with the limiter: {highest:.0} clicks a second, {CONNECTIONS} at once");

    let half = highest / 2.0;
    println!("\nat half of it:");
    let (mut counted, mut alone) = (Span::new(), Span::new());
    for round in 1..=options.rounds {
        for (what, address, all) in [
            ("Redis", with, &mut counted),
            ("in the process", without, &mut alone),
        ] {
            let outcome = run(bench, &Load::open(address, CONNECTIONS, half, length))?;
            println!("  {round}. {what:<15} {}   {}", outcome.all(), outcome.losses());
            all.add(&outcome.all());
        }
    }
    println!("  all, Redis          {counted}\n  all, in the process {alone}");
    for (name, quantile) in [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999)] {
        println!(
            "  added at {name:<6} {:+.3} ms",
            milliseconds(counted.quantile(quantile)) - milliseconds(alone.quantile(quantile))
        );
    }
    let Some(redis) = bench.running.process(redis::NAME) else {
        note("Redis is external: it is not stopped");
        return Ok(());
    };
    hang(bench, with, half, &redis)
}

/// The same load, with a Redis that hangs during the first half.
fn hang(bench: &mut BenchEnvironment<'_>, with: SocketAddr, rate: f64, redis: &Recorded) -> Result<()> {
    let (tenth, second) = (Duration::from_millis(100), Duration::from_secs(1));
    let load = Load {
        spans: vec![tenth, HANGING, HANGING + second],
        ..Load::open(with, CONNECTIONS, rate, 2 * HANGING)
    };
    let mut clicks = bench.clicks(Target::Spread);
    let outcome = {
        let hanging = Hanging::start(redis);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(HANGING);
                drop(hanging);
            });
            bench.run(&load, &mut clicks)
        })?
        .outcome
    };
    println!(
        "\nRedis hangs from the first request on, for {} s:",
        HANGING.as_secs()
    );
    let names = [
        "the first 100 ms",
        "the rest of it",
        "the first second after it",
        "afterwards",
    ];
    for (name, span) in names.iter().zip(&outcome.spans) {
        let slowest = milliseconds(span.slowest());
        println!(
            "  {name:<26} {span}   slowest {slowest:.1} ms   not 200: {}",
            span.refused()
        );
    }
    println!("  {}", outcome.losses());
    Ok(())
}

/// Resumes the process also after a failure: a stopped process could not be ended.
struct Hanging<'a>(&'a Recorded);

impl<'a> Hanging<'a> {
    fn start(process: &'a Recorded) -> Self {
        process.send_named("STOP");
        Self(process)
    }
}

impl Drop for Hanging<'_> {
    fn drop(&mut self) {
        self.0.send_named("CONT");
    }
}

/// A worker, and the two ingests.
fn start(bench: &mut BenchEnvironment<'_>) -> Result<(SocketAddr, SocketAddr)> {
    let mut alone = bench.env.clone();
    let unused_port = bench.free_port("no-redis")?;
    alone.set("REDIS_URL", format!("redis://127.0.0.1:{unused_port}"));
    bench.start("worker", "worker")?;
    let with = bench.start(INGEST, INGEST)?;
    let without = bench.start_with(ALONE, INGEST, &alone)?;
    Ok((with, without))
}
