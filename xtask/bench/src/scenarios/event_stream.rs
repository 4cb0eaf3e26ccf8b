//! How fast everything that happened in a program is read by its event stream, while traffic flows.
//!
//! The [`history`]'s clicks are marked as the click step marks them, a thousand a batch. Then one reader reads them all, ten thousand a page, each
//! page beginning with the cursor of the one before.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use harness::interrupt::Interrupt;
use harness::progress::{Step, note};
use harness::services::INGEST;
use memchr::memmem;
use serde_json::Value;

use crate::effort::Effort;
use crate::environment::BenchEnvironment;
use crate::history;
use crate::load::Load;
use crate::outcome::float;
use crate::report::{Goal, Report, Row, compact};
use crate::requests::{Sales, Target};

/// Events a second.
const GOAL: f64 = 50_000.0;
const OWNER: &str = "reader@market.example";

#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Clicks to load and to read: 10^7 unless said otherwise, 10^6 if quick.
    #[arg(long)]
    events: Option<u64>,
    /// Running clicks a second, all of them the program's.
    #[arg(long, default_value_t = 300.0)]
    clicks: f64,
    /// Running sales a second.
    #[arg(long, default_value_t = 30.0)]
    sales: f64,
}

pub(super) fn measure(
    bench: &mut BenchEnvironment<'_>,
    options: &Options,
    effort: Effort,
    report: &mut Report,
) -> Result<()> {
    let size = options
        .events
        .unwrap_or(if effort.quick { 1_000_000 } else { 10_000_000 });
    let reader = Reader::begun(bench)?;
    let address = reader.address;
    history::grow(bench, 0, size)?;
    mark(bench, reader.program_id)?;
    bench.settle()?;
    let step = Step::start(format_args!("Reading {size} events beside traffic"));
    let (market, clicks, interrupt) = (bench.market.clone(), bench.clicks(Target::Hot), bench.interrupt);
    let length = Duration::from_secs_f64(float(size) / GOAL);
    let load = |rate| Load::open(address, 32, rate, length);
    let (read, traffic) = std::thread::scope(|threads| {
        let reading = threads.spawn(|| reader.everything(interrupt));
        let traffic = bench.together([vec![
            (load(options.clicks), Box::new(clicks) as _),
            (
                load(options.sales),
                Box::new(Sales::new(&market, Target::Hot, "es")) as _,
            ),
        ]]);
        (reading.join(), traffic)
    });
    let read = read.map_err(|_| anyhow::anyhow!("the reader panicked"))??;
    let [traffic] = traffic?;
    for (what, outcome) in ["clicks", "sales"].iter().zip(&traffic) {
        note(format_args!("{what}: {}", outcome.losses()));
    }
    let rate = float(read.events) / read.took.as_secs_f64();
    step.done(format_args!(
        "{} events, {rate:.0} a second, {:.0} MB",
        read.events,
        float(read.bytes) / 1e6
    ));
    ensure!(read.events >= size, "{} of {size} events were read", read.events);
    report.add(
        Row::of(
            format!("event stream, {} clicks beside traffic", compact(float(size))),
            rate,
            "/s",
        )
        .goal(Goal::AtLeast(GOAL)),
    );
    Ok(())
}

/// Marks all clicks of the program, as if batches of a thousand had been stored in the order of their times.
fn mark(bench: &mut BenchEnvironment<'_>, program_id: i64) -> Result<()> {
    let step = Step::start("Marking the clicks");
    let sql = format!(
        "SET statement_timeout = 0;
         INSERT INTO outbound_events (event_id, program_id, event_type, occurred_at, body, clicks, click_event_ids, first_clicked_at,
                                      last_clicked_at, position)
         SELECT gen_random_uuid(), {program_id}, 'clicks', last_clicked_at, '', clicks, click_event_ids, first_clicked_at, last_clicked_at,
                nextval('outbound_event_positions')
         FROM (SELECT count(*) AS clicks, array_agg(event_id ORDER BY click_timestamp, event_id) AS click_event_ids,
                      min(click_timestamp) AS first_clicked_at, max(click_timestamp) AS last_clicked_at
               FROM (SELECT event_id, click_timestamp,
                            (row_number() OVER (ORDER BY click_timestamp, event_id) - 1) / 1000 AS batch
                     FROM click_events WHERE program_id = {program_id} AND NOT is_test) AS numbered
               GROUP BY batch ORDER BY batch) AS batches;
         RESET statement_timeout"
    );
    bench
        .runtime
        .block_on(sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(&bench.pool))
        .context("cannot mark the clicks")?;
    bench
        .runtime
        .block_on(sqlx::raw_sql("VACUUM (ANALYZE) outbound_events").execute(&bench.pool))?;
    step.done("marked, vacuumed and analysed");
    Ok(())
}

struct Reader {
    address: SocketAddr,
    session: String,
    program_id: i64,
}

struct EverythingRead {
    events: u64,
    bytes: u64,
    took: Duration,
}

impl Reader {
    fn begun(bench: &mut BenchEnvironment<'_>) -> Result<Self> {
        let workspace = bench.market.workspace_id.to_string();
        bench.ctl(&[
            "user",
            "create",
            "--email",
            OWNER,
            "--name",
            "Reader",
            "--workspace-id",
            &workspace,
            "--generate-password",
        ])?;
        let session = bench.runtime.block_on(bench.market.sign_in(&bench.pool, OWNER))?;
        bench.start("worker", "worker")?;
        let address = bench.start(INGEST, INGEST)?;
        let reader = Self {
            address,
            session,
            program_id: bench.market.hot_program(),
        };
        // Turns the stream on.
        reader.page("")?;
        Ok(reader)
    }

    /// One page: its text. By HTTP/1.0, whose answers end with the connection.
    fn page(&self, query: &str) -> Result<Vec<u8>> {
        let mut stream = TcpStream::connect(self.address)?;
        write!(
            stream,
            "GET /api/advertiser/affiliate-programs/{}/event-stream?{query} HTTP/1.0\r\nHost: bench\r\nAuthorization: Bearer {}\r\n\
             Accept: application/x-ndjson\r\n\r\n",
            self.program_id, self.session
        )?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        ensure!(
            answer.get(9..12) == Some(b"200"),
            "{}",
            String::from_utf8_lossy(answer.get(..500).unwrap_or(&answer))
        );
        let body = memmem::find(&answer, b"\r\n\r\n").context("an answer without a body")?;
        Ok(answer.split_off(body + 4))
    }

    fn everything(&self, interrupt: &Interrupt) -> Result<EverythingRead> {
        let started = Instant::now();
        let mut read = EverythingRead {
            events: 0,
            bytes: 0,
            took: Duration::ZERO,
        };
        let mut query = "limit=10000".to_owned();
        loop {
            interrupt.check()?;
            let page = self.page(&query)?;
            let lines = memchr::memchr_iter(b'\n', &page).count();
            read.events += u64::try_from(lines.saturating_sub(1))?;
            read.bytes += u64::try_from(page.len())?;
            let meta = page
                .trim_ascii_end()
                .rsplit(|byte| *byte == b'\n')
                .next()
                .unwrap_or_default();
            let meta: Value = serde_json::from_slice(meta).context("the answer broke off")?;
            let field = |pointer| meta.pointer(pointer).cloned().unwrap_or_default();
            if field("/meta/has_more") != Value::Bool(true) {
                break;
            }
            let next = field("/meta/next");
            let next = next.as_str().context("an answer without a cursor")?;
            query = format!("limit=10000&after={next}");
        }
        read.took = started.elapsed();
        Ok(read)
    }
}
