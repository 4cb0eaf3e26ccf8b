//! Random cases, whose steps are likely to meet.

use proptest::prelude::*;
use proptest::sample::select;

use super::calls::{
    Attribution, ByHand, Call, Case, DAY, Due, HOUR, NO_LINK, Rate, Refund, Sale, Step, Terms, TestKind,
    Visitor, What, Who,
};

pub fn case() -> impl Strategy<Value = Case> {
    let stories = prop::collection::vec(story(), 1..12);
    ([terms(), terms()], stories).prop_map(|(programs, stories)| Case {
        programs,
        steps: stories.into_iter().flatten().collect(),
    })
}

/// Steps that belong together. Random steps would hardly ever produce these sequences.
fn story() -> impl Strategy<Value = Vec<Step>> {
    prop_oneof![
        10 => step().prop_map(|step| vec![step]),
        3 => arrival(),
        2 => renewals(),
        2 => debt(),
        2 => late_signup(),
    ]
}

fn of_program(what: What<Visitor>) -> Step {
    Step::Call(Call {
        who: Who::Program(0),
        late: 0,
        what,
    })
}

fn through(link: usize, existing: Option<Visitor>) -> Step {
    of_program(What::Click {
        program: 0,
        link,
        existing,
    })
}

fn paid(transaction: usize, amount: i64, visitor: usize) -> Sale<Visitor> {
    Sale {
        transaction,
        amount,
        commissionable: None,
        click: Some(Visitor::Known(visitor)),
        key: None,
        currency: None,
        product: None,
        subscription: None,
        is_recurring: false,
    }
}

/// A visitor clicks and signs up.
fn arrival() -> impl Strategy<Value = Vec<Step>> {
    (0..3_usize, 0..4_usize).prop_map(|(link, name)| {
        let lead = What::Lead {
            click: Some(Visitor::Known(name)),
            key: Some(name),
        };
        vec![through(link, None), of_program(lead)]
    })
}

/// A visitor buys; their signup was sent earlier, but arrives later.
fn late_signup() -> impl Strategy<Value = Vec<Step>> {
    let late = select(vec![HOUR / 2, 7 * HOUR + HOUR / 2, 61 * HOUR + HOUR / 2]);
    let by = select(vec![Who::Program(0), Who::Nobody]);
    (0..4_usize, 0..6_usize, amount(), late, by).prop_map(|(visitor, transaction, amount, late, who)| {
        let signup = What::Lead {
            click: Some(Visitor::Known(visitor)),
            key: None,
        };
        vec![
            of_program(What::Sale(paid(transaction, amount, visitor))),
            Step::Call(Call {
                who,
                late,
                what: signup,
            }),
        ]
    })
}

/// A subscription of a customer who returns through another link, before and after the end of the window.
fn renewals() -> impl Strategy<Value = Vec<Step>> {
    (0..4_usize, 0..3_usize, 0..6_usize, 0..2_usize, amount()).prop_map(
        |(visitor, link, transaction, name, amount)| {
            let payment = |after: usize, is_recurring| {
                of_program(What::Sale(Sale {
                    subscription: Some(name),
                    is_recurring,
                    ..paid(transaction + after, amount, visitor)
                }))
            };
            vec![
                Step::Wait(DAY),
                through(link, Some(Visitor::Known(visitor))),
                payment(0, false),
                Step::EndOfWindow(Visitor::Known(visitor)),
                payment(1, true),
                payment(2, true),
            ]
        },
    )
}

/// A sale is paid out and refunded. The next sale is refunded before it is paid.
fn debt() -> impl Strategy<Value = Vec<Step>> {
    (0..4_usize, 0..6_usize, amount(), amount()).prop_map(|(visitor, transaction, first, second)| {
        let sale = |after, amount| of_program(What::Sale(paid(transaction + after, amount, visitor)));
        let refund = |after| {
            of_program(What::Refund(Refund {
                transaction: transaction + after,
                amount: None,
                refund_id: None,
                reason: None,
            }))
        };
        vec![
            sale(0, first),
            Step::PayOut(transaction),
            refund(0),
            sale(1, second),
            refund(1),
        ]
    })
}

fn terms() -> impl Strategy<Value = Terms> {
    let attribution = prop_oneof![
        4 => Just(Attribution::LastClick),
        1 => Just(Attribution::FirstClick),
        1 => Just(Attribution::Linear),
    ];
    let due = prop_oneof![
        3 => Just(Due::Always),
        1 => Just(Due::FirstPayment),
        1 => (1..3_u32).prop_map(Due::Months),
    ];
    let rate = prop_oneof![
        3 => select(vec![0, 1, 333, 2_000, 3_333, 10_000]).prop_map(Rate::Percent),
        1 => (0..2_000_i64, select(vec!["USD", "EUR"])).prop_map(|(cents, currency)| Rate::Fixed(cents, currency)),
    ];
    let pro = prop::bool::weighted(0.3);
    (
        attribution,
        due,
        rate,
        pro,
        select(vec![60, 30, 2, 365]),
        prop::bool::weighted(0.3),
    )
        .prop_map(
            |(attribution, due, rate, pro, window_days, backends_word)| Terms {
                attribution,
                due,
                rate,
                pro,
                window_days,
                backends_word,
            },
        )
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        20 => call().prop_map(Step::Call),
        3 => prop::collection::vec(call(), 2..5).prop_map(Step::Burst),
        3 => (0..64_usize).prop_map(Step::Again),
        2 => (0..64_usize).prop_map(Step::Redeliver),
        4 => (0..6_usize).prop_map(Step::PayOut),
        2 => by_hand(),
        2 => select(vec![HOUR, DAY, 20 * DAY, 31 * DAY]).prop_map(Step::Wait),
        1 => visitor().prop_map(Step::EndOfWindow),
    ]
}

