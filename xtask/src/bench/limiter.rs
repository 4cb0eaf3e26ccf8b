//! What the rate limiter adds to a click.
//!
//! Two ingests run side by side: one counts in Redis, as in production; the other has the address of a Redis that is
//! not there, and counts in its own memory. What differs between them is the way to Redis and back. Phases: the highest rate
//! of clicks with the limiter → at half of it, rounds that alternate between the two → Redis is made to hang.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};

use super::Bench;
use super::latency::{Samples, milliseconds};
use super::load::{Load, Requests};
use crate::pids::Recorded;
use crate::ports::Ports;
use crate::progress::note;
use crate::servers::redis;
use crate::services::{INGEST, Service, start_as, wait_until_ready};

/// Of the second ingest.
const ALONE: &str = "ingest-alone";
const CONNECTIONS: usize = 256;
/// So many that none of them comes near its limit within the run, and few enough for the memory of one process.
const CLIENTS: u64 = 90_000;
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

pub(super) fn measure(bench: &mut Bench<'_>, options: &Options) -> Result<()> {
    let (with, without) = start(bench)?;
    let requests = clicks(bench)?;
    let load = |service: &Service, rate| Load {
        address: SocketAddr::from((Ipv4Addr::LOCALHOST, service.port)),
        requests: Arc::clone(&requests),
        connections: CONNECTIONS,
        rate,
        length: Duration::from_secs(options.seconds),
    };
    let run = |bench: &Bench<'_>, load: &Load| {
        bench.interrupt.check()?;
        bench.runtime.block_on(load.run())
    };
    run(bench, &load(&without, None))?;
    let highest = rate(&run(bench, &load(&with, None))?, options.seconds);
    println!("highest rate with the limiter: {highest:.0} clicks a second, {CONNECTIONS} at once");

    let half = Some(highest / 2.0);
    println!("\nat half of it:");
    let (mut counted, mut alone) = (Samples::default(), Samples::default());
    for round in 1..=options.rounds {
        for (what, service, all) in [
            ("Redis", &with, &mut counted),
            ("in the process", &without, &mut alone),
        ] {
            let samples = run(bench, &load(service, half))?;
            println!(
                "  {round}. {what:<15} {}   not 200: {}",
                samples.quantiles(),
                samples.not_ok()
            );
            all.add(samples);
        }
    }
    let (redis, process) = (counted.quantiles(), alone.quantiles());
    println!("  all, Redis          {redis}\n  all, in the process {process}");
    for (name, with, without) in [
        ("p50", redis.p50, process.p50),
        ("p99", redis.p99, process.p99),
        ("p99.9", redis.p999, process.p999),
    ] {
        println!(
            "  added at {name:<6} {:+.3} ms",
            milliseconds(with) - milliseconds(without)
        );
    }
    let Some(redis) = bench.running.process(redis::NAME) else {
        note("Redis is the environment's: it is not stopped");
        return Ok(());
    };
    let hanging = Load {
        length: 2 * HANGING,
        ..load(&with, half)
    };
    hang(bench, &hanging, &redis)
}

/// The same load, with a Redis that takes requests and answers none for its first half.
fn hang(bench: &Bench<'_>, load: &Load, redis: &Recorded) -> Result<()> {
    let samples = {
        let _hanging = Hanging::start(redis);
        let goes_on = async {
            tokio::time::sleep(HANGING).await;
            redis.send_named("CONT");
        };
        bench
            .runtime
            .block_on(async { tokio::join!(load.run(), goes_on) })
            .0?
    };
    println!(
        "\nRedis hangs from the first request on, for {} s:",
        HANGING.as_secs()
    );
    let second = Duration::from_secs(1);
    for (what, from, to) in [
        ("the first 100 ms", Duration::ZERO, Duration::from_millis(100)),
        ("the rest of it", Duration::from_millis(100), HANGING),
        ("the first second after it", HANGING, HANGING + second),
    ] {
        let part = Samples {
            answers: samples
                .answers
                .iter()
                .copied()
                .filter(|answer| (from..to).contains(&answer.due))
                .collect(),
            failed: 0,
        };
        let slowest = part
            .answers
            .iter()
            .map(|answer| answer.took)
            .max()
            .unwrap_or_default();
        println!(
            "  {what:<26} {}   slowest {:.1} ms   not 200: {}",
            part.quantiles(),
            milliseconds(slowest),
            part.not_ok()
        );
    }
    println!("  without an answer: {}", samples.failed);
    Ok(())
}

/// A stopped process cannot even end: whatever happens here, it goes on afterwards.
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
fn start(bench: &mut Bench<'_>) -> Result<(Service, Service)> {
    let mut ports = Ports::of(&bench.area)?;
    let mut alone = bench.env.clone();
    let nobody = ports.choose("no-redis", None)?;
    alone.set("REDIS_URL", format!("redis://127.0.0.1:{nobody}"));
    let mut start = |name, program, env| {
        start_as(
            name,
            program,
            &bench.checkout,
            &bench.area,
            env,
            &mut ports,
            &mut bench.running,
        )
    };
    let worker = start("worker", "worker", &bench.env)?;
    let with = start(INGEST, INGEST, &bench.env)?;
    let without = start(ALONE, INGEST, &alone)?;
    let services = [worker, with, without];
    wait_until_ready(&services, &bench.area, &mut bench.running, bench.interrupt)?;
    let [_, with, without] = services;
    Ok((with, without))
}

/// Clicks through the demo program's link, from ever other visitors.
fn clicks(bench: &Bench<'_>) -> Result<Requests> {
    let code = bench.demo.get("DEMO_AFF_A").context("no link was seeded")?;
    let body = format!(
        r#"{{"affiliate_url":"https://shop.example/spring?aff={code}","page_url":"https://shop.example/spring","language":"en-GB","screen_resolution":"1920x1080","viewport_size":"1280x720","timezone":"Europe/London"}}"#
    );
    Ok(Arc::new(move |number| {
        let [.., a, b, c] = (number % CLIENTS).to_be_bytes();
        format!(
            "POST /api/v1/track/click HTTP/1.1\r\nHost: shop.example\r\nX-Forwarded-For: 198.{a}.{b}.{c}\r\n\
             User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .into_bytes()
    }))
}

/// Answers a second.
fn rate(samples: &Samples, seconds: u64) -> f64 {
    let answers = u32::try_from(samples.answers.len()).unwrap_or(u32::MAX);
    let seconds = u32::try_from(seconds).unwrap_or(u32::MAX);
    f64::from(answers) / f64::from(seconds)
}
