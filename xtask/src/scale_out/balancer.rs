//! One address before several ports: each connection goes to the next one in turn.

use std::io;
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::thread;

use anyhow::Result;

/// The port of the one address. It is served for as long as this process lives.
pub(super) fn balance(ports: Vec<u16>) -> Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let port = listener.local_addr()?.port();
    thread::spawn(move || {
        for (caller, to) in listener.incoming().flatten().zip(ports.iter().cycle()) {
            // Whoever cannot be served sees the connection end.
            let _ = carry(caller, *to);
        }
    });
    Ok(port)
}

fn carry(caller: TcpStream, to: u16) -> io::Result<()> {
    let server = TcpStream::connect((Ipv4Addr::LOCALHOST, to))?;
    caller.set_nodelay(true)?;
    server.set_nodelay(true)?;
    for (mut from, mut to) in [(caller.try_clone()?, server.try_clone()?), (server, caller)] {
        thread::spawn(move || {
            let _ = io::copy(&mut from, &mut to);
            let _ = to.shutdown(Shutdown::Write);
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    #[test]
    fn callers_are_served_in_turn() {
        let servers = [(); 2].map(|()| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap());
        let ports = servers
            .each_ref()
            .map(|server| server.local_addr().unwrap().port());
        let port = balance(ports.to_vec()).unwrap();
        for server in [0, 1, 0] {
            let mut caller = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
            caller.write_all(b"question").unwrap();
            let (mut served, _) = servers[server].accept().unwrap();
            let mut question = [0; 8];
            served.read_exact(&mut question).unwrap();
            served.write_all(b"answer").unwrap();
            drop(served);
            let mut answer = String::new();
            caller.read_to_string(&mut answer).unwrap();
            assert_eq!((&question, answer.as_str()), (b"question", "answer"));
        }
    }
}
