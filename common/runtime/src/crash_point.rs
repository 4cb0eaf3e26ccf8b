//! Points at which a test can kill the process, to prove that no data is lost there.

/// Aborts the process when the environment variable `CRASH_AT` is `name`, or `name@n` the n-th time. As in a
/// power cut, no destructor runs and nothing is flushed. Release builds compile this to nothing.
#[cfg(debug_assertions)]
pub fn crash_point(name: &str) {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU32, Ordering};

    static CRASH_AT: OnceLock<Option<(String, u32)>> = OnceLock::new();
    static REACHED: AtomicU32 = AtomicU32::new(0);
    let armed = CRASH_AT.get_or_init(|| std::env::var("CRASH_AT").ok().map(|text| armed(&text)));
    let Some((point, time)) = armed else { return };
    if point == name && REACHED.fetch_add(1, Ordering::SeqCst) + 1 == *time {
        tracing::error!(crash_point = name, "aborting on request");
        std::process::abort();
    }
}

/// Parses `name` or `name@n`.
#[cfg(debug_assertions)]
fn armed(text: &str) -> (String, u32) {
    match text.split_once('@') {
        Some((point, time)) => (point.to_owned(), time.parse().unwrap_or(1)),
        None => (text.to_owned(), 1),
    }
}

/// Does nothing in a release build.
#[cfg(not(debug_assertions))]
#[inline(always)]
#[expect(clippy::inline_always, reason = "an empty call in the hot loop must vanish")]
pub fn crash_point(_name: &str) {}

#[cfg(all(test, debug_assertions))]
mod tests {
    use super::armed;

    #[test]
    fn a_point_is_armed_for_its_first_time_by_default() {
        assert_eq!(armed("worker.before_ack"), ("worker.before_ack".to_owned(), 1));
        assert_eq!(armed("worker.before_ack@7"), ("worker.before_ack".to_owned(), 7));
    }
}
