//! Where webhooks go and where they do not, against receivers on loopback.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use domain::programs::webhook::WebhookUrl;
use domain::programs::webhook_address::AllowedAddresses;
use futures::future::BoxFuture;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::RootCertStore;
use rustls::pki_types::PrivateKeyDer;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use worker::delivery::client::{Answer, AttemptError, Client, Message, Resolve, Resolved};

const HOST: &str = "receiver.example";
/// Shorter than a receiver that never answers, longer than this machine needs.
const WITHIN: Duration = Duration::from_secs(15);
const SHORT: Duration = Duration::from_millis(300);

/// Answers its answers in turn, the last one again and again.
#[derive(Default)]
struct Resolver {
    answers: Mutex<VecDeque<Vec<SocketAddr>>>,
    asked: AtomicUsize,
}

impl Resolver {
    fn of(answers: impl IntoIterator<Item = Vec<SocketAddr>>) -> Arc<Self> {
        Arc::new(Self {
            answers: Mutex::new(answers.into_iter().collect()),
            asked: AtomicUsize::new(0),
        })
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

impl Resolve for Resolver {
    fn resolve(&self, _: String, _: u16) -> BoxFuture<'static, Resolved> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let mut answers = self.answers.lock().unwrap();
        let answer = if answers.len() > 1 {
            answers.pop_front()
        } else {
            answers.front().cloned()
        };
        Box::pin(async move { answer.ok_or_else(|| io::Error::other("no such host")) })
    }
}

fn loopback_allowed() -> AllowedAddresses {
    AllowedAddresses {
        loopback: true,
        networks: Vec::new(),
    }
}

fn client(allowed: AllowedAddresses, resolver: &Arc<Resolver>, within: Duration) -> Client {
    Client::new(allowed, Arc::clone(resolver) as _, RootCertStore::empty(), within).unwrap()
}

fn url(text: &str) -> WebhookUrl {
    WebhookUrl::parse(text, true).unwrap()
}

fn message() -> Message {
    Message {
        id: "evt_1".to_owned(),
        timestamp: 1_700_000_000,
        signatures: "v1,abc v1,def".to_owned(),
        body: "{\"type\":\"lead.created\"}".into(),
    }
}

/// What receivers on loopback were sent, and how many connections they had.
#[derive(Clone, Default)]
struct Received {
    requests: Arc<Mutex<Vec<String>>>,
    connections: Arc<AtomicUsize>,
}

impl Received {
    fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

/// Reads a request and sends `answer`, again and again, until the client closes.
async fn receiver(answer: impl Into<Vec<u8>>) -> (SocketAddr, Received) {
    let answer = answer.into();
    let (listener, received) = (
        TcpListener::bind("127.0.0.1:0").await.unwrap(),
        Received::default(),
    );
    let (address, log) = (listener.local_addr().unwrap(), received.clone());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            log.connections.fetch_add(1, Ordering::SeqCst);
            tokio::spawn(answer_all(stream, answer.clone(), log.clone()));
        }
    });
    (address, received)
}

async fn answer_all(mut stream: impl AsyncRead + AsyncWrite + Unpin, answer: Vec<u8>, received: Received) {
    while let Some(request) = request(&mut stream).await {
        received.requests.lock().unwrap().push(request);
        if stream.write_all(&answer).await.is_err() {
            return;
        }
        if !answer.starts_with(b"HTTP") {
            // What is no answer ends the connection, and nothing at all never does.
            if !answer.is_empty() {
                return;
            }
            std::future::pending::<()>().await;
        }
    }
}

async fn request(stream: &mut (impl AsyncRead + Unpin)) -> Option<String> {
    let mut request = Vec::new();
    loop {
        let mut byte = [0];
        if stream.read(&mut byte).await.ok()? == 0 {
            return None;
        }
        request.push(byte[0]);
        let text = String::from_utf8_lossy(&request);
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "))
            .unwrap();
        if body.len() == length.parse::<usize>().unwrap() {
            return Some(text.into_owned());
        }
    }
}

async fn sent_to(address: SocketAddr, within: Duration) -> Result<Answer, AttemptError> {
    let client = client(loopback_allowed(), &Resolver::of([]), within);
    client.send(&url(&format!("http://{address}/")), &message()).await
}

