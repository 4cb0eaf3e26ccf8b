//! A proxy between a service and a server, which simulates network faults.
//!
//! Each pair has its own. The current fault applies to each chunk, so that it also affects existing connections.

mod wire;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::sync::watch;

pub(super) use self::wire::Cut;

use self::wire::Backend;

const PIECE: usize = 16 * 1024;

/// The current fault of the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum NetworkFault {
    #[default]
    None,
    /// Delays each chunk.
    Slow(Duration),
    /// Nothing passes, and connections stay open.
    Silent,
    /// Connections break after this many bytes of responses.
    CutAfter(u64),
    /// Connections break before the database confirms a commit.
    CutAt(Cut),
}

#[derive(Debug, Clone, Copy)]
struct State {
    /// Where new connections go.
    server: SocketAddr,
    network: NetworkFault,
    /// Connections of an earlier age are reset.
    age: u64,
}

/// Ends with the runtime.
#[derive(Debug)]
pub(super) struct Proxy {
    pub(super) address: SocketAddr,
    state: watch::Sender<State>,
    cuts: Arc<Cuts>,
}

#[derive(Debug, Default)]
struct Cuts {
    left: AtomicU32,
    made: AtomicU32,
}

impl Cuts {
    fn are_left(&self) -> bool {
        self.left.load(Ordering::SeqCst) > 0
    }

    /// Two connections may race for the last cut; then one more is cut.
    fn take(&self) {
        let _ = self
            .left
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        self.made.fetch_add(1, Ordering::SeqCst);
    }
}

impl Proxy {
    pub(super) fn start(runtime: &Handle, server: SocketAddr, is_postgres: bool) -> Result<Self> {
        let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))?;
        let address = listener.local_addr()?;
        let (state, seen) = watch::channel(State {
            server,
            network: NetworkFault::None,
            age: 0,
        });
        let cuts = Arc::new(Cuts::default());
        let link = Link {
            is_postgres,
            state: seen,
            cuts: Arc::clone(&cuts),
        };
        runtime.spawn(link.serve(listener));
        Ok(Self { address, state, cuts })
    }

    pub(super) fn set(&self, network: NetworkFault) {
        self.state.send_modify(|state| state.network = network);
    }

    /// New connections go to another server.
    pub(super) fn lead_to(&self, server: SocketAddr) {
        self.state.send_modify(|state| state.server = server);
    }

    /// Cuts the next connections that reach the position, at most `times`.
    pub(super) fn cut_next(&self, network: NetworkFault, times: u32) {
        self.cuts.left.store(times, Ordering::SeqCst);
        self.set(network);
    }

    /// Cuts since the last call.
    pub(super) fn take_cuts(&self) -> u32 {
        self.cuts.made.swap(0, Ordering::SeqCst)
    }

    /// Resets every connection.
    pub(super) fn reset(&self) {
        self.state.send_modify(|state| state.age += 1);
    }
}

#[derive(Clone)]
struct Link {
    is_postgres: bool,
    state: watch::Receiver<State>,
    cuts: Arc<Cuts>,
}

/// A connection was reset.
struct Broken;

