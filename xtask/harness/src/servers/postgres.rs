//! `PostgreSQL`: a cluster of our own, reachable on the loopback interface with a password only.
//!
//! The server refuses to run as root. Root therefore runs it as the account `postgres`, which must be able to reach
//! the data: where the checkout lies behind a directory closed to it, the data moves to `/var/tmp`.

use std::fs::{self, DirBuilder};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, chown, fchown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use sha2::{Digest, Sha256};

use super::Start;
use super::version::Version;
use crate::area::{Area, remove};
use crate::keys::{hex, random_hex};
use crate::pids::StopSignal;
use crate::process::{self, find_all, in_own_session};
use crate::progress::{Step, note};

pub const NAME: &str = "postgres";
pub(super) const OLDEST: Version = Version::new(15, 0);
const START_LIMIT: Duration = Duration::from_mins(1);
/// A superuser: tests create databases of their own.
const ROLE: &str = "tracker";
const DATABASE: &str = "referral_tracker";
/// What the kernel allows for a socket's path, less the name the server gives its socket.
const SOCKET_DIR_MAX: usize = 107 - "/.s.PGSQL.65535".len();

/// Server programs of one version.
#[derive(Debug)]
pub struct Postgres {
    /// Holds `postgres`, `initdb` and `psql`.
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
        let newest = found.iter().map(|postgres| postgres.version).next_back();
        match (
            found
                .into_iter()
                .rfind(|postgres| postgres.version.major == major),
            newest,
        ) {
            (Some(postgres), _) => Ok(Some(postgres)),
            (None, None) => Ok(None),
            (None, Some(newest)) => bail!(
                "the data in {} is PostgreSQL {major}'s, and this machine has {newest}; `cargo xtask dev --reset` \
                 starts empty",
                area.dir.display()
            ),
        }
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

    /// Starts the area's cluster, creating it where there is none; returns the address of its database.
    pub(super) fn start(&self, start: &mut Start<'_>) -> Result<String> {
        let account = Account::for_server()?;
        let home = Home::prepare(start.area, account.as_ref())?;
        if !home.data().is_dir() {
            let step = Step::start(format_args!("Creating a PostgreSQL {} cluster", self.version));
            self.create_cluster(&home, account.as_ref())?;
            step.done("created");
        }
        let port = start.ports.choose(NAME, None)?;
        let step = Step::start(format_args!(
            "Starting PostgreSQL {} on 127.0.0.1:{port}",
            self.version
        ));
        self.launch(port, start)?;
        self.create_database(&url_of(&home.password()?, port, "postgres"), DATABASE)?;
        step.done("PostgreSQL answers");
        Ok(url_of(&home.password()?, port, DATABASE))
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
            "fsync=on".to_owned(),
            "timezone=UTC".to_owned(),
            "log_timezone=UTC".to_owned(),
        ] {
            command.args(["-c", &setting]);
        }
        run_as(&mut command, account.as_ref()).current_dir(&home.dir);
        start
            .running
            .start(NAME, command, start.area.log(NAME), StopSignal::Int)?;

        let maintenance = url_of(&home.password()?, port, "postgres");
        let ready = start.interrupt.wait_until(START_LIMIT, || {
            start.running.check()?;
            Ok(self.query(&maintenance, "SELECT 1").is_ok())
        })?;
        ensure!(
            ready,
            "PostgreSQL does not answer; its log is {}",
            start.area.log(NAME).display()
        );
        Ok(())
    }

    /// Builds the cluster beside its place and moves it there whole: an interrupted start leaves no half of one.
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
        // The same order of texts on every machine, whatever languages it has.
        initdb.args(["--auth=scram-sha-256", "--encoding=UTF8", "--no-locale"]);
        process::output(run_as(&mut initdb, account).current_dir(&home.dir))?;
        fs::rename(&fresh, home.data())?;
        Ok(())
    }

    /// Creates the database unless it exists.
    pub fn create_database(&self, maintenance_url: &str, name: &str) -> Result<()> {
        let known = self.query(
            maintenance_url,
            &format!("SELECT 1 FROM pg_database WHERE datname = '{name}'"),
        )?;
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

/// Whether the address is one of a cluster of ours on that port. The password does not count: a reset changes it,
/// and shells may still hold the one before.
pub(super) fn is_ours(url: &str, port: u16) -> bool {
    url.strip_prefix(&format!("postgres://{ROLE}:"))
        .and_then(|rest| rest.split_once('@'))
        .is_some_and(|(_, place)| place == format!("127.0.0.1:{port}/{DATABASE}"))
}

/// Deletes the area's cluster, wherever it was put.
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
    // A link on the path leads to the directory that has all the programs.
    let on_path = find_all("postgres")
        .into_iter()
        .filter_map(|program| Some(program.canonicalize().ok()?.parent()?.to_owned()));
    packaged.chain(on_path)
}

fn major_of_data(area: &Area) -> Option<u32> {
    let version_file = Home::existing(area)?.data().join("PG_VERSION");
    fs::read_to_string(version_file).ok()?.trim().parse().ok()
}

