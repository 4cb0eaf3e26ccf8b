/// Why an attempt got no answer. The text is stored with the delivery and shown to the endpoint's owner, so
/// it reveals nothing about the installation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AttemptError {
    #[error("the URL is not allowed")]
    Url,
    #[error("the host was not found")]
    NotFound,
    #[error("the host's address is not public")]
    NotPublic,
    #[error("no connection")]
    NoConnection,
    #[error("TLS failed: the certificate is not valid for the host, or there is none")]
    Tls,
    #[error("the connection ended before the answer")]
    Closed,
    #[error("no whole answer in time")]
    TimedOut,
}

impl AttemptError {
    /// The label in metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Url => "url",
            Self::NotFound => "not_found",
            Self::NotPublic => "not_public",
            Self::NoConnection => "no_connection",
            Self::Tls => "tls",
            Self::Closed => "closed",
            Self::TimedOut => "timed_out",
        }
    }
}
