use std::collections::HashMap;

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

fn used(counts: &Counts, subject: Subject, now: i64) -> u64 {
    counts.count(&rule(Window::Minute), subject, now).used
}

/// Exchanges what is due with a Redis that answers at once.
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
    let next = counts.count(&rule(Window::Minute), ADA, 120);
    assert_eq!((next.used, next.resets_at()), (1, 180));
    let hour = rule(Window::Hour);
    assert_eq!(counts.count(&hour, BRUNO, 3_599).resets_at(), 3_600);
    assert_eq!(counts.count(&hour, BRUNO, 3_600).used, 1);
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
    // What is due when its minute ends is not added to the next one.
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
fn a_caller_beyond_the_capacity_is_known_again_with_its_next_exchange() {
    let (counts, mut redis) = (Counts::alone(), HashMap::new());
    for _ in 0..LIMIT {
        used(&counts, ADA, 0);
        exchange(&counts, &mut redis);
    }
    for other in 0..=2 * CAPACITY as u64 {
        used(&counts, Subject::Key(1_000 + other), 0);
    }
    assert!(counts.table().callers.len() <= CAPACITY);
    for _ in 0..SHARED_AFTER {
        used(&counts, ADA, 0);
    }
    exchange(&counts, &mut redis);
    assert!(used(&counts, ADA, 0) > u64::from(LIMIT));
}

proptest! {
    /// However the requests of a caller are spread, several ingests together admit at most what each may not have shared beyond
    /// the limit.
    #[test]
    fn several_ingests_together_keep_the_limit_within_the_bound(
        order in proptest::collection::vec(0_usize..3, 300),
    ) {
        let ingests = [Counts::alone(), Counts::alone(), Counts::alone()];
        let mut redis = HashMap::new();
        let mut admitted = 0;
        for ingest in order {
            let counts = &ingests[ingest];
            admitted += u64::from(used(counts, ADA, 0) <= u64::from(LIMIT));
            exchange(counts, &mut redis);
        }
        prop_assert!(admitted >= u64::from(LIMIT));
        prop_assert!(admitted <= u64::from(LIMIT) + 3 * SHARED_AFTER, "{admitted}");
    }
}
