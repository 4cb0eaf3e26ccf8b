//! Reads a new password. It is never an argument, because every process on the machine can read arguments.

use std::io::{BufRead, IsTerminal, stdin};

use anyhow::{Context, anyhow, ensure};
use console::Term;
use domain::people::account::Password;

/// Asks without echo at a terminal, otherwise reads one line. `personal` are the owner's names, which the
/// password must not contain.
pub fn read(personal: &[&str]) -> anyhow::Result<Password> {
    let text = if stdin().is_terminal() {
        ask()?
    } else {
        let mut line = String::new();
        stdin()
            .lock()
            .read_line(&mut line)
            .context("reading the password from standard input")?;
        line.trim_end_matches(['\r', '\n']).to_owned()
    };
    Password::choose(text, personal).map_err(|error| anyhow!("the password {error}"))
}

fn ask() -> anyhow::Result<String> {
    let terminal = Term::stderr();
    let answer = |question: &str| -> anyhow::Result<String> {
        terminal.write_str(question)?;
        Ok(terminal.read_secure_line()?)
    };
    let password = answer("Password: ")?;
    ensure!(password == answer("Again: ")?, "the two passwords differ");
    Ok(password)
}
