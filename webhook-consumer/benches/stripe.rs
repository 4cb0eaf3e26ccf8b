//! What it costs to believe an event and to understand it.

#![expect(clippy::unwrap_used, reason = "a benchmark stops at the first surprise")]

use std::fmt::Write;
use std::hint::black_box;

use chrono::DateTime;
use criterion::{Criterion, criterion_group, criterion_main};
use domain::processors::processor::WebhookSecret;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use webhook_consumer::stripe::event::Event;
use webhook_consumer::stripe::metadata::MetadataKeys;
use webhook_consumer::stripe::signature::SignatureHeader;
use webhook_consumer::stripe::translate::translate;

const SECRET: &str = "whsec_of_the_benchmark";
const CHECKOUT: &[u8] = include_bytes!("../tests/fixtures/checkout.session.completed.basil.json");
const INVOICE: &[u8] = include_bytes!("../tests/fixtures/invoice.paid.basil.json");

fn signature(criterion: &mut Criterion) {
    let now = DateTime::from_timestamp(1_790_000_000, 0).unwrap();
    let secrets = [SECRET.parse::<WebhookSecret>().unwrap()];
    let signed = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes())
        .unwrap()
        .chain_update(b"1790000000.")
        .chain_update(INVOICE)
        .finalize()
        .into_bytes();
    let mut header = "t=1790000000,v1=".to_owned();
    for byte in signed {
        write!(header, "{byte:02x}").unwrap();
    }
    criterion.bench_function(&format!("signature: check {} bytes", INVOICE.len()), |bencher| {
        bencher.iter(|| {
            let header = SignatureHeader::parse(black_box(&header)).unwrap();
            header.verify(black_box(INVOICE), &secrets, now).unwrap();
        });
    });
}

fn events(criterion: &mut Criterion) {
    let keys = MetadataKeys::new(&[]);
    for (name, body) in [("checkout session", CHECKOUT), ("invoice", INVOICE)] {
        criterion.bench_function(&format!("event: understand a paid {name}"), |bencher| {
            bencher.iter(|| translate(&Event::parse(black_box(body)).unwrap(), &keys));
        });
    }
}

criterion_group!(benches, signature, events);
criterion_main!(benches);
