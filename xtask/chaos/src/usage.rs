//! Memory and open files of a process.

use std::fmt;
use std::fs;

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
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        Some(Self {
            resident_kib: resident.split_whitespace().next()?.parse().ok()?,
            files: fs::read_dir(format!("/proc/{pid}/fd")).ok()?.count() as u64,
        })
    }
}

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} MiB and {} files", self.resident_kib / 1024, self.files)
    }
}
