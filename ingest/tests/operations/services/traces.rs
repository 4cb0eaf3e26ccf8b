//! One sale is one trace across all processes, sent to a collector of the test.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::header;
use axum::routing::post;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Told;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use reqwest::Method;
use runtime::clock::Clock;
use test_harness::{Edge, Program, Stack, sale_of};
use testing::{Process, free_address};

/// The received spans, each with the service that sent it.
#[derive(Clone, Default)]
struct Collector(Arc<Mutex<Vec<(String, Span)>>>);

impl Collector {
    /// The collector's address, in the form that services take.
    async fn start(&self) -> String {
        let listener = tokio::net::TcpListener::bind(free_address()).await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new()
            .route("/v1/traces", post(take))
            .with_state(self.clone());
        tokio::spawn(async move { serve(listener, router).await });
        format!("http://{address}")
    }

    /// The spans of one trace, by service and name.
    fn trace(&self, trace_id: &[u8]) -> HashMap<(String, String), Span> {
        let told = self.0.lock().unwrap();
        let theirs = told.iter().filter(|(_, span)| span.trace_id == trace_id);
        theirs
            .map(|(service, span)| ((service.clone(), span.name.clone()), span.clone()))
            .collect()
    }

    /// The traces that have a span of this name.
    fn traces_with(&self, name: &str) -> Vec<Vec<u8>> {
        let told = self.0.lock().unwrap();
        let named = told.iter().filter(|(_, span)| span.name == name);
        named.map(|(_, span)| span.trace_id.clone()).collect()
    }
}

async fn serve(listener: tokio::net::TcpListener, router: Router) {
    let config = runtime::config::HttpConfig {
        listen: listener.local_addr().unwrap(),
        header_read_timeout_ms: 60_000,
        write_timeout_ms: 60_000,
        body_limit_bytes: 16 << 20,
        max_connections: 64,
        behind_https: false,
    };
    let lifecycle = runtime::lifecycle::Lifecycle::new();
    runtime::http::serve(listener, router, &config, &lifecycle)
        .await
        .unwrap();
}

