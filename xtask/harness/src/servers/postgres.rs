//! `PostgreSQL`: a cluster on the loopback interface, with a password.
//!
//! The server does not run as root, so root runs it as the account `postgres`. If that account cannot enter
//! the checkout, the data is in `/var/tmp`.

mod home;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

pub(crate) use self::home::in_memory;
pub use self::home::is_root;
use self::home::{Account, Home, run_as};
use super::start::Start;
use super::version::Version;
use crate::area::{Area, remove};
use crate::process::{self, find_all, in_own_session};
use crate::progress::Step;

pub const NAME: &str = "postgres";
pub(super) const OLDEST: Version = Version::new(15, 0);
/// A superuser: tests create databases of their own.
const ROLE: &str = "tracker";
const DATABASE: &str = "referral_tracker";

/// Server programs of one version.
#[derive(Debug, Clone)]
pub struct Postgres {
    /// Contains `postgres`, `initdb` and `psql`.
    pub bin_dir: PathBuf,
    version: Version,
}

impl Postgres {
    /// The newest version on this machine, or the one that wrote the area's data.
    pub(super) fn find(area: &Area) -> Result<Option<Self>> {
        let mut found: Vec<Self> = candidates().filter_map(Self::in_dir).collect();
        found.sort_by_key(|postgres| postgres.version);
        let Some(major) = major_of_data(area) else {
            return Ok(found.pop());
        };
        let Some(newest) = found.last().map(|postgres| postgres.version) else {
            return Ok(None);
        };
        let fitting = found
            .into_iter()
            .rfind(|postgres| postgres.version.major == major);
        let fitting = fitting.with_context(|| {
            let dir = area.dir.display();
            format!(
                "the data in {dir} is PostgreSQL {major}'s, and this machine has {newest}; `cargo xtask dev --reset` \
                 starts empty"
            )
        })?;
        Ok(Some(fitting))
    }

    fn in_dir(bin_dir: PathBuf) -> Option<Self> {
        let complete = ["postgres", "initdb", "psql"]
            .iter()
            .all(|program| bin_dir.join(program).is_file());
        let version = complete
            .then(|| Version::of(&bin_dir.join("postgres")))
            .flatten()?;
        (version >= OLDEST).then_some(Self { bin_dir, version })
    }

    /// Starts the area's cluster, created if needed; returns the address of its database.
    pub(super) fn start(&self, start: &mut Start<'_>) -> Result<String> {
        let account = Account::for_server()?;
        let home = Home::prepare(start.area, account.as_ref())?;
        if !home.data().is_dir() {
            let step = Step::start(format_args!("Creating a PostgreSQL {} cluster", self.version));
            self.create_cluster(&home, account.as_ref())?;
            step.done("created");
        }
        let title = format!("PostgreSQL {}", self.version);
        let port = start.on_its_port(NAME, &title, |port, start| self.launch(port, start))?;
        let password = home.password()?;
        self.create_database(&url_of(&password, port, "postgres"), DATABASE)?;
        Ok(url_of(&password, port, DATABASE))
    }

    /// Starts the area's cluster on this port, and returns once it answers.
    pub(super) fn launch(&self, port: u16, start: &mut Start<'_>) -> Result<()> {
        let account = Account::for_server()?;
        let home = Home::prepare(start.area, account.as_ref())?;
        let mut command = in_own_session(self.bin_dir.join("postgres"));
        command.arg("-D").arg(home.data());
        for setting in [
            "listen_addresses=127.0.0.1".to_owned(),
            format!("port={port}"),
            format!("unix_socket_directories={}", home.socket_dir()),
            "max_connections=200".to_owned(),
            // With the default, whoever reads writes other people's pages out first.
            "shared_buffers=512MB".to_owned(),
            format!("fsync={}", if start.area.waits_for_disk { "on" } else { "off" }),
            "timezone=UTC".to_owned(),
            "log_timezone=UTC".to_owned(),
        ] {
            command.args(["-c", &setting]);
        }
        run_as(&mut command, account.as_ref()).current_dir(&home.dir);
        let maintenance = url_of(&home.password()?, port, "postgres");
        start.launch(NAME, command, || self.query(&maintenance, "SELECT 1").is_ok())
    }

