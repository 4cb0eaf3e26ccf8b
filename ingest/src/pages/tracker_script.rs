//! `GET /js/tracker.js`: the script advertisers put on their pages, from any site.
//!
//! Built from `web/tracker` and committed with its compressed forms, so that building the service needs no Node. Its
//! address has no version: browsers cache it for an hour, and may use the stale copy for a day while they revalidate.

use std::fmt::Write;
use std::sync::LazyLock;

use axum::http::StatusCode;
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};
use sha2::{Digest, Sha256};

use crate::http::accept::{accepts, members};

const PLAIN: &[u8] = include_bytes!("../../../web/tracker/dist/tracker.js");
const BROTLI: &[u8] = include_bytes!("../../../web/tracker/dist/tracker.js.br");
const GZIP: &[u8] = include_bytes!("../../../web/tracker/dist/tracker.js.gz");

const CACHE_CONTROL: &str = "public, max-age=3600, stale-while-revalidate=86400";
/// Cross-origin isolated pages load only resources with this header.
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// The script in one content coding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Brotli,
    Gzip,
    Plain,
}

impl Form {
    /// The smallest form that the caller accepts.
    fn for_caller(headers: &HeaderMap) -> Self {
        [Self::Brotli, Self::Gzip]
            .into_iter()
            .find(|form| {
                form.coding()
                    .is_some_and(|coding| accepts(headers, header::ACCEPT_ENCODING, coding))
            })
            .unwrap_or(Self::Plain)
    }

    fn coding(self) -> Option<&'static str> {
        match self {
            Self::Brotli => Some("br"),
            Self::Gzip => Some("gzip"),
            Self::Plain => None,
        }
    }

    fn bytes(self) -> &'static [u8] {
        match self {
            Self::Brotli => BROTLI,
            Self::Gzip => GZIP,
            Self::Plain => PLAIN,
        }
    }

    /// Each form has its own tag, because the bytes differ.
    fn tag(self) -> String {
        let hash = HASH.as_str();
        match self.coding() {
            Some(coding) => format!("\"{hash}-{coding}\""),
            None => format!("\"{hash}\""),
        }
    }
}

static HASH: LazyLock<String> = LazyLock::new(|| {
    let digest = Sha256::digest(PLAIN);
    digest.iter().take(8).fold(String::new(), |mut hex, byte| {
        // Writing to a string cannot fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
});

pub async fn script(asked: HeaderMap) -> Response {
    let form = Form::for_caller(&asked);
    let tag = form.tag();
    let mut response = if has_already(&asked, &tag) {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        form.bytes().into_response()
    };
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CACHE_CONTROL, CACHE_CONTROL),
        (header::VARY, "Accept-Encoding"),
        (header::CONTENT_TYPE, "text/javascript; charset=utf-8"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
        (RESOURCE_POLICY, "cross-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if let Some(coding) = form.coding() {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(coding));
    }
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(header::ETAG, tag);
    }
    response
}

/// Whether the caller has this form cached.
fn has_already(headers: &HeaderMap, tag: &str) -> bool {
    // A proxy on the way may have marked it as weak.
    members(headers, header::IF_NONE_MATCH)
        .any(|known| known == "*" || known.strip_prefix("W/").unwrap_or(known) == tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepting(values: &[&'static str]) -> HeaderMap {
        let values = values.iter().map(|value| HeaderValue::from_static(value));
        values.map(|value| (header::ACCEPT_ENCODING, value)).collect()
    }

    #[test]
    fn the_smallest_form_the_caller_takes_is_chosen() {
        for (accept, form) in [
            (&["gzip, deflate, br, zstd"][..], Form::Brotli),
            (&["gzip;q=1.0, BR;q=0.5"], Form::Brotli),
            (&["gzip", "br"], Form::Brotli),
            (&["gzip, br;q=0"], Form::Gzip),
            (&["gzip;q=0.0, deflate"], Form::Plain),
            (&["broad, x-gzip"], Form::Plain),
            (&["identity"], Form::Plain),
            (&["br;q=, gzip;level=9;q=x"], Form::Plain),
            (&[""], Form::Plain),
            (&[], Form::Plain),
        ] {
            assert_eq!(Form::for_caller(&accepting(accept)), form, "{accept:?}");
        }
    }

    #[test]
    fn a_form_is_known_by_its_own_tag_only() {
        let (brotli, plain) = (Form::Brotli.tag(), Form::Plain.tag());
        let known = |text: String| {
            let value = HeaderValue::try_from(text).unwrap();
            has_already(&HeaderMap::from_iter([(header::IF_NONE_MATCH, value)]), &brotli)
        };
        assert!(known(brotli.clone()));
        assert!(known(format!("\"other\", W/{brotli}")));
        assert!(known("*".to_owned()));
        assert!(!known(plain));
        assert!(!known(brotli.replace('"', "")));
        assert!(!known(String::new()));
    }
}
