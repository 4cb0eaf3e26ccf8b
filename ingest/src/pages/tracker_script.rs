//! `GET /js/tracker.js`: the script that advertisers put on their pages, served to any site.
//! `GET /js/{alias}-tracker.js` is the same script for pages that know it by another name.
//!
//! The scripts are built from `web/tracker` and committed with their compressed forms, so that building the
//! service needs no Node. Their addresses have no version: browsers cache them for an hour, and may use the
//! stale copy for a day while they revalidate.

use std::fmt::Write;
use std::sync::LazyLock;

use axum::extract::{Path, State};
use axum::http::header::{HeaderMap, HeaderName, HeaderValue};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use sha2::{Digest, Sha256};

use crate::app::App;
use crate::http::accept::{accepts, members};
use crate::http::error::ApiError;

static TRACKER: LazyLock<Script> = LazyLock::new(|| Script {
    plain: include_bytes!("../../../web/tracker/dist/tracker.js"),
    brotli: include_bytes!("../../../web/tracker/dist/tracker.js.br"),
    gzip: include_bytes!("../../../web/tracker/dist/tracker.js.gz"),
    hash: hash(include_bytes!("../../../web/tracker/dist/tracker.js")),
});
/// The script reads its name from its own address, so that its bytes are the same for every alias.
static ALIAS: LazyLock<Script> = LazyLock::new(|| Script {
    plain: include_bytes!("../../../web/tracker/dist/alias.js"),
    brotli: include_bytes!("../../../web/tracker/dist/alias.js.br"),
    gzip: include_bytes!("../../../web/tracker/dist/alias.js.gz"),
    hash: hash(include_bytes!("../../../web/tracker/dist/alias.js")),
});

const CACHE_CONTROL: &str = "public, max-age=3600, stale-while-revalidate=86400";
/// Cross-origin isolated pages load only resources with this header.
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// A script in all its forms.
#[derive(Debug)]
struct Script {
    plain: &'static [u8],
    brotli: &'static [u8],
    gzip: &'static [u8],
    hash: String,
}

/// A content coding.
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
}

impl Script {
    fn bytes(&self, form: Form) -> &'static [u8] {
        match form {
            Form::Brotli => self.brotli,
            Form::Gzip => self.gzip,
            Form::Plain => self.plain,
        }
    }

    /// Each form has its own tag, because the bytes differ.
    fn tag(&self, form: Form) -> String {
        let hash = &self.hash;
        match form.coding() {
            Some(coding) => format!("\"{hash}-{coding}\""),
            None => format!("\"{hash}\""),
        }
    }
}

fn hash(script: &[u8]) -> String {
    let digest = Sha256::digest(script);
    digest.iter().take(8).fold(String::new(), |mut hex, byte| {
        // Writing to a string cannot fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

pub async fn script(asked: HeaderMap) -> Response {
    answer(&TRACKER, &asked)
}

/// 404 for names that are not configured.
pub async fn alias(State(app): State<App>, Path(file): Path<String>, asked: HeaderMap) -> Response {
    let named = file.strip_suffix("-tracker.js");
    if named.is_some_and(|name| app.script_aliases.iter().any(|alias| alias.as_str() == name)) {
        answer(&ALIAS, &asked)
    } else {
        ApiError::NotFound("Not Found").into_response()
    }
}

fn answer(script: &Script, asked: &HeaderMap) -> Response {
    let form = Form::for_caller(asked);
    let tag = script.tag(form);
    let mut response = if has_already(asked, &tag) {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        script.bytes(form).into_response()
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
    // A proxy may have marked the tag as weak.
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
        let (brotli, plain) = (TRACKER.tag(Form::Brotli), TRACKER.tag(Form::Plain));
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
