//! `deploy/backup`: what the scripts keep can be restored, and the books in it are right.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use runtime::clock::Clock;
use serde_json::json;
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use test_harness::{Program, Stack};
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
        let settings = [("CTL", ctl.as_str()), ("DRILL_PORT", "5432")];
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

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_database_comes_back_from_its_backup_and_log_with_its_books_right() {
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
    let name = database.url.rsplit('/').next().unwrap().to_owned();
    let mut stack = Stack::on(database, Clock::system());
    stack.start_services().await;
    let program = stack.program().await;
    stack.customer(&program, &program.ada.code, "user-1").await;
    sell(&stack, &program, "in-the-base-backup").await;
    let base = off_thread(&kept, |kept| kept.run("base-backup.sh", &[&kept.backups])).await;
    assert!(Path::new(base.trim()).join("backup_label").is_file(), "{base}");
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

    // The data is gone, the archive is not.
    off_thread(&kept, |kept| {
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
        .eventually("the restored server takes sales", async || {
            let recovering = sqlx::query_scalar("SELECT pg_is_in_recovery()")
                .fetch_one(stack.pool())
                .await;
            recovering.is_ok_and(|recovering: bool| !recovering)
        })
        .await;
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
