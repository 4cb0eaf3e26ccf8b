//! Accepts writes only from pages of this service, or from callers that are not pages.
//!
//! A browser sends where a write comes from: `Origin`, and in current browsers `Sec-Fetch-Site`. A backend
//! sends neither, and no cookie. So a write with an `Origin` of another site is refused, and a write that
//! relies on the cookie must show that it comes from this site.

use axum::extract::Request;
use axum::http::{HeaderMap, Method, header};
use url::{Host, Origin, Url};

use super::session::token_of_cookie;
use crate::management::prelude::*;

const ANOTHER_SITE: &str = "This request comes from another site";

pub fn same_origin(app: &App, request: &Request) -> Result<(), ApiError> {
    if is_write(request.method()) && !is_ours(request.headers(), &app.public_url.origin()) {
        return Err(ApiError::Forbidden(ANOTHER_SITE));
    }
    Ok(())
}

fn is_write(method: &Method) -> bool {
    ![Method::GET, Method::HEAD, Method::OPTIONS].contains(method)
}

fn is_ours(headers: &HeaderMap, ours: &Origin) -> bool {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    if let Some(origin) = headers.get(header::ORIGIN) {
        let Some(url) = origin.to_str().ok().and_then(|origin| Url::parse(origin).ok()) else {
            return false;
        };
        // On a developer's machine the page's host is the request's own, such as localhost. Elsewhere the
        // host alone does not suffice: `http://app.example` is not `https://app.example`, and its pages may
        // have been tampered with in transit.
        let is_own_host = || is_loopback(&url) && text("host").is_some_and(|host| authority(&url) == host);
        return url.origin() == *ours || is_own_host();
    }
    match text("sec-fetch-site") {
        Some("same-origin" | "none") => true,
        Some(_) => false,
        None => token_of_cookie(headers).is_none(),
    }
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// Host and port, in the form of a `Host` header.
fn authority(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use domain::token::SessionToken;

    use super::*;

    fn judged(given: &[(&'static str, &str)]) -> bool {
        let mut headers = HeaderMap::new();
        for (name, value) in given {
            headers.insert(*name, value.parse().unwrap());
        }
        is_ours(&headers, &Url::parse("https://app.example").unwrap().origin())
    }

    #[test]
    fn a_write_comes_from_our_page_or_from_none() {
        let cookie = format!("__Host-session={}", SessionToken::generate([1; 32]).expose());
        assert!(judged(&[]));
        assert!(judged(&[("origin", "https://app.example"), ("cookie", &cookie)]));
        assert!(judged(&[
            ("origin", "http://localhost:8080"),
            ("host", "localhost:8080")
        ]));
        for local in ["127.0.0.1:8080", "[::1]:8080"] {
            let origin = format!("http://{local}");
            assert!(judged(&[("origin", &origin), ("host", local)]));
        }
        assert!(judged(&[("sec-fetch-site", "same-origin"), ("cookie", &cookie)]));
        for foreign in [
            &[("origin", "https://evil.example")][..],
            &[
                ("origin", "https://app.example.evil.example"),
                ("host", "app.example"),
            ],
            &[("origin", "http://app.example")],
            &[("origin", "http://app.example"), ("host", "app.example")],
            &[
                ("origin", "http://app.example:8080"),
                ("host", "app.example:8080"),
            ],
            &[("origin", "http://10.0.0.7:8080"), ("host", "10.0.0.7:8080")],
            &[
                ("origin", "http://localhost.example"),
                ("host", "localhost.example"),
            ],
            &[("origin", "null")],
            &[("sec-fetch-site", "cross-site")],
            &[("sec-fetch-site", "same-site"), ("cookie", &cookie)],
            &[("cookie", &cookie)],
        ] {
            assert!(!judged(foreign), "{foreign:?}");
        }
    }
}
