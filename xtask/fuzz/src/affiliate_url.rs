//! `affiliate_url`: the parsed code is the one that a simple parser of the query finds, and it parses back from its own URL.

use domain::tracking::affiliate_url::{AffiliateUrlError, aff_code};
use percent_encoding::percent_decode_str;
use url::Url;

pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let read = aff_code(text);
    assert_eq!(read == Err(AffiliateUrlError::NotAbsolute), !is_web_address(text));
    match read {
        Ok(code) => {
            assert!(!code.is_empty() && !code.contains('\0'));
            assert_eq!(
                plain_reading(text),
                Some(code.clone()),
                "the first code of the query counts"
            );
            let mut of_its_own = Url::parse("https://shop.example/").unwrap();
            of_its_own.query_pairs_mut().append_pair("aff", &code);
            assert_eq!(aff_code(of_its_own.as_str()), Ok(code));
        }
        Err(AffiliateUrlError::NoAffParameter) => {
            let found = plain_reading(text);
            assert!(
                found.is_none_or(|code| code.contains('\0')),
                "a code was overlooked"
            );
        }
        Err(AffiliateUrlError::NotAbsolute) => {}
    }
}

fn is_web_address(text: &str) -> bool {
    Url::parse(text).is_ok_and(|url| url.host_str().is_some() && ["http", "https"].contains(&url.scheme()))
}

/// The value of the first `aff` that has one.
fn plain_reading(text: &str) -> Option<String> {
    let url = Url::parse(text).unwrap();
    for pair in url.query()?.split('&') {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        if decoded(name) == "aff" && !value.is_empty() {
            return Some(decoded(value));
        }
    }
    None
}

fn decoded(text: &str) -> String {
    let text = text.replace('+', " ");
    percent_decode_str(&text).decode_utf8_lossy().into_owned()
}