async fn take(
    State(collector): State<Collector>,
    body: Bytes,
) -> ([(header::HeaderName, &'static str); 1], ()) {
    let request = ExportTraceServiceRequest::decode(body).unwrap();
    for resource_spans in request.resource_spans {
        let attributes = resource_spans.resource.unwrap().attributes;
        let name = attributes
            .iter()
            .find(|attribute| attribute.key == "service.name")
            .unwrap();
        let Some(Told::StringValue(service)) = name.value.clone().unwrap().value else {
            panic!("a service's name is text");
        };
        let spans = resource_spans
            .scope_spans
            .into_iter()
            .flat_map(|scope| scope.spans);
        let told = spans.map(|span| (service.clone(), span));
        collector.0.lock().unwrap().extend(told);
    }
    ([(header::CONTENT_TYPE, "application/x-protobuf")], ())
}

/// An ingest and a worker as separate processes that trace this share of all requests.
async fn services(stack: &Stack, collector: &str, ratio: &str) -> (Edge, [Process; 2]) {
    let address = free_address();
    let start = |name, address| {
        let mut settings = stack.environment(address);
        settings.push(("OTEL_EXPORTER_OTLP_ENDPOINT", collector.to_owned()));
        settings.push(("TRACE_RATIO", ratio.to_owned()));
        Process::start(name, &settings)
    };
    let processes = [start("worker", free_address()), start("ingest", address)];
    let edge = Edge::at(address);
    edge.ready(stack).await;
    (edge, processes)
}

async fn customer(edge: &Edge, program: &Program) {
    let click_id = edge.click(&program.ada.code, None).await;
    edge.lead(program, &click_id, "user-1").await.ok();
}

const SALE: &str = "POST /api/v1/track/sale";

#[tokio::test]
async fn a_sale_is_one_trace_from_the_edge_through_the_workers_transaction_and_back() {
    let collector = Collector::default();
    let stack = Stack::without_services(Clock::system()).await;
    let program = stack.program().await;
    let (edge, _processes) = services(&stack, &collector.start().await, "1").await;
    customer(&edge, &program).await;
    edge.sale(&program, &sale_of("t1", "user-1")).await.ok();

    let of = |service: &str, name: &str| (service.to_owned(), name.to_owned());
    let way = [
        (of("ingest", SALE), None),
        (of("ingest", "claim"), Some(of("ingest", SALE))),
        (of("ingest", "outcome"), Some(of("ingest", SALE))),
        (of("worker", "settle sales"), Some(of("ingest", SALE))),
        (of("worker", "transaction"), Some(of("worker", "settle sales"))),
    ];
    stack
        .eventually("both processes have told their part of the sale", async || {
            let traces = collector.traces_with(SALE);
            traces.iter().any(|trace| {
                let spans = collector.trace(trace);
                way.iter().all(|(span, _)| spans.contains_key(span))
            })
        })
        .await;
    let traces = collector.traces_with(SALE);
    let [trace] = &traces[..] else {
        panic!("one sale is one trace");
    };
    let spans = collector.trace(trace);
    for (span, parent) in &way {
        let expected = parent
            .as_ref()
            .map_or(Vec::new(), |parent| spans[parent].span_id.clone());
        assert_eq!(spans[span].parent_span_id, expected, "{span:?}");
    }
    // A click and a lead have traces of their own.
    let clicks = collector.traces_with("POST /api/v1/track/click");
    assert!(clicks.iter().all(|click| click != trace) && !clicks.is_empty());
    stack.verify().await;
}

#[tokio::test]
async fn a_callers_trace_goes_on_and_requests_that_are_not_drawn_leave_none() {
    let collector = Collector::default();
    let url = collector.start().await;
    let stack = Stack::without_services(Clock::system()).await;
    let program = stack.program().await;
    let (drawn, _first) = services(&stack, &url, "1").await;
    let (undrawn, _second) = services(&stack, &url, "0").await;
    customer(&undrawn, &program).await;
    for (edge, transaction_id) in [(&undrawn, "t1"), (&drawn, "t2")] {
        let parent = format!("00-{transaction_id:0>32}-00f067aa0ba902b7-01").replace('t', "a");
        let sale = edge
            .request(Method::POST, "/api/v1/track/sale")
            .bearer_auth(&program.token);
        let sale = sale.json(&sale_of(transaction_id, "user-1"));
        edge.send(sale.header("traceparent", &parent)).await.ok();
    }
    let mut callers = [0; 16];
    callers[15] = 0xa2;
    stack
        .eventually("the caller's trace goes on", async || {
            collector
                .trace(&callers)
                .contains_key(&("ingest".to_owned(), SALE.to_owned()))
        })
        .await;
    assert_eq!(collector.traces_with(SALE), [callers.to_vec()]);
    assert!(collector.traces_with("POST /api/v1/track/click").is_empty());
    let server = &collector.trace(&callers)[&("ingest".to_owned(), SALE.to_owned())];
    assert_eq!(server.parent_span_id, 0x00f0_67aa_0ba9_02b7_u64.to_be_bytes());
}

#[tokio::test]
async fn no_trace_has_what_was_searched_for() {
    let collector = Collector::default();
    let stack = Stack::start_with(Clock::system()).await;
    let program = stack.program().await;
    let owner = stack.owner_of(&program).await;
    let (edge, _processes) = services(&stack, &collector.start().await, "1").await;
    let search = format!("{}?search=jane%40letters.example", program.path("events"));
    edge.get(&search, &owner.token).await.ok();
    let route = "GET /api/advertiser/affiliate-programs/{program_id}/events";
    stack
        .eventually("the search is told", async || {
            !collector.traces_with(route).is_empty()
        })
        .await;
    let told = format!("{:?}", collector.0.lock().unwrap());
    assert!(!told.contains("letters.example"), "{told}");
}
