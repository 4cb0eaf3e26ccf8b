//! Reads settings from flags, environment and files, and reports all invalid settings at once.
//!
//! Phases:
//!
//! 1. *files*: a secret `NAME` whose own variable is not set is read from the file that `NAME_FILE` names;
//! 2. *all together*: clap parses all settings;
//! 3. *one by one*: only after an error, because clap stops at the first one.

use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::num::{IntErrorKind, ParseIntError};
use std::path::Path;

use clap::builder::{Resettable, ValueParser};
use clap::error::ErrorKind;
use clap::{Arg, Command, FromArgMatches, Id, Parser};

/// Reads this process's settings. Exits when one is invalid or missing, or for `--help`.
pub fn load<C: Parser>() -> C {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let settings = read(C::command(), &arguments, &|name| std::env::var_os(name));
    settings.unwrap_or_else(|error| error.exit())
}

/// Lets a command-line tool read its secrets from files, too. The error names every file that cannot be read.
pub fn with_files(command: Command) -> Result<Command, clap::Error> {
    let mut problems = Vec::new();
    let command = from_files(command, &|name| std::env::var_os(name), &mut problems);
    if problems.is_empty() {
        Ok(command)
    } else {
        Err(settings_error(problems))
    }
}

pub(super) fn read<C: FromArgMatches>(
    command: Command,
    arguments: &[OsString],
    environment: &impl Fn(&OsStr) -> Option<OsString>,
) -> Result<C, clap::Error> {
    let mut problems = Vec::new();
    let command = from_files(command, environment, &mut problems);
    let parsed = command.clone().try_get_matches_from(arguments);
    match parsed {
        Ok(matches) if problems.is_empty() => return C::from_arg_matches(&matches),
        Err(error) if !is_about_values(error.kind()) => return Err(error),
        _ => {}
    }
    problems.extend(one_by_one(&command, arguments)?);
    Err(settings_error(problems))
}

/// Clap reports everything else, such as `--help` and unknown arguments.
const fn is_about_values(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::ValueValidation
            | ErrorKind::InvalidValue
            | ErrorKind::InvalidUtf8
            | ErrorKind::MissingRequiredArgument
    )
}

/// Neither `--help` nor an error message shows the value of a secret.
pub(super) fn is_secret(arg: &Arg) -> bool {
    arg.is_hide_env_values_set()
}

/// The content of a secret's file becomes the argument's default, so that a flag overrides it.
fn from_files(
    command: Command,
    environment: &impl Fn(&OsStr) -> Option<OsString>,
    problems: &mut Vec<String>,
) -> Command {
    let mut command = command.mut_args(|arg| {
        let Some(variable) = arg.get_env().filter(|_| is_secret(&arg)).map(OsStr::to_owned) else {
            return arg;
        };
        let mut file_variable = variable.clone();
        file_variable.push("_FILE");
        let Some(path) = environment(&file_variable) else {
            return arg;
        };
        let file_variable = file_variable.display();
        if environment(&variable).is_some() {
            problems.push(format!("{} and {file_variable} are both set", variable.display()));
            return arg;
        }
        match std::fs::read_to_string(Path::new(&path)) {
            Ok(text) => {
                let secret = content(&arg, &text);
                arg.default_value(secret).hide_default_value(true).required(false)
            }
            Err(error) => {
                problems.push(format!("{file_variable}={}: {error}", path.display()));
                arg.required(false)
            }
        }
    });
    let names: Vec<String> = command
        .get_subcommands()
        .map(|command| command.get_name().to_owned())
        .collect();
    for name in names {
        command = command.mut_subcommand(name, |command| from_files(command, environment, problems));
    }
    command
}

/// Strips the final line break. Several secrets may be on one line each.
fn content(arg: &Arg, text: &str) -> String {
    match arg.get_value_delimiter() {
        Some(delimiter) => {
            let lines: Vec<&str> = text
                .lines()
                .map(str::trim)
                .filter(|line| !line.is_empty())
                .collect();
            lines.join(&delimiter.to_string())
        }
        None => text.trim_end_matches(['\r', '\n']).to_owned(),
    }
}

