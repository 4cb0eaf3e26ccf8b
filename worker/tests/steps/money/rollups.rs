//! Rollups are exact in every order of events, while they are folded, and while they are rebuilt during
//! traffic.

use std::sync::atomic::{AtomicBool, Ordering};

use chrono::{DateTime, NaiveDate, TimeDelta, TimeZone, Utc};
use messages::subject::Subject;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use runtime::clock::Clock;
use serde_json::{Value, json};
use storage::reads::rollups::{self, Sums};
use test_harness::{
    BOT, Json, Program, Stack, Streams, ctl,
    recomputation::{kept, recomputed},
    rows, sale_of, test_mode,
};

const LINK_CLICKS: &str = "a link's clicks and last_clicked agree with its real click events that count";
const ORIGINS: &str = "a day has no more clicks by country, device or referrer than in all";
const PROGRAM_DAYS: &str = "a program's days are what its events add up to";
const LINK_DAYS: &str = "a link's days are what its events add up to";

fn day(year: i32, month: u32, day: u32) -> NaiveDate {
    NaiveDate::from_ymd_opt(year, month, day).unwrap()
}

fn instant(year: i32, month: u32, day: u32) -> DateTime<Utc> {
    Utc.with_ymd_and_hms(year, month, day, 9, 0, 0).unwrap()
}

/// Waits until the worker has folded all deltas.
async fn folded(stack: &Stack) {
    stack.reaches("rollup_deltas", 0).await;
}

/// A random walk over programs, customers and sales.
struct Walk<'a> {
    stack: &'a Stack,
    streams: Streams,
    programs: [Program; 2],
    random: StdRng,
    /// Each customer's program, click_id and key.
    customers: Vec<(usize, String, String)>,
    sales: Vec<(usize, String)>,
}

impl Walk<'_> {
    fn one_in(&mut self, of: u32) -> bool {
        self.random.random_range(0..of) == 0
    }

    fn any_customer(&mut self) -> Option<(usize, String, String)> {
        let count = self.customers.len();
        (count > 0).then(|| self.customers[self.random.random_range(0..count)].clone())
    }

    async fn click(&mut self, program: usize, existing: Option<&str>) -> String {
        let owner = &self.programs[program];
        let code = [&owner.ada.code, &owner.bruno.code][self.random.random_range(0..2)];
        let mut visit = json!({ "existing_click_id": existing });
        if self.random.random_range(0..4) == 0 {
            visit["user_agent"] = BOT.into();
        }
        let answer = self.stack.click_with(code, visit).await.ok();
        answer.body["click_id"].as_str().unwrap().to_owned()
    }

    async fn step(&mut self, n: usize) {
        // No two events have the same time, as in `funnel`.
        let minutes = if self.one_in(6) { 1_900 } else { 7 };
        self.stack.clock.advance(TimeDelta::minutes(minutes));
        let program = self.random.random_range(0..2);
        match self.random.random_range(0..10) {
            0 | 1 => {
                let click_id = self.click(program, None).await;
                self.customers.push((program, click_id, format!("user-{n}")));
            }
            2 => {
                if let Some((program, click_id, _)) = self.any_customer() {
                    self.click(program, Some(&click_id)).await;
                }
            }
            3 | 4 => self.lead().await,
            5 | 6 => self.sale(n).await,
            7 => self.refund().await,
            8 => self.test(program, n).await,
            _ => self.redeliver().await,
        }
        // Later leads and sales must see this step's click.
        self.streams.drained(self.stack).await;
    }

    /// Sends a lead from the backend, or provisionally from the browser in the second program. Often the lead
    /// is a repeat or is refused.
    async fn lead(&mut self) {
        let Some((program, click_id, key)) = self.any_customer() else {
            return;
        };
        let token = self.programs[program].token.clone();
        let token = (!self.one_in(2)).then_some(token);
        let body = json!({ "click_id": click_id, "customer_key": key });
        self.stack.post("lead", token.as_deref(), body).await;
    }

    async fn sale(&mut self, n: usize) {
        let Some((program, click_id, key)) = self.any_customer() else {
            return;
        };
        let currency = ["USD", "eur", "JPY"][self.random.random_range(0..3)];
        let amount = self.random.random_range(1..100_000);
        let more = json!({ "amount_cents": amount, "currency": currency, "click_id": click_id });
        let mut body = sale_of(&format!("t-{n}"), &key).with(more);
        if self.one_in(3) {
            let subscription = format!("subscription-{key}");
            body = body.with(json!({
                "subscription_id": subscription, "sale_type": "subscription", "is_recurring": true,
            }));
        }
        self.stack.sold(&self.programs[program], body.clone()).await;
        self.sales.push((program, format!("t-{n}")));
        if self.one_in(3) {
            self.stack.sale(&self.programs[program], body).await.is(409);
        }
    }

    async fn refund(&mut self) {
        if self.sales.is_empty() {
            return;
        }
        let (program, transaction_id) = self.sales[self.random.random_range(0..self.sales.len())].clone();
        let mut body = json!({ "transaction_id": transaction_id });
        if self.one_in(2) {
            body["refund_amount_cents"] = self.random.random_range(1..50_000).into();
        }
        self.stack.refund(&self.programs[program], body).await;
    }

    /// Publishes one earlier message of any kind again.
    async fn redeliver(&mut self) {
        let subject = Subject::ALL[self.random.random_range(0..Subject::ALL.len())];
        let messages = self.streams.messages(subject).await;
        if !messages.is_empty() {
            let again = messages[self.random.random_range(0..messages.len())].clone();
            self.streams.publish(subject, again).await;
        }
    }

    async fn test(&mut self, program: usize, n: usize) {
        let program = &self.programs[program];
        self.stack.click_with(&program.ada.code, test_mode()).await;
        let sale = json!({ "transaction_id": format!("test-{n}"), "amount_cents": 7_000 });
        self.stack.sale(program, sale.with(test_mode())).await;
        let (path, chain) = ("/api/v1/cli/test-event", json!({ "type": "chain" }));
        let answer = self.stack.submit(path, Some(&program.token), chain).await;
        assert_eq!(answer.data()["attributed"], true);
    }
}

