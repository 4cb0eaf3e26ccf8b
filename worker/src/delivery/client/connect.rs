//! Connects to a checked address. The name is resolved once: the address cannot change after the check.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use domain::programs::webhook_address::AllowedAddresses;
use http_body_util::Full;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_util::task::AbortOnDropHandle;
use url::Host;

use super::error::AttemptError;
use super::resolve::Resolve;

/// The most addresses of a host that are tried.
const MAX_ADDRESSES: usize = 4;
/// The limit for one address, so that time remains for another.
const CONNECT_WITHIN: Duration = Duration::from_secs(4);
/// The limit for the head of an answer. Hyper's default is 400 KiB.
const MAX_HEAD: usize = 16 << 10;
const MAX_HEADERS: usize = 64;

/// The key under which idle connections are kept.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Origin {
    pub(crate) tls: bool,
    pub(crate) host: Host<String>,
    pub(crate) port: u16,
}

/// Dropping it closes the connection at once.
pub(crate) struct Connection {
    pub(crate) sender: SendRequest<Full<Bytes>>,
    pub(crate) opened: Instant,
    _io: AbortOnDropHandle<()>,
}

pub(crate) struct Connector {
    allowed: AllowedAddresses,
    resolver: Arc<dyn Resolve>,
    tls: TlsConnector,
}

impl Connector {
    pub(crate) fn new(
        allowed: AllowedAddresses,
        resolver: Arc<dyn Resolve>,
        roots: RootCertStore,
    ) -> Result<Self, rustls::Error> {
        let mut config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self {
            allowed,
            resolver,
            tls: TlsConnector::from(Arc::new(config)),
        })
    }

    pub(crate) async fn connect(&self, origin: &Origin) -> Result<Connection, AttemptError> {
        let addresses = self.checked_addresses(origin).await?;
        let stream = open_any(&addresses).await?;
        // Requests are small, and each waits for its answer.
        let _ = stream.set_nodelay(true);
        if !origin.tls {
            return handshake(stream).await;
        }
        let name = match &origin.host {
            Host::Domain(name) => ServerName::try_from(name.clone()).map_err(|_| AttemptError::Tls)?,
            Host::Ipv4(address) => ServerName::from(std::net::IpAddr::V4(*address)),
            Host::Ipv6(address) => ServerName::from(std::net::IpAddr::V6(*address)),
        };
        let stream = self.tls.connect(name, stream).await;
        handshake(stream.map_err(|_| AttemptError::Tls)?).await
    }

    /// One forbidden address refuses the host: attackers try names with a public and a private address.
    async fn checked_addresses(&self, origin: &Origin) -> Result<Vec<SocketAddr>, AttemptError> {
        let mut addresses = match &origin.host {
            Host::Ipv4(address) => vec![SocketAddr::from((*address, origin.port))],
            Host::Ipv6(address) => vec![SocketAddr::from((*address, origin.port))],
            Host::Domain(name) => {
                let resolved = self.resolver.resolve(name.clone(), origin.port).await;
                resolved.map_err(|_| AttemptError::NotFound)?
            }
        };
        if addresses.is_empty() {
            return Err(AttemptError::NotFound);
        }
        if !addresses.iter().all(|address| self.allowed.permits(address.ip())) {
            return Err(AttemptError::NotPublic);
        }
        addresses.truncate(MAX_ADDRESSES);
        Ok(addresses)
    }
}

async fn open_any(addresses: &[SocketAddr]) -> Result<TcpStream, AttemptError> {
    for address in addresses {
        if let Ok(Ok(stream)) = timeout(CONNECT_WITHIN, TcpStream::connect(address)).await {
            return Ok(stream);
        }
    }
    Err(AttemptError::NoConnection)
}

async fn handshake<S>(stream: S) -> Result<Connection, AttemptError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let opened = Instant::now();
    let handshake = http1::Builder::new()
        .max_buf_size(MAX_HEAD)
        .max_headers(MAX_HEADERS)
        .handshake(TokioIo::new(stream))
        .await;
    let (sender, io) = handshake.map_err(|_| AttemptError::Closed)?;
    // Its error is ignored, because the request fails with the same error.
    let io = tokio::spawn(async move {
        let _ = io.await;
    });
    Ok(Connection {
        sender,
        opened,
        _io: AbortOnDropHandle::new(io),
    })
}

#[derive(Debug, thiserror::Error)]
pub enum RootsError {
    #[error("the file of CA certificates cannot be read: {0}")]
    File(#[from] rustls::pki_types::pem::Error),
    #[error("a CA certificate is not valid: {0}")]
    Certificate(#[from] rustls::Error),
    #[error("this machine has no CA certificates: {0:?}")]
    None(Vec<io::Error>),
}

/// The trusted CA certificates: the system's, and those of a file (PEM). Reads files.
pub fn roots(more: Option<&Path>) -> Result<RootCertStore, RootsError> {
    let mut roots = RootCertStore::empty();
    let native = rustls_native_certs::load_native_certs();
    // System certificates that cannot be parsed are skipped.
    roots.add_parsable_certificates(native.certs);
    if let Some(file) = more {
        for certificate in CertificateDer::pem_file_iter(file)? {
            roots.add(certificate?)?;
        }
    }
    if roots.is_empty() {
        let errors = native.errors.into_iter().map(io::Error::other).collect();
        return Err(RootsError::None(errors));
    }
    Ok(roots)
}
