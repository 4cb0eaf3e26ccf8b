//! Memory and open files of a process.

use std::fmt;

use procfs::process::Process;

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Usage {
    pub(super) resident_kib: u64,
    pub(super) files: u64,
}

impl Usage {
    pub(super) fn max(self, other: Self) -> Self {
        Self {
            resident_kib: self.resident_kib.max(other.resident_kib),
            files: self.files.max(other.files),
        }
    }

    pub(super) fn of(pid: u32) -> Option<Self> {
        let process = Process::new(i32::try_from(pid).ok()?).ok()?;
        Some(Self {
            resident_kib: process.status().ok()?.vmrss?,
            files: process.fd_count().ok()? as u64,
        })
    }
}

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} MiB and {} files", self.resident_kib / 1024, self.files)
    }
}
