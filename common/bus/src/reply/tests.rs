use super::*;

const A: Uuid = Uuid::from_u128(1);

fn outcome(event_id: Uuid, json: &str) -> EventOutcome {
    EventOutcome {
        event_id,
        outcome: RawValue::from_string(json.to_owned()).unwrap(),
    }
}

fn waiting(waiters: &Waiters) -> usize {
    waiters.shards.iter().map(|shard| lock(shard).len()).sum()
}

#[tokio::test]
async fn an_outcome_wakes_its_waiter_and_no_other() {
    let waiters = Arc::new(Waiters::default());
    let (a, b) = (
        Waiters::register(&waiters, A),
        Waiters::register(&waiters, Uuid::from_u128(2)),
    );
    waiters.wake(outcome(A, "1"));
    waiters.wake(outcome(Uuid::from_u128(3), "3"));
    assert_eq!(a.wait(Duration::from_mins(1)).await.unwrap().get(), "1");
    assert!(b.wait(Duration::ZERO).await.is_none());
    assert_eq!(waiting(&waiters), 0);
}

#[test]
fn a_dropped_waiter_removes_itself() {
    let waiters = Arc::new(Waiters::default());
    drop(Waiters::register(&waiters, A));
    assert_eq!(waiting(&waiters), 0);
}

#[tokio::test]
async fn a_dropped_waiter_leaves_its_successor() {
    let waiters = Arc::new(Waiters::default());
    let first = Waiters::register(&waiters, A);
    let second = Waiters::register(&waiters, A);
    drop(first);
    waiters.wake(outcome(A, "2"));
    assert_eq!(second.wait(Duration::from_mins(1)).await.unwrap().get(), "2");
}

#[test]
fn answers_stay_under_the_payload_limit() {
    let long = format!("\"{}\"", "x".repeat(200_000));
    let outcomes: Vec<_> = (0..7).map(|n| outcome(Uuid::from_u128(n), &long)).collect();
    let answers: Vec<_> = split(&outcomes).map(<[_]>::len).collect();
    assert_eq!(answers, [2, 2, 2, 1]);
    assert_eq!(split(&[]).count(), 0);
}
