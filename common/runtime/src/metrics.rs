//! Every metric of every service: how it is called, what it means, how it is counted, how it is shown.
//!
//! A metric is a static, declared below and nowhere else. What counts asks for its handle once, when it starts
//! ([`Family::with`]), and adds to a number in memory from then on: a click looks no name up. The numbers are those of the
//! process; [`serve`] shows them to Prometheus on a port of their own.
//!
//! `docs/metrics.md` is made from the same declarations.

mod page;
pub mod requests;
pub mod serve;

use std::fmt;
use std::sync::LazyLock;
use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::EncodeMetric;
use prometheus_client::encoding::text::encode;
pub use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family as Values;
pub use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::{MetricType, TypedMetric};
use prometheus_client::registry::Registry;

pub use self::page::page;

pub type Gauge = prometheus_client::metrics::gauge::Gauge<f64, AtomicU64>;

const INGEST: &[&str] = &["ingest"];
const WORKER: &[&str] = &["worker"];
const EDGES: &[&str] = &["ingest", "webhook-consumer"];
const RELAYS: &[&str] = &["worker", "webhook-consumer"];
const ALL_SERVICES: &[&str] = &["ingest", "worker", "webhook-consumer"];

/// Of a request or a batch.
const SECONDS: [f64; 14] = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
];
/// Of a batch.
const RECORDS: [f64; 11] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0];

