//! `deploy/backup`: the backups of pgBackRest and the scripts can be restored, and the restored ledger is
//! right.

mod kept;

use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use runtime::clock::Clock;
use serde_json::json;
use sqlx::{Connection, PgConnection};
use test_harness::{Edge, Json, Program, Stack, Streams, sale_of, succeeds};
use testing::TestDatabase;

use self::kept::{Kept, failed, succeeded};

/// Waits until everything written so far is in the archive.
async fn archived(stack: &Stack, kept: &Kept) {
    let mut connection = PgConnection::connect(&kept.server.url()).await.unwrap();
    let last: String = sqlx::query_scalar("SELECT pg_walfile_name(pg_switch_wal())")
        .fetch_one(&mut connection)
        .await
        .unwrap();
    let archived = format!("pg_stat_archiver WHERE last_archived_wal >= '{last}'");
    stack.reaches(&archived, 1).await;
}

async fn sell(stack: &Stack, program: &Program, transaction_id: &str) {
    stack.sold(program, sale_of(transaction_id, "user-1")).await;
}

async fn sales(stack: &Stack) -> Vec<String> {
    stack
        .values("SELECT processor_event_id FROM sale_events ORDER BY id")
        .await
}

async fn off_thread<T: Send + 'static>(kept: &Arc<Kept>, act: impl FnOnce(&Kept) -> T + Send + 'static) -> T {
    let kept = Arc::clone(kept);
    tokio::task::spawn_blocking(move || act(&kept)).await.unwrap()
}

/// A server that archives its log, and the service on it.
async fn archiving() -> (Arc<Kept>, Stack) {
    let kept = Arc::new(tokio::task::spawn_blocking(Kept::start).await.unwrap());
    let database = TestDatabase::create_on(kept.server.url()).await;
    let mut stack = Stack::on(database, Clock::system());
    stack.start_services().await;
    (kept, stack)
}

async fn back_up(kept: &Arc<Kept>, kind: &'static str) {
    off_thread(kept, move |kept| {
        succeeded(&kept.script("backup.sh", &[kind]));
    })
    .await;
}

/// Restores after the data directory was lost; the archive still exists.
fn restore_lost(kept: &Kept) {
    failed(&kept.pgbackrest(&["restore"]), "contains files");
    let data = kept.server.dir().join("data");
    fs::rename(data, kept.server.dir().join("data.lost")).unwrap();
    succeeded(&kept.pgbackrest(&["restore"]));
}

/// Waits until the server on the restored data accepts writes.
async fn restore(stack: &Stack, kept: &Arc<Kept>, replace: impl FnOnce(&Kept) + Send + 'static) {
    off_thread(kept, |kept| {
        kept.server.stop_at_once();
        replace(kept);
        kept.server.start_again();
    })
    .await;
    stack
        .eventually("the restored server accepts writes", async || {
            let recovering = sqlx::query_scalar("SELECT pg_is_in_recovery()")
                .fetch_one(stack.pool())
                .await;
            recovering.is_ok_and(|recovering: bool| !recovering)
        })
        .await;
}

