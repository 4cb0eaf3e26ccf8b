//! `ctl streams`: shows what waits for workers, and delivers everything again.

use messages::subject::Subject;
use runtime::clock::Clock;
use test_harness::{Edge, Ran, Stack, Streams, ctl, refund_of, sale_of, succeeds};

/// The status of a stream, without its columns.
fn state(ran: &Ran, noun: &str) -> String {
    let rest = ran.out.lines().find_map(|line| line.strip_prefix(noun));
    let rest = rest.unwrap_or_else(|| panic!("no {noun}: {ran:?}"));
    rest.split_whitespace().collect::<Vec<_>>().join(" ")
}

async fn unsettled(stack: &Stack) -> Ran {
    let ran = ctl(stack, "streams status").await;
    assert!(!ran.ok && !ran.err.contains("error"), "{ran:?}");
    ran
}

/// How often each event was counted, and the balance.
async fn books(stack: &Stack) -> Vec<i64> {
    stack
        .value(
            "SELECT ARRAY[(SELECT count(*) FROM click_events), (SELECT count(*) FROM lead_events),
                          (SELECT count(*) FROM sale_events), (SELECT count(*) FROM refunds),
                          (SELECT count(*) FROM commissions), (SELECT count(*) FROM notifications),
                          (SELECT sum(clicks)::bigint FROM referral_links),
                          (SELECT sum(balance_cents)::bigint FROM partner_program_balances)]",
        )
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_settled_is_delivered_again_and_counts_once() {
    let (mut stack, program) = Stack::with_customer().await;
    stack.sold(&program, sale_of("t1", "user-1")).await;
    let refund = refund_of("t1", 1_000);
    stack.refunded(&program, refund).await;
    let streams = Streams::of(&stack).await;
    streams.drained(&stack).await;
    let before = books(&stack).await;
    let clicks = streams.end(Subject::Clicks).await;
    let settled = succeeds(&stack, "streams status").await;
    assert_eq!(settled.out.lines().count(), Subject::ALL.len());
    assert_eq!(state(&settled, "clicks"), "0 waiting 0 in flight");
    stack.stop_workers().await;

    let replay = "streams replay clicks leads sales refunds";
    let preview = succeeds(&stack, &format!("{replay} --dry-run")).await;
    let again = format!("messages to be read from the beginning: {clicks}, of them again: {clicks}");
    preview.says(&format!("clicks: {again}"));
    preview.says("dry run: nothing was changed");
    ctl(&stack, replay).await.fails("pass --yes");
    succeeds(&stack, "streams status").await;

    let sure = format!("{replay} --yes");
    succeeds(&stack, &sure).await;
    let forgotten = unsettled(&stack).await;
    let gone = format!("no consumer worker_clicks, to be read: {clicks}");
    assert_eq!(state(&forgotten, "clicks"), gone);
    assert_eq!(state(&forgotten, "payments"), "0 waiting 0 in flight");
    let nothing = format!("clicks: no consumer worker_clicks, nothing to do; messages to be read: {clicks}");
    ctl(&stack, &sure).await.says(&nothing);
    // Every service creates missing consumers.
    let ingest = Edge::at(stack.start_ingest());
    ingest.ready(&stack).await;
    let waiting = unsettled(&stack).await;
    for noun in ["clicks", "leads", "sales", "refunds"] {
        let state = state(&waiting, noun);
        assert!(
            state.ends_with(" waiting 0 in flight") && !state.starts_with("0 "),
            "{waiting:?}"
        );
    }
    let worker = Edge::at(stack.start_worker());
    worker.ready(&stack).await;
    streams.drained(&stack).await;
    succeeds(&stack, "streams status").await;
    assert_eq!(books(&stack).await, before);

    // Running workers create them by themselves.
    succeeds(&stack, &sure).await;
    stack
        .eventually("everything is settled again", async || {
            ctl(&stack, "streams status").await.ok
        })
        .await;
    assert_eq!(books(&stack).await, before);
    stack.verify().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_worker_has_in_hand_is_in_flight() {
    let (stack, program) = Stack::with_customer().await;
    Streams::of(&stack).await.drained(&stack).await;
    let locked = stack
        .holding("LOCK TABLE click_events IN SHARE ROW EXCLUSIVE MODE")
        .await;
    stack.click(&program.ada.code).await;
    stack
        .eventually("the click is in flight", async || {
            state(&unsettled(&stack).await, "clicks") == "0 waiting 1 in flight"
        })
        .await;
    locked.rollback().await.unwrap();
    stack
        .eventually("the click is settled", async || {
            ctl(&stack, "streams status").await.ok
        })
        .await;
}

#[tokio::test]
async fn streams_that_are_not_there_are_named_also_while_the_database_is_away() {
    let mut stack = Stack::without_services(Clock::system()).await;
    stack.set("STREAM_PREFIX", "elsewhere");
    stack.set("DATABASE_URL", "postgres://nobody@127.0.0.1:1/nowhere");
    let missing = unsettled(&stack).await;
    assert_eq!(state(&missing, "clicks"), "no stream ELSEWHERE_TRACKING_CLICKS");
    let replayed = succeeds(&stack, "streams replay leads --yes").await;
    assert_eq!(
        replayed.out,
        "leads: no stream ELSEWHERE_TRACKING_LEADS, nothing to do\n"
    );
    ctl(&stack, "streams replay visits --yes")
        .await
        .fails("must be one of clicks, leads, sales");
}
