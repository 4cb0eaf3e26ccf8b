//! A database of its own for each test, copied from a migrated template and dropped with its handle.

use sha2::{Digest, Sha256};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, PgPool};
use url::Url;

use super::{block_on, from_environment, unique_name};
use storage::{MIGRATIONS, ROLES};

/// Dropping it drops the database.
#[derive(Debug)]
pub struct TestDatabase {
    /// As who owns the tables.
    pub url: String,
    /// As the role that services have.
    pub service_url: String,
    /// As the role that only reads: what reports are read with.
    pub reads_url: String,
    /// The owner's.
    pub pool: PgPool,
    server: String,
    name: String,
}

impl TestDatabase {
    pub async fn create() -> Self {
        Self::create_on(from_environment("DATABASE_URL")).await
    }

    /// On another server than the shared one; `server` is the URL of a database in it.
    pub async fn create_on(server: String) -> Self {
        let template = template(&server).await;
        let name = unique_name();
        let mut admin = PgConnection::connect(&server).await.unwrap();
        let create = format!("CREATE DATABASE {name} TEMPLATE {template}");
        admin.execute(AssertSqlSafe(create)).await.unwrap();
        let url = database_url(&server, &name);
        // As for the sessions of services.
        let options = url.parse::<PgConnectOptions>().unwrap().options([("jit", "off")]);
        let pool = PgPoolOptions::new()
            .max_connections(4)
            .connect_with(options)
            .await
            .unwrap();
        Self {
            service_url: as_role(&url, SERVICE),
            reads_url: as_role(&url, READS),
            url,
            pool,
            server,
            name,
        }
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        // A server of the test's own may be stopped already, and is deleted with its data.
        if self.server != from_environment("DATABASE_URL") {
            return;
        }
        let drop = format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name);
        block_on(async {
            let mut admin = PgConnection::connect(&self.server).await?;
            admin.execute(AssertSqlSafe(drop)).await
        })
        .unwrap();
    }
}

/// The roles that `ctl migrate` grants their rights to.
pub const SERVICE: &str = "referral_tracker_service";
pub const READS: &str = "referral_tracker_reads";

/// Tables that a test makes, for triggers that hold services up.
const OF_TESTS: &str =
    "ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT ALL ON TABLES TO referral_tracker_service";

/// The same database, for connections that have this role's rights and no more.
pub fn as_role(url: &str, role: &str) -> String {
    let mut url = Url::parse(url).unwrap();
    url.query_pairs_mut()
        .append_pair("options", &format!("-c role={role}"));
    url.into()
}

/// The migrated database that tests are copied from; made by the first test that needs it, named by its content.
async fn template(server: &str) -> String {
    let mut content = Sha256::new();
    MIGRATIONS
        .iter()
        .for_each(|migration| content.update(&migration.checksum));
    content.update(ROLES);
    content.update(OF_TESTS);
    let name = format!("template_{:02x?}", &content.finalize()[..6]).replace(['[', ']', ',', ' '], "");
    let mut admin = PgConnection::connect(server).await.unwrap();
    // Tests are processes side by side: one makes it, the others wait.
    admin.execute("SELECT pg_advisory_lock(7316)").await.unwrap();
    let made: bool =
        sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM pg_database WHERE datname = $1 AND datistemplate)")
            .bind(&name)
            .fetch_one(&mut admin)
            .await
            .unwrap();
    if !made {
        admin
            .execute(AssertSqlSafe(format!("DROP DATABASE IF EXISTS {name}")))
            .await
            .unwrap();
        admin
            .execute(AssertSqlSafe(format!("CREATE DATABASE {name}")))
            .await
            .unwrap();
        let options: PgConnectOptions = database_url(server, &name).parse().unwrap();
        let mut connection = PgConnection::connect_with(&options).await.unwrap();
        for role in [SERVICE, READS] {
            let create = format!(
                "DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{role}') THEN CREATE ROLE {role} LOGIN; END IF; END $$"
            );
            connection.execute(AssertSqlSafe(create)).await.unwrap();
        }
        storage::migrate_on(&mut connection).await.unwrap();
        connection.execute(AssertSqlSafe(OF_TESTS)).await.unwrap();
        connection.close().await.unwrap();
        admin
            .execute(AssertSqlSafe(format!("ALTER DATABASE {name} IS_TEMPLATE true")))
            .await
            .unwrap();
    }
    admin.close().await.unwrap();
    name
}

fn database_url(server: &str, database: &str) -> String {
    let mut url = Url::parse(server).unwrap();
    url.set_path(database);
    url.into()
}