#[tokio::test]
async fn a_webhook_has_its_headers_and_its_answer_is_kept() {
    let (address, received) =
        receiver("HTTP/1.1 503 Busy\r\nretry-after: 30\r\ncontent-length: 4\r\n\r\nlat\0").await;
    let client = client(loopback_allowed(), &Resolver::of([]), WITHIN);
    let answer = client
        .send(&url(&format!("http://{address}/hook/a?b=c")), &message())
        .await;
    let expected = Answer {
        status: 503,
        retry_after: Some("30".to_owned()),
        body: "lat\u{fffd}".to_owned(),
    };
    assert_eq!(answer, Ok(expected));
    let requests = received.requests();
    let request = requests[0].to_lowercase();
    for line in [
        "post /hook/a?b=c http/1.1",
        &format!("host: {address}"),
        "content-type: application/json",
        &format!("user-agent: referral-tracker/{}", env!("CARGO_PKG_VERSION")),
        "webhook-id: evt_1",
        "webhook-timestamp: 1700000000",
        "webhook-signature: v1,abc v1,def",
    ] {
        assert!(request.lines().any(|sent| sent == line), "{line}: {request}");
    }
    assert!(request.ends_with("\r\n\r\n{\"type\":\"lead.created\"}"));
    assert!(!request.contains("cookie") && !request.contains("authorization"));
}

#[tokio::test]
async fn one_connection_takes_several_webhooks_one_after_the_other() {
    let (address, received) = receiver("HTTP/1.1 204 OK\r\n\r\n").await;
    let client = client(loopback_allowed(), &Resolver::of([]), WITHIN);
    for _ in 0..3 {
        let answer = client.send(&url(&format!("http://{address}/")), &message()).await;
        assert_eq!(answer.unwrap().status, 204);
    }
    assert_eq!((received.requests().len(), received.connections()), (3, 1));
}

#[tokio::test]
async fn addresses_that_are_not_public_are_not_connected_to() {
    let (address, received) = receiver("HTTP/1.1 200 OK\r\n\r\n").await;
    let port = address.port();
    let strict = client(AllowedAddresses::default(), &Resolver::of([]), WITHIN);
    let hosts = "127.0.0.1 [::1] [::ffff:127.0.0.1] [::127.0.0.1] [64:ff9b::7f00:1] [2002:7f00:1::] 10.0.0.1 \
                 172.16.0.1 192.168.0.1 169.254.169.254 [fd00:ec2::254] [fe80::1] 100.64.0.1 0.0.0.0 \
                 2130706433 0x7f.1 017700000001";
    for host in hosts.split_whitespace() {
        let answer = strict
            .send(&url(&format!("https://{host}:{port}/")), &message())
            .await;
        assert_eq!(answer, Err(AttemptError::NotPublic), "{host}");
    }
    let plain = strict.send(&url(&format!("http://{address}/")), &message()).await;
    assert_eq!(plain, Err(AttemptError::NotPublic));
    assert_eq!(received.connections(), 0);
}

#[tokio::test]
async fn a_host_with_one_address_that_is_not_public_is_refused() {
    let (address, received) = receiver("HTTP/1.1 200 OK\r\n\r\n").await;
    let public = SocketAddr::from((Ipv4Addr::new(1, 1, 1, 1), 443));
    let mapped = SocketAddr::new(IpAddr::V6(Ipv4Addr::LOCALHOST.to_ipv6_mapped()), address.port());
    for addresses in [
        vec![address],
        vec![mapped],
        vec![public, address],
        vec![address, public],
    ] {
        let client = client(AllowedAddresses::default(), &Resolver::of([addresses]), WITHIN);
        let answer = client.send(&url(&format!("https://{HOST}/")), &message()).await;
        assert_eq!(answer, Err(AttemptError::NotPublic));
    }
    assert_eq!(received.connections(), 0);
}