impl Link {
    async fn serve(self, listener: TcpListener) {
        loop {
            match listener.accept().await {
                Ok((client, _)) => drop(tokio::spawn(self.clone().carry(client))),
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }
    }

    async fn carry(mut self, mut client: TcpStream) {
        let age = self.state.borrow().age;
        let mut ends = self.state.clone();
        let carried = async {
            let mut watching = self.state.clone();
            wait_to_pass(&mut watching).await?;
            let server = watching.borrow().server;
            let mut server = TcpStream::connect(server).await.map_err(|_| Broken)?;
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

    async fn forward_responses(
        &mut self,
        mut from: ReadHalf<'_>,
        mut to: WriteHalf<'_>,
    ) -> Result<(), Broken> {
        let (mut piece, mut out) = (vec![0; PIECE], Vec::new());
        let mut backend = Backend::default();
        // Bytes passed since a cut by bytes was set.
        let mut passed = None;
        loop {
            let read = from.read(&mut piece).await.map_err(|_| Broken)?;
            let Some(bytes) = piece.get(..read).filter(|bytes| !bytes.is_empty()) else {
                return Ok(());
            };
            let network = wait_to_pass(&mut self.state).await?;
            let cut = match network {
                NetworkFault::CutAt(cut) if self.cuts.are_left() => Some(cut),
                _ => None,
            };
            out.clear();
            if !self.is_postgres {
                out.extend_from_slice(bytes);
            } else if backend.pass(bytes, cut, &mut out) {
                self.cuts.take();
                to.write_all(&out).await.map_err(|_| Broken)?;
                return Err(Broken);
            }
            passed = match (network, passed) {
                (NetworkFault::CutAfter(limit), passed) => {
                    let sum = passed.unwrap_or(0) + out.len() as u64;
                    if sum > limit && self.cuts.are_left() {
                        self.cuts.take();
                        let over = usize::try_from(sum - limit).unwrap_or(out.len());
                        out.truncate(out.len().saturating_sub(over));
                        to.write_all(&out).await.map_err(|_| Broken)?;
                        return Err(Broken);
                    }
                    Some(sum)
                }
                _ => None,
            };
            to.write_all(&out).await.map_err(|_| Broken)?;
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
        let read = from.read(&mut piece).await.map_err(|_| Broken)?;
        let Some(bytes) = piece.get(..read).filter(|bytes| !bytes.is_empty()) else {
            return Ok(());
        };
        wait_to_pass(&mut state).await?;
        to.write_all(bytes).await.map_err(|_| Broken)?;
    }
}

/// Waits while the network is silent or slow; returns the current fault.
async fn wait_to_pass(state: &mut watch::Receiver<State>) -> Result<NetworkFault, Broken> {
    let network = state
        .wait_for(|state| state.network != NetworkFault::Silent)
        .await
        .map_err(|_| Broken)?
        .network;
    if let NetworkFault::Slow(by) = network {
        tokio::time::sleep(by).await;
    }
    Ok(network)
}

/// The address of a server.
pub(super) fn address_of(url: &str) -> Result<SocketAddr> {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = rest.split_once('@').map_or(rest, |(_, host)| host);
    let host = host.split(['/', '?', ',']).next().unwrap_or(host);
    host.parse()
        .context("a server's address is no loopback address and port")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpStream as Client;

    /// An echo server behind a proxy.
    fn echo(runtime: &tokio::runtime::Runtime) -> Proxy {
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
        Proxy::start(runtime.handle(), address, false).unwrap()
    }

    fn echoed(client: &mut Client, text: &str) -> std::io::Result<String> {
        client.write_all(text.as_bytes())?;
        let mut received = vec![0; text.len()];
        client.read_exact(&mut received)?;
        Ok(String::from_utf8(received).unwrap())
    }

    #[test]
    fn a_reset_connection_fails_and_a_new_one_works() {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let proxy = echo(&runtime);
        let mut client = Client::connect(proxy.address).unwrap();
        assert_eq!(echoed(&mut client, "hello").unwrap(), "hello");
        proxy.reset();
        assert!(client.read(&mut [0; 8]).is_err());
        let mut client = Client::connect(proxy.address).unwrap();
        assert_eq!(echoed(&mut client, "again").unwrap(), "again");
    }

    #[test]
    fn silence_delays_everything_and_loses_nothing() {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let proxy = echo(&runtime);
        let mut client = Client::connect(proxy.address).unwrap();
        echoed(&mut client, "hello").unwrap();
        proxy.set(NetworkFault::Silent);
        client.write_all(b"later").unwrap();
        client.set_nonblocking(true).unwrap();
        assert!(client.read(&mut [0; 8]).is_err());
        client.set_nonblocking(false).unwrap();
        proxy.set(NetworkFault::None);
        let mut received = [0; 5];
        client.read_exact(&mut received).unwrap();
        assert_eq!(&received, b"later");
    }

    #[test]
    fn a_cut_passes_the_given_bytes() {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let proxy = echo(&runtime);
        proxy.cut_next(NetworkFault::CutAfter(3), 1);
        let mut client = Client::connect(proxy.address).unwrap();
        client.write_all(b"abcdef").unwrap();
        let mut received = Vec::new();
        // Bytes before a reset may be lost, but none after the cut arrives.
        let _ = client.read_to_end(&mut received);
        assert!(b"abc".starts_with(&received), "{received:?}");
        assert_eq!(proxy.take_cuts(), 1);
    }

    #[test]
    fn a_servers_address_is_found_in_its_url() {
        let place = SocketAddr::from(([127, 0, 0, 1], 5000));
        for url in [
            "postgres://u:p@127.0.0.1:5000/d",
            "nats://127.0.0.1:5000",
            "redis://127.0.0.1:5000/0",
            "nats://127.0.0.1:5000,nats://127.0.0.1:5001",
        ] {
            assert_eq!(address_of(url).unwrap(), place, "{url}");
        }
    }
}
