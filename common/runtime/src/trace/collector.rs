//! The HTTP client of the span exporter: HTTP/1.1, one connection per batch.
//!
//! Only the exporter's own thread uses it, so it may block. A batch is sent every few seconds, so connections
//! are not reused. When the collector is down, spans are lost and nothing else is affected.

use std::fmt::Write as _;
use std::future::Future;
use std::io::{Read, Write as _};
use std::net::{TcpStream, ToSocketAddrs};
use std::pin::Pin;
use std::time::Duration;

use axum::body::Bytes;
use axum::http::header::{CONNECTION, CONTENT_LENGTH, HOST};
use axum::http::{Request, Response};
use opentelemetry_http::{HttpClient, HttpError};

use crate::config::CollectorUrl;
use crate::metrics::Counter;
use crate::sampled_counter::SampledCounter;

const CONNECT_WITHIN: Duration = Duration::from_secs(2);
const ANSWER_WITHIN: Duration = Duration::from_secs(5);
/// Only the status line is used; the rest is limited.
const MAX_ANSWER_BYTES: u64 = 16 * 1024;

#[derive(Debug)]
pub(super) struct Collector {
    host: String,
    port: u16,
    lost: SampledCounter,
}

impl Collector {
    pub(super) fn new(url: &CollectorUrl) -> Self {
        Self {
            host: url.host.clone(),
            port: url.port,
            lost: SampledCounter::new(Counter::default()),
        }
    }

    fn post(&self, request: &Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let mut stream = self.connect()?;
        stream.set_read_timeout(Some(ANSWER_WITHIN))?;
        stream.set_write_timeout(Some(ANSWER_WITHIN))?;
        stream.write_all(head(request).as_bytes())?;
        stream.write_all(request.body())?;
        let mut answer = Vec::new();
        stream.take(MAX_ANSWER_BYTES).read_to_end(&mut answer)?;
        let status = status(&answer).ok_or("the collector's answer is not HTTP")?;
        Ok(Response::builder().status(status).body(Bytes::new())?)
    }

    fn connect(&self) -> std::io::Result<TcpStream> {
        let mut refused = std::io::Error::from(std::io::ErrorKind::AddrNotAvailable);
        for address in (self.host.as_str(), self.port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, CONNECT_WITHIN) {
                Ok(stream) => return Ok(stream),
                Err(error) => refused = error,
            }
        }
        Err(refused)
    }

    fn log_failure(&self, result: &Result<Response<Bytes>, HttpError>) {
        let reason = match result {
            Ok(response) if response.status().is_success() => return,
            Ok(response) => response.status().to_string(),
            Err(error) => error.to_string(),
        };
        if let Some(batches) = self.lost.increment() {
            tracing::warn!(batches, reason, "trace export failed");
        }
    }
}

impl HttpClient for Collector {
    fn send_bytes<'life0, 'async_trait>(
        &'life0 self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'async_trait>>
    where
        'life0: 'async_trait,
        Self: 'async_trait,
    {
        Box::pin(async move {
            let result = self.post(&request);
            self.log_failure(&result);
            result
        })
    }
}

fn head(request: &Request<Bytes>) -> String {
    let uri = request.uri();
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let host = uri.authority().map_or("", |authority| authority.as_str());
    let mut head = format!(
        "{} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n",
        request.method()
    );
    let ours = [CONTENT_LENGTH, HOST, CONNECTION];
    for (name, value) in request.headers().iter().filter(|(name, _)| !ours.contains(name)) {
        if let Ok(value) = value.to_str() {
            let _ = write!(head, "{name}: {value}\r\n");
        }
    }
    let _ = write!(head, "content-length: {}\r\n\r\n", request.body().len());
    head
}

/// Parses the code in `HTTP/1.1 200 OK`.
fn status(answer: &[u8]) -> Option<u16> {
    let line = answer.split(|byte| *byte == b'\r').next()?;
    let line = std::str::from_utf8(line).ok()?;
    line.strip_prefix("HTTP/1.")?.split(' ').nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_of_an_answer_says_how_it_went() {
        assert_eq!(status(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"), Some(200));
        assert_eq!(status(b"HTTP/1.0 503\r\n\r\n"), Some(503));
        for invalid in ["", "HTTP/2 200", "SSH-2.0-x", "HTTP/1.1 OK"] {
            assert_eq!(status(invalid.as_bytes()), None, "{invalid}");
        }
    }
}
