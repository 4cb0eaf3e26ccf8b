//! `deploy/backup`: what the scripts keep can be restored, and the books in it are right.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use messages::subject::Subject;
use runtime::clock::Clock;
use serde_json::json;
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use test_harness::{Edge, Program, Stack, Streams, succeeds};
use testing::{OwnPostgres, TestDatabase, from_environment};

/// A server that archives its log with our script, and a copy of all scripts that its account can reach.
struct Kept {
    server: OwnPostgres,
    scripts: PathBuf,
    backups: String,
}

impl Kept {
    fn start() -> Self {
        let server = OwnPostgres::start();
        let dir = server.dir().to_owned();
        let scripts = dir.join("scripts");
        fs::create_dir(&scripts).unwrap();
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/backup");
        for entry in fs::read_dir(sources).unwrap() {
            let source = entry.unwrap().path();
            fs::copy(&source, scripts.join(source.file_name().unwrap())).unwrap();
        }
        let ctl = PathBuf::from(from_environment("RT_BIN_DIR")).join("ctl");
        fs::copy(ctl, scripts.join("ctl")).unwrap();
        fs::set_permissions(&scripts, fs::Permissions::from_mode(0o755)).unwrap();
        Self {
            backups: dir.join("backups").display().to_string(),
            server,
            scripts,
        }
    }

    /// What a script printed.
    fn run(&self, script: &str, arguments: &[&str]) -> String {
        let ctl = self.scripts.join("ctl").display().to_string();
        // A port names the socket, which lies in a directory of its own.
        let settings = [
            ("CTL", ctl.as_str()),
            ("DRILL_PORT", "5432"),
            ("TEXTFILE_DIRECTORY", self.backups.as_str()),
        ];
        let output = self
            .server
            .run_beside(&self.scripts.join(script), arguments, &settings);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            output.status.success(),
            "{script}: {text}{}",
            String::from_utf8_lossy(&output.stderr)
        );
        text
    }

    fn fails(&self, script: &str, arguments: &[&str], because: &str) {
        let output = self.server.run_beside(&self.scripts.join(script), arguments, &[]);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            !output.status.success() && text.contains(because),
            "{script}: {text}"
        );
    }

    fn archive(&self) -> String {
        format!("{}/wal", self.backups)
    }

    fn restart(&self) {
        self.server.stop_at_once();
        self.server.start_again();
    }
}

async fn maintenance(kept: &Kept) -> PgConnection {
    PgConnection::connect(&kept.server.url()).await.unwrap()
}

/// Everything written so far is in the archive.
async fn archived(stack: &Stack, kept: &Kept) {
    let mut connection = maintenance(kept).await;
    let last: String = sqlx::query_scalar("SELECT pg_walfile_name(pg_switch_wal())")
        .fetch_one(&mut connection)
        .await
        .unwrap();
    let file = Path::new(&kept.archive()).join(last);
    stack
        .eventually("the log is archived", async || file.exists())
        .await;
}

async fn sell(stack: &Stack, program: &Program, transaction_id: &str) {
    let body = json!({ "transaction_id": transaction_id, "amount_cents": 5_000, "customer_key": "user-1" });
    stack.sold(program, body).await;
}

async fn sales(stack: &Stack) -> Vec<String> {
    sqlx::query_scalar("SELECT processor_event_id FROM sale_events ORDER BY id")
        .fetch_all(stack.pool())
        .await
        .unwrap()
}

async fn off_thread<T: Send + 'static>(kept: &Arc<Kept>, act: impl FnOnce(&Kept) -> T + Send + 'static) -> T {
    let kept = Arc::clone(kept);
    tokio::task::spawn_blocking(move || act(&kept)).await.unwrap()
}

