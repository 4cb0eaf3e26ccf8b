//! `cargo xtask scale-out`: one, two and four workers on the same durable consumers, each with a share of a core.
//!
//! Phases: servers of its own and the release build → two ingests behind one address take clicks while no worker runs, until enough
//! wait → one worker settles them, then two, then four, each number for a while → workers go and others come while the rest is settled →
//! `ctl verify`. What is counted is the links' counter: a click moves it once, in the transaction that stores it.
//!
//! A share is a limit of the kernel (cgroup). Where this machine does not let us set one, workers take what they get, and the
//! figures say nothing about scaling; that is printed.

mod balancer;
mod share;

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use harness::area::Checkout;
use harness::cargo::cargo;
use harness::env_file::EnvFile;
use harness::interrupt::Interrupt;
use harness::keys;
use harness::ports::Ports;
use harness::process::{self, Running};
use harness::progress::{Step, note};
use harness::servers::postgres::Postgres;
use harness::servers::provide;
use harness::services;
use harness::stop::start_empty;

use self::balancer::balance;
use self::share::Share;

const INGESTS: [&str; 2] = ["ingest", "ingest-2"];
/// Who comes before each measurement.
const NEWCOMERS: [&[&str]; 3] = [&["worker-1"], &["worker-2"], &["worker-3", "worker-4"]];
/// Bytes a stream: room for every click, and not more than a laptop has.
const STREAM_MAX_BYTES: u64 = 256 << 20;
/// Until a worker that has just started works at its pace.
const WARM: Duration = Duration::from_secs(2);
const SETTLING: Duration = Duration::from_mins(5);
const CALLERS: usize = 16;
const DATABASE_BYTES: &str = "SELECT pg_database_size(current_database())";
const ANSWER_LIMIT: Duration = Duration::from_secs(10);

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Of one core, for each worker: little enough that four of them leave PostgreSQL its own.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    percent: u32,
    /// Clicks that wait before the first worker starts.
    #[arg(long, default_value_t = 160_000)]
    clicks: u64,
    /// For which each number of workers is measured.
    #[arg(long, default_value_t = 5)]
    seconds: u64,
    /// With the debug build, which is quicker to have: its figures say how throughput rises, not what it is.
    #[arg(long)]
    debug: bool,
}

/// What runs, and what is asked of it.
struct Show<'a> {
    /// With the programs that are shown.
    programs: Checkout,
    postgres: &'a Postgres,
    url: String,
    interrupt: &'a Interrupt,
}

pub(crate) fn scale_out(checkout: &Checkout, options: &Options, interrupt: &Interrupt) -> Result<()> {
    let area = checkout.scale_out_area();
    let _lock = area
        .try_lock()?
        .context("another `cargo xtask scale-out` is at work in this checkout")?;
    start_empty(&area)?;
    // Before what runs in them, so that they go after it.
    let mut shares = Vec::new();
    let mut running = Running::none(&area)?;
    let servers = provide(checkout, &area, &mut running, interrupt)?;
    let show = Show {
        programs: build(checkout, options.debug, interrupt)?,
        postgres: servers
            .postgres
            .as_ref()
            .context("this needs psql on this machine")?,
        url: servers.database_url.clone(),
        interrupt,
    };
    let mut env = keys::read_or_create(&area)?;
    env.set_all(servers.urls());
    env.set("CLICK_LIMIT", u32::MAX.to_string());
    env.set("STREAM_MAX_BYTES", STREAM_MAX_BYTES.to_string());
    show.ctl(&env, "migrate")?;
    let demo = EnvFile::parse(&show.ctl(&env, "seed-demo")?);
    let code = demo.get("DEMO_AFF_A").context("no link was seeded")?;

    let mut ports = Ports::of(&area)?;
    let ingests = INGESTS
        .into_iter()
        .map(|name| {
            services::start_as(
                name,
                "ingest",
                &show.programs,
                &area,
                &env,
                &mut ports,
                &mut running,
            )
        })
        .collect::<Result<Vec<_>>>()?;
    services::wait_until_ready(&ingests, &area, &mut running, interrupt)?;
    let empty = show.number(DATABASE_BYTES)?;
    let address = balance(ingests.iter().map(|ingest| ingest.port).collect())?;
    show.fill(address, code, options.clicks)?;

    let mut start = |name, running: &mut Running| -> Result<()> {
        let service = services::start_as(name, "worker", &show.programs, &area, &env, &mut ports, running)?;
        let pid = running.process(name).context("the worker is gone")?.pid;
        shares.push(Share::of(name, pid, options.percent));
        services::wait_until_ready(&[service], &area, running, interrupt)
    };
    let mut rates = Vec::new();
    let mut workers = 0;
    for newcomers in NEWCOMERS {
        for name in newcomers {
            start(*name, &mut running)?;
        }
        workers += newcomers.len();
        rates.push((workers, show.measure(workers, options)?));
    }
    // The same work in other hands, in the middle of it.
    for name in NEWCOMERS.into_iter().take(2).flatten() {
        running.stop(name)?;
        start(*name, &mut running)?;
    }
    show.settle(options.clicks)?;
    let verified = show.ctl(&env, "verify").context("the books are not right")?;
    tell(&rates, options, shares.iter().all(Share::holds));
    let bytes = (show.number(DATABASE_BYTES)? - empty) / options.clicks.max(1);
    println!("A click of a new customer takes {bytes} bytes in PostgreSQL, with its indexes.");
    note(format_args!(
        "ctl verify: {} invariants hold",
        verified.lines().count()
    ));
    Ok(())
}

