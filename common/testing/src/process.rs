//! Programs that run during a test, such as real binaries of the service.

use std::fmt::Display;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};

use super::from_environment;

/// Killed when dropped.
#[derive(Debug)]
pub struct Process(Child);

impl Process {
    /// Starts `name` from the directory of built binaries, with these settings and no other settings of the
    /// service.
    pub fn start(name: &str, settings: &[(&str, String)]) -> Self {
        Self::start_logging(name, settings, Stdio::inherit())
    }

    /// As [`Self::start`]; writes the log to `log`.
    pub fn start_logging(name: &str, settings: &[(&str, String)], log: Stdio) -> Self {
        Self::spawn(command(name, settings).stderr(log))
    }

    /// As [`Self::start`], without these environment variables of the tests.
    pub fn start_without(name: &str, settings: &[(&str, String)], variables: &[&str]) -> Self {
        let mut command = command(name, settings);
        for variable in variables {
            command.env_remove(variable);
        }
        Self::spawn(&mut command)
    }

    /// Starts any program.
    pub fn spawn(command: &mut Command) -> Self {
        let child = command.spawn();
        Self(child.unwrap_or_else(|error| panic!("{}: {error}", command.get_program().display())))
    }

    /// Kills the process without a shutdown, as a power cut does.
    pub fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }

    pub fn signal(&self, name: &str) {
        signal(self.0.id(), name);
    }

    /// Waits until the process ends by itself, for example at a crash point.
    pub fn wait(&mut self) -> ExitStatus {
        self.0.wait().unwrap()
    }
}

/// Sends a signal such as `STOP`.
pub fn signal(process: impl Display, name: &str) {
    // Every shell has its own `kill`; a program of that name may be missing.
    let kill = format!("kill -s {name} {process}");
    let status = Command::new("sh").args(["-c", &kill]).status();
    assert!(status.unwrap().success(), "{kill}");
}

fn command(name: &str, settings: &[(&str, String)]) -> Command {
    let mut command = Command::new(PathBuf::from(from_environment("RT_BIN_DIR")).join(name));
    command
        .envs(settings.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null());
    command
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
