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
    // More bytes than the buffers of both sockets hold.
    let large = get(|| async { vec![b'x'; 64 << 20] });
    let (address, lifecycle, server) = start(Router::new().route("/", large), config);
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream
        .write_all(b"GET / HTTP/1.1\r\nhost: h\r\n\r\n")
        .await
        .unwrap();
    // The client never reads. The server must close the connection by itself, or the tracker would wait
    // forever.
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
async fn connections_beyond_the_cap_get_503_and_are_served_when_there_is_room() {
    let config = HttpConfig {
        max_connections: 1,
        ..config()
    };
    let router = Router::new().route("/", get(|| async { "served" }));
    let (address, _lifecycle, _server) = start(router, config);
    let request = "GET / HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n";
    let mut first = TcpStream::connect(address).await.unwrap();
    // The answer shows that the connection is accepted; keep-alive keeps it open.
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
    // More than the common default backlog of 128, with which later connections would hang.
    let _early: Vec<_> = (0..600)
        .map(|_| std::net::TcpStream::connect(address).unwrap())
        .collect();
}

#[tokio::test]
async fn shutdown_finishes_what_is_in_flight_and_drops_idle_connections() {
    let (started, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (inner_started, inner_go) = (Arc::clone(&started), Arc::clone(&go));
    let slow = get(move || async move {
        inner_started.notify_one();
        inner_go.notified().await;
        "finished"
    });
    let (address, lifecycle, server) = start(Router::new().route("/", slow), config());
    let mut idle = TcpStream::connect(address).await.unwrap();
    let mut busy = TcpStream::connect(address).await.unwrap();
    let answer = tokio::spawn(async move { exchange(&mut busy, "GET / HTTP/1.1\r\nhost: h\r\n\r\n").await });
    started.notified().await;
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
    // The server task does not run here: the kernel has accepted the connections, the server has not.
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
    // The server task does not run between these two lines.
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
    let started = Arc::new(Notify::new());
    let inner = Arc::clone(&started);
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
    started.notified().await;
    lifecycle.abort();
    server.await.unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    assert!(answer.is_empty());
}
