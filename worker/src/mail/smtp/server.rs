//! The mail server: its address, and the start of a session.

#[cfg(test)]
mod tests;

use std::fmt;
use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{AsyncSmtpConnection, Certificate, CertificateStore, TlsParameters};
use lettre::transport::smtp::extension::ClientId;
use percent_encoding::percent_decode_str;
use url::Url;

use super::{SendError, later};

const CONNECTING_TAKES_AT_MOST: Duration = Duration::from_secs(15);
const SUBMISSION: u16 = 587;
const SUBMISSION_OVER_TLS: u16 = 465;

/// A setting that cannot be used. The error quotes no setting, because one is a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    #[error("SMTP_URL must be a `smtp:` or `smtps:` URL with a host")]
    Url,
    #[error("EMAIL_FROM must be an address, or a name and an address: `Acme <mail@acme.example>`")]
    Sender,
    #[error("EMAIL_REPLY_TO must be an address, or a name and an address")]
    ReplyTo,
    #[error("SMTP_CA_FILE cannot be read, or holds no certificate")]
    CaFile,
    #[error("TLS cannot be set up with the system's certificates")]
    Tls,
}

enum Encryption {
    /// Encrypted from the first byte.
    FromTheStart(TlsParameters),
    /// Encrypted with `STARTTLS` before any other command; a server without it fails the session.
    Upgraded(TlsParameters),
    /// Not encrypted, which is allowed on loopback only.
    None,
}

pub struct Server {
    host: String,
    port: u16,
    encryption: Encryption,
    hello: ClientId,
    pub credentials: Option<Credentials>,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("host", &self.host)
            .field("port", &self.port)
            .finish_non_exhaustive()
    }
}

impl Server {
    pub fn new(url: &str, ca_file: Option<&Path>, our_domain: &str) -> Result<Self, SettingsError> {
        let url = Url::parse(url).map_err(|_| SettingsError::Url)?;
        let host = url.host_str().filter(|host| !host.is_empty());
        let host = host
            .ok_or(SettingsError::Url)?
            .trim_matches(['[', ']'])
            .to_owned();
        let (encryption, port) = match url.scheme() {
            "smtps" => (
                Encryption::FromTheStart(tls(&host, ca_file)?),
                SUBMISSION_OVER_TLS,
            ),
            "smtp" if is_here(&host) => (Encryption::None, SUBMISSION),
            "smtp" => (Encryption::Upgraded(tls(&host, ca_file)?), SUBMISSION),
            _ => return Err(SettingsError::Url),
        };
        let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
        Ok(Self {
            credentials: url
                .password()
                .map(|password| Credentials::new(decoded(url.username()), decoded(password))),
            port: url.port().unwrap_or(port),
            encryption,
            hello: ClientId::Domain(our_domain.to_owned()),
            host,
        })
    }

    /// Starts a session, encrypted unless the server is on loopback.
    pub async fn connect(&self) -> Result<AsyncSmtpConnection, SendError> {
        let from_the_start = match &self.encryption {
            Encryption::FromTheStart(tls) => Some(tls.clone()),
            Encryption::Upgraded(_) | Encryption::None => None,
        };
        let server = (self.host.as_str(), self.port);
        let within = Some(CONNECTING_TAKES_AT_MOST);
        let mut connection =
            AsyncSmtpConnection::connect_tokio1(server, within, &self.hello, from_the_start, None)
                .await
                .map_err(|error| later("connection", &error))?;
        if let Encryption::Upgraded(tls) = &self.encryption {
            connection
                .starttls(tls.clone(), &self.hello)
                .await
                .map_err(|error| later("encryption", &error))?;
        }
        Ok(connection)
    }
}

fn tls(host: &str, ca_file: Option<&Path>) -> Result<TlsParameters, SettingsError> {
    let mut parameters = TlsParameters::builder(host.to_owned());
    if let Some(path) = ca_file {
        let pem = std::fs::read(path).map_err(|_| SettingsError::CaFile)?;
        let certificate = Certificate::from_pem(&pem).map_err(|_| SettingsError::CaFile)?;
        parameters = parameters
            .certificate_store(CertificateStore::None)
            .add_root_certificate(certificate);
    }
    parameters.build_rustls().map_err(|_| SettingsError::Tls)
}

fn is_here(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}
