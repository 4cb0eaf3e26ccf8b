//! Paths: the checkout, and the areas in it, each for one set of servers.

use std::env;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

/// The working tree this command belongs to.
#[derive(Debug, Clone)]
pub struct Checkout {
    pub root: PathBuf,
    /// Directory of the debug binaries, found by this command's own path.
    pub bin_dir: PathBuf,
}

impl Checkout {
    pub fn find() -> Result<Self> {
        // Cargo sets the manifest's directory when it runs us; two checkouts may share one target directory.
        let manifest_dir = env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let root = manifest_dir
            .ancestors()
            .find(|dir| dir.join("Cargo.lock").is_file())
            .context("no Cargo.lock above this package")?
            .to_owned();
        let bin_dir = env::current_exe()?
            .parent()
            .context("xtask runs from no directory")?
            .to_owned();
        Ok(Self { root, bin_dir })
    }

    /// Cargo's target directory.
    pub fn target_dir(&self) -> &Path {
        self.bin_dir.parent().unwrap_or(&self.bin_dir)
    }

    /// Servers and services of `cargo xtask dev`; the data outlives a stop.
    pub fn dev_area(&self) -> Area {
        Area::at(self.root.join(".dev"))
    }

    /// Servers of `cargo xtask test` and `cargo xtask sqlx`; the data starts empty each time.
    pub fn test_area(&self) -> Area {
        Area {
            waits_for_disk: false,
            ..Area::at(self.root.join(".dev/test"))
        }
    }

    /// Servers and services of `cargo xtask bench`; the data starts empty each time.
    pub fn bench_area(&self) -> Area {
        Area::at(self.root.join(".dev/bench"))
    }

    /// Servers and services of `cargo xtask chaos`; the data starts empty each time.
    pub fn chaos_area(&self) -> Area {
        Area::at(self.root.join(".dev/chaos"))
    }

    /// The same checkout with its release binaries.
    #[must_use]
    pub fn released(&self) -> Self {
        Self {
            root: self.root.clone(),
            bin_dir: self.target_dir().join("release"),
        }
    }

    /// Where in the target directory what a file pins belongs: another directory for each content of the file.
    pub fn place_of(&self, pins: &Path) -> Result<PathBuf> {
        let hash = hex::encode(Sha256::digest(fs::read(pins)?));
        let sources = pins.parent().and_then(Path::file_name).unwrap_or_default();
        let name = format!("{}-{}", sources.display(), hash.get(..12).unwrap_or(&hash));
        Ok(self.target_dir().join("pinned").join(name))
    }
}

/// A directory that one command uses at a time.
#[derive(Debug)]
pub struct Area {
    pub dir: PathBuf,
    /// Whether a commit of PostgreSQL outlives a power cut. No test cuts the power, and each makes and drops
    /// a database.
    pub waits_for_disk: bool,
}

impl Area {
    pub fn at(dir: PathBuf) -> Self {
        Self {
            dir,
            waits_for_disk: true,
        }
    }

    pub fn pids(&self) -> PathBuf {
        self.dir.join("pids")
    }

    pub fn ports(&self) -> PathBuf {
        self.dir.join("ports")
    }

    pub fn keys(&self) -> PathBuf {
        self.dir.join("keys")
    }

    pub fn env(&self) -> PathBuf {
        self.dir.join("env")
    }

    pub fn log(&self, name: &str) -> PathBuf {
        self.dir.join("logs").join(format!("{name}.log"))
    }

    pub fn logs(&self) -> PathBuf {
        self.dir.join("logs")
    }

    /// [`Self::try_lock`] for commands that do not wait.
    pub fn lock(&self) -> Result<File> {
        self.try_lock()?
            .with_context(|| format!("another command works in {}", self.dir.display()))
    }

    /// Locks the area until the file is dropped; `None` if another process holds the lock.
    ///
    /// The kernel releases the lock when its holder ends, so a lock is never stale.
    pub fn try_lock(&self) -> Result<Option<File>> {
        fs::create_dir_all(self.logs()).with_context(|| format!("cannot create {}", self.dir.display()))?;
        let file = File::create(self.dir.join("lock"))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error).context("cannot lock the area"),
        }
    }
}

/// Removes a directory tree or file, if it exists.
pub fn remove(path: &Path) -> Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(_) => return Ok(()),
    };
    removed.with_context(|| format!("cannot remove {}", path.display()))
}
