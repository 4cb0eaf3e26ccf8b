use super::*;

#[test]
fn the_ratio_decides_which_requests_are_traced() {
    assert!((0..1_000).all(|_| is_sampled(1.0) && !is_sampled(0.0)));
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
    .inject(carried);
    assert!(Batch::begin("sales", [&*marked].into_iter()).0.is_empty());
}
