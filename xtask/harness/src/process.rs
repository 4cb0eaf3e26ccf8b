//! Starting and stopping processes.
//!
//! Background processes get their own session, so that Ctrl-C reaches only this command, which stops them in
//! reverse order. Foreground processes (cargo, apt) stay in ours and receive Ctrl-C themselves.

use std::env;
use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{self, Child, Command, ExitStatus, Output, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::area::{Area, remove};
use crate::interrupt::{Interrupt, Interrupted, PAUSE, wait_uninterrupted};
use crate::pids::{Pids, Recorded};
use crate::progress;
use crate::servers::postgres;

/// The recorded name of the supervising command.
pub const SUPERVISOR: &str = "xtask";

/// Time for a graceful shutdown before the process is killed.
const STOP_LIMIT: Duration = Duration::from_secs(30);
/// Lines of a log that are shown after a failure.
const TAIL_LINES: usize = 30;

/// Processes that this command has started. Dropping it stops them.
#[derive(Debug)]
pub struct Running {
    pids: Pids,
    children: Vec<Background>,
    /// Ends with them.
    in_memory: Option<PathBuf>,
}

#[derive(Debug)]
struct Background {
    name: &'static str,
    log: PathBuf,
    child: Child,
}

impl Running {
    /// Deletes the logs of earlier ones.
    pub fn none(area: &Area) -> Result<Self> {
        remove(&area.logs())?;
        fs::create_dir_all(area.logs())?;
        let mut pids = Pids::empty(area);
        pids.push(Recorded::of(SUPERVISOR, process::id())?)?;
        Ok(Self {
            pids,
            children: Vec::new(),
            in_memory: postgres::in_memory(area),
        })
    }

    /// Starts a command made by [`in_own_session`], its output going to the end of the log.
    pub fn start(&mut self, name: &'static str, mut command: Command, log: PathBuf) -> Result<()> {
        let file = OpenOptions::new().create(true).append(true).open(&log);
        let file = file.with_context(|| format!("cannot write {}", log.display()))?;
        let child = command
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file)
            .spawn()
            .with_context(|| format!("cannot start {name}"))?;
        let recorded = Recorded::of(name, child.id());
        self.children.push(Background { name, log, child });
        self.pids.push(recorded?)
    }

    /// Fails, with the end of the log, if a process has ended.
    pub fn check(&mut self) -> Result<()> {
        for background in &mut self.children {
            if let Some(status) = background.child.try_wait()? {
                bail!(
                    "{} ended by itself ({status})\n{}",
                    background.name,
                    tail(&background.log)
                );
            }
        }
        Ok(())
    }

    /// Stops one of them.
    pub fn stop(&mut self, name: &str) -> Result<()> {
        for process in self.pids.entries.iter().filter(|process| process.name == name) {
            stop_one(process);
        }
        self.collect(name).map(drop)
    }

    /// All processes, in the order of their start.
    pub fn started(&self) -> impl Iterator<Item = &Recorded> {
        let processes = self.pids.entries.iter();
        processes.filter(|process| process.name != SUPERVISOR)
    }

    /// The process started under this name.
    pub fn process(&self, name: &str) -> Option<Recorded> {
        self.pids
            .entries
            .iter()
            .find(|process| process.name == name)
            .cloned()
    }

    /// Kills one of them.
    pub fn kill(&mut self, name: &str) -> Result<()> {
        for background in self
            .children
            .iter_mut()
            .filter(|background| background.name == name)
        {
            background.child.kill()?;
        }
        self.collect(name).map(drop)
    }

    /// Starts the graceful shutdown of one of them.
    pub fn shut_down(&self, name: &str) {
        for process in self.pids.entries.iter().filter(|process| process.name == name) {
            process.shut_down();
        }
    }

    /// Exit status of one of them, which is then removed; `None` while it runs.
    pub fn ended(&mut self, name: &str) -> Result<Option<ExitStatus>> {
        let found = self
            .children
            .iter_mut()
            .find(|background| background.name == name);
        match found.map(|background| background.child.try_wait()).transpose()? {
            Some(Some(_)) => self.collect(name),
            _ => Ok(None),
        }
    }

    fn collect(&mut self, name: &str) -> Result<Option<ExitStatus>> {
        let mut status = None;
        for mut background in self.children.extract_if(.., |background| background.name == name) {
            status = Some(background.child.wait()?);
        }
        self.pids.retain(|process| process.name != name)?;
        Ok(status)
    }

    /// Leaves everything running.
    pub fn leave(mut self) -> Result<()> {
        self.pids.retain(|process| process.name != SUPERVISOR)?;
        self.pids.entries.clear();
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        stop_all(&mut self.pids);
        for background in &mut self.children {
            // Reaps ended processes, without waiting for those left running.
            let _ = background.child.try_wait();
        }
        if let Some(dir) = &self.in_memory {
            // What stays is deleted by the next start.
            let _ = remove(dir);
        }
    }
}