#[test]
fn a_damaged_backup_counts_as_none() {
    let kept = Kept::start();
    succeeded(&kept.script("backup.sh", &["full"]));
    let metric = fs::read_to_string(kept.metric()).unwrap();
    let succeeded_at = "backup_last_success_timestamp_seconds 1";
    assert!(metric.starts_with(succeeded_at), "{metric}");
    fs::remove_file(kept.metric()).unwrap();

    let kept_file = "backup/referral-tracker/latest/pg_data/PG_VERSION.zst";
    let mut file = fs::OpenOptions::new()
        .append(true)
        .open(Path::new(&kept.backups).join(kept_file))
        .unwrap();
    file.write_all(b"x").unwrap();
    failed(&kept.script("backup.sh", &["full"]), "status: invalid");
    assert!(!kept.metric().exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_database_comes_back_from_its_backup_and_log_with_its_books_right() {
    let (kept, stack) = archiving().await;
    let name = stack.database.url.rsplit('/').next().unwrap().to_owned();
    let program = stack.program_with_customer().await;
    for (sale, backup) in [("in-the-full-backup", "full"), ("in-the-increment", "incr")] {
        sell(&stack, &program, sale).await;
        back_up(&kept, backup).await;
    }
    let backups = off_thread(&kept, |kept| succeeded(&kept.pgbackrest(&["info"]))).await;
    for kind in ["full", "incr"] {
        assert!(backups.contains(&format!("{kind} backup: ")), "{backups}");
    }
    sell(&stack, &program, "in-the-log").await;
    stack.verify().await;
    archived(&stack, &kept).await;
    let before = sales(&stack).await;

    // The drill runs beside the server, which takes sales meanwhile.
    let drilled = off_thread(&kept, move |kept| succeeded(&kept.script("drill.sh", &[&name]))).await;
    for told in ["the backup holds", "customer ids advanced"] {
        assert!(drilled.contains(told), "{told}: {drilled}");
    }
    assert!(!drilled.contains("BROKEN"), "{drilled}");

    restore(&stack, &kept, restore_lost).await;
    assert_eq!(sales(&stack).await, before);
    stack.ready().await;
    sell(&stack, &program, "after-the-restore").await;
    stack.verify().await;

    // A dump is a copy too, and a server of another version can read it.
    let copied = {
        let url = stack.database.url.clone();
        off_thread(&kept, move |kept| {
            let file = kept.server.dir().join("dump").display().to_string();
            succeeded(&kept.script("dump.sh", &[&url, &file]));
            let copy = format!("{}copy", kept.server.url().strip_suffix("postgres").unwrap());
            succeeded(&kept.execute(Path::new("createdb"), &["copy"]));
            let restore = ["--exit-on-error", "--no-owner", "--dbname", &copy, &file];
            succeeded(&kept.execute(Path::new("pg_restore"), &restore));
            let ctl = kept.scripts.join("ctl");
            kept.server
                .run_beside(&ctl, &["verify"], &[("DATABASE_URL", copy.as_str())])
        })
        .await
    };
    assert!(copied.status.success(), "{copied:?}");
}

async fn visitors(edge: &Edge, program: &Program) -> Vec<String> {
    let mut click_ids = Vec::new();
    for _ in 0..3 {
        click_ids.push(edge.click(&program.ada.code, None).await);
    }
    click_ids
}

async fn another_ingest(stack: &mut Stack) -> Edge {
    let edge = Edge::at(stack.start_ingest());
    edge.ready(stack).await;
    edge
}

#[tokio::test(flavor = "multi_thread")]
async fn visitors_of_the_lost_time_and_later_ones_are_different_customers() {
    let (kept, mut stack) = archiving().await;
    let program = stack.program().await;
    back_up(&kept, "full").await;
    archived(&stack, &kept).await;
    // This ingest leases ids that the archive does not contain.
    let before = another_ingest(&mut stack).await;
    let mut click_ids = visitors(&before, &program).await;
    stack.reaches("customers", 3).await;
    stack.stop_workers().await;
    restore(&stack, &kept, restore_lost).await;
    assert_eq!(stack.count("customers").await, 0);

    // Follows the runbook, except that one ingest kept running, and one starts before the replay.
    let streams = Streams::of(&stack).await;
    succeeds(&stack, "streams replay clicks --yes").await;
    let after = another_ingest(&mut stack).await;
    click_ids.extend(visitors(&after, &program).await);
    click_ids.extend(visitors(&before, &program).await);
    let worker = Edge::at(stack.start_worker());
    worker.ready(&stack).await;
    streams.drained(&stack).await;
    assert_eq!(stack.count("dead_letters").await, 0);
    let customers = "SELECT click_id FROM customers ORDER BY click_id";
    let customers: Vec<String> = stack.values(customers).await;
    click_ids.sort();
    assert_eq!(customers, click_ids);
    let of_another = "click_events e JOIN customers c ON c.id = e.customer_id WHERE c.click_id <> e.click_id";
    assert_eq!(stack.count(of_another).await, 0);
    stack.verify().await;

    // Ids that an ingest finds used need no operator; ids that it cannot find do.
    let known = succeeds(&stack, "customer-ids advance").await;
    assert_eq!(known.out, "customer ids are ahead already\n");
    let snapshot = succeeds(&stack, "customer-ids advance --snapshot").await;
    assert!(
        snapshot.out.starts_with("customer ids advanced from block "),
        "{snapshot:?}"
    );
}

/// The data that an API caller knows about each sale, and Ada's balance.
async fn books(stack: &Stack, program: &Program) -> (Vec<(String, i64, i64)>, i64) {
    let sales = sqlx::query_as(
        "SELECT processor_event_id, amount_cents, api_refunded_cents FROM sale_events ORDER BY processor_event_id",
    )
    .fetch_all(stack.pool())
    .await
    .unwrap();
    (sales, stack.balance(program.ada.membership).await)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_sold_in_the_lost_time_comes_back_from_the_streams() {
    let (kept, mut stack) = archiving().await;
    let program = stack.program().await;
    let streams = Streams::of(&stack).await;
    let since = stack.clock.now().to_rfc3339();
    stack.customer(&program, &program.ada.code, "user-1").await;
    sell(&stack, &program, "kept").await;
    back_up(&kept, "full").await;
    archived(&stack, &kept).await;

    sell(&stack, &program, "lost").await;
    let refund = json!({ "transaction_id": "lost", "amount_cents": 1_250 });
    stack.refunded(&program, refund).await;
    // Refused because the customer was unknown. The customer then signs up, and the sale is sent with another
    // amount.
    let corrected = |cents: i64| sale_of("corrected", "user-2").with(json!({ "amount_cents": cents }));
    let refused = stack.sale(&program, corrected(9_000)).await;
    assert!(refused.status.is_client_error(), "{refused:?}");
    stack.customer(&program, &program.ada.code, "user-2").await;
    stack.sold(&program, corrected(2_000)).await;
    stack.verify().await;
    let before = books(&stack, &program).await;
    assert_eq!(before.0.len(), 3, "{before:?}");
    stack.stop_workers().await;
    restore(&stack, &kept, restore_lost).await;
    assert_eq!(sales(&stack).await, ["kept"]);

    succeeds(&stack, "customer-ids advance").await;
    // The refund's claim too: the refund arrives before the claim of its sale, like one whose acknowledgement
    // was lost.
    succeeds(&stack, "streams replay clicks leads refunds --yes").await;
    let worker = Edge::at(stack.start_worker());
    worker.ready(&stack).await;
    streams.drained(&stack).await;
    assert_eq!(stack.count("refused_events").await, 1, "the refund");
    let rebuilt = succeeds(&stack, &format!("claims rebuild --since {since}")).await;
    assert!(
        rebuilt.out.starts_with("2 claims made, of 4 records"),
        "{rebuilt:?}"
    );
    assert!(
        rebuilt.out.ends_with("; refunds to be judged again: 1\n"),
        "{rebuilt:?}"
    );
    succeeds(&stack, "streams replay refunds payments --yes").await;
    stack
        .eventually("the books are as they were", async || {
            books(&stack, &program).await == before
        })
        .await;
    streams.drained(&stack).await;
    stack.verify().await;

    let again = succeeds(&stack, &format!("claims rebuild --since {since}")).await;
    assert!(again.out.starts_with("0 claims made, of "), "{again:?}");
    streams.drained(&stack).await;
    assert_eq!(books(&stack, &program).await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mistake_is_undone_by_going_back_to_the_moment_before_it() {
    let (kept, stack) = archiving().await;
    let program = stack.program_with_customer().await;
    sell(&stack, &program, "in-the-backup").await;
    back_up(&kept, "full").await;
    // pgBackRest looks for a backup that ended before the moment, in whole seconds.
    let metric = fs::read_to_string(kept.metric()).unwrap();
    let ended: i64 = metric.split_whitespace().last().unwrap().parse().unwrap();
    stack
        .eventually("the second in which the backup ended is over", async || {
            let now = "SELECT floor(extract(epoch FROM now()))::bigint";
            stack.value::<i64>(now).await > ended
        })
        .await;
    sell(&stack, &program, "in-the-log").await;
    let before = books(&stack, &program).await;
    let moment = "SELECT (now() AT TIME ZONE 'UTC')::text || '+00'";
    let moment: String = stack.value(moment).await;
    stack
        .execute("UPDATE sale_events SET amount_cents = amount_cents + 1")
        .await;
    assert_ne!(books(&stack, &program).await, before);
    archived(&stack, &kept).await;

    // Restores in place: only files that differ are copied.
    restore(&stack, &kept, move |kept| {
        let target = format!("--target={moment}");
        let promote = "--target-action=promote";
        let to_the_moment = ["--delta", "--type=time", &target, promote, "restore"];
        succeeded(&kept.pgbackrest(&to_the_moment));
    })
    .await;
    assert_eq!(books(&stack, &program).await, before);
    stack.verify().await;
}