fn by_hand() -> impl Strategy<Value = Step> {
    let change = prop_oneof![
        1 => Just(ByHand::Reject),
        3 => select(vec![-700, -1, 1, 250]).prop_map(ByHand::Adjust),
    ];
    (0..6_usize, change).prop_map(|(transaction, change)| Step::ByHand(transaction, change))
}

fn call() -> impl Strategy<Value = Call<Visitor>> {
    let late =
        prop_oneof![6 => Just(0), 1 => select(vec![HOUR / 2, 7 * HOUR + HOUR / 2, 61 * HOUR + HOUR / 2])];
    let with = |what: BoxedStrategy<What<Visitor>>, who: BoxedStrategy<Who>| (who, what);
    let made = prop_oneof![
        5 => with(click().boxed(), Just(Who::Nobody).boxed()),
        4 => with(lead().boxed(), browser_or_backend().boxed()),
        6 => with(sale().prop_map(What::Sale).boxed(), backend().boxed()),
        4 => with(refund().prop_map(What::Refund).boxed(), backend().boxed()),
        1 => with(test_event().boxed(), browser_or_backend().boxed()),
        1 => with((0..super::refusals::all().len()).prop_map(What::Refused).boxed(), Just(Who::Program(0)).boxed()),
    ];
    (late, made).prop_map(|(late, (who, what))| {
        // webhooks/time_order/funnels.rs tests clicks and sales in another order than that of time.
        let is_judged_by_its_time = matches!(what, What::Click { .. } | What::Sale(_));
        let late = if is_judged_by_its_time { 0 } else { late };
        Call { who, late, what }
    })
}

fn backend() -> impl Strategy<Value = Who> {
    prop_oneof![
        20 => Just(Who::Program(0)),
        4 => Just(Who::Program(1)),
        1 => select(vec![Who::Nobody, Who::EmptyToken, Who::UnknownToken]),
    ]
}

fn browser_or_backend() -> impl Strategy<Value = Who> {
    prop_oneof![
        5 => Just(Who::Program(0)),
        1 => Just(Who::Program(1)),
        4 => Just(Who::Nobody),
        1 => select(vec![Who::EmptyToken, Who::UnknownToken]),
    ]
}

fn visitor() -> impl Strategy<Value = Visitor> {
    prop_oneof![12 => (0..6_usize).prop_map(Visitor::Known), 1 => Just(Visitor::Forged)]
}

fn program() -> impl Strategy<Value = usize> {
    prop_oneof![4 => Just(0_usize), 1 => Just(1_usize)]
}

fn link() -> impl Strategy<Value = usize> {
    prop_oneof![10 => 0..3_usize, 1 => 3..=NO_LINK]
}

fn click() -> impl Strategy<Value = What<Visitor>> {
    (program(), link(), prop::option::weighted(0.4, visitor())).prop_map(|(program, link, existing)| {
        What::Click {
            program,
            link,
            existing,
        }
    })
}

fn lead() -> impl Strategy<Value = What<Visitor>> {
    let names = (
        prop::option::weighted(0.85, visitor()),
        prop::option::weighted(0.75, 0..4_usize),
    );
    names.prop_map(|(click, key)| What::Lead { click, key })
}

fn amount() -> impl Strategy<Value = i64> {
    prop_oneof![4 => 1..20_000_i64, 1 => 1..4_i64, 1 => Just(100_000_000_000_000)]
}

fn sale() -> impl Strategy<Value = Sale<Visitor>> {
    (
        0..6_usize,
        amount(),
        prop::option::weighted(0.3, 0..=100_i64),
        prop::option::weighted(0.75, visitor()),
        prop::option::weighted(0.6, 0..4_usize),
        prop::option::weighted(0.2, select(vec!["EUR", "usd"])),
        prop::option::weighted(0.2, select(vec!["pro", "plain"])),
        prop::option::weighted(0.4, 0..2_usize),
        prop::bool::weighted(0.4),
    )
        .prop_map(
            |(transaction, amount, percent, click, key, currency, product, subscription, is_recurring)| {
                Sale {
                    transaction,
                    amount,
                    commissionable: percent.map(|percent| amount * percent / 100),
                    click,
                    key,
                    currency,
                    product,
                    subscription,
                    is_recurring,
                }
            },
        )
}

fn refund() -> impl Strategy<Value = Refund> {
    let amount = prop_oneof![4 => 1..10_000_i64, 1 => 1..3_i64, 1 => Just(0), 1 => Just(i64::MAX)];
    (
        0..8_usize,
        prop::option::weighted(0.75, amount),
        prop::option::weighted(0.5, 0..3_usize),
        prop::option::weighted(0.3, select(vec!["fraud", "changed their mind"])),
    )
        .prop_map(|(transaction, amount, refund_id, reason)| Refund {
            transaction,
            amount,
            refund_id,
            reason,
        })
}

fn test_event() -> impl Strategy<Value = What<Visitor>> {
    let kind = prop_oneof![
        (program(), link()).prop_map(|(program, link)| TestKind::Click { program, link }),
        Just(TestKind::Lead),
        prop::option::of(0..8_usize).prop_map(|transaction| TestKind::Sale { transaction }),
    ];
    (kind, prop::option::of(program())).prop_map(|(kind, named)| What::Test { kind, named })
}
