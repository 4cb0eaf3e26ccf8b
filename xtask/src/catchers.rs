//! What leaves the service, caught on this machine: e-mails by SMTP, webhooks by HTTP. Each catcher is a process with a page that shows the
//! newest of what came. `dev` and the walk through the dashboard start both.

mod http;
pub(crate) mod mail;
mod page;
pub(crate) mod webhooks;

use std::collections::VecDeque;
use std::env;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use harness::area::Area;
use harness::interrupt::{Interrupt, PAUSE};
use harness::pids::StopSignal;
use harness::process::{Running, in_own_session};

/// Older ones are forgotten.
const KEPT: usize = 300;
/// A client that says nothing for so long is disconnected.
const SILENCE: Duration = Duration::from_secs(30);

/// Starts a hidden command of this program as a process of its own, which `cargo xtask stop` ends like the others.
pub(crate) fn start(
    name: &'static str,
    arguments: &[(&str, String)],
    area: &Area,
    running: &mut Running,
) -> Result<()> {
    let mut command = in_own_session(this_program()?);
    command.arg(name);
    for (argument, value) in arguments {
        command.args([*argument, value.as_str()]);
    }
    running.start(name, command, area.log(name), StopSignal::Term)
}

/// Where this program is. A build puts another one in its place, also while it runs.
fn this_program() -> Result<PathBuf> {
    let running = env::current_exe().context("where this program is")?;
    let replaced = running
        .to_str()
        .and_then(|path| path.strip_suffix(" (deleted)"))
        .map(PathBuf::from);
    Ok(replaced.unwrap_or(running))
}

/// One thread a connection: it is for one developer.
pub(crate) fn listen<S: Send + Sync + 'static>(
    port: u16,
    state: &Arc<S>,
    serve: impl Fn(&TcpStream, &S) -> Result<()> + Clone + Send + 'static,
) -> Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).context("the port is taken")?;
    let state = Arc::clone(state);
    thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            let (state, serve) = (Arc::clone(&state), serve.clone());
            thread::spawn(move || {
                let _ = connection.set_read_timeout(Some(SILENCE));
                // A client that breaks off is no failure.
                let _ = serve(&connection, &state);
            });
        }
    });
    Ok(())
}

pub(crate) fn wait_for_the_end(interrupt: &Interrupt) {
    while !interrupt.came() {
        thread::sleep(PAUSE);
    }
}

/// The newest of what came, each with its number.
struct Kept<T> {
    newest_first: VecDeque<(u64, Arc<T>)>,
    count: u64,
}

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Self {
            newest_first: VecDeque::new(),
            count: 0,
        }
    }
}

impl<T> Kept<T> {
    fn take(&mut self, one: T) {
        self.count += 1;
        self.newest_first.push_front((self.count, Arc::new(one)));
        self.newest_first.truncate(KEPT);
    }

    fn all(&self) -> Vec<(u64, Arc<T>)> {
        self.newest_first.iter().cloned().collect()
    }

    /// The one whose number a path ends with.
    fn find(&self, number: &str) -> Option<Arc<T>> {
        let mut each = self.newest_first.iter();
        each.find(|(of_it, _)| of_it.to_string() == number)
            .map(|(_, one)| Arc::clone(one))
    }
}

/// What a lock guards; a thread that panicked has left it whole.
fn locked<T, R>(mutex: &Mutex<T>, work: impl FnOnce(&mut T) -> R) -> R {
    work(&mut mutex.lock().unwrap_or_else(PoisonError::into_inner))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_are_kept_and_found_by_their_number() {
        let mut kept = Kept::default();
        (0..KEPT + 2).for_each(|one| kept.take(one));
        let numbers: Vec<u64> = kept.all().iter().map(|(number, _)| *number).collect();
        assert_eq!((numbers.len(), numbers[0], numbers[KEPT - 1]), (KEPT, 302, 3));
        assert_eq!(kept.find("302").as_deref(), Some(&301));
        assert_eq!(kept.find("2"), None);
    }
}