pub fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

/// The account that runs the server when root starts it.
struct Account {
    uid: u32,
    gid: u32,
}

impl Account {
    /// `None` when the server runs as whoever runs this.
    fn for_server() -> Result<Option<Self>> {
        if !is_root() {
            return Ok(None);
        }
        let id = |flag: &str| -> Result<u32> {
            Ok(process::output(Command::new("id").args([flag, "postgres"]))?
                .trim()
                .parse()?)
        };
        let account = || -> Result<Self> {
            Ok(Self {
                uid: id("-u")?,
                gid: id("-g")?,
            })
        };
        account()
            .map(Some)
            .context("PostgreSQL does not run as root, and there is no account `postgres` to run it as")
    }

    fn reaches(&self, dir: &Path) -> bool {
        let mut enter = Command::new("test");
        enter
            .arg("-x")
            .arg(dir)
            .uid(self.uid)
            .gid(self.gid)
            .current_dir("/");
        process::output(&mut enter).is_ok()
    }
}

fn run_as<'a>(command: &'a mut Command, account: Option<&Account>) -> &'a mut Command {
    match account {
        Some(account) => command.uid(account.uid).gid(account.gid),
        None => command,
    }
}

/// The directory of one cluster: `data`, the password file, the socket.
struct Home {
    dir: PathBuf,
}

impl Home {
    /// In the area, or outside for a checkout the server's account cannot reach.
    fn places(area: &Area) -> [PathBuf; 2] {
        let own = area.dir.join(NAME);
        let name: String = hex(&Sha256::digest(own.as_os_str().as_encoded_bytes()))
            .chars()
            .take(16)
            .collect();
        let outside = Path::new("/var/tmp").join(format!("referral-tracker-{name}"));
        [own, outside]
    }

    /// Where a cluster is; `None` when there is none.
    fn existing(area: &Area) -> Option<Self> {
        Self::places(area)
            .into_iter()
            .map(|dir| Self { dir })
            .find(|home| home.data().is_dir())
    }

    fn prepare(area: &Area, account: Option<&Account>) -> Result<Self> {
        let [own, outside] = Self::places(area);
        match account {
            None => Self::create(own, None),
            Some(account) if account.reaches(&area.dir) => Self::create(own, Some(account)),
            Some(account) => {
                note(format_args!(
                    "the account `postgres` cannot enter {}; its data goes to {}",
                    area.dir.display(),
                    outside.display()
                ));
                Self::create(outside, Some(account))
            }
        }
    }

    /// Anybody may create names in `/var/tmp`: what is there already must be a directory of the right owner.
    fn create(dir: PathBuf, account: Option<&Account>) -> Result<Self> {
        let owner = account.map_or_else(|| fs::metadata("/proc/self").map(|me| me.uid()), |a| Ok(a.uid))?;
        if fs::symlink_metadata(&dir).is_err() {
            DirBuilder::new()
                .mode(0o700)
                .create(&dir)
                .with_context(|| format!("cannot create {}", dir.display()))?;
            if let Some(account) = account {
                chown(&dir, Some(account.uid), Some(account.gid))?;
            }
        }
        let found = fs::symlink_metadata(&dir)?;
        ensure!(
            found.is_dir() && found.uid() == owner,
            "{} is not a directory of the account that runs PostgreSQL; remove it",
            dir.display()
        );
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o700))?;
        Ok(Self { dir })
    }

    /// A cluster without a usable password file cannot exist: the file is complete before the cluster is.
    fn create_password(&self, account: Option<&Account>) -> Result<()> {
        let path = self.password_file();
        remove(&path)?;
        let mut file = fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)?;
        file.write_all(random_hex::<16>()?.as_bytes())?;
        if let Some(account) = account {
            fchown(&file, Some(account.uid), Some(account.gid))?;
        }
        Ok(())
    }

    fn data(&self) -> PathBuf {
        self.dir.join("data")
    }

    fn password_file(&self) -> PathBuf {
        self.dir.join("password")
    }

    fn password(&self) -> Result<String> {
        Ok(fs::read_to_string(self.password_file())?.trim().to_owned())
    }

    /// Empty, which means no socket, where the path would be too long for one.
    fn socket_dir(&self) -> String {
        let dir = self.dir.display().to_string();
        // The setting is a list; a comma in the path would make it two.
        if dir.len() > SOCKET_DIR_MAX || dir.contains([',', '"']) {
            String::new()
        } else {
            dir
        }
    }
}

/// The same server, another database.
pub fn with_database(url: &str, database: &str) -> Result<String> {
    let (address, parameters) = url
        .split_once('?')
        .map_or((url, None), |(address, rest)| (address, Some(rest)));
    let Some((scheme, rest)) = address.split_once("://") else {
        bail!("DATABASE_URL is no URL");
    };
    let host = rest.split('/').next().unwrap_or(rest);
    let parameters = parameters
        .map(|parameters| format!("?{parameters}"))
        .unwrap_or_default();
    Ok(format!("{scheme}://{host}/{database}{parameters}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_address_is_known_whatever_its_password() {
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
