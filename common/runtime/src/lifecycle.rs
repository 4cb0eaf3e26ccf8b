//! The life of a process, from `main` to the exit code.
//!
//! Shutdown has two steps. The first signal (SIGTERM or SIGINT) cancels *soft*: accept no new work, finish
//! running work. A second signal, or the end of the grace period, cancels *hard*: drop running work. Dropped
//! work is redelivered, so a hard cancel is safe.
//!
//! The exit code is success only if `main` returned `Ok` and no tracked task was aborted.

use std::future::Future;
use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::config::TelemetryConfig;
use super::{telemetry, trace};

/// Below 30 s, after which orchestrators commonly kill a process.
const GRACE: Duration = Duration::from_secs(25);

/// Time for tasks to end after a hard cancel.
const HARD_GRACE: Duration = Duration::from_secs(2);

/// The shutdown tokens and the tracked tasks of a process. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Lifecycle {
    soft: CancellationToken,
    hard: CancellationToken,
    tasks: TaskTracker,
}

impl Lifecycle {
    pub fn new() -> Self {
        Self::default()
    }

    /// Cancelled when no new work may start.
    pub fn soft(&self) -> &CancellationToken {
        &self.soft
    }

    /// Cancelled when running work must be dropped. Always after [`Self::soft`].
    pub fn hard(&self) -> &CancellationToken {
        &self.hard
    }

    /// Shutdown waits for tasks spawned here.
    pub fn tasks(&self) -> &TaskTracker {
        &self.tasks
    }

    /// Begins an orderly shutdown, like the first signal.
    pub fn shut_down(&self) {
        self.soft.cancel();
    }

    /// Drops running work, like the second signal.
    pub fn abort(&self) {
        self.soft.cancel();
        self.hard.cancel();
    }

    /// Waits for all tracked tasks. Returns `false` if some were still running after a hard cancel.
    async fn drain(&self) -> bool {
        self.tasks.close();
        tokio::select! {
            () = self.tasks.wait() => true,
            () = after_hard_cancel(&self.hard) => self.tasks.is_empty(),
        }
    }

    async fn watch_signals(self, mut terminate: Signal, mut interrupt: Signal) {
        let first = tokio::select! {
            _ = terminate.recv() => "SIGTERM",
            _ = interrupt.recv() => "SIGINT",
            () = self.soft.cancelled() => "main returned",
        };
        tracing::info!(cause = first, grace_s = GRACE.as_secs(), "shutting down");
        self.soft.cancel();
        tokio::select! {
            _ = terminate.recv() => tracing::warn!("second SIGTERM: dropping running work"),
            _ = interrupt.recv() => tracing::warn!("second SIGINT: dropping running work"),
            () = tokio::time::sleep(GRACE) => tracing::warn!("grace period over: dropping running work"),
        }
        self.hard.cancel();
    }
}

/// Runs a service: starts logging and signal handling, runs `main`, then waits for its tasks. Call it from a
/// plain `fn main`.
///
/// An `Err` from `main` is logged with its causes and shuts the service down.
pub fn run<M, F>(service: &'static str, telemetry: &TelemetryConfig, main: M) -> ExitCode
where
    M: FnOnce(Lifecycle) -> F,
    F: Future<Output = anyhow::Result<()>>,
{
    match start(service, telemetry, main) {
        Ok(code) => code,
        Err(error) => {
            // The failure may be that of logging itself.
            let _ = writeln!(std::io::stderr(), "{service} cannot start: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn start<M, F>(service: &'static str, telemetry: &TelemetryConfig, main: M) -> anyhow::Result<ExitCode>
where
    M: FnOnce(Lifecycle) -> F,
    F: Future<Output = anyhow::Result<()>>,
{
    telemetry::init(service, telemetry)?;
    #[cfg(target_os = "linux")]
    disable_huge_pages();
    trace::start(service, telemetry)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let clean = runtime.block_on(async {
        let lifecycle = Lifecycle::new();
        let (terminate, interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        tokio::spawn(lifecycle.clone().watch_signals(terminate, interrupt));
        anyhow::Ok(supervise(&lifecycle, main(lifecycle.clone())).await)
    })?;
    // A blocking call that ignores cancellation must not delay the exit.
    runtime.shutdown_timeout(HARD_GRACE);
    trace::finish();
    tracing::info!(service, clean, "stopped");
    Ok(if clean {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Many small, short-lived allocations leave huge pages sparsely used. With huge pages, ingest under full
/// load used 97 MiB instead of 81 MiB and was no faster.
#[cfg(target_os = "linux")]
fn disable_huge_pages() {
    if let Err(error) = rustix::thread::disable_transparent_huge_pages(true) {
        tracing::warn!(%error, "transparent huge pages could not be disabled, memory usage will be higher");
    }
}

/// Returns `true` if `main` succeeded and every task ended by itself.
async fn supervise(lifecycle: &Lifecycle, main: impl Future<Output = anyhow::Result<()>>) -> bool {
    let ended_well = tokio::select! {
        result = main => match result {
            Ok(()) => true,
            Err(error) => {
                tracing::error!(error = format!("{error:#}"), "service failed");
                false
            }
        },
        () = after_hard_cancel(lifecycle.hard()) => false,
    };
    lifecycle.shut_down();
    let drained = lifecycle.drain().await;
    if !drained {
        tracing::error!(tasks = lifecycle.tasks.len(), "tasks were aborted");
    }
    ended_well && drained
}

async fn after_hard_cancel(hard: &CancellationToken) {
    hard.cancelled().await;
    tokio::time::sleep(HARD_GRACE).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn success_waits_for_tracked_tasks() {
        let lifecycle = Lifecycle::new();
        let (finish, finished) = tokio::sync::oneshot::channel();
        let soft = lifecycle.soft().clone();
        lifecycle.tasks().spawn(async move {
            soft.cancelled().await;
            finish.send(()).unwrap();
        });
        assert!(supervise(&lifecycle, async { Ok(()) }).await);
        finished.await.unwrap();
    }

    #[tokio::test]
    async fn an_error_is_no_success_and_shuts_down() {
        let lifecycle = Lifecycle::new();
        assert!(!supervise(&lifecycle, async { anyhow::bail!("no database") }).await);
        assert!(lifecycle.soft().is_cancelled());
        assert!(!lifecycle.hard().is_cancelled());
    }

    #[tokio::test]
    async fn a_task_that_ignores_both_tokens_is_cut_off() {
        let lifecycle = Lifecycle::new();
        lifecycle.tasks().spawn(std::future::pending::<()>());
        lifecycle.abort();
        assert!(!supervise(&lifecycle, async { Ok(()) }).await);
    }
}
