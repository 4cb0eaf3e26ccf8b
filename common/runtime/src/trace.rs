//! Traces one request from ingest into the worker's transaction and back.
//!
//! Ingest samples requests and ignores the caller's sampling flag, so that callers cannot decide how much is
//! traced. A sampled request has a [`Span`] until it is answered. Its stages are child spans
//! ([`child_span`]). Its record carries the trace context ([`attach`]), and a worker's batch continues the
//! traces of its records ([`Batch`]). The context is in the record, not in a message header: a message holds
//! many requests, and a header could name only one trace
//! ([design](../../../docs/design.md#the-trace-is-part-of-the-record)).
//!
//! Without a collector tracing is off ([`start`]). Then no span is created, and records are neither changed
//! nor parsed for a trace context.

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

use self::collector::Collector;
pub use self::parent::{TraceParent, TraceParentError};
use super::config::TelemetryConfig;

const TRACEPARENT: &str = "traceparent";

/// Limit of the last export, when a process ends.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(3);

static TRACING: OnceLock<Tracing> = OnceLock::new();

#[derive(Debug)]
struct Tracing {
    provider: SdkTracerProvider,
    tracer: SdkTracer,
    /// Share of requests that are sampled.
    ratio: f64,
}

tokio::task_local! {
    static CURRENT: Span;
}

/// A span of a traced request. Ends when its last clone is dropped. Empty for a request that is not traced.
#[derive(Debug, Clone, Default)]
pub struct Span(Option<Context>);

/// Starts exporting spans if a collector is configured.
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
        // `Span::for_request` has sampled already.
        .with_sampler(Sampler::AlwaysOn)
        .with_resource(resource)
        .with_batch_exporter(exporter)
        .build();
    let tracer = provider.tracer("referral-tracker");
    let ratio = config.trace_ratio.get();
    // Only the first start in a process has an effect.
    let _ = TRACING.set(Tracing {
        provider,
        tracer,
        ratio,
    });
    Ok(())
}

/// Exports the remaining spans. Blocks for [`SHUTDOWN_TIMEOUT`] at most.
pub fn finish() {
    if let Some(tracing) = TRACING.get()
        && let Err(error) = tracing.provider.shutdown_with_timeout(SHUTDOWN_TIMEOUT)
    {
        tracing::warn!(%error, "trace export on shutdown failed");
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
    /// Returns the root span of a sampled request, in the caller's trace if there is one.
    pub fn for_request(route: &str, headers: &HeaderMap) -> Self {
        let Some(tracing) = TRACING.get().filter(|tracing| is_sampled(tracing.ratio)) else {
            return Self::default();
        };
        let caller = headers
            .get(TRACEPARENT)
            .and_then(|text| text.to_str().ok()?.parse().ok());
        let span = tracing
            .builder(route.to_owned(), SpanKind::Server)
            .with_attributes([KeyValue::new("http.route", route.to_owned())]);
        tracing.span(span, &remote_context(caller))
    }

    fn child(&self, name: &'static str) -> Self {
        let (Some(parent), Some(tracing)) = (&self.0, TRACING.get()) else {
            return Self::default();
        };
        tracing.span(tracing.builder(name.to_owned(), SpanKind::Internal), parent)
    }

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

    /// The log span of this request, with its request id and trace id.
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

    /// Runs `work` with this span as the task's current one.
    pub fn scope<F: Future>(self, work: F) -> impl Future<Output = F::Output> {
        CURRENT.scope(self, work)
    }
}

/// A child of the current request's span. Ends when it is dropped.
pub fn child_span(name: &'static str) -> Span {
    CURRENT.try_with(|span| span.child(name)).unwrap_or_default()
}

/// Adds the current request's trace context to its record.
pub fn attach(record: Box<RawValue>) -> Box<RawValue> {
    match CURRENT.try_with(Span::parent) {
        Ok(Some(parent)) => parent.inject(record),
        _ => record,
    }
}

/// The spans of a batch: one in the trace of each traced record, with a child for the transaction.
#[derive(Debug)]
pub struct Batch(Vec<RecordSpans>);

#[derive(Debug)]
struct RecordSpans {
    processing: Span,
    transaction: Span,
}

impl Batch {
    pub fn begin<'r>(noun: &'static str, records: impl ExactSizeIterator<Item = &'r RawValue>) -> Self {
        let Some(tracing) = TRACING.get() else {
            return Self(Vec::new());
        };
        let size = i64::try_from(records.len()).unwrap_or(i64::MAX);
        let parents = records.filter_map(TraceParent::extract);
        let spans = parents.map(|parent| RecordSpans::begin(tracing, noun, size, parent));
        Self(spans.collect())
    }

    /// Ends the transaction spans before the replies are sent.
    pub fn end_transactions(&mut self) {
        for record in &mut self.0 {
            record.transaction = Span::default();
        }
    }

    pub fn redelivered(&self, records: usize) {
        if records > 0 {
            self.0.iter().for_each(|record| record.processing.fail());
        }
    }
}

impl RecordSpans {
    fn begin(tracing: &Tracing, noun: &'static str, size: i64, parent: TraceParent) -> Self {
        let span = tracing
            .builder(format!("settle {noun}"), SpanKind::Consumer)
            .with_attributes([
                KeyValue::new("messaging.system", "nats"),
                KeyValue::new("messaging.operation.type", "process"),
                KeyValue::new("messaging.destination.name", noun),
                KeyValue::new("messaging.batch.message_count", size),
            ]);
        let processing = tracing.span(span, &remote_context(Some(parent)));
        Self {
            transaction: processing.child("transaction"),
            processing,
        }
    }
}

fn is_sampled(ratio: f64) -> bool {
    rand::random::<f64>() < ratio
}

/// The context of a span in another process.
fn remote_context(parent: Option<TraceParent>) -> Context {
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
mod tests;
