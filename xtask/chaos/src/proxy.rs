//! A proxy between a service and a server, which simulates network faults.
//!
//! Each pair has its own. The current fault applies to each chunk, so that it also affects existing
//! connections.

mod wire;

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::sync::watch;
use url::Url;

use self::wire::Backend;
use super::schedule::Trouble;

const PIECE: usize = 16 * 1024;
/// Connections that are cut after a number of bytes.
const CUTS: u64 = 3;

#[derive(Debug, Clone, Copy, Default)]
struct State {
    trouble: Option<Trouble>,
    /// How many connections are still to be cut, and how many were.
    cuts_left: u64,
    cuts: u64,
    /// Connections of an earlier age are reset.
    age: u64,
}

/// Ends with the runtime.
#[derive(Debug, Clone)]
pub(super) struct Proxy {
    pub(super) address: SocketAddr,
    server: SocketAddr,
    is_postgres: bool,
    state: watch::Sender<State>,
}

/// A connection was reset.
struct Broken;

impl Proxy {
    pub(super) fn start(runtime: &Handle, server: SocketAddr, is_postgres: bool) -> Result<Self> {
        let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))?;
        let proxy = Self {
            address: listener.local_addr()?,
            server,
            is_postgres,
            state: watch::Sender::default(),
        };
        runtime.spawn(proxy.clone().serve(listener));
        Ok(proxy)
    }

    pub(super) fn begin(&self, trouble: Trouble) {
        self.state.send_modify(|state| {
            match trouble {
                Trouble::Reset => state.age += 1,
                Trouble::CutAfter(_) => state.cuts_left = CUTS,
                Trouble::CommitUnheard { times } => state.cuts_left = times,
                Trouble::Slow(_) | Trouble::Silent { .. } => {}
            }
            state.trouble = Some(trouble);
        });
    }

    pub(super) fn end(&self) {
        self.state.send_modify(|state| {
            let ended = state.trouble.take();
            state.age += u64::from(ended == Some(Trouble::Silent { breaks: true }));
        });
    }

    /// Cuts since the last call.
    pub(super) fn take_cuts(&self) -> u64 {
        let mut cuts = 0;
        self.state
            .send_modify(|state| cuts = std::mem::take(&mut state.cuts));
        cuts
    }

    async fn serve(self, listener: TcpListener) {
        loop {
            match listener.accept().await {
                Ok((client, _)) => drop(tokio::spawn(self.clone().carry(client))),
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }
    }

    async fn carry(self, mut client: TcpStream) {
        let mut ends = self.state.subscribe();
        let age = ends.borrow().age;
        let carried = async {
            let mut watching = self.state.subscribe();
            wait_to_pass(&mut watching).await?;
            let mut server = TcpStream::connect(self.server).await.map_err(|_| Broken)?;
            let _ = (client.set_nodelay(true), server.set_nodelay(true));
            let (from_client, to_client) = client.split();
            let (from_server, to_server) = server.split();
            let requests = forward_requests(watching, from_client, to_server);
            let ended = tokio::select! {
                ended = requests => ended,
                ended = self.forward_responses(from_server, to_client) => ended,
            };
            if ended.is_err() {
                let _ = server.set_zero_linger();
            }
            ended
        };
        let ended = tokio::select! {
            ended = carried => ended,
            _ = ends.wait_for(|state| state.age != age) => Err(Broken),
        };
        if ended.is_err() {
            let _ = client.set_zero_linger();
        }
    }

    async fn forward_responses(&self, mut from: ReadHalf<'_>, mut to: WriteHalf<'_>) -> Result<(), Broken> {
        let (mut piece, mut out) = (vec![0; PIECE], Vec::new());
        let mut state = self.state.subscribe();
        let mut backend = Backend::default();
        // Bytes passed since a cut by bytes was set.
        let mut passed = 0;
        loop {
            let Some(bytes) = read(&mut from, &mut piece).await? else {
                return Ok(());
            };
            let trouble = wait_to_pass(&mut state).await?;
            let may_cut = state.borrow().cuts_left > 0;
            out.clear();
            let mut is_cut = false;
            if self.is_postgres {
                is_cut = backend.pass(
                    bytes,
                    may_cut && matches!(trouble, Some(Trouble::CommitUnheard { .. })),
                    &mut out,
                );
            } else {
                out.extend_from_slice(bytes);
            }
            if let Some(Trouble::CutAfter(limit)) = trouble {
                let left = usize::try_from(limit)
                    .unwrap_or(usize::MAX)
                    .saturating_sub(passed);
                passed += out.len();
                if out.len() > left && may_cut {
                    out.truncate(left);
                    is_cut = true;
                }
            } else {
                passed = 0;
            }
            to.write_all(&out).await.map_err(|_| Broken)?;
            if is_cut {
                self.state.send_modify(|state| {
                    state.cuts_left = state.cuts_left.saturating_sub(1);
                    state.cuts += 1;
                });
                return Err(Broken);
            }
        }
    }
}

