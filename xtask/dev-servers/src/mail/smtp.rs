//! As much of an SMTP server as a mail client needs.

use std::io;

use anyhow::Result;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

use super::{Email, Mailbox};

const LONGEST_LINE: u64 = 64 << 10;

pub async fn serve(listener: TcpListener, mailbox: Mailbox) -> Result<()> {
    loop {
        let (connection, _) = listener.accept().await?;
        // A client that breaks off is no failure.
        tokio::spawn(talk(connection, mailbox.clone()));
    }
}

async fn talk(connection: TcpStream, mailbox: Mailbox) -> io::Result<()> {
    let (reader, mut writer) = connection.into_split();
    let mut reader = BufReader::new(reader);
    let mut to = String::new();
    let mut answer = "220 mail catcher";
    loop {
        writer.write_all(format!("{answer}\r\n").as_bytes()).await?;
        let line = line(&mut reader).await?;
        let line = String::from_utf8_lossy(&line);
        let verb = line.get(..4).unwrap_or_default().to_ascii_uppercase();
        answer = match verb.as_str() {
            "" => return Ok(()),
            "EHLO" => "250-mail catcher\r\n250-8BITMIME\r\n250-SMTPUTF8\r\n250 AUTH PLAIN LOGIN",
            "AUTH" => "235 2.7.0 welcome",
            "RCPT" => {
                to = line.split(['<', '>']).nth(1).unwrap_or_default().to_owned();
                "250 2.1.5 fine"
            }
            "DATA" => {
                writer.write_all(b"354 go on\r\n").await?;
                let message = message(&mut reader).await?;
                mailbox.with(|newest| newest.add(Email::of(&to, &message)));
                "250 2.0.0 caught"
            }
            "QUIT" => return writer.write_all(b"221 bye\r\n").await,
            _ => "250 2.0.0 fine",
        };
    }
}

/// Empty at the end.
async fn line(reader: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    reader.take(LONGEST_LINE).read_until(b'\n', &mut line).await?;
    Ok(line)
}

async fn message(reader: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Vec<u8>> {
    let mut message = Vec::new();
    loop {
        let line = line(reader).await?;
        if line.is_empty() || line == b".\r\n" {
            return Ok(message);
        }
        message.extend_from_slice(line.strip_prefix(b".").unwrap_or(&line));
    }
}
