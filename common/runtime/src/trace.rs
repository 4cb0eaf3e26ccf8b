//! Traces: the way of one request, from the edge into the transaction of the worker that settles it, and back.
//!
//! Which requests are traced is drawn at the edge, whatever the caller says of its own trace: strangers must not decide how
//! much we write down. A request that is traced has a [`Span`] for as long as it is answered; steps of its way are children
//! ([`child_span`]); its record carries the trace on ([`attach`]), and a worker's batch continues the traces of its records
//! ([`Batch`]). [Why it is done so](../../../docs/adr/0027-a-trace-goes-with-its-record.md).
//!
//! Off unless there is somebody to tell ([`start`]). What is off is nothing: no span is made, no record is longer, no record is
//! looked into.

mod collector;
mod parent;

use std::future::Future;
use std::sync::OnceLock;
use std::time::Duration;

use axum::http::{HeaderMap, StatusCode};
use opentelemetry::trace::{
    SpanBuilder, SpanContext, SpanId, SpanKind, Status, TraceContextExt, TraceFlags, TraceId, TraceState,
    Tracer, TracerProvider,
};
use opentelemetry::{Context, KeyValue};
use opentelemetry_otlp::{ExporterBuildError, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{Sampler, SdkTracer, SdkTracerProvider};
use serde_json::value::RawValue;
use url::Url;

use self::collector::Collector;
pub use self::parent::{TraceParent, TraceParentError};
use super::config::TelemetryConfig;

const TRACEPARENT: &str = "traceparent";

/// What is left when a process ends has so long to be told.
const LAST_WORDS: Duration = Duration::from_secs(3);

static TRACING: OnceLock<Tracing> = OnceLock::new();

#[derive(Debug)]
struct Tracing {
    provider: SdkTracerProvider,
    tracer: SdkTracer,
    /// Of requests.
    ratio: f64,
}

tokio::task_local! {
    static CURRENT: Span;
}

/// A part of a traced request's way, ended when the last clone is dropped; of any other request, nothing.
#[derive(Debug, Clone, Default)]
pub struct Span(Option<Context>);

/// Starts telling a collector, where one is configured.
pub fn start(service: &'static str, config: &TelemetryConfig) -> Result<(), ExporterBuildError> {
    let Some(collector) = &config.otel_exporter_otlp_endpoint else {
        return Ok(());
    };
    let exporter = SpanExporter::builder()
        .with_http()
        .with_http_client(Collector::new(collector))
        .with_endpoint(collector.traces())
        .build()?;
    let resource = Resource::builder_empty()
        .with_service_name(service)
        .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
        .build();
    let provider = SdkTracerProvider::builder()
        // What gets a span at all is decided before.
        .with_sampler(Sampler::AlwaysOn)
        .with_resource(resource)
        .with_batch_exporter(exporter)
        .build();
    let tracer = provider.tracer("referral-tracker");
    let ratio = config.trace_ratio.get();
    // A second start in one process changes nothing.
    let _ = TRACING.set(Tracing {
        provider,
        tracer,
        ratio,
    });
    Ok(())
}

/// Tells what is left. Blocks for [`LAST_WORDS`] at most.
pub fn finish() {
    if let Some(tracing) = TRACING.get()
        && let Err(error) = tracing.provider.shutdown_with_timeout(LAST_WORDS)
    {
        tracing::warn!(%error, "the last spans were not told");
    }
}

/// Where spans are told: `http://host:port`, as OTLP over HTTP has it. Plain, to a collector on the same machine or network,
/// whose business encryption is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectorUrl {
    /// For the socket: an IPv6 address without brackets.
    host: String,
    port: u16,
    base: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a collector is an address like http://collector:4318, without user, query or TLS")]
pub struct CollectorUrlError;

impl std::str::FromStr for CollectorUrl {
    type Err = CollectorUrlError;

    fn from_str(text: &str) -> Result<Self, CollectorUrlError> {
        let url = Url::parse(text).map_err(|_| CollectorUrlError)?;
        let is_plain = url.scheme() == "http"
            && url.username().is_empty()
            && url.password().is_none()
            && url.query().is_none()
            && url.fragment().is_none();
        let host = url.host_str().filter(|_| is_plain).ok_or(CollectorUrlError)?;
        Ok(Self {
            host: host.trim_matches(['[', ']']).to_owned(),
            port: url.port_or_known_default().unwrap_or(80),
            base: text.trim_end_matches('/').to_owned(),
        })
    }
}

impl CollectorUrl {
    fn traces(&self) -> String {
        format!("{}/v1/traces", self.base)
    }
}

/// A share of all requests.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio(f64);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a share is a number from 0 to 1")]
pub struct RatioError;

impl std::str::FromStr for Ratio {
    type Err = RatioError;

    fn from_str(text: &str) -> Result<Self, RatioError> {
        let share: f64 = text.parse().map_err(|_| RatioError)?;
        (0.0..=1.0)
            .contains(&share)
            .then_some(Self(share))
            .ok_or(RatioError)
    }
}

impl Ratio {
    const fn get(self) -> f64 {
        self.0
    }
}

impl Tracing {
    fn span(&self, span: SpanBuilder, parent: &Context) -> Span {
        Span(Some(
            Context::new().with_span(self.tracer.build_with_context(span, parent)),
        ))
    }

    fn builder(&self, name: String, kind: SpanKind) -> SpanBuilder {
        self.tracer.span_builder(name).with_kind(kind)
    }
}

impl Span {
    /// A request's, if it is drawn. It belongs to the caller's trace, where the caller names one.
    pub fn for_request(route: &str, headers: &HeaderMap) -> Self {
        let Some(tracing) = TRACING.get().filter(|tracing| is_drawn(tracing.ratio)) else {
            return Self::default();
        };
        let caller = headers
            .get(TRACEPARENT)
            .and_then(|text| text.to_str().ok()?.parse().ok());
        let span = tracing
            .builder(route.to_owned(), SpanKind::Server)
            .with_attributes([KeyValue::new("http.route", route.to_owned())]);
        tracing.span(span, &continued(caller))
    }

    fn child(&self, name: &'static str) -> Self {
        let (Some(parent), Some(tracing)) = (&self.0, TRACING.get()) else {
            return Self::default();
        };
        tracing.span(tracing.builder(name.to_owned(), SpanKind::Internal), parent)
    }

    /// What continues from here.
    pub fn parent(&self) -> Option<TraceParent> {
        let context = self.0.as_ref()?.span().span_context().clone();
        Some(TraceParent {
            trace_id: u128::from_be_bytes(context.trace_id().to_bytes()),
            span_id: u64::from_be_bytes(context.span_id().to_bytes()),
        })
    }

    pub fn set_attribute(&self, name: &'static str, value: impl Into<opentelemetry::Value>) {
        if let Some(context) = &self.0 {
            context.span().set_attribute(KeyValue::new(name, value));
        }
    }

    pub fn record_status(&self, status: StatusCode) {
        self.set_attribute("http.response.status_code", i64::from(status.as_u16()));
        if status.is_server_error() {
            self.fail();
        }
    }

    fn fail(&self) {
        if let Some(context) = &self.0 {
            context.span().set_status(Status::error(""));
        }
    }

    /// What logs say of all that is done for this request.
    pub fn log_span(&self, request_id: &str) -> tracing::Span {
        let span = tracing::info_span!("request", request_id, trace_id = tracing::field::Empty);
        if let Some(TraceParent { trace_id, .. }) = self.parent() {
            self.set_attribute("request_id", request_id.to_owned());
            span.record(
                "trace_id",
                tracing::field::display(format_args!("{trace_id:032x}")),
            );
        }
        span
    }

    /// The work of a request: what is done within it is a part of it.
    pub fn scope<F: Future>(self, work: F) -> impl Future<Output = F::Output> {
        CURRENT.scope(self, work)
    }
}

/// A part of the request this task answers, until it is dropped.
pub fn child_span(name: &'static str) -> Span {
    CURRENT.try_with(|span| span.child(name)).unwrap_or_default()
}

/// A record of the request this task answers, with its trace.
pub fn attach(record: Box<RawValue>) -> Box<RawValue> {
    match CURRENT.try_with(Span::parent) {
        Ok(Some(parent)) => parent.mark(record),
        _ => record,
    }
}

/// What a batch is to the traces of its records: a span in each, and in it one for the transaction. They begin and end together.
#[derive(Debug)]
pub struct Batch(Vec<InRecord>);

#[derive(Debug)]
struct InRecord {
    settling: Span,
    transaction: Span,
}

impl Batch {
    /// `noun` is what the records are of.
    pub fn begin<'r>(noun: &'static str, records: impl ExactSizeIterator<Item = &'r RawValue>) -> Self {
        let Some(tracing) = TRACING.get() else {
            return Self(Vec::new());
        };
        let size = i64::try_from(records.len()).unwrap_or(i64::MAX);
        let parents = records.filter_map(TraceParent::of);
        let begun = parents.map(|parent| InRecord::begin(tracing, noun, size, parent));
        Self(begun.collect())
    }

    /// Each of the batch's transactions has ended; what follows is telling of it.
    pub fn settled(&mut self) {
        for record in &mut self.0 {
            record.transaction = Span::default();
        }
    }

    /// Before it is over: so many of its records were given back.
    pub fn given_back(&self, records: usize) {
        if records > 0 {
            self.0.iter().for_each(|record| record.settling.fail());
        }
    }
}