/// Where the programs are.
fn build(checkout: &Checkout, is_debug: bool, interrupt: &Interrupt) -> Result<Checkout> {
    let mut command = cargo(checkout);
    command.args(["build", "--bins"]);
    let built = if is_debug {
        // As the tests build it: nothing is compiled twice.
        command.arg("--workspace");
        checkout.clone()
    } else {
        command.arg("--release");
        command.args(["ingest", "worker", "ctl"].map(|package| format!("--package={package}")));
        checkout.released()
    };
    let step = Step::start("Building");
    process::run(&mut command, interrupt)?;
    step.done("built");
    Ok(built)
}

impl Show<'_> {
    fn ctl(&self, env: &EnvFile, command: &str) -> Result<String> {
        let mut ctl = Command::new(self.programs.bin_dir.join("ctl"));
        process::output(ctl.env_remove("DEMO_API_KEY").envs(env.iter()).arg(command))
    }

    /// Callers with a connection each.
    fn fill(&self, port: u16, code: &str, clicks: u64) -> Result<()> {
        let step = Step::start(format_args!("Taking {clicks} clicks while no worker runs"));
        let left = &AtomicU64::new(clicks);
        let interrupt = self.interrupt;
        thread::scope(|scope| {
            let callers: Vec<_> = (0..CALLERS)
                .map(|_| scope.spawn(move || click(port, code, left, interrupt)))
                .collect();
            callers
                .into_iter()
                .try_for_each(|caller| caller.join().map_err(|_| anyhow::anyhow!("a caller panicked"))?)
        })?;
        step.done("each of them answered");
        Ok(())
    }

    fn settled(&self) -> Result<u64> {
        self.number("SELECT coalesce(sum(clicks), 0) FROM referral_links")
    }

    fn number(&self, query: &str) -> Result<u64> {
        let text = self.postgres.query(&self.url, query)?;
        text.trim().parse().context("no number")
    }

    /// Clicks a second.
    fn measure(&self, workers: usize, options: &Options) -> Result<u64> {
        let step = Step::start(format_args!("{workers} workers"));
        self.pause(WARM)?;
        let (before, begun) = (self.settled()?, Instant::now());
        self.pause(Duration::from_secs(options.seconds))?;
        let after = self.settled()?;
        ensure!(
            after < options.clicks,
            "everything is settled before {workers} workers were measured: give more --clicks"
        );
        let milliseconds = u64::try_from(begun.elapsed().as_millis())?.max(1);
        let rate = (after - before) * 1_000 / milliseconds;
        step.done(format_args!("{rate} clicks a second"));
        Ok(rate)
    }

    fn settle(&self, clicks: u64) -> Result<()> {
        let step = Step::start("Settling the rest while workers go and others come");
        let mut settled = 0;
        let done = self.interrupt.wait_until(SETTLING, || {
            settled = self.settled()?;
            Ok(settled >= clicks)
        })?;
        if !done || settled != clicks {
            bail!("{clicks} clicks were answered, {settled} are counted");
        }
        step.done("each of them once");
        Ok(())
    }

    fn pause(&self, time: Duration) -> Result<()> {
        self.interrupt.wait_until(time, || Ok(false)).map(drop)
    }
}

/// Clicks, one after the other, until none is left.
fn click(port: u16, code: &str, left: &AtomicU64, interrupt: &Interrupt) -> Result<()> {
    let body = format!(r#"{{"affiliate_url":"https://shop.example/?aff={code}"}}"#);
    let request = format!(
        "POST /api/v1/track/click HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_read_timeout(Some(ANSWER_LIMIT))?;
    stream.set_nodelay(true)?;
    let take = |left: u64| left.checked_sub(1);
    let mut answer = [0; 4096];
    while left
        .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)
        .is_ok()
    {
        interrupt.check()?;
        stream.write_all(request.as_bytes())?;
        // An answer is small, and written whole.
        let read = stream.read(&mut answer)?;
        let head = answer.get(..read).unwrap_or_default();
        ensure!(
            head.starts_with(b"HTTP/1.1 200"),
            "a click was refused: {}",
            String::from_utf8_lossy(head)
        );
    }
    Ok(())
}

fn tell(rates: &[(usize, u64)], options: &Options, is_limited: bool) {
    println!("\n| workers | clicks settled a second | of one worker's |\n|---|---|---|");
    let one = rates.first().map_or(1, |(_, rate)| *rate).max(1);
    for (workers, rate) in rates {
        let tenths = (rate * 10 + one / 2) / one;
        println!("| {workers} | {rate} | {}.{} × |", tenths / 10, tenths % 10);
    }
    if is_limited {
        println!("\nEach worker had {} % of one core.", options.percent);
    } else {
        println!("\nThis machine lets us limit nobody: the figures say nothing about scaling.");
    }
}
