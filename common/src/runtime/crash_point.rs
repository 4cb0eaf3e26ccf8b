//! Places where a test may kill the process, to prove that dying there loses nothing.

/// Aborts the process when the environment variable `CRASH_AT` equals `name`. No destructor runs and nothing is
/// flushed, as in a power cut. Release builds compile this to nothing.
#[cfg(debug_assertions)]
pub fn crash_point(name: &str) {
    use std::sync::OnceLock;

    static CRASH_AT: OnceLock<Option<String>> = OnceLock::new();
    let armed = CRASH_AT.get_or_init(|| std::env::var("CRASH_AT").ok());
    if armed.as_deref() == Some(name) {
        tracing::error!(crash_point = name, "aborting on request");
        std::process::abort();
    }
}

/// See the debug build's counterpart.
#[cfg(not(debug_assertions))]
#[inline(always)]
#[expect(clippy::inline_always, reason = "an empty call in the hot loop must vanish")]
pub fn crash_point(_name: &str) {}