#[tokio::test]
async fn random_funnels_add_up_to_what_a_slow_recomputation_says() {
    for seed in 0..3 {
        let stack = Stack::at_noon().await;
        let programs = [stack.program().await, stack.program().await];
        rows::set(&stack, &programs[0], "exclude_bots = true").await;
        rows::set(&stack, &programs[1], "lead_auth = 'server_required'").await;
        let statement = "UPDATE programs SET attribution_window_days = 365";
        stack.execute(statement).await;
        let mut walk = Walk {
            streams: Streams::of(&stack).await,
            stack: &stack,
            programs,
            random: StdRng::seed_from_u64(seed),
            customers: Vec::new(),
            sales: Vec::new(),
        };
        for n in 0..100 {
            walk.step(n).await;
        }
        walk.streams.replay(&stack).await;
        let expected = recomputed(&stack).await;
        assert_eq!(kept(&stack).await, expected, "seed {seed}");
        let mut total = Sums::default();
        for program in &walk.programs {
            total.add(&expected.total(program.program_id.get()));
            rollups::rebuild(stack.pool(), program.program_id).await.unwrap();
        }
        assert!(
            total.leads > 0 && total.conversions > 1 && total.clicks > 5,
            "seed {seed}: {total:?}"
        );
        assert_eq!(kept(&stack).await, expected, "rebuilt, seed {seed}");
        stack.verify().await;
    }
}

#[tokio::test]
async fn an_earlier_sale_that_comes_late_takes_the_conversion_to_its_day() {
    let (stack, program) = Stack::with_customer_at_noon().await;
    stack.clock.set(instant(2026, 3, 5));
    stack.sold(&program, sale_of("later", "user-1")).await;
    stack.clock.set(instant(2026, 3, 3));
    stack.sold(&program, sale_of("earlier", "user-1")).await;
    stack.verify().await;
    let kept = kept(&stack).await;
    let conversions: Vec<(NaiveDate, i64)> = kept
        .programs
        .iter()
        .filter(|(_, sums)| sums.conversions != 0)
        .map(|((_, day, _), sums)| (*day, sums.conversions))
        .collect();
    assert_eq!(conversions, [(day(2026, 3, 3), 1)]);
    assert_eq!(kept, recomputed(&stack).await);
}

/// Inserts this many clicks of one program, each as a delta of its own.
async fn deltas(stack: &Stack, program_id: i64, count: i32) {
    let statement = format!(
        "INSERT INTO rollup_deltas (program_id, referral_link_id, day, clicks)
             SELECT {program_id}, 1 + n % 7, date '2026-03-01' + n % 3, 1 FROM generate_series(1, {count}) n"
    );
    stack.execute(&statement).await;
}

