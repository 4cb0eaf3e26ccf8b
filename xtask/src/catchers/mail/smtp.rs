//! As much of an SMTP server as a mail client needs.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use anyhow::Result;

use super::message::Email;
use super::{Caught, locked};

const LONGEST_LINE: u64 = 64 << 10;

pub(super) fn serve(mut connection: &TcpStream, caught: &Caught) -> Result<()> {
    let mut reader = BufReader::new(connection);
    let mut say = |answer: &str| write!(connection, "{answer}\r\n");
    say("220 mail catcher")?;
    let mut to = String::new();
    loop {
        let line = line(&mut reader)?;
        let verb = line.get(..4).unwrap_or_default().to_ascii_uppercase();
        match verb.as_str() {
            "" => return Ok(()),
            "EHLO" => say("250-mail catcher\r\n250-8BITMIME\r\n250-SMTPUTF8\r\n250 AUTH PLAIN LOGIN")?,
            "AUTH" => say("235 2.7.0 welcome")?,
            "RCPT" => {
                line.split(['<', '>'])
                    .nth(1)
                    .unwrap_or_default()
                    .clone_into(&mut to);
                say("250 2.1.5 fine")?;
            }
            "DATA" => {
                say("354 go on")?;
                let message = message(&mut reader)?;
                locked(caught, |kept| kept.take(Email::of(&to, &message)));
                say("250 2.0.0 caught")?;
            }
            "QUIT" => return Ok(say("221 bye")?),
            _ => say("250 2.0.0 fine")?,
        }
    }
}

/// Empty at the end.
fn line(reader: &mut impl BufRead) -> Result<String> {
    let mut line = Vec::new();
    reader.take(LONGEST_LINE).read_until(b'\n', &mut line)?;
    Ok(String::from_utf8_lossy(&line).into_owned())
}

fn message(reader: &mut impl BufRead) -> Result<String> {
    let mut message = String::new();
    loop {
        let line = line(reader)?;
        if line.is_empty() || line == ".\r\n" {
            return Ok(message);
        }
        message.push_str(line.strip_prefix('.').unwrap_or(&line));
    }
}
