//! Serving HTTP/1.1 with the limits that `axum::serve` leaves open.
//!
//! A client that sends its head slowly is cut off (the same limit closes idle keep-alive connections, since waiting
//! for the next head is reading one), and so is one that takes nothing of its answer. Heads have a size, connections are
//! counted and those beyond the count are told to come again. How long a body may take is the router's business
//! ([`super::body`]), and so is how long a handler may.
//!
//! Shutdown answers what was sent before it: connections that only the kernel has let in are taken, and each connection has
//! [`LAST_REQUEST`] for a request that is on its way already. Every answer from then on says that it is the last. Then idle
//! connections are closed, and what is being answered is finished.

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

/// Pause after a failed `accept`: running out of file descriptors fails in a tight loop otherwise.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Largest request head, and the most that is read ahead: what a connection without a complete head can make us keep.
const HEAD_LIMIT_BYTES: usize = 96 * 1024;

/// How long a shutdown leaves an idle connection open: its next request may have been sent, and its sender could not tell that
/// nobody has read it.
const LAST_REQUEST: Duration = Duration::from_millis(250);

/// Connections that the kernel keeps for us until they are accepted; fewer if its own limit (`net.core.somaxconn`) is lower.
/// One beyond them looks connected to its client and is not: what it sends is answered seconds later, or never.
const BACKLOG: u32 = 4_096;

/// Takes an address, for [`serve`].
///
/// An error when it cannot be had.
pub fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4(),
        SocketAddr::V6(_) => TcpSocket::new_v6(),
    }?;
    // What is left of the connections of a process before must not keep the next one from its address.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Serves `router` until a soft cancel, then finishes what is in flight; a hard cancel drops it.
///
/// Handlers find the peer as `ConnectInfo<SocketAddr>`. Bodies over the configured limit are refused by the
/// extractors; a route may set its own limit.
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

    // Those whom the kernel has let in already may have asked. New ones are refused from here on, so that a load balancer goes
    // elsewhere at once.
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

/// What every connection is served by.
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

    /// In a task of its own, which holds the slot.
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

/// Answers are small and complete; waiting to coalesce them only adds latency.
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
            let answer: Result<Response, Infallible> = answer.await.map(unsniffed);
            let answer = if behind_https { answer.map(secure) } else { answer };
            if ends.load(Ordering::Relaxed) {
                answer.map(last)
            } else {
                answer
            }
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
            // Clients that vanish or stall are everyday events. Whose address it was is not the log's business.
            tracing::debug!(%error, "connection ended early");
        }
    }
}

/// The connection ends with this answer, and the client is told.
fn last(mut answer: Response) -> Response {
    answer
        .headers_mut()
        .insert(header::CONNECTION, HeaderValue::from_static("close"));
    answer
}

/// What an answer says it is, it is: a text that a stranger chose must not become a page because it looks like one.
fn unsniffed(mut answer: Response) -> Response {
    answer.headers_mut().insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    answer
}

