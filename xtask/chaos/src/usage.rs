//! Memory and open files of the services, which a round must not let grow.

use anyhow::Result;
use procfs::process::Process;

use super::schedule::Service;
use super::stack::Stack;

/// For a debug build, after a round.
const MOST_RESIDENT_KIB: u64 = 400 * 1024;
const MOST_FILES: usize = 200;

pub(super) fn violations(stack: &Stack<'_>) -> Vec<String> {
    let services = Service::ALL.into_iter();
    services
        .filter_map(|service| {
            let name = service.name();
            match stack.pid(service).map(usage) {
                Some(Ok((kib, files))) if kib <= MOST_RESIDENT_KIB && files <= MOST_FILES => None,
                Some(Ok((kib, files))) => Some(format!("{name} holds {} MiB and {files} files", kib / 1024)),
                Some(Err(_)) | None => Some(format!("{name} does not run")),
            }
        })
        .collect()
}

/// KiB in memory, and open files.
fn usage(pid: u32) -> Result<(u64, usize)> {
    let process = Process::new(i32::try_from(pid)?)?;
    Ok((process.status()?.vmrss.unwrap_or(0), process.fd_count()?))
}
