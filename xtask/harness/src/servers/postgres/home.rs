//! The directory of a cluster, and the account that runs it.

use std::fs::{self, DirBuilder};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, chown, fchown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use procfs::{Current, Meminfo};
use sha2::{Digest, Sha256};

use crate::area::{Area, remove};
use crate::keys::random_hex;
use crate::process;
use crate::progress::note;

const NAME: &str = "postgres";
/// The kernel's limit for a socket's path, less the socket's name.
const SOCKET_DIR_MAX: usize = 107 - "/.s.PGSQL.65535".len();
/// A file system in memory.
const MEMORY: &str = "/dev/shm";
const MEMORY_NEEDED: u64 = 4 << 30;

pub fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

/// The account that runs the server when root starts it.
pub(super) struct Account {
    uid: u32,
    gid: u32,
}

impl Account {
    /// `None`: the server runs as the current user.
    pub(super) fn for_server() -> Result<Option<Self>> {
        if !is_root() {
            return Ok(None);
        }
        let id = |flag: &str| -> Result<u32> {
            Ok(process::output(Command::new("id").args([flag, "postgres"]))?
                .trim()
                .parse()?)
        };
        let ids = id("-u").and_then(|uid| Ok((uid, id("-g")?)));
        let (uid, gid) =
            ids.context("PostgreSQL does not run as root, and there is no account `postgres` to run it as")?;
        Ok(Some(Self { uid, gid }))
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

pub(super) fn run_as<'a>(command: &'a mut Command, account: Option<&Account>) -> &'a mut Command {
    match account {
        Some(account) => command.uid(account.uid).gid(account.gid),
        None => command,
    }
}

/// The directory of one cluster: `data`, the password file, the socket.
pub(super) struct Home {
    pub(super) dir: PathBuf,
}

/// Where data goes that need not outlive its servers: making and deleting a database's thousand files is what
/// most tests cost on a disk. `None`: the area's data is kept.
pub(crate) fn in_memory(area: &Area) -> Option<PathBuf> {
    let [_, _, in_memory] = Home::places(area);
    (!area.waits_for_disk).then_some(in_memory)
}

/// For the databases of tests side by side and their log.
fn has_memory() -> bool {
    let free = rustix::fs::statvfs(MEMORY).map_or(0, |disk| disk.f_bavail * disk.f_frsize);
    let available = Meminfo::current().map_or(0, |memory| memory.mem_available.unwrap_or(0));
    free >= MEMORY_NEEDED && available >= 2 * MEMORY_NEEDED
}

impl Home {
    /// In the area, outside a checkout that the server's account cannot enter, or in memory.
    pub(super) fn places(area: &Area) -> [PathBuf; 3] {
        let own = area.dir.join(NAME);
        let name: String = hex::encode(Sha256::digest(own.as_os_str().as_encoded_bytes()))
            .chars()
            .take(16)
            .collect();
        let name = format!("referral-tracker-{name}");
        [
            own,
            Path::new("/var/tmp").join(&name),
            Path::new(MEMORY).join(name),
        ]
    }

    /// The existing cluster, if any.
    pub(super) fn existing(area: &Area) -> Option<Self> {
        Self::places(area)
            .into_iter()
            .map(|dir| Self { dir })
            .find(|home| home.data().is_dir())
    }

    pub(super) fn prepare(area: &Area, account: Option<&Account>) -> Result<Self> {
        let [own, outside, in_memory] = Self::places(area);
        match account {
            _ if !area.waits_for_disk && (in_memory.is_dir() || has_memory()) => {
                Self::create(in_memory, account)
            }
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

    /// Checks the owner of an existing directory, because any user can create files in `/var/tmp` and
    /// `/dev/shm`.
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

    /// Writes the password file, before the cluster is created.
    pub(super) fn create_password(&self, account: Option<&Account>) -> Result<()> {
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

    pub(super) fn data(&self) -> PathBuf {
        self.dir.join("data")
    }

    pub(super) fn password_file(&self) -> PathBuf {
        self.dir.join("password")
    }

    pub(super) fn password(&self) -> Result<String> {
        Ok(fs::read_to_string(self.password_file())?.trim().to_owned())
    }

    /// Empty, for no socket, if the path would be too long.
    pub(super) fn socket_dir(&self) -> String {
        let dir = self.dir.display().to_string();
        // The setting is a list separated by commas.
        if dir.len() > SOCKET_DIR_MAX || dir.contains([',', '"']) {
            String::new()
        } else {
            dir
        }
    }
}
