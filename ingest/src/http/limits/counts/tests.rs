use chrono::DateTime;
use proptest::prelude::*;
use runtime::metrics::LIMITED;

use super::*;

const LIMIT: u32 = 60;
const SHARED_AFTER: u64 = 3;
const ADA: Subject = Subject::Key(1);
const BRUNO: Subject = Subject::Key(2);

fn rule(window: Window) -> Rule {
    Rule {
        name: "click",
        limit: LIMIT,
        window,
        rejected: LIMITED.with(["click"]),
    }
}

fn at(now: i64) -> Clock {
    Clock::manual(DateTime::from_timestamp(now, 0).unwrap())
}

fn used(counts: &Counts, subject: Subject, now: i64) -> u64 {
    counts.count(&rule(Window::Minute), subject, &at(now)).used
}

/// Exchanges the due counts with a Redis that answers at once.
fn exchange(counts: &Counts, redis: &mut HashMap<String, u64>) {
    let mut table = counts.table();
    let due = std::mem::take(&mut table.due);
    let additions = table.take(&due);
    let totals: Vec<u64> = additions
        .iter()
        .map(|(due, used)| {
            let Addition {
                key, number, used, ..
            } = due.addition(*used);
            let total = redis.entry(format!("{key}:{number}")).or_default();
            *total += used;
            *total
        })
        .collect();
    table.learn(&additions, &totals);
}

#[test]
fn one_ingest_counts_each_caller_exactly_and_each_window_anew() {
    let counts = Counts::alone();
    assert_eq!(used(&counts, ADA, 119), 1);
    assert_eq!(used(&counts, ADA, 119), 2);
    assert_eq!(used(&counts, BRUNO, 119), 1);
    exchange(&counts, &mut HashMap::new());
    assert_eq!(used(&counts, ADA, 119), 3);
    let next = counts.count(&rule(Window::Minute), ADA, &at(120));
    assert_eq!((next.used, next.resets_at()), (1, 180));
    let hour = rule(Window::Hour);
    assert_eq!(counts.count(&hour, BRUNO, &at(3_599)).resets_at(), 3_600);
    assert_eq!(counts.count(&hour, BRUNO, &at(3_600)).used, 1);
}

#[test]
fn a_caller_is_shared_once_it_has_used_a_part_of_its_limit() {
    let (counts, mut redis) = (Counts::alone(), HashMap::new());
    for _ in 1..SHARED_AFTER {
        used(&counts, ADA, 0);
    }
    exchange(&counts, &mut redis);
    assert!(redis.is_empty(), "first clicks cost Redis nothing");
    used(&counts, ADA, 0);
    exchange(&counts, &mut redis);
    assert_eq!(redis["click:key:0000000000000001:0"], SHARED_AFTER);
    // A count that is due when its minute ends is not added to the next minute.
    for _ in 0..SHARED_AFTER {
        used(&counts, ADA, 59);
    }
    used(&counts, ADA, 60);
    exchange(&counts, &mut redis);
    assert_eq!(redis.len(), 1);
}

#[test]
fn an_emptied_redis_takes_nothing_back() {
    let (counts, mut redis) = (Counts::alone(), HashMap::new());
    for _ in 0..30 {
        used(&counts, ADA, 0);
        exchange(&counts, &mut redis);
    }
    redis.clear();
    for already in 30..36 {
        assert_eq!(used(&counts, ADA, 0), already + 1);
        exchange(&counts, &mut redis);
    }
}

#[test]
fn a_caller_that_others_displace_is_known_again_with_its_next_exchange() {
    let (counts, mut redis) = (Counts::alone(), HashMap::new());
    let clock = at(0);
    let rule = rule(Window::Minute);
    for _ in 0..LIMIT {
        used(&counts, ADA, 0);
        exchange(&counts, &mut redis);
    }
    let flood = |callers| {
        for other in callers {
            counts.count(&rule, Subject::Key(1_000 + other), &clock);
        }
    };
    let half = GENERATION as u64;
    flood(0..half);
    assert!(
        used(&counts, ADA, 0) > u64::from(LIMIT),
        "who calls is remembered"
    );
    flood(half..3 * half);
    {
        let table = counts.table();
        assert!(table.recent.len() <= GENERATION && table.before.len() <= GENERATION);
    }
    assert_eq!(used(&counts, ADA, 0), 1);
    for _ in 1..SHARED_AFTER {
        used(&counts, ADA, 0);
    }
    exchange(&counts, &mut redis);
    assert!(used(&counts, ADA, 0) > u64::from(LIMIT));
}

#[test]
fn leads_of_an_hour_are_shared_one_by_one() {
    assert_eq!(rule(Window::Hour).shared_after(), 1);
    assert_eq!(rule(Window::Minute).shared_after(), SHARED_AFTER);
}

/// How many requests of a caller three ingests admit together. Each step names an ingest that counts a
/// request, and says whether the ingest exchanges afterwards.
fn admitted(steps: impl IntoIterator<Item = (usize, bool)>) -> u64 {
    let ingests = [Counts::alone(), Counts::alone(), Counts::alone()];
    let mut redis = HashMap::new();
    let mut admitted = 0;
    for (ingest, exchanges) in steps {
        let counts = &ingests[ingest];
        admitted += u64::from(used(counts, ADA, 0) <= u64::from(LIMIT));
        if exchanges {
            exchange(counts, &mut redis);
        }
    }
    admitted
}

proptest! {
    /// A caller that is slower than the exchanges gets at most the limit and what each ingest may leave
    /// unshared, however its requests are spread.
    #[test]
    fn several_ingests_keep_a_limit(order in proptest::collection::vec(0_usize..3, 300)) {
        let admitted = admitted(order.into_iter().map(|ingest| (ingest, true)));
        prop_assert!(admitted >= u64::from(LIMIT));
        prop_assert!(admitted <= u64::from(LIMIT) + 3 * SHARED_AFTER, "{admitted}");
    }

    /// A burst may arrive before any exchange. Then each ingest admits up to the limit.
    #[test]
    fn a_burst_gets_the_limit_at_each_ingest_at_most(
        steps in proptest::collection::vec((0_usize..3, proptest::bool::weighted(0.05)), 600),
    ) {
        let admitted = admitted(steps);
        prop_assert!(admitted >= u64::from(LIMIT));
        prop_assert!(admitted <= 3 * u64::from(LIMIT), "{admitted}");
    }
}
