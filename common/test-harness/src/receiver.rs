//! A receiver of webhooks on loopback, with a behaviour that the test sets.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::stack::Stack;

/// One request as received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Webhook {
    pub id: String,
    pub timestamp: String,
    pub signature: String,
    pub body: String,
}

impl Webhook {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

/// The receiver's reaction to a request.
#[derive(Debug, Clone)]
pub enum Reply {
    /// An answer with this status and nothing else.
    Status(u16),
    /// A complete HTTP answer, sent as it is.
    Text(String),
    /// No answer until [`Receiver::release`], then 200.
    Hang,
    /// Closes the connection without an answer.
    Close,
}

type Behaviour = Arc<dyn Fn(&Webhook) -> Reply + Send + Sync>;

/// Ends with the runtime of its last clone.
#[derive(Clone)]
pub struct Receiver {
    pub address: SocketAddr,
    behaviour: Arc<Mutex<Behaviour>>,
    received: Arc<Mutex<Vec<Webhook>>>,
    hanging: Arc<AtomicUsize>,
    connections: Arc<AtomicUsize>,
    released: watch::Sender<bool>,
}

impl std::fmt::Debug for Receiver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Receiver({})", self.address)
    }
}

impl Receiver {
    /// Starts a receiver that answers every request with 200.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let receiver = Self {
            address: listener.local_addr().unwrap(),
            behaviour: Arc::new(Mutex::new(Arc::new(|_| Reply::Status(200)))),
            received: Arc::default(),
            hanging: Arc::default(),
            connections: Arc::default(),
            released: watch::Sender::new(false),
        };
        let accepting = receiver.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                accepting.connections.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(accepting.clone().serve(stream));
            }
        });
        receiver
    }

    pub async fn replying(reply: Reply) -> Self {
        let receiver = Self::start().await;
        receiver.reply(reply);
        receiver
    }

    pub fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }

    /// Sets the reply to all further requests.
    pub fn reply(&self, reply: Reply) {
        self.reply_with(move |_| reply.clone());
    }

    pub fn reply_with(&self, behaviour: impl Fn(&Webhook) -> Reply + Send + Sync + 'static) {
        *self.behaviour.lock().unwrap() = Arc::new(behaviour);
    }

    /// All requests in order of arrival, whatever the reply was.
    pub fn received(&self) -> Vec<Webhook> {
        self.received.lock().unwrap().clone()
    }

    pub fn ids(&self) -> Vec<String> {
        self.received().into_iter().map(|webhook| webhook.id).collect()
    }

    pub fn count(&self) -> usize {
        self.received.lock().unwrap().len()
    }

    /// Number of connections so far.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// Waits until this many requests have arrived.
    pub async fn arrived(&self, stack: &Stack, count: usize) {
        let all = async || self.count() == count;
        stack.eventually("requests arrive", all).await;
    }

    /// Waits until this many requests wait for an answer.
    pub async fn holds(&self, stack: &Stack, count: usize) {
        let all = async || self.hanging() == count;
        stack.eventually("requests wait for an answer", all).await;
    }

    /// Number of requests that wait for an answer.
    pub fn hanging(&self) -> usize {
        self.hanging.load(Ordering::SeqCst)
    }

    /// Answers all hanging requests, and later ones at once.
    pub fn release(&self) {
        self.released.send_replace(true);
    }

    async fn serve(self, mut stream: TcpStream) {
        while let Some(webhook) = read(&mut stream).await {
            let behaviour = Arc::clone(&*self.behaviour.lock().unwrap());
            let reply = behaviour(&webhook);
            self.received.lock().unwrap().push(webhook);
            let answer = match reply {
                Reply::Status(status) => format!("HTTP/1.1 {status} Status\r\ncontent-length: 0\r\n\r\n"),
                Reply::Text(text) => text,
                Reply::Close => return,
                Reply::Hang => {
                    if !self.hang(&mut stream).await {
                        return;
                    }
                    "HTTP/1.1 200 Late\r\ncontent-length: 0\r\n\r\n".to_owned()
                }
            };
            if stream.write_all(answer.as_bytes()).await.is_err() {
                return;
            }
        }
    }

    /// Waits until the receiver is released or the sender leaves. Returns whether it was released.
    async fn hang(&self, stream: &mut TcpStream) -> bool {
        self.hanging.fetch_add(1, Ordering::SeqCst);
        let mut released = self.released.subscribe();
        let answered = tokio::select! {
            _ = released.wait_for(|released| *released) => true,
            _ = stream.read_u8() => false,
        };
        self.hanging.fetch_sub(1, Ordering::SeqCst);
        answered
    }
}

async fn read(stream: &mut TcpStream) -> Option<Webhook> {
    let mut request = Vec::new();
    loop {
        if let Some(webhook) = parse(&String::from_utf8_lossy(&request)) {
            return Some(webhook);
        }
        if stream.read_buf(&mut request).await.ok()? == 0 {
            return None;
        }
    }
}

/// `None` until the whole request has arrived.
fn parse(request: &str) -> Option<Webhook> {
    let (head, body) = request.split_once("\r\n\r\n")?;
    let header = |name: &str| {
        let line = head.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_else(|| panic!("no {name} in {head}")).to_owned()
    };
    if body.len() < header("content-length: ").parse().unwrap() {
        return None;
    }
    Some(Webhook {
        id: header("webhook-id: "),
        timestamp: header("webhook-timestamp: "),
        signature: header("webhook-signature: "),
        body: body.to_owned(),
    })
}