/// A browser that has been here over HTTPS comes over nothing else for a year. Subdomains are the operator's own business.
fn secure(mut answer: Response) -> Response {
    answer.headers_mut().insert(
        header::STRICT_TRANSPORT_SECURITY,
        HeaderValue::from_static("max-age=31536000"),
    );
    answer
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    use axum::routing::{get, post};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::sync::Notify;

    fn config() -> HttpConfig {
        HttpConfig {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            header_read_timeout_ms: 60_000,
            write_timeout_ms: 60_000,
            body_limit_bytes: 8,
            max_connections: 16,
            behind_https: false,
        }
    }

    fn start(router: Router, config: HttpConfig) -> (SocketAddr, Lifecycle, tokio::task::JoinHandle<()>) {
        let listener = listen(config.listen).unwrap();
        let address = listener.local_addr().unwrap();
        let lifecycle = Lifecycle::new();
        let inner = lifecycle.clone();
        let server = tokio::spawn(async move { serve(listener, router, &config, &inner).await.unwrap() });
        (address, lifecycle, server)
    }

    async fn exchange(stream: &mut TcpStream, request: &str) -> String {
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test]
    async fn handlers_see_the_peer() {
        let echo = get(|ConnectInfo(peer): ConnectInfo<SocketAddr>| async move { peer.to_string() });
        let (address, lifecycle, server) = start(Router::new().route("/", echo), config());
        let mut stream = TcpStream::connect(address).await.unwrap();
        let local = stream.local_addr().unwrap().to_string();
        let answer = exchange(
            &mut stream,
            "GET / HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n",
        )
        .await;
        assert!(
            answer.starts_with("HTTP/1.1 200") && answer.ends_with(&local),
            "{answer}"
        );
        lifecycle.shut_down();
        server.await.unwrap();
    }

    #[tokio::test]
    async fn a_large_body_is_refused() {
        let router = Router::new().route("/", post(|body: String| async { body }));
        let (address, _lifecycle, _server) = start(router, config());
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = "POST / HTTP/1.1\r\nhost: h\r\nconnection: close\r\ncontent-length: 9\r\n\r\n123456789";
        assert!(exchange(&mut stream, request).await.starts_with("HTTP/1.1 413"));
    }

    #[tokio::test]
    async fn a_client_that_never_finishes_its_head_is_cut_off() {
        let config = HttpConfig {
            header_read_timeout_ms: 20,
            ..config()
        };
        let (address, _lifecycle, _server) = start(Router::new(), config);
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\nhost:").await.unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.unwrap();
    }

    #[tokio::test]
    async fn a_client_that_takes_nothing_of_its_answer_is_cut_off() {
        let config = HttpConfig {
            write_timeout_ms: 20,
            ..config()
        };
        // More than the sockets between the two hold.
        let large = get(|| async { vec![b'x'; 64 << 20] });
        let (address, lifecycle, server) = start(Router::new().route("/", large), config);
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream
            .write_all(b"GET / HTTP/1.1\r\nhost: h\r\n\r\n")
            .await
            .unwrap();
        // It never reads; the server ends the connection by itself, or the tracker would wait for it for ever.
        stream.readable().await.unwrap();
        lifecycle.tasks().close();
        lifecycle.tasks().wait().await;
        lifecycle.shut_down();
        server.await.unwrap();
    }

    #[tokio::test]
    async fn a_head_beyond_the_limit_is_refused_and_not_kept() {
        let (address, _lifecycle, _server) = start(Router::new(), config());
        let mut stream = TcpStream::connect(address).await.unwrap();
        let head = format!("GET / HTTP/1.1\r\nx: {}", "x".repeat(HEAD_LIMIT_BYTES));
        assert!(exchange(&mut stream, &head).await.starts_with("HTTP/1.1 431"));
    }

    #[tokio::test]
    async fn connections_beyond_the_cap_are_told_to_come_again_and_are_served_when_there_is_room() {
        let config = HttpConfig {
            max_connections: 1,
            ..config()
        };
        let router = Router::new().route("/", get(|| async { "served" }));
        let (address, _lifecycle, _server) = start(router, config);
        let request = "GET / HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n";
        let mut first = TcpStream::connect(address).await.unwrap();
        // Answered, so it is accepted; kept alive, so it stays.
        first
            .write_all(b"GET / HTTP/1.1\r\nhost: h\r\n\r\n")
            .await
            .unwrap();
        first.readable().await.unwrap();
        for _ in 0..20 {
            let mut beyond = TcpStream::connect(address).await.unwrap();
            let answer = exchange(&mut beyond, request).await.to_lowercase();
            assert!(answer.starts_with("http/1.1 503"), "{answer}");
            for header in [
                "retry-after: 1",
                "connection: close",
                "x-content-type-options: nosniff",
            ] {
                assert!(answer.contains(header), "{answer}");
            }
            assert!(answer.contains("\"serviceunavailableerror\""), "{answer}");
        }
        drop(first);
        loop {
            let mut next = TcpStream::connect(address).await.unwrap();
            if exchange(&mut next, request).await.ends_with("served") {
                break;
            }
        }
    }

    #[tokio::test]
    async fn whoever_comes_before_anybody_is_accepted_is_kept() {
        let listener = listen(config().listen).unwrap();
        let address = listener.local_addr().unwrap();
        // More than the 128 for which a listener is made elsewhere: the next one would wait, in vain.
        let _early: Vec<_> = (0..600)
            .map(|_| std::net::TcpStream::connect(address).unwrap())
            .collect();
    }

    #[tokio::test]
    async fn shutdown_finishes_what_is_in_flight_and_drops_idle_connections() {
        let (begun, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (inner_begun, inner_go) = (Arc::clone(&begun), Arc::clone(&go));
        let slow = get(move || async move {
            inner_begun.notify_one();
            inner_go.notified().await;
            "finished"
        });
        let (address, lifecycle, server) = start(Router::new().route("/", slow), config());
        let mut idle = TcpStream::connect(address).await.unwrap();
        let mut busy = TcpStream::connect(address).await.unwrap();
        let answer =
            tokio::spawn(async move { exchange(&mut busy, "GET / HTTP/1.1\r\nhost: h\r\n\r\n").await });
        begun.notified().await;
        lifecycle.shut_down();
        idle.read_to_end(&mut Vec::new()).await.unwrap();
        go.notify_one();
        assert!(answer.await.unwrap().ends_with("finished"));
        server.await.unwrap();
    }

    #[tokio::test]
    async fn a_request_that_was_sent_before_the_shutdown_is_answered() {
        let router = Router::new().route("/", get(|| async { "answered" }));
        let (address, lifecycle, server) = start(router, config());
        // The server does not run meanwhile: the kernel has let them in, and nobody has taken them.
        let waiting: Vec<_> = (0..8)
            .map(|_| {
                let mut stream = std::net::TcpStream::connect(address).unwrap();
                stream.write_all(b"GET / HTTP/1.1\r\nhost: h\r\n\r\n").unwrap();
                stream.set_nonblocking(true).unwrap();
                TcpStream::from_std(stream).unwrap()
            })
            .collect();
        lifecycle.shut_down();
        for mut stream in waiting {
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await.unwrap();
            assert!(answer.ends_with("answered"), "{answer:?}");
        }
        server.await.unwrap();
    }

    #[tokio::test]
    async fn a_kept_connections_request_that_was_sent_before_the_shutdown_is_its_last() {
        let router = Router::new().route("/", get(|| async { "answered" }));
        let (address, lifecycle, server) = start(router, config());
        let request = b"GET / HTTP/1.1\r\nhost: h\r\n\r\n";
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(request).await.unwrap();
        let mut first = Vec::new();
        while !first.ends_with(b"answered") {
            stream.read_buf(&mut first).await.unwrap();
        }
        // The server does not run between these two.
        assert_eq!(stream.try_write(request).unwrap(), request.len());
        lifecycle.shut_down();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        let answer = answer.to_lowercase();
        assert!(
            answer.contains("connection: close") && answer.ends_with("answered"),
            "{answer:?}"
        );
        server.await.unwrap();
    }

    #[tokio::test]
    async fn a_hard_cancel_drops_what_is_in_flight() {
        let begun = Arc::new(Notify::new());
        let inner = Arc::clone(&begun);
        let stuck = get(move || async move {
            inner.notify_one();
            std::future::pending::<()>().await;
        });
        let (address, lifecycle, server) = start(Router::new().route("/", stuck), config());
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream
            .write_all(b"GET / HTTP/1.1\r\nhost: h\r\n\r\n")
            .await
            .unwrap();
        begun.notified().await;
        lifecycle.abort();
        server.await.unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        assert!(answer.is_empty());
    }
}
