//! What it costs to pack 128 clicks into one message, and to read them from it.

#![expect(clippy::unwrap_used, reason = "a benchmark stops at the first surprise")]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use messages::click::ClickRecord;
use messages::envelope::{decode, encode};
use serde_json::value::RawValue;

const CLICKS: usize = 128;
const CLICK: &str = r#"{"event_id":"01990000-0000-7000-8000-000000000007","clicked_at":"2026-11-22T00:00:00.123Z","program_id":1,"referral_link_id":2,"customer_id":3,"click_id":"cust_7204319856127340_1798796400000","new_customer":true,"visit":{"page_url":"https://shop.example/pricing","referrer_url":"https://news.example/issue-12","user_agent":"Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"}}"#;

fn packing(criterion: &mut Criterion) {
    let click = RawValue::from_string(CLICK.to_owned()).unwrap();
    let clicks = vec![click; CLICKS];
    let packed = encode(Some("replies.a"), &clicks);
    let record: ClickRecord = serde_json::from_str(CLICK).unwrap();
    let mut group = criterion.benchmark_group("message");
    group.throughput(Throughput::Elements(CLICKS as u64));
    group.bench_function("write 128 clicks", |bencher| {
        bencher.iter(|| {
            let write = |_| serde_json::value::to_raw_value(black_box(&record)).unwrap();
            (0..CLICKS).map(write).collect::<Vec<_>>()
        });
    });
    group.bench_function("pack 128 clicks", |bencher| {
        bencher.iter(|| encode(Some("replies.a"), black_box(&clicks)));
    });
    group.bench_function("cut 128 clicks apart", |bencher| {
        bencher.iter(|| decode(black_box(&packed)).unwrap());
    });
    group.bench_function("cut 128 clicks apart and read them", |bencher| {
        bencher.iter(|| {
            let envelope = decode(black_box(&packed)).unwrap();
            let read = |record: &RawValue| serde_json::from_str::<ClickRecord>(record.get()).unwrap();
            envelope
                .records
                .iter()
                .map(|record| read(record))
                .collect::<Vec<_>>()
        });
    });
    group.finish();
}

criterion_group!(benches, packing);
criterion_main!(benches);