/// A server that archives its log, and the service on it.
async fn archiving() -> (Arc<Kept>, Stack) {
    let kept = Arc::new(Kept::start());
    let mut connection = maintenance(&kept).await;
    for setting in [
        "archive_mode = 'on'".to_owned(),
        format!(
            "archive_command = '{} %p %f {}'",
            kept.scripts.join("archive-wal.sh").display(),
            kept.archive()
        ),
    ] {
        let statement = format!("ALTER SYSTEM SET {setting}");
        sqlx::raw_sql(AssertSqlSafe(statement))
            .execute(&mut connection)
            .await
            .unwrap();
    }
    drop(connection);
    off_thread(&kept, Kept::restart).await;
    let database = TestDatabase::create_on(kept.server.url()).await;
    let mut stack = Stack::on(database, Clock::system());
    stack.start_services().await;
    (kept, stack)
}

/// The data is gone, the archive is not: waits until the server on the restored data accepts writes.
async fn restore(stack: &Stack, kept: &Arc<Kept>) {
    off_thread(kept, |kept| {
        let data = kept.server.dir().join("data");
        kept.server.stop_at_once();
        kept.fails(
            "restore.sh",
            &[&kept.backups, data.to_str().unwrap()],
            "not empty",
        );
        fs::rename(&data, kept.server.dir().join("data.lost")).unwrap();
        kept.run("restore.sh", &[&kept.backups, data.to_str().unwrap()]);
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

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_database_comes_back_from_its_backup_and_log_with_its_books_right() {
    let (kept, stack) = archiving().await;
    let name = stack.database.url.rsplit('/').next().unwrap().to_owned();
    let program = stack.program().await;
    stack.customer(&program, &program.ada.code, "user-1").await;
    sell(&stack, &program, "in-the-base-backup").await;
    let base = off_thread(&kept, |kept| kept.run("base-backup.sh", &[&kept.backups])).await;
    assert!(Path::new(base.trim()).join("backup_label").is_file(), "{base}");
    let metric = Path::new(&kept.backups).join("referral-tracker-backup.prom");
    let metric = fs::read_to_string(metric).unwrap();
    assert!(
        metric.starts_with("backup_last_success_timestamp_seconds 1"),
        "{metric}"
    );
    sell(&stack, &program, "in-the-log").await;
    stack.verify().await;
    archived(&stack, &kept).await;
    let before = sales(&stack).await;

    // Tried out beside the running server, which takes sales meanwhile.
    let drilled = {
        let name = name.clone();
        off_thread(&kept, move |kept| kept.run("drill.sh", &[&kept.backups, &name])).await
    };
    assert!(
        drilled.contains("the backup holds") && !drilled.contains("BROKEN"),
        "{drilled}"
    );
    assert!(drilled.contains("customer ids advanced"), "{drilled}");

    restore(&stack, &kept).await;
    assert_eq!(sales(&stack).await, before);
    stack.ready().await;
    sell(&stack, &program, "after-the-restore").await;
    stack.verify().await;

    // A dump is a copy too, and another server's version may read it.
    let copied = {
        let url = stack.database.url.clone();
        off_thread(&kept, move |kept| {
            let file = kept.server.dir().join("dump").display().to_string();
            kept.run("dump.sh", &[&url, &file]);
            let copy = format!("{}copy", kept.server.url().strip_suffix("postgres").unwrap());
            for (program, arguments) in [
                ("createdb", vec!["copy"]),
                (
                    "pg_restore",
                    vec![
                        "--exit-on-error",
                        "--no-owner",
                        "--dbname",
                        copy.as_str(),
                        file.as_str(),
                    ],
                ),
            ] {
                let output = kept.server.run_beside(Path::new(program), &arguments, &[]);
                assert!(output.status.success(), "{program}: {output:?}");
            }
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
    off_thread(&kept, |kept| kept.run("base-backup.sh", &[&kept.backups])).await;
    archived(&stack, &kept).await;
    // Leases ids that the archive does not know of.
    let before = another_ingest(&mut stack).await;
    let mut click_ids = visitors(&before, &program).await;
    stack.reaches("customers", 3).await;
    stack.stop_workers().await;
    restore(&stack, &kept).await;
    assert_eq!(stack.count("customers").await, 0);

    // As the runbook says, but for an ingest that went on all the time, and one that starts before anything is replayed.
    let streams = Streams::of(&stack).await;
    streams.forget_progress(Subject::Clicks).await;
    let after = another_ingest(&mut stack).await;
    click_ids.extend(visitors(&after, &program).await);
    click_ids.extend(visitors(&before, &program).await);
    let worker = Edge::at(stack.start_worker());
    worker.ready(&stack).await;
    streams.drained(&stack).await;
    assert_eq!(stack.count("dead_letters").await, 0);
    let customers: Vec<String> = sqlx::query_scalar("SELECT click_id FROM customers ORDER BY click_id")
        .fetch_all(stack.pool())
        .await
        .unwrap();
    click_ids.sort();
    assert_eq!(customers, click_ids);
    let of_another = "click_events e JOIN customers c ON c.id = e.customer_id WHERE c.click_id <> e.click_id";
    assert_eq!(stack.count(of_another).await, 0);
    stack.verify().await;

    // What an ingest found by itself needs no person; what it cannot find out does.
    let known = succeeds(&stack, &["customer-ids", "advance"]).await;
    assert_eq!(known.out, "customer ids are ahead already\n");
    let snapshot = succeeds(&stack, &["customer-ids", "advance", "--snapshot"]).await;
    assert!(
        snapshot.out.starts_with("customer ids advanced from block "),
        "{snapshot:?}"
    );
}

/// What a caller of the API could tell of each sale, and what Ada is owed.
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
    off_thread(&kept, |kept| kept.run("base-backup.sh", &[&kept.backups])).await;
    archived(&stack, &kept).await;

    sell(&stack, &program, "lost").await;
    let refund = json!({ "transaction_id": "lost", "amount_cents": 1_250 });
    stack.refunded(&program, refund).await;
    // Refused for its customer, who signs up, and sold then for another amount.
    let corrected = |amount_cents: i64| json!({ "transaction_id": "corrected", "amount_cents": amount_cents, "customer_key": "user-2" });
    let refused = stack.sale(&program, corrected(9_000)).await;
    assert!(refused.status.is_client_error(), "{refused:?}");
    stack.customer(&program, &program.ada.code, "user-2").await;
    stack.sold(&program, corrected(2_000)).await;
    stack.verify().await;
    let before = books(&stack, &program).await;
    assert_eq!(before.0.len(), 3, "{before:?}");
    stack.stop_workers().await;
    restore(&stack, &kept).await;
    assert_eq!(sales(&stack).await, ["kept"]);

    succeeds(&stack, &["customer-ids", "advance"]).await;
    // The refund's too: it comes before the claim of its sale, as one does whose acknowledgement was lost.
    for subject in [Subject::Clicks, Subject::Leads, Subject::Refunds] {
        streams.forget_progress(subject).await;
    }
    let worker = Edge::at(stack.start_worker());
    worker.ready(&stack).await;
    streams.drained(&stack).await;
    assert_eq!(stack.count("refused_events").await, 1, "the refund");
    let rebuilt = succeeds(&stack, &["claims", "rebuild", "--since", &since]).await;
    assert!(
        rebuilt.out.starts_with("2 claims made, of 4 records"),
        "{rebuilt:?}"
    );
    assert!(
        rebuilt.out.ends_with("; refunds to be judged again: 1\n"),
        "{rebuilt:?}"
    );
    for subject in [Subject::Refunds, Subject::Payments] {
        streams.forget_progress(subject).await;
    }
    stack
        .eventually("the books are as they were", async || {
            books(&stack, &program).await == before
        })
        .await;
    streams.drained(&stack).await;
    stack.verify().await;

    let again = succeeds(&stack, &["claims", "rebuild", "--since", &since]).await;
    assert!(again.out.starts_with("0 claims made, of "), "{again:?}");
    streams.drained(&stack).await;
    assert_eq!(books(&stack, &program).await, before);
}