/// Stops the recorded processes except this one, in reverse order, and clears the record.
pub fn stop_all(pids: &mut Pids) {
    if pids.entries.is_empty() {
        return;
    }
    for process in pids.entries.iter().rev() {
        if process.pid != process::id() && process.is_alive() {
            progress::note(format_args!("stopping {} (pid {})", process.name, process.pid));
            stop_one(process);
        }
    }
    if let Err(error) = pids.retain(|_| false) {
        progress::note(format_args!("{error:#}"));
    }
}

fn stop_one(process: &Recorded) {
    process.shut_down();
    if !wait_uninterrupted(STOP_LIMIT, || !process.is_alive()) {
        progress::note(format_args!("{} does not exit, killing it", process.name));
        process.send("KILL");
        wait_uninterrupted(STOP_LIMIT, || !process.is_alive());
    }
}

/// A command in its own session. `setsid` execs the program, so the pid is the program's.
pub fn in_own_session(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("setsid");
    command.arg(program);
    command
}

/// Runs a command, with output to the terminal. After a signal, stops it and fails.
pub fn status(command: &mut Command, interrupt: &Interrupt) -> Result<ExitStatus> {
    interrupt.check()?;
    let name = command.get_program().to_string_lossy().into_owned();
    let mut child = command
        .stdin(Stdio::null())
        .spawn()
        .with_context(|| format!("cannot start {name}"))?;
    loop {
        if let Some(status) = child.try_wait()? {
            // The signal that ended it was also sent to us.
            if status.signal().is_some() {
                interrupt.check()?;
            }
            return Ok(status);
        }
        if interrupt.came() {
            stop_one(&Recorded::of(&name, child.id())?);
            child.wait()?;
            return Err(Interrupted.into());
        }
        thread::sleep(PAUSE);
    }
}

/// [`status`], which fails if the command fails.
pub fn run(command: &mut Command, interrupt: &Interrupt) -> Result<()> {
    let status = status(command, interrupt)?;
    if !status.success() {
        bail!("`{}` failed ({status})", shown(command));
    }
    Ok(())
}

/// Runs a short command and returns its standard output; an error contains all of its output.
pub fn output(command: &mut Command) -> Result<String> {
    let Output {
        status,
        stdout,
        stderr,
    } = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot start `{}`", shown(command)))?;
    if !status.success() {
        bail!(
            "`{}` failed ({status})\n{}{}",
            shown(command),
            String::from_utf8_lossy(&stdout),
            String::from_utf8_lossy(&stderr).trim_end()
        );
    }
    Ok(String::from_utf8_lossy(&stdout).into_owned())
}

/// Every file of that name on the search path, and where servers live when the path leaves their place out.
pub fn find_all(program: &str) -> impl Iterator<Item = PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let dirs: Vec<PathBuf> = env::split_paths(&path).collect();
    let usual = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin"].map(PathBuf::from);
    let files = dirs.into_iter().chain(usual).map(move |dir| dir.join(program));
    files.filter(|file| file.is_file())
}

/// Has a command find programs in these directories before others.
pub fn search_first(command: &mut Command, dirs: impl IntoIterator<Item = PathBuf>) -> Result<&mut Command> {
    let path = env::var_os("PATH").unwrap_or_default();
    let dirs = dirs.into_iter().chain(env::split_paths(&path));
    Ok(command.env("PATH", env::join_paths(dirs)?))
}

/// The last lines of a log, indented.
pub fn tail(log: &Path) -> String {
    let text = fs::read(log)
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    let end = lines.len().saturating_sub(TAIL_LINES);
    let shown: String = lines
        .iter()
        .skip(end)
        .flat_map(|line| ["    | ", line, "\n"])
        .collect();
    format!("the end of {}:\n{shown}", log.display())
}

fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program
        .file_name()
        .unwrap_or(program.as_os_str())
        .to_string_lossy()
        .into_owned();
    // Three words name a command well enough, and leave out addresses with passwords in them.
    command
        .get_args()
        .take(2)
        .map(|arg| arg.to_string_lossy())
        .filter(|arg| !arg.contains("://"))
        .fold(name, |line, arg| format!("{line} {arg}"))
}
