//! Random funnels, each in the order of time and in other orders, give the same sales, commissions, balances,
//! days and statuses.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};
use domain::earnings::commission::CommissionType;
use domain::tracking::attribution::AttributionModel;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};

use super::super::shop::{Payment, Shape, Shop, ended, nameless, of_customer};
use super::open;
use test_harness::{Program, noon};

const FUNNELS: usize = 12;
const ORDERS: usize = 5;

/// An event of a customer, at its own time.
#[derive(Debug, Clone)]
struct Item {
    at: DateTime<Utc>,
    what: What,
}

#[derive(Debug, Clone)]
enum What {
    /// A click on Ada's link if true, otherwise on Bruno's.
    Click(bool),
    Lead,
    Trial,
    Once {
        cents: i64,
    },
    /// With its billing reason.
    Subscription {
        cents: i64,
        reason: &'static str,
        /// The event names the processor's customer alone.
        is_nameless: bool,
    },
    /// The total of refunds so far, of the payment with this number.
    Refund {
        of: usize,
        cents: i64,
    },
    Dispute {
        of: usize,
        cents: i64,
    },
    End,
}

/// The first item is the click that creates the customer.
fn funnel(random: &mut StdRng) -> Vec<Item> {
    let mut minutes = 0;
    let mut next = |random: &mut StdRng| {
        minutes += random.random_range(2..=3_000);
        noon() + TimeDelta::minutes(minutes)
    };
    let mut items = vec![Item {
        at: noon(),
        what: What::Click(random.random_bool(0.5)),
    }];
    items.push(Item {
        at: next(random),
        what: What::Lead,
    });
    let (mut payments, mut disputable) = (Vec::new(), Vec::new());
    let (mut subscribed, mut named) = (false, false);
    for _ in 0..random.random_range(6..=11) {
        let cents = random.random_range(100..=20_000);
        let what = match random.random_range(0..10) {
            0..=2 => What::Click(random.random_bool(0.5)),
            3 if !subscribed => {
                subscribed = true;
                What::Trial
            }
            3..=4 => What::Once { cents },
            5..=7 => {
                let reason = match (subscribed, random.random_bool(0.7)) {
                    (false, _) => "subscription_create",
                    (true, true) => "subscription_cycle",
                    (true, false) => "subscription_update",
                };
                subscribed = true;
                // Some event names the customer, whenever it arrives.
                let is_nameless = named && random.random_bool(0.4);
                named = true;
                What::Subscription {
                    cents,
                    reason,
                    is_nameless,
                }
            }
            8 if !payments.is_empty() => {
                let of = payments[random.random_range(0..payments.len())];
                What::Refund {
                    of,
                    cents: random.random_range(1..=100),
                }
            }
            9 if !disputable.is_empty() => What::Dispute {
                of: disputable.swap_remove(random.random_range(0..disputable.len())),
                cents: random.random_range(1..=100),
            },
            _ => continue,
        };
        if matches!(what, What::Once { .. } | What::Subscription { .. }) {
            payments.push(items.len());
            disputable.push(items.len());
        }
        items.push(Item {
            at: next(random),
            what,
        });
    }
    if subscribed && random.random_bool(0.3) {
        items.push(Item {
            at: next(random),
            what: What::End,
        });
    }
    items
}

struct Run {
    funnel: usize,
    program: Program,
    /// The items in their order of arrival, with their places in the order of time.
    arrivals: Vec<(usize, Item)>,
    click_id: String,
    name: String,
}

impl Run {
    fn payment(&self, number: usize, at: DateTime<Utc>, cents: i64, in_subscription: bool) -> Payment {
        Payment {
            shape: Shape::Acacia,
            name: format!("{number}_{}", self.name),
            customer_key: format!("user_{}", self.name),
            subscription: in_subscription.then(|| format!("sub_{}", self.name)),
            cents,
            began: at.timestamp(),
        }
    }

    /// The charge of payment `of`, for its refunds.
    fn charge(&self, of: usize, at: DateTime<Utc>) -> Payment {
        let paid = self.arrivals.iter().find(|(number, _)| *number == of);
        let (cents, in_subscription) = match paid.map(|(_, item)| &item.what) {
            Some(What::Once { cents }) => (*cents, false),
            Some(What::Subscription { cents, .. }) => (*cents, true),
            other => panic!("{other:?} is no payment"),
        };
        self.payment(of, at, cents, in_subscription)
    }