async fn clicks_read(stack: &Stack, program_id: i64) -> i64 {
    let mut connection = stack.pool().acquire().await.unwrap();
    let (first, last) = (day(2026, 1, 1), day(2026, 12, 31));
    let days = rollups::program_days(&mut connection, &[program_id], first, last)
        .await
        .unwrap();
    days.iter().map(|day| day.sums.clicks).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_sees_each_delta_once_while_they_are_folded() {
    let stack = Stack::without_services(Clock::system()).await;
    deltas(&stack, 1, 6_000).await;
    let folded = AtomicBool::new(false);
    let fold = async {
        // Two concurrent folds, as with two workers.
        let one = async || {
            while stack.count("rollup_deltas").await > 0 {
                rollups::fold(stack.pool(), 50).await.unwrap();
            }
        };
        tokio::join!(one(), one());
        folded.store(true, Ordering::SeqCst);
    };
    let read = async || {
        let mut reads = 0;
        while !folded.load(Ordering::SeqCst) {
            assert_eq!(clicks_read(&stack, 1).await, 6_000);
            reads += 1;
        }
        reads
    };
    let ((), first, second) = tokio::join!(fold, read(), read());
    assert!(first > 1 && second > 1, "nobody read while deltas were folded");
    assert_eq!(clicks_read(&stack, 1).await, 6_000);
    let by_link: i64 = stack.value("SELECT sum(clicks)::bigint FROM link_days").await;
    assert_eq!(by_link, 6_000);
}

#[tokio::test]
async fn a_sum_beyond_what_a_number_holds_keeps_nobody_elses_days_from_being_folded() {
    let stack = Stack::without_services(Clock::system()).await;
    let most = "INSERT INTO rollup_deltas (program_id, referral_link_id, day, currency, revenue_cents)
                SELECT 1, 1, '2026-03-01', 'USD', 9000000000000000000 FROM generate_series(1, 3)";
    stack.execute(most).await;
    assert_eq!(rollups::fold(stack.pool(), 2).await.unwrap(), 2);
    deltas(&stack, 2, 10).await;
    assert_eq!(rollups::fold(stack.pool(), 100).await.unwrap(), 11);
    assert_eq!(
        (clicks_read(&stack, 1).await, clicks_read(&stack, 2).await),
        (0, 10)
    );
    let query = "SELECT revenue_cents FROM program_days WHERE program_id = 1";
    let capped: i64 = stack.value(query).await;
    assert_eq!(capped, i64::MAX);
}

#[tokio::test]
async fn verify_tells_of_a_day_that_is_not_what_its_events_add_up_to() {
    let (stack, program) = Stack::with_customer().await;
    stack.sold(&program, sale_of("t1", "user-1")).await;
    rows::counted(&stack, program.ada.link, 1).await;
    folded(&stack).await;
    stack.verify().await;
    // A delta without an event, on a distant day, where no other sums hide it. The clicks of a link are
    // compared with those of its days.
    let distant = "INSERT INTO rollup_deltas (program_id, referral_link_id, day, clicks) VALUES (1, 1, '2001-01-01', 1)";
    for (damage, broken) in [
        (
            "UPDATE program_days SET revenue_cents = revenue_cents + 1",
            vec![PROGRAM_DAYS],
        ),
        ("UPDATE link_days SET leads = leads - 1", vec![LINK_DAYS]),
        ("DELETE FROM program_days", vec![PROGRAM_DAYS, ORIGINS]),
        (distant, vec![LINK_CLICKS, PROGRAM_DAYS, LINK_DAYS]),
    ] {
        assert_eq!(stack.broken_by(damage).await, broken, "{damage}");
    }
}

/// One customer's clicks, lead and sale.
async fn funnel(stack: &Stack, program: &Program, n: usize) {
    let key = format!("user-{n}");
    let click_id = stack.customer(program, &program.ada.code, &key).await;
    let sale = sale_of(&format!("t-{n}"), &key).with(json!({ "amount_cents": 1_000 }));
    stack.sold(program, sale).await;
    // The rows would not show the order of two events with the same time.
    stack.clock.advance(TimeDelta::seconds(1));
    let switch = json!({ "existing_click_id": click_id });
    stack.click_with(&program.bruno.code, switch).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rebuild_while_traffic_flows_leaves_exactly_what_events_add_up_to() {
    let stack = Stack::start().await;
    let (program, other) = (stack.program().await, stack.program().await);
    let streams = Streams::of(&stack).await;
    funnel(&stack, &program, 1_000_000).await;
    funnel(&stack, &other, 1_000_001).await;
    streams.drained(&stack).await;
    folded(&stack).await;
    stack.verify().await;
    let statement = "UPDATE program_days SET clicks = clicks + 7, partners = 0; DELETE FROM link_days";
    stack.execute(statement).await;
    let statement =
        "INSERT INTO program_days SELECT id, '2001-01-01', 'USD', 1, 1, 1, 1, 1, 1, 1 FROM programs";
    stack.execute(statement).await;
    assert_eq!(stack.broken().await, [LINK_CLICKS, PROGRAM_DAYS, LINK_DAYS]);

    let done = AtomicBool::new(false);
    let traffic = async |lane: usize| {
        let mut n = 0;
        while !done.load(Ordering::SeqCst) {
            funnel(&stack, &program, lane * 10_000 + n).await;
            n += 1;
        }
        n
    };
    let rebuild = async {
        let named = program.program_id;
        for _ in 0..8 {
            let rebuilt = ctl(&stack, &format!("rollups rebuild --program-id {named}")).await;
            rebuilt.says("rollups of 1 programs rebuilt\n");
        }
        done.store(true, Ordering::SeqCst);
    };
    let (first, second, ()) = tokio::join!(traffic(1), traffic(2), rebuild);
    assert!(first + second > 0);
    streams.drained(&stack).await;
    // The other program's are left alone.
    assert_eq!(stack.broken().await, [LINK_CLICKS, PROGRAM_DAYS, LINK_DAYS]);

    ctl(&stack, "rollups rebuild").await.says("");
    assert_eq!(kept(&stack).await, recomputed(&stack).await);
    assert!(stack.broken().await.is_empty());
    ctl(&stack, "rollups rebuild --program-id 4711").await.fails("");
}

async fn counters(stack: &Stack) -> Value {
    stack
        .value(
            "SELECT jsonb_agg(jsonb_build_array(id, clicks, last_clicked) ORDER BY id) FROM referral_links",
        )
        .await
}

#[tokio::test]
async fn what_events_added_up_to_outlives_their_retention() {
    let mut stack = Stack::at_noon().await;
    let program = stack.program().await;
    // The first click is before any partition, so the default partition takes it. The second is in a month
    // that will be dropped, the third in one that stays.
    for (n, at) in [instant(2025, 12, 5), instant(2026, 3, 5), instant(2026, 4, 5)]
        .into_iter()
        .enumerate()
    {
        stack.clock.set(at);
        funnel(&stack, &program, n).await;
    }
    let streams = Streams::of(&stack).await;
    streams.drained(&stack).await;
    stack.verify().await;
    let (before, counted) = (kept(&stack).await, counters(&stack).await);
    assert_eq!(before, recomputed(&stack).await);

    stack.stop_workers().await;
    stack.clock.set(instant(2026, 5, 20));
    stack.set("EVENT_RETENTION_MONTHS", "1");
    stack.start_worker();
    for old in [
        "click_events WHERE click_timestamp < '2026-04-01'",
        "lead_events WHERE lead_timestamp < '2026-04-01'",
    ] {
        stack.reaches(old, 0).await;
    }
    let left = stack.count("click_events").await;
    assert_eq!(left, 2, "what is younger stays");
    let query = "SELECT to_regclass('click_events_y2026m03') IS NULL";
    let dropped: bool = stack.value(query).await;
    assert!(dropped, "a month goes as a whole");
    assert_eq!(
        (kept(&stack).await, counters(&stack).await),
        (before.clone(), counted)
    );
    assert!(stack.broken().await.is_empty());
    rollups::rebuild(stack.pool(), program.program_id).await.unwrap();
    // A rebuild keeps days whose events are gone.
    assert_eq!(kept(&stack).await, before);
    // A click of a dropped month still counts, once, and its event is dropped like the others.
    stack.clock.set(instant(2026, 3, 6));
    stack.click(&program.ada.code).await;
    rows::counted(&stack, program.ada.link, 4).await;
    assert!(stack.broken().await.is_empty());
    let total = kept(&stack).await.total(program.program_id.get());
    let before = before.total(program.program_id.get());
    assert_eq!(total, Sums { clicks: 7, ..before });
}

#[tokio::test]
async fn a_day_keeps_a_hundred_referrers_and_counts_the_rest_together() {
    let stack = Stack::without_services(Clock::system()).await;
    let deltas = "INSERT INTO click_origin_deltas (program_id, day, origin, value, clicks)
                  SELECT 1, '2026-03-01', 'referrer', 'host-' || n || '.example', 1 + n % 3 FROM generate_series(1, 150) n";
    let rest = "SELECT coalesce(sum(clicks), 0)::bigint FROM click_origin_days WHERE value = 'other'";
    for round in 1..=3 {
        stack.execute(deltas).await;
        let folded = rollups::fold(stack.pool(), 1_000).await.unwrap();
        assert_eq!(folded, 150);
        let kept = stack.count("click_origin_days").await;
        assert_eq!(kept, 101, "the same hundred, round {round}");
        let query = "SELECT sum(clicks)::bigint FROM click_origin_days";
        let clicks: i64 = stack.value(query).await;
        assert_eq!(clicks, 300 * round);
        // One third of the customers has three clicks and another third has two: these are kept. Fifty with
        // one click are not.
        assert_eq!(stack.value::<i64>(rest).await, 50 * round);
    }
}
