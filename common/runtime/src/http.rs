//! Serves HTTP/1.1 with the limits that `axum::serve` lacks.
//!
//! Two kinds of clients are disconnected: those that send the request head slowly (the same limit closes idle
//! keep-alive connections) and those that do not read the answer. The size of heads and the number of
//! connections are limited; connections beyond the limit get 503. The router limits the time of bodies
//! ([`super::body`]) and handlers.
//!
//! Shutdown answers requests sent before it. It accepts connections in the kernel's backlog, and gives each
//! connection [`LAST_REQUEST`] for a request in flight. From then on every answer closes its connection. Then
//! idle connections are closed, and running requests finish.

mod over_capacity;
mod write_timeout;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::{ConnectInfo, DefaultBodyLimit};
use axum::http::{HeaderValue, header};
use axum::response::Response;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::Service;

use self::over_capacity::OverCapacity;
use self::write_timeout::WriteTimeout;
use super::config::HttpConfig;
use super::lifecycle::Lifecycle;

/// Pause after a failed `accept`. Without it, running out of file descriptors would cause a tight loop.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Largest request head, and bytes read ahead: a connection without a whole head uses no more memory.
const HEAD_LIMIT_BYTES: usize = 96 * 1024;

/// How long a shutdown leaves an idle connection open: its next request may be in flight.
const LAST_REQUEST: Duration = Duration::from_millis(250);

/// Backlog of the listening socket. The kernel's own limit (`net.core.somaxconn`) may be lower. A connection
/// beyond the backlog looks open to its client and is answered seconds later, or never.
const BACKLOG: u32 = 4_096;

pub fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4(),
        SocketAddr::V6(_) => TcpSocket::new_v6(),
    }?;
    // Connections of the previous process must not block the address.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Serves `router` until a soft cancel, then finishes requests in flight. A hard cancel drops them.
///
/// Handlers get the peer as `ConnectInfo<SocketAddr>`. The extractors refuse bodies over the configured
/// limit; a route may set its own limit.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    config: &HttpConfig,
    lifecycle: &Lifecycle,
) -> std::io::Result<()> {
    tracing::info!(listen = %listener.local_addr()?, "serving");
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(config.header_read_timeout())
        .max_buf_size(HEAD_LIMIT_BYTES);
    let mut server = Server {
        http,
        router: router.layer(DefaultBodyLimit::max(config.body_limit_bytes)),
        write_timeout: config.write_timeout(),
        behind_https: config.behind_https,
        lifecycle,
        slots: Arc::new(Semaphore::new(config.max_connections.min(Semaphore::MAX_PERMITS))),
        over_capacity: OverCapacity::new(lifecycle),
        connections: TaskTracker::new(),
    };
    while let Some(accepted) = lifecycle.soft().run_until_cancelled(listener.accept()).await {
        match accepted {
            Ok((stream, peer)) => server.take(stream, peer),
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }

    // Connections in the backlog may have sent a request. New connections are refused from here on, so that a
    // load balancer tries another server at once.
    let listener = listener.into_std()?;
    for (stream, peer) in std::iter::from_fn(|| listener.accept().ok()).take(BACKLOG as usize) {
        stream.set_nonblocking(true)?;
        server.take(TcpStream::from_std(stream)?, peer);
    }
    drop(listener);
    server.connections.close();
    lifecycle
        .hard()
        .run_until_cancelled(server.connections.wait())
        .await;
    Ok(())
}

/// Shared by all connections.
struct Server<'a> {
    http: http1::Builder,
    router: Router,
    write_timeout: Duration,
    behind_https: bool,
    lifecycle: &'a Lifecycle,
    slots: Arc<Semaphore>,
    over_capacity: OverCapacity,
    connections: TaskTracker,
}

impl Server<'_> {
    fn take(&mut self, stream: TcpStream, peer: SocketAddr) {
        match Arc::clone(&self.slots).try_acquire_owned() {
            Ok(slot) => self.serve(stream, peer, slot),
            Err(_) => self.over_capacity.reject(stream),
        }
    }

    /// Serves the connection in a task of its own, which holds the slot.
    fn serve(&self, stream: TcpStream, peer: SocketAddr, slot: OwnedSemaphorePermit) {
        let stream = WriteTimeout::after(self.write_timeout, nodelay(stream));
        let soft = self.lifecycle.soft().clone();
        let connection = connection(
            &self.http,
            stream,
            peer,
            self.router.clone(),
            self.behind_https,
            soft,
        );
        let hard = self.lifecycle.hard().clone();
        let held = async move {
            hard.run_until_cancelled_owned(connection).await;
            drop(slot);
        };
        self.lifecycle.tasks().spawn(self.connections.track_future(held));
    }
}

/// Answers are small and complete; coalescing them would only add latency.
fn nodelay(stream: TcpStream) -> TcpStream {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "cannot set TCP_NODELAY");
    }
    stream
}

fn connection(
    http: &http1::Builder,
    stream: WriteTimeout,
    peer: SocketAddr,
    router: Router,
    behind_https: bool,
    soft: CancellationToken,
) -> impl Future<Output = ()> + use<> {
    let leaves = Arc::new(AtomicBool::new(false));
    let ends = Arc::clone(&leaves);
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(ConnectInfo(peer));
        let answer: <Router as Service<Request<Incoming>>>::Future = router.clone().call(request);
        let ends = Arc::clone(&ends);
        async move {
            let mut answer: Response = answer.await?;
            let headers = answer.headers_mut();
            // Disables content sniffing: a browser must not render caller-supplied text as a page.
            headers.insert(
                header::X_CONTENT_TYPE_OPTIONS,
                HeaderValue::from_static("nosniff"),
            );
            if behind_https {
                // Tells browsers to use HTTPS only, for a year, without subdomains.
                let a_year = HeaderValue::from_static("max-age=31536000");
                headers.insert(header::STRICT_TRANSPORT_SECURITY, a_year);
            }
            if ends.load(Ordering::Relaxed) {
                // Closes the connection after this answer.
                headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
            }
            Ok::<_, Infallible>(answer)
        }
    });
    let served = http.serve_connection(TokioIo::new(stream), service);
    async move {
        let mut served = pin!(served);
        let mut ended = soft.run_until_cancelled(served.as_mut()).await;
        if ended.is_none() {
            leaves.store(true, Ordering::Relaxed);
            ended = timeout(LAST_REQUEST, served.as_mut()).await.ok();
        }
        if ended.is_none() {
            served.as_mut().graceful_shutdown();
            ended = Some(served.await);
        }
        if let Some(Err(error)) = ended {
            // Clients often disconnect or stall, hence the debug level. Their addresses are not logged.
            tracing::debug!(%error, "connection ended early");
        }
    }
}

#[cfg(test)]
mod tests;
