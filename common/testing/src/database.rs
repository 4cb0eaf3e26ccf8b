//! A database for each test. It is copied from a migrated template and dropped with its handle.

use sha2::{Digest, Sha256};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, PgPool};
use url::Url;

use super::{block_on, from_environment, unique_name};
use storage::{MIGRATIONS, ROLES};

/// Dropping the handle drops the database.
#[derive(Debug)]
pub struct TestDatabase {
    /// Connects as the owner of the tables.
    pub url: String,
    /// Connects with the role of the services.
    pub service_url: String,
    /// Connects with the read-only role, which reports use.
    pub reads_url: String,
    /// Connects as the owner.
    pub pool: PgPool,
    server: String,
    name: String,
}

impl TestDatabase {
    pub async fn create() -> Self {
        Self::create_on(from_environment("DATABASE_URL")).await
    }

    /// Creates the database on another server than the shared one. `server` is the URL of a database there.
    pub async fn create_on(server: String) -> Self {
        let mut admin = PgConnection::connect(&server).await.unwrap();
        let template = template(&mut admin, &server).await;
        let name = unique_name();
        // The default strategy would also write the whole copy to the WAL.
        let create = format!("CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY");
        admin.execute(AssertSqlSafe(create)).await.unwrap();
        admin.close().await.unwrap();
        let url = database_url(&server, &name);
        // The services' sessions have the same setting.
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
        // A test's own server may be stopped already, and its data are deleted with it.
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

/// The roles that `ctl migrate` grants rights to.
pub const SERVICE: &str = "referral_tracker_service";
pub const READS: &str = "referral_tracker_reads";

/// Lets services use tables that a test creates, for triggers that delay the services.
const OF_TESTS: &str =
    "ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT ALL ON TABLES TO referral_tracker_service";

/// The partitions that the first worker would create in each database. Creating them takes longer than
/// copying them.
const OF_WORKERS: &str =
    "SELECT ensure_event_partitions(current_date, 3), ensure_outbound_days(current_date, 15)";

/// The same database with the rights of this role only.
pub fn as_role(url: &str, role: &str) -> String {
    let mut url = Url::parse(url).unwrap();
    url.query_pairs_mut()
        .append_pair("options", &format!("-c role={role}"));
    url.into()
}

/// The migrated template database. The first test that needs it creates it. Its name contains a hash of its
/// content.
async fn template(admin: &mut PgConnection, server: &str) -> String {
    let mut content = Sha256::new();
    MIGRATIONS
        .iter()
        .for_each(|migration| content.update(&migration.checksum));
    for statements in [ROLES, OF_TESTS, OF_WORKERS] {
        content.update(statements);
    }
    let name = format!("template_{:02x?}", &content.finalize()[..6]).replace(['[', ']', ',', ' '], "");
    if is_made(admin, &name).await {
        return name;
    }
    // Tests run as parallel processes: one creates the template, and the others wait.
    admin.execute("SELECT pg_advisory_lock(7316)").await.unwrap();
    if !is_made(admin, &name).await {
        make(admin, server, &name).await;
    }
    admin.execute("SELECT pg_advisory_unlock(7316)").await.unwrap();
    name
}

async fn is_made(admin: &mut PgConnection, template: &str) -> bool {
    sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM pg_database WHERE datname = $1 AND datistemplate)")
        .bind(template)
        .fetch_one(admin)
        .await
        .unwrap()
}

async fn make(admin: &mut PgConnection, server: &str, template: &str) {
    for statement in ["DROP DATABASE IF EXISTS", "CREATE DATABASE"] {
        let statement = AssertSqlSafe(format!("{statement} {template}"));
        admin.execute(statement).await.unwrap();
    }
    let mut connection = PgConnection::connect(&database_url(server, template))
        .await
        .unwrap();
    for role in [SERVICE, READS] {
        let create = format!(
            "DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{role}') THEN CREATE ROLE {role} LOGIN; END IF; END $$"
        );
        connection.execute(AssertSqlSafe(create)).await.unwrap();
    }
    storage::migrate_on(&mut connection).await.unwrap();
    for statements in [OF_TESTS, OF_WORKERS] {
        connection.execute(statements).await.unwrap();
    }
    connection.close().await.unwrap();
    let seal = format!("ALTER DATABASE {template} IS_TEMPLATE true");
    admin.execute(AssertSqlSafe(seal)).await.unwrap();
}

fn database_url(server: &str, database: &str) -> String {
    let mut url = Url::parse(server).unwrap();
    url.set_path(database);
    url.into()
}