    /// Builds the cluster beside its place and moves it there whole: an interrupted start leaves no half of
    /// one.
    fn create_cluster(&self, home: &Home, account: Option<&Account>) -> Result<()> {
        let fresh = home.dir.join("data.new");
        remove(&fresh)?;
        home.create_password(account)?;
        let mut initdb = Command::new(self.bin_dir.join("initdb"));
        initdb
            .arg("-D")
            .arg(&fresh)
            .args(["-U", ROLE, "--pwfile"])
            .arg(home.password_file());
        // The same collation on every machine.
        initdb.args(["--auth=scram-sha-256", "--encoding=UTF8", "--no-locale"]);
        process::output(run_as(&mut initdb, account).current_dir(&home.dir))?;
        fs::rename(&fresh, home.data())?;
        Ok(())
    }

    /// Creates the database unless it exists.
    pub fn create_database(&self, maintenance_url: &str, name: &str) -> Result<()> {
        let known = format!("SELECT 1 FROM pg_database WHERE datname = '{name}'");
        let known = self.query(maintenance_url, &known)?;
        if known.trim().is_empty() {
            self.query(maintenance_url, &format!("CREATE DATABASE {name}"))?;
        }
        Ok(())
    }

    pub fn query(&self, url: &str, sql: &str) -> Result<String> {
        process::output(self.psql(url).args(["-tA", "-c", sql]))
    }

    /// A psql that reads no personal settings and fails on the first error.
    pub fn psql(&self, url: &str) -> Command {
        let mut command = Command::new(self.bin_dir.join("psql"));
        command.args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", url]);
        command
    }
}

/// Whether the address is that of our cluster on this port. Ignores the password, which a reset changes.
pub(super) fn is_ours(url: &str, port: u16) -> bool {
    url.strip_prefix(&format!("postgres://{ROLE}:"))
        .and_then(|rest| rest.split_once('@'))
        .is_some_and(|(_, place)| place == format!("127.0.0.1:{port}/{DATABASE}"))
}

/// Deletes the area's cluster.
pub fn delete(area: &Area) -> Result<()> {
    Home::places(area).iter().try_for_each(|dir| remove(dir))
}

fn url_of(password: &str, port: u16, database: &str) -> String {
    format!("postgres://{ROLE}:{password}@127.0.0.1:{port}/{database}")
}

fn candidates() -> impl Iterator<Item = PathBuf> {
    let packaged = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path().join("bin")));
    // A link on the path leads to the directory with all programs.
    let on_path =
        find_all("postgres").filter_map(|program| Some(program.canonicalize().ok()?.parent()?.to_owned()));
    packaged.chain(on_path)
}

fn major_of_data(area: &Area) -> Option<u32> {
    let version_file = Home::existing(area)?.data().join("PG_VERSION");
    fs::read_to_string(version_file).ok()?.trim().parse().ok()
}

/// The same server, another database.
pub fn with_database(url: &str, database: &str) -> Result<String> {
    let (scheme, rest) = url.split_once("://").context("DATABASE_URL is no URL")?;
    let (address, parameters) = rest.split_at(rest.find('?').unwrap_or(rest.len()));
    let host = address.split('/').next().unwrap_or(address);
    Ok(format!("{scheme}://{host}/{database}{parameters}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_address_is_recognised_with_any_password() {
        assert!(is_ours(&url_of("now", 5000, DATABASE), 5000));
        assert!(is_ours(&url_of("before", 5000, DATABASE), 5000));
        assert!(!is_ours(&url_of("now", 5001, DATABASE), 5000));
        assert!(!is_ours(&url_of("now", 5000, "another"), 5000));
        assert!(!is_ours(
            "postgres://somebody:now@127.0.0.1:5000/referral_tracker",
            5000
        ));
    }

    #[test]
    fn only_the_database_changes() {
        for (url, expected) in [
            ("postgres://u:p@h:1/old", "postgres://u:p@h:1/new"),
            ("postgres://h", "postgres://h/new"),
            (
                "postgres://h/?sslmode=disable",
                "postgres://h/new?sslmode=disable",
            ),
        ] {
            assert_eq!(with_database(url, "new").unwrap(), expected);
        }
        assert!(with_database("h/old", "new").is_err());
    }
}
