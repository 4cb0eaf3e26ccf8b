//! Every metric of every service: name, labels, help text and type.
//!
//! A metric is a static, declared only below. Callers get a handle once, at start ([`Family::with`]), so that
//! the hot path looks up no labels. [`serve`] exposes the process's values to Prometheus on a separate port.
//!
//! [`page`] generates `docs/metrics.md` from the same declarations.

pub mod page;
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

pub type Gauge = prometheus_client::metrics::gauge::Gauge<f64, AtomicU64>;

const INGEST: &[&str] = &["ingest"];
const WORKER: &[&str] = &["worker"];
const DELIVERY: &[&str] = &["delivery"];
const WORKERS: &[&str] = &["worker", "delivery"];
const EDGES: &[&str] = &["ingest", "webhook-consumer"];
const RELAYS: &[&str] = &["worker", "webhook-consumer"];
const ALL_SERVICES: &[&str] = &["ingest", "worker", "delivery", "webhook-consumer"];

/// Buckets of durations of requests and batches.
const SECONDS: [f64; 14] = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
];
/// Buckets of batch sizes.
const RECORDS: [f64; 11] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0];

type Labels<const N: usize> = [(&'static str, String); N];

/// The values by labels, and the function that creates a value.
type ByLabels<M, const N: usize> = Values<Labels<N>, M, fn() -> M>;

/// A metric with `N` labels.
pub struct Family<M, const N: usize> {
    name: &'static str,
    labels: [&'static str; N],
    services: &'static [&'static str],
    help: &'static str,
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
    /// The handle for these label values. Callers should keep it.
    pub fn with(&self, labels: [&str; N]) -> M {
        let mut values = labels.into_iter();
        let labels = self
            .labels
            .map(|label| (label, values.next().unwrap_or_default().to_owned()));
        self.values.get_or_create_owned(&labels)
    }

    /// Removes all values, when they are no longer valid.
    pub fn clear(&self) {
        self.values.clear();
    }
}

impl<M, const N: usize> Family<M, N> {
    /// `name` as exported: the name of a counter ends with `_total`.
    const fn declared(
        name: &'static str,
        labels: [&'static str; N],
        services: &'static [&'static str],
        help: &'static str,
        values: fn() -> ByLabels<M, N>,
    ) -> Self {
        Self {
            name,
            labels,
            services,
            help,
            values: LazyLock::new(values),
        }
    }
}

fn counter<const N: usize>() -> ByLabels<Counter, N> {
    Values::new_with_constructor(Counter::default)
}

fn gauge<const N: usize>() -> ByLabels<Gauge, N> {
    Values::new_with_constructor(Gauge::default)
}

fn seconds<const N: usize>() -> ByLabels<Histogram, N> {
    Values::new_with_constructor(|| Histogram::new(SECONDS))
}

fn records<const N: usize>() -> ByLabels<Histogram, N> {
    Values::new_with_constructor(|| Histogram::new(RECORDS))
}

pub trait Metric: Sync {
    /// The exported name. A histogram adds `_bucket`, `_sum` and `_count`.
    fn name(&self) -> &'static str;
    fn kind(&self) -> &'static str;
    fn labels(&self) -> &[&'static str];
    fn services(&self) -> &[&'static str];
    fn help(&self) -> &'static str;
    fn register(&self, registry: &mut Registry);
    /// Exports a counter without labels as 0 from the start: `rate` ignores the first value of a new series.
    fn initialize(&self);
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

    fn help(&self) -> &'static str {
        self.help
    }

    fn register(&self, registry: &mut Registry) {
        // The registry appends `_total` to the name and a full stop to the help text.
        let name = self.name.trim_end_matches("_total");
        registry.register(name, self.help, Values::clone(&self.values));
    }

    fn initialize(&self) {
        if N == 0 && matches!(M::TYPE, MetricType::Counter) {
            self.with([""; N]);
        }
    }
}

macro_rules! metrics {
    ($($name:ident: $family:ty = $build:ident($shown:literal, [$($label:literal),*], $services:expr, $help:literal);)*) => {
        $(pub static $name: $family = Family::declared($shown, [$($label),*], $services, $help, $build);)*

        /// All metrics, in the order of the documentation.
        pub static ALL: &[&dyn Metric] = &[$(&$name),*];
    };
}

metrics! {
    BUILD_INFO: Gauges<3> = gauge("referral_build_info", ["service", "version", "revision"], ALL_SERVICES,
        "Always 1; the labels are the running service, version and revision");
    STARTED: Gauges<0> = gauge("referral_started_seconds", [], ALL_SERVICES,
        "Start time of the process, in seconds since 1970");
    BATCH_RECORDS: Histograms<1> = records("referral_batch_records", ["batcher"], ALL_SERVICES,
        "Requests in one batch, by batcher: claims, lookups, publishes and so on");
    BATCH_SECONDS: Histograms<1> = seconds("referral_batch_seconds", ["batcher"], ALL_SERVICES,
        "Duration of one batch");
    BATCH_REFUSED: Counters<1> = counter("referral_batch_refused_total", ["batcher"], ALL_SERVICES,
        "Requests rejected because the batcher's queue was full");
    PUBLISH_FAILURES: Counters<2> = counter("referral_publish_failures_total", ["subject", "reason"], ALL_SERVICES,
        "Messages whose publish failed; the reason is full, unacknowledged or other");
    POOL_CONNECTIONS: Gauges<2> = gauge("referral_pool_connections", ["pool", "state"], ALL_SERVICES,
        "Open connections to PostgreSQL; the state is idle or busy");
    POOL_CONNECTIONS_MAX: Gauges<1> = gauge("referral_pool_connections_max", ["pool"], ALL_SERVICES,
        "Maximum number of connections to PostgreSQL");
    CONNECTIONS_REJECTED: Counters<0> = counter("referral_connections_turned_away_total", [], ALL_SERVICES,
        "Connections beyond MAX_CONNECTIONS, answered 503 or closed");
    REQUESTS: Counters<2> = counter("referral_requests_total", ["route", "status"], EDGES,
        "Requests answered, by route (method and path template) and response status");
    REQUEST_SECONDS: Histograms<1> = seconds("referral_request_seconds", ["route"], EDGES,
        "Time from a request's head to its response");
    SHED: Counters<1> = counter("referral_shed_total", ["noun"], INGEST,
        "Requests answered 503 because the concurrency limit was reached");
    WAITING: Gauges<1> = gauge("referral_waiting", ["noun"], INGEST,
        "Requests that wait for an outcome from the pipeline");
    QUEUED: Gauges<1> = gauge("referral_queued", ["noun"], INGEST,
        "Requests that queue because the concurrency limit is reached");
    WAITING_MAX: Gauges<1> = gauge("referral_waiting_max", ["noun"], INGEST,
        "Concurrency limit: maximum number of requests that wait for an outcome");
    UNANSWERED: Counters<1> = counter("referral_unanswered_total", ["noun"], INGEST,
        "Requests answered 500 (outcome unknown) because no outcome came within ANSWER_WITHIN_MS");
    CLAIMS: Counters<1> = counter("referral_claims_total", ["result"], INGEST,
        "Claims of transaction_ids; the result is won, taken or failed");
    CLAIMS_HELD_ELSEWHERE: Counters<0> = counter("referral_claims_held_elsewhere_total", [], EDGES,
        "Claims that failed because another program holds the transaction_id");
    PROCESSOR_ACCOUNTS_HELD_ELSEWHERE: Counters<0> = counter("referral_processor_accounts_held_elsewhere_total", [], INGEST,
        "Connections rejected because a program of another workspace is connected to the processor account");
    DIRECTORY_LOOKUPS: Counters<2> = counter("referral_directory_lookups_total", ["what", "result"], INGEST,
        "Lookups of links, tokens and programs; a hit was answered from memory, a miss by PostgreSQL");
    DIRECTORY_LIVE: Gauges<0> = gauge("referral_directory_live", [], INGEST,
        "1 while the directory receives change notifications, else 0; at 0 tokens are looked up in PostgreSQL");
    LIMITER_COUNTS: Counters<1> = counter("referral_limiter_counts_total", ["store"], INGEST,
        "Requests counted by the rate limiter: with other ingests (redis), or alone while Redis is down (memory)");
    LIMITED: Counters<1> = counter("referral_limited_total", ["budget"], INGEST,
        "Requests answered 429");
    RECORDS_SETTLED: Counters<2> = counter("referral_records_total", ["subject", "outcome"], WORKER,
        "Records processed, by outcome: done, later (postponed), apart (blocked, retried alone) or redeliver (given back)");
    STEP_RECORDS: Histograms<1> = records("referral_step_records", ["subject"], WORKER,
        "Records in one batch, which is one transaction");
    STEP_SECONDS: Histograms<1> = seconds("referral_step_seconds", ["subject"], WORKER,
        "Duration of one batch, retries included");
    STEP_FAILURES: Counters<2> = counter("referral_step_failures_total", ["subject", "kind"], WORKER,
        "Failed attempts to process a batch; the kind is transient, blocked or permanent");
    DEAD_LETTERS_STORED: Counters<1> = counter("referral_dead_letters_total", ["subject"], WORKER,
        "Records and messages stored as dead letters");
    REDELIVERED: Counters<1> = counter("referral_redelivered_messages_total", ["subject"], WORKER,
        "Messages received that were redeliveries");
    RELAYED: Counters<1> = counter("referral_relayed_total", ["what"], RELAYS,
        "Items that a relay resumed from PostgreSQL: claims, notifications, processor_events");
    SOURCE_UP: Gauges<1> = gauge("referral_source_up", ["source"], WORKERS,
        "1 if the source (postgres or jetstream) answered this scrape, else 0; at 0 its metrics are missing");
    CLAIMS_OPEN: Gauges<0> = gauge("referral_claims_open", [], WORKER,
        "Claimed sales that are neither recorded nor rejected");
    CLAIMS_OPEN_OLDEST: Gauges<0> = gauge("referral_claims_open_oldest_seconds", [], WORKER,
        "Age of the oldest open claim, 0 if there is none");
    CLAIMS_DEAD: Gauges<0> = gauge("referral_claims_dead", [], WORKER,
        "Claims whose sale became a dead letter");
    DEAD_LETTERS: Gauges<1> = gauge("referral_dead_letters", ["subject"], WORKER,
        "Dead letters that were not replayed");
    OUTBOX_UNSENT: Gauges<0> = gauge("referral_outbox_unsent", [], WORKER,
        "Outbox messages that were not sent yet");
    OUTBOX_OLDEST: Gauges<0> = gauge("referral_outbox_oldest_seconds", [], WORKER,
        "Age of the oldest unsent outbox message, 0 if there is none");
    PROCESSOR_EVENTS: Gauges<1> = gauge("referral_processor_events", ["state"], WORKER,
        "Unfinished events of payment processors; the state is open, parked, review or stuck");
    EMAILS: Counters<2> = counter("referral_emails_total", ["kind", "result"], WORKER,
        "Attempts to send e-mails; the result is sent, later (retried), given_up or stopped (the address is refused)");
    EMAILS_WAITING: Gauges<0> = gauge("referral_emails_waiting", [], WORKER,
        "E-mails that are neither sent nor given up");
    EMAILS_OLDEST: Gauges<0> = gauge("referral_emails_oldest_seconds", [], WORKER,
        "Age of the oldest e-mail that waits, 0 if there is none");
    UPKEEP_OVERDUE: Gauges<1> = gauge("referral_upkeep_overdue_seconds", ["what"], WORKER,
        "Time since the oldest row was due that upkeep did not handle, 0 if there is none: approvals, refused_events, processor_events");
    VERIFICATION_OLDEST: Gauges<0> = gauge("referral_verification_oldest_seconds", [], WORKER,
        "Time since the continuous verification had verified all that had settled, of the check that is furthest behind");
    VERIFICATION_DIFFERENCES: Gauges<0> = gauge("referral_verification_differences", [], WORKER,
        "Checks of the continuous verification that found a difference which is not repaired");
    POSTGRES_UNARCHIVED: Gauges<0> = gauge("referral_postgres_unarchived_seconds", [], WORKER,
        "Time since PostgreSQL archived a segment of its WAL, 0 while the last attempt has succeeded");
    POSTGRES_SLOT_BYTES: Gauges<0> = gauge("referral_postgres_slot_bytes", [], WORKER,
        "WAL that PostgreSQL keeps for the replication slot that is furthest behind; missing without slots");
    POSTGRES_REPLAY_LAG: Gauges<0> = gauge("referral_postgres_replay_lag_seconds", [], WORKER,
        "How far the slowest replica is behind; missing without replicas, and if the role lacks pg_read_all_stats");
    POSTGRES_TRANSACTION_IDS: Gauges<0> = gauge("referral_postgres_transaction_id_age", [], WORKER,
        "Transactions since the oldest that is not frozen; PostgreSQL stops writing before 2^31");
    POSTGRES_OLDEST_TRANSACTION: Gauges<0> = gauge("referral_postgres_oldest_transaction_seconds", [], WORKER,
        "Age of the oldest open transaction; only those of the services' role if it lacks pg_read_all_stats");
    CONSUMER_PENDING: Gauges<1> = gauge("referral_consumer_pending", ["subject"], WORKER,
        "Messages that were not delivered to a worker yet");
    CONSUMER_OLDEST: Gauges<1> = gauge("referral_consumer_oldest_seconds", ["subject"], WORKER,
        "Age of the oldest message that is not settled, 0 if there is none");
    CONSUMER_UNACKNOWLEDGED: Gauges<1> = gauge("referral_consumer_unacknowledged", ["subject"], WORKER,
        "Messages that were delivered to a worker and not acknowledged yet");
    CONSUMER_REDELIVERED: Gauges<1> = gauge("referral_consumer_redelivered", ["subject"], WORKER,
        "Unacknowledged messages that were delivered more than once");
    STREAM_BYTES: Gauges<1> = gauge("referral_stream_bytes", ["subject"], WORKER,
        "Size of the stream, in bytes");
    STREAM_BYTES_MAX: Gauges<1> = gauge("referral_stream_bytes_max", ["subject"], WORKER,
        "Maximum size of the stream, in bytes");
    DELIVERY_ATTEMPTS: Counters<1> = counter("referral_delivery_attempts_total", ["outcome"], DELIVERY,
        "Attempts to send a webhook, by outcome: delivered, refused or gone (another status; 410), or why there was no answer");
    DELIVERY_SECONDS: Histograms<0> = seconds("referral_delivery_attempt_seconds", [], DELIVERY,
        "Duration of one attempt to send a webhook");
    DELIVERY_IN_FLIGHT: Gauges<0> = gauge("referral_delivery_in_flight", [], DELIVERY,
        "Webhooks in flight");
    DELIVERY_IN_FLIGHT_MAX: Gauges<0> = gauge("referral_delivery_in_flight_max", [], DELIVERY,
        "Maximum number of webhooks in flight");
    DELIVERY_OLDEST: Gauges<0> = gauge("referral_delivery_oldest_seconds", [], DELIVERY,
        "Time since the oldest webhook was due that is not in flight, 0 if there is none");
    ENDPOINTS_DISABLED: Gauges<1> = gauge("referral_webhook_endpoints_disabled", ["reason"], DELIVERY,
        "Disabled webhook endpoints; the reason is by_hand, gone or failing");
}

pub fn to_f64(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::INFINITY, f64::from)
}

/// All metrics in the OpenMetrics text format.
pub fn export() -> String {
    static REGISTRY: LazyLock<Registry> = LazyLock::new(|| {
        let mut registry = Registry::default();
        for metric in ALL {
            metric.register(&mut registry);
        }
        registry
    });
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = encode(&mut text, &REGISTRY);
    // Prometheus clients omit the braces of an empty label set.
    text.replace("{} ", " ")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_say_what_is_counted() {
        let names: BTreeSet<&str> = ALL.iter().map(|metric| metric.name()).collect();
        assert_eq!(names.len(), ALL.len(), "names are unique");
        for metric in ALL {
            let (name, kind) = (metric.name(), metric.kind());
            assert!(name.starts_with("referral_"), "{name}");
            assert_eq!(name.ends_with("_total"), kind == "counter", "{name}");
            assert!(!metric.help().ends_with('.'), "{name}");
        }
    }

    #[test]
    fn what_is_counted_is_shown() {
        BATCH_REFUSED.with(["of a test"]).inc_by(3);
        STEP_RECORDS.with(["of a test"]).observe(3.0);
        CLAIMS_OPEN_OLDEST.with([]).set(1.5);
        let exported = export();
        for line in [
            "# TYPE referral_batch_refused counter",
            "referral_batch_refused_total{batcher=\"of a test\"} 3",
            "referral_step_records_bucket{le=\"2.0\",subject=\"of a test\"} 0",
            "referral_step_records_bucket{le=\"4.0\",subject=\"of a test\"} 1",
            "referral_claims_open_oldest_seconds 1.5",
        ] {
            assert!(
                exported.lines().any(|exported| exported == line),
                "{line} is not in {exported}"
            );
        }
        assert!(exported.ends_with("# EOF\n"));
    }
}