type Labels<const N: usize> = [(&'static str, String); N];

/// Its numbers, and how a new one begins.
type ByLabels<M, const N: usize> = Values<Labels<N>, M, fn() -> M>;

/// A metric with so many labels.
pub struct Family<M, const N: usize> {
    name: &'static str,
    labels: [&'static str; N],
    services: &'static [&'static str],
    meaning: &'static str,
    values: LazyLock<ByLabels<M, N>>,
}

pub type Counters<const N: usize> = Family<Counter, N>;
pub type Gauges<const N: usize> = Family<Gauge, N>;
pub type Histograms<const N: usize> = Family<Histogram, N>;

impl<M, const N: usize> fmt::Debug for Family<M, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl<M: Clone, const N: usize> Family<M, N> {
    /// The one with these values of its labels. Kept by whoever counts.
    pub fn with(&self, labels: [&str; N]) -> M {
        let mut values = labels.into_iter();
        let labels = self
            .labels
            .map(|label| (label, values.next().unwrap_or_default().to_owned()));
        self.values.get_or_create_owned(&labels)
    }

    /// Forgets what was shown: it cannot be known any more.
    pub fn clear(&self) {
        self.values.clear();
    }
}

impl<M, const N: usize> Family<M, N> {
    /// `name` as it is shown, a counter's with `_total` at its end.
    const fn declared(
        name: &'static str,
        labels: [&'static str; N],
        services: &'static [&'static str],
        meaning: &'static str,
        values: fn() -> ByLabels<M, N>,
    ) -> Self {
        Self {
            name,
            labels,
            services,
            meaning,
            values: LazyLock::new(values),
        }
    }
}

fn counting<const N: usize>() -> ByLabels<Counter, N> {
    Values::new_with_constructor(Counter::default)
}

fn showing<const N: usize>() -> ByLabels<Gauge, N> {
    Values::new_with_constructor(Gauge::default)
}

fn of_seconds<const N: usize>() -> ByLabels<Histogram, N> {
    Values::new_with_constructor(|| Histogram::new(SECONDS))
}

fn of_records<const N: usize>() -> ByLabels<Histogram, N> {
    Values::new_with_constructor(|| Histogram::new(RECORDS))
}

/// Whatever a metric counts.
pub trait Metric: Sync {
    /// As it is shown; a histogram's has `_bucket`, `_sum` and `_count` behind it.
    fn name(&self) -> &'static str;
    fn kind(&self) -> &'static str;
    fn labels(&self) -> &[&'static str];
    /// Services that show it.
    fn services(&self) -> &[&'static str];
    fn meaning(&self) -> &'static str;
    fn register(&self, registry: &mut Registry);
    /// Shows a counter without labels from the start: one that appears with its first count was never seen to rise.
    fn begin(&self);
}

impl<M, const N: usize> Metric for Family<M, N>
where
    M: EncodeMetric + TypedMetric + Clone + Send + Sync + fmt::Debug + 'static,
{
    fn name(&self) -> &'static str {
        self.name
    }

    fn kind(&self) -> &'static str {
        match M::TYPE {
            MetricType::Counter => "counter",
            MetricType::Gauge => "gauge",
            MetricType::Histogram => "histogram",
            MetricType::Info | MetricType::Unknown => "unknown",
        }
    }

    fn labels(&self) -> &[&'static str] {
        &self.labels
    }

    fn services(&self) -> &[&'static str] {
        self.services
    }

    fn meaning(&self) -> &'static str {
        self.meaning
    }

    fn register(&self, registry: &mut Registry) {
        // The registry's own: it puts the ending there again, and a full stop behind the meaning.
        let name = self.name.trim_end_matches("_total");
        registry.register(name, self.meaning, Values::clone(&self.values));
    }

    fn begin(&self) {
        if N == 0 && matches!(M::TYPE, MetricType::Counter) {
            self.with([""; N]);
        }
    }
}

macro_rules! metrics {
    ($($name:ident: $family:ty = $build:ident($shown:literal, [$($label:literal),*], $services:expr, $meaning:literal);)*) => {
        $(pub static $name: $family = Family::declared($shown, [$($label),*], $services, $meaning, $build);)*

        /// In the order in which they are described.
        pub static ALL: &[&dyn Metric] = &[$(&$name),*];
    };
}

metrics! {
    BUILD_INFO: Gauges<3> = showing("referral_build_info", ["service", "version", "revision"], ALL_SERVICES,
        "Always 1: what is running here");
    STARTED: Gauges<0> = showing("referral_started_seconds", [], ALL_SERVICES,
        "When the process started, in seconds since 1970");
    BATCH_RECORDS: Histograms<1> = of_records("referral_batch_records", ["batcher"], ALL_SERVICES,
        "Requests in one batch, of claims, look-ups, publications and so on");
    BATCH_SECONDS: Histograms<1> = of_seconds("referral_batch_seconds", ["batcher"], ALL_SERVICES,
        "How long one batch took");
    BATCH_REFUSED: Counters<1> = counting("referral_batch_refused_total", ["batcher"], ALL_SERVICES,
        "Requests refused because as many as may were waiting for a batch");
    PUBLISH_FAILURES: Counters<2> = counting("referral_publish_failures_total", ["subject", "reason"], ALL_SERVICES,
        "Messages that are not known to be stored; the reason is full, unacknowledged or other");
    POOL_CONNECTIONS: Gauges<2> = showing("referral_pool_connections", ["pool", "state"], ALL_SERVICES,
        "Connections to PostgreSQL that are open; the state is idle or busy");
    POOL_CONNECTIONS_MAX: Gauges<1> = showing("referral_pool_connections_max", ["pool"], ALL_SERVICES,
        "Connections to PostgreSQL that may be open");
    CONNECTIONS_REJECTED: Counters<0> = counting("referral_connections_turned_away_total", [], ALL_SERVICES,
        "Connections beyond MAX_CONNECTIONS, told to come again or closed");
    REQUESTS: Counters<2> = counting("referral_requests_total", ["route", "status"], EDGES,
        "Requests answered; the route is method and path as described, the status the answer's code");
    REQUEST_SECONDS: Histograms<1> = of_seconds("referral_request_seconds", ["route"], EDGES,
        "From a request's head to its answer");
    SHED: Counters<1> = counting("referral_shed_total", ["noun"], INGEST,
        "Requests answered 503 because as many callers waited as may");
    WAITING: Gauges<1> = showing("referral_waiting", ["noun"], INGEST,
        "Callers that wait for the pipeline");
    WAITING_MAX: Gauges<1> = showing("referral_waiting_max", ["noun"], INGEST,
        "Callers that may wait for the pipeline");
    UNANSWERED: Counters<1> = counting("referral_unanswered_total", ["noun"], INGEST,
        "Callers told 500, which means unknown, because no outcome came within ANSWER_WITHIN_MS");
    CLAIMS: Counters<1> = counting("referral_claims_total", ["result"], INGEST,
        "Claims of transaction_ids: won, taken or failed");
    CLAIMS_HELD_ELSEWHERE: Counters<0> = counting("referral_claims_held_elsewhere_total", [], EDGES,
        "Claims of transaction_ids that another program holds");
    PROCESSOR_ACCOUNTS_HELD_ELSEWHERE: Counters<0> = counting("referral_processor_accounts_held_elsewhere_total", [], INGEST,
        "Connections refused because a program of another workspace is connected to the processor's account");
    DIRECTORY_LOOKUPS: Counters<2> = counting("referral_directory_lookups_total", ["what", "result"], INGEST,
        "Look-ups of a link, token or program: a hit was answered from memory, a miss by PostgreSQL");
    DIRECTORY_LIVE: Gauges<0> = showing("referral_directory_live", [], INGEST,
        "1 while news of links, tokens and programs gets through, else 0, and tokens are looked up");
    LIMITER_COUNTS: Counters<1> = counting("referral_limiter_counts_total", ["store"], INGEST,
        "Requests counted by the rate limiter, in redis or, while it is away, in memory");
    LIMITED: Counters<1> = counting("referral_limited_total", ["budget"], INGEST,
        "Requests answered 429");
    RECORDS_SETTLED: Counters<2> = counting("referral_records_total", ["subject", "fate"], WORKER,
        "Records a batch ended for: done, later (offered again), apart (blocked, tried again alone) or redeliver (given back)");
    STEP_RECORDS: Histograms<1> = of_records("referral_step_records", ["subject"], WORKER,
        "Records in one batch, which is one transaction");
    STEP_SECONDS: Histograms<1> = of_seconds("referral_step_seconds", ["subject"], WORKER,
        "How long one batch took, repetitions included");
    STEP_FAILURES: Counters<2> = counting("referral_step_failures_total", ["subject", "kind"], WORKER,
        "Batches that failed, each try counted; the kind is transient, blocked or permanent");
    DEAD_LETTERS_STORED: Counters<1> = counting("referral_dead_letters_total", ["subject"], WORKER,
        "Records and messages buried as dead letters");
    REDELIVERED: Counters<1> = counting("referral_redelivered_messages_total", ["subject"], WORKER,
        "Messages that did not come for the first time");
    RELAYED: Counters<1> = counting("referral_relayed_total", ["what"], RELAYS,
        "What was taken up again from the store: claims, notifications, processor_events");
    SOURCE_UP: Gauges<1> = showing("referral_source_up", ["source"], WORKER,
        "1 if postgres or jetstream told what it was asked for this page, else 0, and what it would have told is missing");
    CLAIMS_OPEN: Gauges<0> = showing("referral_claims_open", [], WORKER,
        "Sales that are claimed and neither recorded nor refused");
    CLAIMS_OPEN_OLDEST: Gauges<0> = showing("referral_claims_open_oldest_seconds", [], WORKER,
        "Age of the oldest of them, 0 without one");
    CLAIMS_DEAD: Gauges<0> = showing("referral_claims_dead", [], WORKER,
        "Claims of sales that were given up");
    DEAD_LETTERS: Gauges<1> = showing("referral_dead_letters", ["subject"], WORKER,
        "Dead letters that nobody has replayed");
    OUTBOX_UNSENT: Gauges<0> = showing("referral_outbox_unsent", [], WORKER,
        "Messages that follow a commit and are not sent");
    OUTBOX_OLDEST: Gauges<0> = showing("referral_outbox_oldest_seconds", [], WORKER,
        "Age of the oldest of them, 0 without one");
    PROCESSOR_EVENTS: Gauges<1> = showing("referral_processor_events", ["state"], WORKER,
        "Events of payment processors that are not done: open, parked, to be reviewed or stuck");
    CONSUMER_PENDING: Gauges<1> = showing("referral_consumer_pending", ["subject"], WORKER,
        "Messages that were given to no worker yet");
    CONSUMER_UNACKNOWLEDGED: Gauges<1> = showing("referral_consumer_unacknowledged", ["subject"], WORKER,
        "Messages that workers have and did not acknowledge");
    CONSUMER_REDELIVERED: Gauges<1> = showing("referral_consumer_redelivered", ["subject"], WORKER,
        "Of those, messages that did not come for the first time");
    STREAM_BYTES: Gauges<1> = showing("referral_stream_bytes", ["subject"], WORKER,
        "Bytes in the stream");
    STREAM_BYTES_MAX: Gauges<1> = showing("referral_stream_bytes_max", ["subject"], WORKER,
        "Bytes the stream may hold");
}

/// So many, as histograms and gauges have it.
pub fn to_f64(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::INFINITY, f64::from)
}

