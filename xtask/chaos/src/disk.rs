//! A small tmpfs for a server, which can be filled.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use harness::area::remove;
use harness::process;
use harness::progress::note;

const BALLAST: &str = "ballast";

#[derive(Debug)]
pub(super) struct Disk {
    dir: PathBuf,
}

impl Disk {
    /// `None`, with a message, without the right to mount. `mebibytes`: small enough to be filled quickly.
    pub(super) fn mount(dir: &Path, mebibytes: u64, owner: Option<&str>) -> Result<Option<Self>> {
        fs::create_dir_all(dir)?;
        let mut options = format!("size={mebibytes}m,mode=0700");
        if let Some(owner) = owner {
            options = format!("{options},uid={owner},gid={owner}");
        }
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &options, "tmpfs"]).arg(dir);
        match process::output(&mut mount) {
            Ok(_) => Ok(Some(Self { dir: dir.to_owned() })),
            Err(error) => {
                note(format_args!("SKIPPED: rounds with a full disk: {error:#}"));
                remove(dir)?;
                Ok(None)
            }
        }
    }

    pub(super) fn unmount(dir: &Path) {
        let _ = process::output(Command::new("umount").arg(dir));
    }

    /// Leaves no free byte.
    pub(super) fn fill(&self) -> Result<()> {
        let mut ballast = File::create(self.dir.join(BALLAST))?;
        for size in [1 << 20, 1 << 12, 1] {
            let piece = vec![0; size];
            while ballast.write_all(&piece).is_ok() {}
        }
        Ok(())
    }

    pub(super) fn clear(&self) -> Result<()> {
        remove(&self.dir.join(BALLAST))
    }
}
