//! Limits a process to a share of a core, by its own cgroup (v1 or v2).

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use harness::progress::note;

/// Period in microseconds. The kernel's minimum quota is one millisecond, one percent of it.
const PERIOD: u32 = 100_000;

/// Removed when dropped.
pub(super) struct Share(Option<PathBuf>);

impl Share {
    /// Without write access to cgroups it limits nothing, and prints why.
    pub(super) fn of(name: &str, pid: u32, percent: u32) -> Self {
        let name = format!("referral-tracker-{name}-{pid}");
        let quota = u64::from(PERIOD) * u64::from(percent) / 100;
        let second = Path::new("/sys/fs/cgroup").join(&name);
        if fs::read_to_string("/sys/fs/cgroup/cgroup.controllers").is_ok_and(|all| all.contains("cpu")) {
            let limit = [("cpu.max", format!("{quota} {PERIOD}"))];
            return Self::in_group(second, &limit, pid);
        }
        let first = Path::new("/sys/fs/cgroup/cpu").join(&name);
        let limits = [
            ("cpu.cfs_period_us", PERIOD.to_string()),
            ("cpu.cfs_quota_us", quota.to_string()),
        ];
        Self::in_group(first, &limits, pid)
    }

    fn in_group(group: PathBuf, limits: &[(&str, String)], pid: u32) -> Self {
        let made = fs::create_dir(&group)
            .and_then(|()| {
                limits
                    .iter()
                    .try_for_each(|(file, limit)| fs::write(group.join(file), limit))
            })
            .and_then(|()| fs::write(group.join("cgroup.procs"), pid.to_string()));
        match made {
            Ok(()) => Self(Some(group)),
            Err(error) => {
                note(format_args!("{} cannot be made: {error}", group.display()));
                let _ = fs::remove_dir(&group);
                Self(None)
            }
        }
    }

    pub(super) const fn holds(&self) -> bool {
        self.0.is_some()
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let Some(group) = &self.0 else { return };
        // A cgroup can be removed once its process has ended.
        for _ in 0..50 {
            if fs::remove_dir(group).is_ok() {
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
        note(format_args!("{} is still there", group.display()));
    }
}
