//! What deciding costs: attribution, commission, refunds, click_ids. Without any I/O.

#![expect(clippy::unwrap_used, reason = "a benchmark stops at the first surprise")]

use std::collections::{HashMap, HashSet};
use std::hint::black_box;

use chrono::{DateTime, TimeDelta, Utc};
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use domain::earnings::commission::{CommissionStatus, CommissionType, Policy, Rate, SelfReferrals};
use domain::earnings::refund::{RefundKey, RefundRequest, RefundableCommission, SaleRefunds};
use domain::ids::{
    CommissionId, CustomerId, PartnerId, PartnerProgramId, PolicyId, ProgramId, ReferralLinkId,
};
use domain::money::{AmountCents, Cents, Currency};
use domain::text::Text;
use domain::tracking::attribution::{AttributionModel, AttributionWindow, Journey, Touch};
use domain::tracking::click_id::{ClickId, ClickIdCodec, ClickIdKey};
use domain::tracking::sale::{
    LinkOwner, Membership, ProgramTerms, Sale, SaleCustomer, SaleFacts, SaleType, decide,
};

/// What a visitor who keeps coming back has seen.
const LINKS: i64 = 8;

fn now() -> DateTime<Utc> {
    DateTime::from_timestamp_millis(1_790_000_000_000).unwrap()
}

fn touches() -> Vec<Touch> {
    (0..4 * LINKS)
        .map(|click| Touch {
            clicked_at: now() - TimeDelta::minutes((click * 7_919) % 1_000),
            referral_link_id: ReferralLinkId::new(click % LINKS),
        })
        .collect()
}

fn journey(touches: &[Touch]) -> Journey {
    let (first, rest) = touches.split_first().unwrap();
    let mut journey = Journey::begin(*first);
    for touch in rest {
        journey.touch(*touch);
    }
    journey
}

fn attribution(criterion: &mut Criterion) {
    let touches = touches();
    criterion.bench_function("attribution: fold 32 clicks through 8 links", |bencher| {
        bencher.iter(|| journey(black_box(&touches)));
    });
}

fn commission(criterion: &mut Criterion) {
    let sale = Sale {
        transaction_id: Text::parse("order-1001").unwrap(),
        amount: AmountCents::new(4_900).unwrap(),
        commissionable: None,
        currency: Currency::USD,
        customer_key: Text::parse("user-42").ok(),
        click_id: None,
        processor_customer: None,
        sale_type: SaleType::Payment,
        is_recurring: false,
        subscription_id: None,
        subscription_interval: None,
        product_id: None,
        line_items: None,
    };
    let policy = |id: i64| Policy {
        id: PolicyId::new(id),
        product_id: None,
        effective_from: now() - TimeDelta::days(100 - id),
        commission_type: CommissionType::CpsLifetime,
        rate: Rate::percentage(2_000).unwrap(),
    };
    let customer = SaleCustomer {
        customer_id: CustomerId::new(1),
        program_id: ProgramId::new(1),
        journey: journey(&touches()),
        first_purchase_date: None,
    };
    let owner = |link: i64| LinkOwner {
        program_id: Some(ProgramId::new(1)),
        membership: Some(Membership {
            partner_program_id: PartnerProgramId::new(link),
            partner_id: Some(PartnerId::new(link)),
        }),
    };
    let links: HashMap<_, _> = (0..LINKS)
        .map(|link| (ReferralLinkId::new(link), owner(link)))
        .collect();
    for model in [AttributionModel::LastClick, AttributionModel::Linear] {
        let terms = ProgramTerms {
            attribution_model: model,
            attribution_window: AttributionWindow::DEFAULT,
            self_referrals: SelfReferrals::Flag,
            policies: (1..5).map(policy).collect(),
        };
        let facts = SaleFacts {
            program_id: ProgramId::new(1),
            terms: &terms,
            archived_at: None,
            claimed_at: DateTime::UNIX_EPOCH,
            customer: Some(&customer),
            subscription: None,
            links: &links,
            buying_partners: &HashSet::new(),
        };
        criterion.bench_function(
            &format!("commission: decide a sale, {}", model.as_str()),
            |bencher| {
                bencher.iter(|| decide(black_box(&sale), now(), black_box(&facts)));
            },
        );
    }
}

fn refunds(criterion: &mut Criterion) {
    let part = AmountCents::new(313);
    let reports: Vec<RefundRequest> = (0..16)
        .map(|report| RefundRequest::Delta {
            key: RefundKey::for_delta(Some(&format!("refund-{report}")), part),
            amount: part,
        })
        .collect();
    let commission = RefundableCommission {
        id: CommissionId::new(1),
        amount: Cents::new(980),
        deducted: Cents::ZERO,
        status: CommissionStatus::Pending,
    };
    let sale = SaleRefunds::none(AmountCents::new(4_900).unwrap(), vec![commission]);
    criterion.bench_function("refund: 16 parts of one sale", |bencher| {
        let apply = |mut sale: SaleRefunds| {
            for report in &reports {
                black_box(sale.apply(report));
            }
            sale
        };
        bencher.iter_batched(|| sale.clone(), apply, BatchSize::SmallInput);
    });
}

fn click_ids(criterion: &mut Criterion) {
    let codec = ClickIdCodec::new(ClickIdKey::from_bytes([7; 32]), Vec::new());
    let customer = CustomerId::new(123_456_789);
    criterion.bench_function("click_id: issue", |bencher| {
        bencher.iter(|| codec.encode(black_box(customer), 1_790_000_000_000));
    });
    let issued = codec.encode(customer, 1_790_000_000_000);
    criterion.bench_function("click_id: parse and invert", |bencher| {
        bencher.iter(|| {
            let click_id = ClickId::parse(black_box(issued.as_str())).unwrap();
            codec.decode(&click_id).next()
        });
    });
}

criterion_group!(benches, attribution, commission, refunds, click_ids);
criterion_main!(benches);