impl InRecord {
    fn begin(tracing: &Tracing, noun: &'static str, size: i64, parent: TraceParent) -> Self {
        let span = tracing
            .builder(format!("settle {noun}"), SpanKind::Consumer)
            .with_attributes([
                KeyValue::new("messaging.system", "nats"),
                KeyValue::new("messaging.operation.type", "process"),
                KeyValue::new("messaging.destination.name", noun),
                KeyValue::new("messaging.batch.message_count", size),
            ]);
        let settling = tracing.span(span, &continued(Some(parent)));
        Self {
            transaction: settling.child("transaction"),
            settling,
        }
    }
}

fn is_drawn(ratio: f64) -> bool {
    rand::random::<f64>() < ratio
}

/// Where a span of somebody else goes on.
fn continued(parent: Option<TraceParent>) -> Context {
    let Some(TraceParent { trace_id, span_id }) = parent else {
        return Context::new();
    };
    Context::new().with_remote_span_context(SpanContext::new(
        TraceId::from_bytes(trace_id.to_be_bytes()),
        SpanId::from_bytes(span_id.to_be_bytes()),
        TraceFlags::SAMPLED,
        true,
        TraceState::default(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collector_is_reached_plainly() {
        let url: CollectorUrl = "http://[::1]:4318/".parse().unwrap();
        assert_eq!((url.host.as_str(), url.port), ("::1", 4318));
        assert_eq!(url.traces(), "http://[::1]:4318/v1/traces");
        for odd in [
            "collector:4318",
            "https://collector",
            "http://u:p@collector",
            "http://collector?key=1",
        ] {
            assert_eq!(odd.parse::<CollectorUrl>(), Err(CollectorUrlError), "{odd}");
        }
    }

    #[test]
    fn a_share_is_from_none_to_all() {
        for share in ["0", "0.25", "1"] {
            assert!(share.parse::<Ratio>().is_ok());
        }
        for odd in ["-0.1", "1.1", "NaN", "many"] {
            assert_eq!(odd.parse::<Ratio>(), Err(RatioError), "{odd}");
        }
        assert!((0..1_000).all(|_| is_drawn(1.0) && !is_drawn(0.0)));
    }

    #[tokio::test]
    async fn what_is_off_is_nothing() {
        let span = Span::for_request("POST /", &HeaderMap::new());
        assert!(span.parent().is_none());
        let record = serde_json::value::to_raw_value(&serde_json::json!({ "n": 1 })).unwrap();
        let carried = span.scope(async { attach(record) }).await;
        assert_eq!(carried.get(), r#"{"n":1}"#);
        let marked = TraceParent {
            trace_id: 1,
            span_id: 1,
        }
        .mark(carried);
        assert!(Batch::begin("sales", [&*marked].into_iter()).0.is_empty());
    }
}
