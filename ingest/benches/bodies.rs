//! The cost of reading a tracking request: its credential and its body.

#![expect(clippy::unwrap_used, reason = "a benchmark stops at the first surprise")]

use std::hint::black_box;

use axum::http::{HeaderMap, header};
use chrono::DateTime;
use criterion::{Criterion, criterion_group, criterion_main};
use domain::ids::ProgramId;
use domain::token::ProgramToken;
use domain::tracking::lead::LeadMode;
use ingest::reading::{self, Credential};

const CLICK: &[u8] = br#"{"affiliate_url":"https://shop.example/pricing?aff=ada&utm_source=newsletter","page_url":"https://shop.example/pricing","page_title":"Pricing","referrer_url":"https://news.example/issue-12","session_id":"s-81","user_agent":"Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0","screen_resolution":"1920x1080","viewport_size":"1280x720","language":"de-AT","timezone":"Europe/Vienna"}"#;
const LEAD: &[u8] = br#"{"click_id":"cust_7204319856127340_1798796400000","customer_key":"user-42","email":"jane@shop.example"}"#;
const SALE: &[u8] = br#"{"transaction_id":"invoice-2002","amount_cents":1900,"customer_key":"user-42","currency":"EUR","sale_type":"subscription","is_recurring":true,"subscription_id":"sub-7","subscription_interval":"monthly","product_id":"starter-kit","line_items":[{"name":"Starter kit","quantity":1,"cents":1900}]}"#;
const REFUND: &[u8] = br#"{"transaction_id":"order-1001","refund_amount_cents":1500,"refund_id":"refund-1","refund_reason":"changed their mind"}"#;

fn bodies(criterion: &mut Criterion) {
    let now = DateTime::from_timestamp_millis(1_790_000_000_000).unwrap();
    let mode = LeadMode::Server {
        program_id: ProgramId::new(1),
    };
    criterion.bench_function("body: click", |bencher| {
        bencher.iter(|| reading::click(black_box(CLICK)).unwrap());
    });
    criterion.bench_function("body: lead, e-mail hashed", |bencher| {
        bencher.iter(|| reading::lead(black_box(LEAD), mode, &[7; 32]).unwrap());
    });
    criterion.bench_function("body: sale", |bencher| {
        bencher.iter(|| reading::sale(black_box(SALE), now).unwrap());
    });
    criterion.bench_function("body: refund", |bencher| {
        bencher.iter(|| reading::refund(black_box(REFUND)).unwrap());
    });
}

fn credential(criterion: &mut Criterion) {
    let token = ProgramToken::generate([7; 32]);
    let mut headers = HeaderMap::new();
    headers.insert(
        header::AUTHORIZATION,
        format!("Bearer {}", token.expose()).parse().unwrap(),
    );
    criterion.bench_function("bearer: check and hash", |bencher| {
        bencher.iter(|| Credential::of(black_box(&headers)));
    });
}

criterion_group!(benches, bodies, credential);
criterion_main!(benches);
