//! The operator's command line `ctl`, run as its built binary.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use testing::from_environment;

use crate::stack::Stack;

/// The output of a command, and whether it succeeded.
#[derive(Debug)]
pub struct Ran {
    pub ok: bool,
    pub out: String,
    pub err: String,
}

impl Ran {
    /// The value of a `name: value` line.
    pub fn fact(&self, name: &str) -> String {
        let line = self
            .out
            .lines()
            .find_map(|line| line.split_once(": ").filter(|(it, _)| *it == name));
        line.unwrap_or_else(|| panic!("no {name}: {self:?}")).1.to_owned()
    }

    /// Asserts that the command succeeded and wrote this text.
    #[track_caller]
    pub fn says(&self, text: &str) {
        assert!(self.ok && self.out.contains(text), "{text}: {self:?}");
    }

    /// Asserts that the command failed with this text.
    #[track_caller]
    pub fn fails(&self, text: &str) {
        assert!(!self.ok && self.err.contains(text), "{text}: {self:?}");
    }
}

/// The words of a command line: a list, or a text whose words contain no spaces.
pub trait Words {
    fn words(&self) -> Vec<&str>;
}

impl Words for str {
    fn words(&self) -> Vec<&str> {
        self.split_whitespace().collect()
    }
}

impl Words for String {
    fn words(&self) -> Vec<&str> {
        self.as_str().words()
    }
}

impl<const N: usize> Words for [&str; N] {
    fn words(&self) -> Vec<&str> {
        self.to_vec()
    }
}

impl Words for Vec<&str> {
    fn words(&self) -> Vec<&str> {
        self.clone()
    }
}

pub async fn ctl(stack: &Stack, line: &(impl Words + ?Sized)) -> Ran {
    ctl_reading(stack, line, "").await
}

pub async fn ctl_reading(stack: &Stack, line: &(impl Words + ?Sized), input: &str) -> Ran {
    let mut command = Command::new(PathBuf::from(from_environment("RT_BIN_DIR")).join("ctl"));
    command
        .args(line.words())
        .envs(stack.operators_settings())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let input = input.to_owned();
    let run = move || {
        let mut child = command.spawn().unwrap();
        // A command that reads no input may have ended already.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        child.wait_with_output().unwrap()
    };
    let output = tokio::task::spawn_blocking(run).await.unwrap();
    Ran {
        ok: output.status.success(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

pub async fn succeeds(stack: &Stack, line: &(impl Words + ?Sized)) -> Ran {
    let ran = ctl(stack, line).await;
    assert!(ran.ok, "{:?}: {ran:?}", line.words());
    ran
}