/// The first answer is checked; a second question would be answered with the loopback's address.
#[tokio::test]
async fn a_name_that_changes_its_address_after_the_check_is_connected_to_as_checked() {
    let (checked, at_checked) = receiver("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
    let (rebound, at_rebound) = receiver("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
    let resolver = Resolver::of([vec![checked], vec![rebound]]);
    let client = client(loopback_allowed(), &resolver, WITHIN);
    let answer = client.send(&url("http://localhost/"), &message()).await;
    assert_eq!(answer.unwrap().status, 200);
    assert_eq!((at_checked.connections(), at_rebound.connections()), (1, 0));
    assert_eq!(resolver.asked(), 1);
}

/// Nothing that was right once is remembered: each connection is checked.
#[tokio::test]
async fn a_name_that_turns_to_loopback_is_refused_from_then_on() {
    let (address, received) =
        receiver("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n").await;
    let inside = SocketAddr::from((Ipv4Addr::new(169, 254, 169, 254), 80));
    let resolver = Resolver::of([vec![address], vec![inside]]);
    let client = client(loopback_allowed(), &resolver, WITHIN);
    let first = client.send(&url("http://localhost/"), &message()).await;
    assert_eq!(first.unwrap().status, 200);
    let second = client.send(&url("http://localhost/"), &message()).await;
    assert_eq!(second, Err(AttemptError::NotPublic));
    assert_eq!(received.connections(), 1);
}

#[tokio::test]
async fn a_redirect_is_an_answer_and_not_followed() {
    let (inside, at_inside) = receiver("HTTP/1.1 200 OK\r\n\r\n").await;
    for status in [301, 302, 303, 307, 308] {
        let redirect =
            format!("HTTP/1.1 {status} Moved\r\nlocation: http://{inside}/\r\ncontent-length: 0\r\n\r\n");
        let (address, _) = receiver(redirect).await;
        assert_eq!(sent_to(address, WITHIN).await.unwrap().status, status);
    }
    assert_eq!(at_inside.connections(), 0);
}

#[tokio::test]
async fn a_huge_answer_is_cut_and_its_connection_closed() {
    let huge = format!(
        "HTTP/1.1 500 No\r\ncontent-length: {}\r\n\r\n{}",
        1 << 30,
        "x".repeat(100_000)
    );
    let (address, received) = receiver(huge).await;
    let client = client(loopback_allowed(), &Resolver::of([]), WITHIN);
    for _ in 0..2 {
        let answer = client.send(&url(&format!("http://{address}/")), &message()).await;
        let answer = answer.unwrap();
        assert_eq!((answer.status, answer.body), (500, "x".repeat(2_048)));
    }
    assert_eq!(received.connections(), 2);
}

#[tokio::test]
async fn a_huge_head_is_no_answer() {
    let head = format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "y".repeat(100_000));
    let (address, _) = receiver(head).await;
    assert_eq!(sent_to(address, WITHIN).await, Err(AttemptError::Closed));
}

#[tokio::test]
async fn who_never_answers_or_never_ends_its_answer_is_too_late() {
    let (silent, _) = receiver("").await;
    let (endless, _) = receiver("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nsome").await;
    let (headless, _) = receiver("HTTP/1.1 200 OK\r\nx: ").await;
    for address in [silent, endless, headless] {
        assert_eq!(sent_to(address, SHORT).await, Err(AttemptError::TimedOut));
    }
}

#[tokio::test]
async fn who_closes_or_answers_anything_else_has_not_answered() {
    let (closing, _) = receiver("nonsense\r\n\r\n").await;
    assert_eq!(sent_to(closing, WITHIN).await, Err(AttemptError::Closed));
    let unused = TcpListener::bind("127.0.0.1:0")
        .await
        .unwrap()
        .local_addr()
        .unwrap();
    assert_eq!(sent_to(unused, WITHIN).await, Err(AttemptError::NoConnection));
    let client = client(loopback_allowed(), &Resolver::of([]), WITHIN);
    let unknown = client.send(&url(&format!("https://{HOST}/")), &message()).await;
    assert_eq!(unknown, Err(AttemptError::NotFound));
}

/// A receiver with a certificate for these names, and who vouches for it.
async fn tls_receiver(names: &[&str]) -> (SocketAddr, Received, RootCertStore) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let certificate = CertificateParams::new(names)
        .unwrap()
        .signed_by(&key, &issuer)
        .unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(issuer.der().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
        )
        .unwrap();
    let (listener, received) = (
        TcpListener::bind("127.0.0.1:0").await.unwrap(),
        Received::default(),
    );
    let (address, log) = (listener.local_addr().unwrap(), received.clone());
    let acceptor = TlsAcceptor::from(Arc::new(config));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            log.connections.fetch_add(1, Ordering::SeqCst);
            if let Ok(stream) = acceptor.accept(stream).await {
                let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok".to_vec();
                tokio::spawn(answer_all(stream, answer, log.clone()));
            }
        }
    });
    (address, received, roots)
}

#[tokio::test]
async fn https_is_for_the_hosts_name_at_the_checked_address() {
    let (address, received, roots) = tls_receiver(&[HOST, "127.0.0.1"]).await;
    let resolver = Resolver::of([vec![address]]);
    let client = Client::new(loopback_allowed(), resolver, roots, WITHIN).unwrap();
    for host in [HOST.to_owned(), address.to_string()] {
        let answer = client.send(&url(&format!("https://{host}/")), &message()).await;
        let answer = answer.unwrap();
        assert_eq!((answer.status, answer.body.as_str()), (200, "ok"));
    }
    assert_eq!(received.requests().len(), 2);
}

#[tokio::test]
async fn a_certificate_of_another_host_or_of_an_unknown_authority_is_refused() {
    let (address, received, roots) = tls_receiver(&["other.example"]).await;
    let resolver = Resolver::of([vec![address]]);
    let client = Client::new(loopback_allowed(), resolver.clone() as _, roots, WITHIN).unwrap();
    let wrong_name = client.send(&url(&format!("https://{HOST}/")), &message()).await;
    assert_eq!(wrong_name, Err(AttemptError::Tls));
    let client = Client::new(loopback_allowed(), resolver, RootCertStore::empty(), WITHIN).unwrap();
    let unknown = client.send(&url("https://other.example/"), &message()).await;
    assert_eq!(unknown, Err(AttemptError::Tls));
    assert_eq!(received.requests(), Vec::<String>::new());
}
