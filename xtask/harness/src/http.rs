//! One request to a server of this machine. Without a client's library, so that the command itself is
//! compiled in seconds.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::Result;

/// `limit`: of the connection, and of each wait for what it brings.
pub(crate) fn connect(port: u16, limit: Duration) -> io::Result<TcpStream> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let stream = TcpStream::connect_timeout(&address, limit)?;
    stream.set_read_timeout(Some(limit))?;
    Ok(stream)
}

/// The whole answer, as it was sent. `line`: method, path and version. `headers`: complete lines.
pub(crate) fn ask(port: u16, limit: Duration, line: &str, headers: &str, body: &str) -> Result<String> {
    let mut stream = connect(port, limit)?;
    write!(
        stream,
        "{line}\r\nHost: 127.0.0.1\r\nConnection: close\r\n{headers}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}