/// Parses each setting on its own, and returns all errors.
fn one_by_one(command: &Command, arguments: &[OsString]) -> Result<Vec<String>, clap::Error> {
    let lenient = command.clone().mut_args(|arg| {
        let arg = arg.required(false);
        if arg.get_action().takes_values() {
            arg.value_parser(ValueParser::os_string())
        } else {
            arg
        }
    });
    let given = lenient.try_get_matches_from(arguments)?;
    let mut problems = Vec::new();
    for arg in command.get_arguments() {
        let Some(long) = arg.get_long().filter(|_| arg.get_action().takes_values()) else {
            continue;
        };
        let Some(values) = given.get_raw(arg.get_id().as_str()) else {
            if arg.is_required_set() {
                problems.push(format!("{} is not set", name(arg)));
            }
            continue;
        };
        let values = values.map(|value| {
            let mut flag = OsString::from(format!("--{long}="));
            flag.push(value);
            flag
        });
        let alone = Command::new(command.get_name().to_owned())
            .no_binary_name(true)
            // The command has no other argument that this one could conflict with.
            .arg(
                arg.clone()
                    .required(false)
                    .conflicts_with(Resettable::<Id>::Reset),
            );
        if let Err(error) = alone.try_get_matches_from(values.clone()) {
            let value: Vec<String> = values.map(|flag| flag.to_string_lossy().into_owned()).collect();
            problems.push(problem(arg, &value, &error));
        }
    }
    Ok(problems)
}

fn problem(arg: &Arg, flags: &[String], error: &clap::Error) -> String {
    let reason = number_wanted(arg, error).unwrap_or_else(|| reason(error));
    if is_secret(arg) {
        return format!("{}: {reason}", name(arg));
    }
    let values: Vec<&str> = flags
        .iter()
        .filter_map(|flag| flag.split_once('='))
        .map(|(_, value)| value)
        .collect();
    format!("{}={}: {reason}", name(arg), values.join(","))
}

/// The environment variable, or the flag if there is none.
fn name(arg: &Arg) -> String {
    match arg.get_env() {
        Some(variable) => variable.to_string_lossy().into_owned(),
        None => format!("--{}", arg.get_long().unwrap_or_default()),
    }
}

/// Says what number was expected, instead of `invalid digit found in string`.
fn number_wanted(arg: &Arg, error: &clap::Error) -> Option<String> {
    let cause = std::error::Error::source(error)?.downcast_ref::<ParseIntError>()?;
    // Names contain their unit, as in `STREAM_MAX_BYTES_CLICKS`.
    let name = name(arg);
    let unit = name.split('_').find_map(|word| match word {
        "MS" => Some(" of milliseconds"),
        "SECONDS" => Some(" of seconds"),
        "DAYS" => Some(" of days"),
        "MONTHS" => Some(" of months"),
        "BYTES" => Some(" of bytes"),
        _ => None,
    });
    let wanted = format!("a whole number{}", unit.unwrap_or_default());
    Some(match cause.kind() {
        IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => format!("too large for {wanted}"),
        _ => format!("must be {wanted}, in digits only"),
    })
}

fn reason(error: &clap::Error) -> String {
    if let Some(source) = std::error::Error::source(error) {
        return source.to_string();
    }
    let text = error.to_string();
    let lines = text.lines().take_while(|line| !line.is_empty());
    let lines: Vec<&str> = lines
        .map(|line| line.trim_start_matches("error: ").trim())
        .collect();
    lines.join(" ")
}

fn settings_error(mut problems: Vec<String>) -> clap::Error {
    // Subcommands share settings, so problems repeat.
    problems.dedup();
    let mut text = match problems.len() {
        1 => "a setting is wrong:\n".to_owned(),
        several => format!("{several} settings are wrong:\n"),
    };
    for problem in &problems {
        let _ = writeln!(text, "  {problem}");
    }
    text.push_str("\nFor more information, try '--help'.\n");
    clap::Error::raw(ErrorKind::ValueValidation, text)
}