async fn forward_requests(
    mut state: watch::Receiver<State>,
    mut from: ReadHalf<'_>,
    mut to: WriteHalf<'_>,
) -> Result<(), Broken> {
    let mut piece = vec![0; PIECE];
    loop {
        let Some(bytes) = read(&mut from, &mut piece).await? else {
            return Ok(());
        };
        wait_to_pass(&mut state).await?;
        to.write_all(bytes).await.map_err(|_| Broken)?;
    }
}

/// The next bytes; `None` at the end.
async fn read<'a>(from: &mut ReadHalf<'_>, piece: &'a mut [u8]) -> Result<Option<&'a [u8]>, Broken> {
    let read = from.read(piece).await.map_err(|_| Broken)?;
    Ok(piece.get(..read).filter(|bytes| !bytes.is_empty()))
}

/// Waits while the network is silent or slow; returns its current fault.
async fn wait_to_pass(state: &mut watch::Receiver<State>) -> Result<Option<Trouble>, Broken> {
    let passes = |state: &State| !matches!(state.trouble, Some(Trouble::Silent { .. }));
    let trouble = state.wait_for(passes).await.map_err(|_| Broken)?.trouble;
    if let Some(Trouble::Slow(by)) = trouble {
        tokio::time::sleep(by).await;
    }
    Ok(trouble)
}

/// The address of a server.
pub(super) fn address_of(url: &str) -> Result<SocketAddr> {
    let found = Url::parse(url)?.socket_addrs(|| None)?;
    found.first().copied().context("a server has no address")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpStream as Client;
    use tokio::runtime::Runtime;

    /// An echo server behind a proxy, and a client of it. Both end with the runtime.
    fn echo(runtime: &Runtime) -> (Proxy, Client) {
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        runtime.spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let (mut from, mut to) = client.split();
                    let _ = tokio::io::copy(&mut from, &mut to).await;
                });
            }
        });
        let proxy = Proxy::start(runtime.handle(), address, false).unwrap();
        let client = Client::connect(proxy.address).unwrap();
        (proxy, client)
    }

    fn echoed(client: &mut Client, text: &str) -> std::io::Result<String> {
        client.write_all(text.as_bytes())?;
        let mut received = vec![0; text.len()];
        client.read_exact(&mut received)?;
        Ok(String::from_utf8(received).unwrap())
    }

    #[test]
    fn a_reset_connection_fails_and_a_new_one_works() {
        let runtime = Runtime::new().unwrap();
        let (proxy, mut client) = echo(&runtime);
        assert_eq!(echoed(&mut client, "hello").unwrap(), "hello");
        proxy.begin(Trouble::Reset);
        assert!(client.read(&mut [0; 8]).is_err());
        let mut client = Client::connect(proxy.address).unwrap();
        assert_eq!(echoed(&mut client, "again").unwrap(), "again");
    }

    #[test]
    fn silence_delays_everything_and_loses_nothing() {
        let runtime = Runtime::new().unwrap();
        let (proxy, mut client) = echo(&runtime);
        echoed(&mut client, "hello").unwrap();
        proxy.begin(Trouble::Silent { breaks: false });
        client.write_all(b"later").unwrap();
        client.set_nonblocking(true).unwrap();
        assert!(client.read(&mut [0; 8]).is_err());
        client.set_nonblocking(false).unwrap();
        proxy.end();
        let mut received = [0; 5];
        client.read_exact(&mut received).unwrap();
        assert_eq!(&received, b"later");
    }

    #[test]
    fn a_cut_passes_the_given_bytes() {
        let runtime = Runtime::new().unwrap();
        let (proxy, mut client) = echo(&runtime);
        proxy.begin(Trouble::CutAfter(3));
        client.write_all(b"abcdef").unwrap();
        let mut received = Vec::new();
        // Bytes before a reset may be lost, but none after the cut arrives.
        let _ = client.read_to_end(&mut received);
        assert!(b"abc".starts_with(&received), "{received:?}");
        assert_eq!(proxy.take_cuts(), 1);
    }
}