/// All of them as they stand, in the text format of OpenMetrics.
pub fn shown() -> String {
    static REGISTRY: LazyLock<Registry> = LazyLock::new(|| {
        let mut registry = Registry::default();
        for metric in ALL {
            metric.register(&mut registry);
        }
        registry
    });
    let mut text = String::new();
    // Only a writer can fail, and a string does not.
    let _ = encode(&mut text, &REGISTRY);
    // What has no labels is more often written without their braces.
    text.replace("{} ", " ")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_say_what_is_counted() {
        let names: BTreeSet<&str> = ALL.iter().map(|metric| metric.name()).collect();
        assert_eq!(names.len(), ALL.len(), "no name is given twice");
        for metric in ALL {
            let (name, kind) = (metric.name(), metric.kind());
            assert!(name.starts_with("referral_"), "{name}");
            assert_eq!(name.ends_with("_total"), kind == "counter", "{name}");
            assert!(!metric.meaning().ends_with('.'), "{name}");
        }
    }

    #[test]
    fn what_is_counted_is_shown() {
        BATCH_REFUSED.with(["of a test"]).inc_by(3);
        STEP_RECORDS.with(["of a test"]).observe(3.0);
        CLAIMS_OPEN_OLDEST.with([]).set(1.5);
        let shown = shown();
        for line in [
            "# TYPE referral_batch_refused counter",
            "referral_batch_refused_total{batcher=\"of a test\"} 3",
            "referral_step_records_bucket{le=\"2.0\",subject=\"of a test\"} 0",
            "referral_step_records_bucket{le=\"4.0\",subject=\"of a test\"} 1",
            "referral_claims_open_oldest_seconds 1.5",
        ] {
            assert!(
                shown.lines().any(|shown| shown == line),
                "{line} is not in {shown}"
            );
        }
        assert!(shown.ends_with("# EOF\n"));
    }
}