    async fn send(&self, shop: &Shop, number: usize, item: &Item) {
        let report = async |event: Value| {
            // A processor may deliver at any time.
            shop.stack.clock.set(noon() + TimeDelta::days(59));
            shop.report(&self.program, &event).await;
        };
        match &item.what {
            What::Click(ada) => {
                let partner = if *ada {
                    &self.program.ada
                } else {
                    &self.program.bruno
                };
                shop.stack.clock.set(item.at);
                let again = json!({ "existing_click_id": self.click_id });
                let answer = shop.stack.click_with(&partner.code, again).await;
                assert_eq!(answer.body["click_id"], self.click_id, "{answer:?}");
            }
            What::Lead => {
                shop.stack.clock.set(item.at);
                let key = format!("user_{}", self.name);
                shop.stack.lead(&self.program, &self.click_id, &key).await.ok();
            }
            What::Trial => {
                report(self.payment(number, item.at, 0, true).first()).await;
            }
            What::Once { cents } => report(self.payment(number, item.at, *cents, false).checkout()).await,
            What::Subscription {
                cents,
                reason,
                is_nameless,
            } => {
                let paid = self.payment(number, item.at, *cents, true);
                let paid = paid.invoice("invoice.paid", reason);
                let paid = of_customer(paid, &format!("cus_{}", self.name));
                report(if *is_nameless { nameless(paid) } else { paid }).await;
            }
            What::Refund { of, cents } => {
                report(self.charge(*of, item.at).charge_refunded(*cents)).await;
            }
            What::Dispute { of, cents } => report(self.charge(*of, item.at).disputed(*cents)).await,
            What::End => {
                let (subscription, id) = (format!("sub_{}", self.name), format!("evt_ended_{}", self.name));
                report(ended(&subscription, &id, item.at.timestamp())).await;
            }
        }
    }
}

/// The ledger and related rows of a program without ids. `$1` is the program.
const BOOKS: [(&str, &str); 8] = [
    (
        "sales",
        "SELECT jsonb_build_object('id', s.processor_event_id, 'at', s.sale_date, 'amount', s.amount_cents,
               'why not', s.no_commission_reason,
               'refunded', least(s.amount_cents, greatest(s.api_refunded_cents, s.processor_refunded_cents)),
               'commissions', (SELECT jsonb_agg(jsonb_build_object('partner', p.name, 'amount', c.amount_cents, 'status', c.status,
                                      'deducted', c.deducted_cents, 'held until', c.hold_until) ORDER BY p.name)
                               FROM commissions c JOIN partners p ON p.id = c.partner_id
                               WHERE c.sale_id = s.id AND c.superseded_at IS NULL))
        FROM sale_events s WHERE s.program_id = $1 AND s.duplicate_of IS NULL ORDER BY s.processor_event_id",
    ),
    (
        "customers",
        "SELECT jsonb_build_object('status', status, 'key', customer_key, 'signed up', signup_date, 'bought', first_purchase_date)
        FROM customers WHERE program_id = $1",
    ),
    (
        "balances",
        "SELECT jsonb_build_object('partner', p.name, 'cents', b.balance_cents) FROM partner_program_balances b
        JOIN partner_programs m ON m.id = b.partner_program_id JOIN partners p ON p.id = m.partner_id
        WHERE m.program_id = $1 AND b.balance_cents <> 0 ORDER BY p.name",
    ),
    (
        "ledger",
        "SELECT jsonb_build_object('cents', sum(amount_cents), 'shortfall', sum(shortfall_cents))
        FROM ledger_entries WHERE program_id = $1",
    ),
    (
        "subscriptions",
        "SELECT jsonb_build_object('first payment', u.first_payment_at, 'first sale', s.processor_event_id,
               'links', cardinality(u.credited_link_ids))
        FROM subscriptions u JOIN sale_events s ON s.id = u.first_sale_id WHERE u.program_id = $1",
    ),
    (
        "inbox",
        "SELECT jsonb_build_array(processor_event_id, state, reason, payload IS NULL) FROM processor_events
        WHERE program_id = $1 ORDER BY processor_event_id",
    ),
    (
        "days",
        "SELECT jsonb_build_object('partner', p.name, 'day', d.day, 'sales', sum(sales), 'revenue', sum(revenue_cents),
               'commission', sum(commission_cents), 'conversions', sum(conversions), 'leads', sum(leads))
        FROM (SELECT referral_link_id, day, sales, revenue_cents, commission_cents, conversions, leads FROM link_days
              UNION ALL SELECT referral_link_id, day, sales, revenue_cents, commission_cents, conversions, leads
              FROM rollup_deltas WHERE referral_link_id <> 0) d
        JOIN referral_links l ON l.id = d.referral_link_id JOIN partners p ON p.id = l.partner_id
        WHERE l.program_id = $1 GROUP BY p.name, d.day
        HAVING sum(sales) <> 0 OR sum(revenue_cents) <> 0 OR sum(commission_cents) <> 0 OR sum(conversions) <> 0
        ORDER BY p.name, d.day",
    ),
    (
        "given back",
        "SELECT jsonb_build_object('partner', p.name, 'refunded', sum(refunded_cents), 'deducted', sum(deducted_cents))
        FROM (SELECT referral_link_id, refunded_cents, deducted_cents FROM link_refund_days
              UNION ALL SELECT referral_link_id, refunded_cents, deducted_cents FROM refund_deltas WHERE referral_link_id <> 0) d
        JOIN referral_links l ON l.id = d.referral_link_id JOIN partners p ON p.id = l.partner_id
        WHERE l.program_id = $1 GROUP BY p.name HAVING sum(refunded_cents) <> 0 OR sum(deducted_cents) <> 0
        ORDER BY p.name",
    ),
];

const POLICIES: [CommissionType; 4] = [
    CommissionType::CpsOneTime,
    CommissionType::CpsRecurring { months: 1 },
    CommissionType::CpsLifetime,
    CommissionType::CpsRecurring { months: 2 },
];

async fn runs(shop: &Shop, seed: u64) -> Vec<Run> {
    let mut runs = Vec::new();
    for funnel_number in 0..FUNNELS {
        let mut random = StdRng::seed_from_u64(seed.wrapping_add(funnel_number as u64));
        let model = AttributionModel::ALL[funnel_number % AttributionModel::ALL.len()];
        let policy = POLICIES[funnel_number % POLICIES.len()];
        let items = funnel(&mut random);
        let (first, rest) = items.split_first().unwrap();
        let What::Click(ada) = first.what else {
            unreachable!("a funnel begins with a click");
        };
        for order in 0..=ORDERS {
            let program = shop.program_with(model, policy).await;
            shop.stack.clock.set(first.at);
            let code = if ada {
                &program.ada.code
            } else {
                &program.bruno.code
            };
            let click_id = shop.stack.click(code).await;
            let mut arrivals: Vec<(usize, Item)> = rest
                .iter()
                .cloned()
                .enumerate()
                .map(|(n, item)| (n + 1, item))
                .collect();
            if order > 0 {
                arrivals.shuffle(&mut random);
            }
            runs.push(Run {
                funnel: funnel_number,
                program,
                arrivals,
                click_id,
                name: format!("x{funnel_number}x{order}x"),
            });
        }
    }
    runs
}

async fn all_end_as_in_the_order_of_time(in_steps: bool) {
    let seed: u64 = rand::random();
    let shop = open().await;
    let runs = runs(&shop, seed).await;
    shop.settled().await;
    let rounds = runs.iter().map(|run| run.arrivals.len()).max().unwrap();
    for round in 0..rounds {
        for run in &runs {
            if let Some((number, item)) = run.arrivals.get(round) {
                run.send(&shop, *number, item).await;
            }
        }
        if in_steps {
            shop.streams.drained(&shop.stack).await;
        }
    }
    shop.settled().await;
    let mut expected: BTreeMap<usize, BTreeMap<&str, Value>> = BTreeMap::new();
    for run in &runs {
        let books = shop.rows(&run.program, &run.name, BOOKS).await;
        // The first run of each funnel is in the order of time.
        let expected = expected.entry(run.funnel).or_insert_with(|| books.clone());
        let other: Vec<_> = books
            .iter()
            .filter(|(what, rows)| expected[*what] != **rows)
            .collect();
        assert!(
            other.is_empty(),
            "{} (seed {seed}, in steps: {in_steps}): {other:#?}\nexpected: {expected:#?}\n{:#?}",
            run.name,
            run.arrivals,
        );
    }
    shop.stack.verify().await;
}

#[tokio::test]
async fn every_order_of_arrival_ends_as_the_order_of_time() {
    all_end_as_in_the_order_of_time(true).await;
}

#[tokio::test]
async fn so_do_arrivals_that_overtake_each_other() {
    all_end_as_in_the_order_of_time(false).await;
}
