//! Extracts the `aff` value, which names a referral link, from a landing URL.

use url::Url;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AffiliateUrlError {
    /// Not an `http` or `https` URL with a host.
    #[error("not an absolute http or https URL")]
    NotAbsolute,
    /// The query has no `aff`, or no value that can be a short code.
    #[error("no usable aff parameter in the query")]
    NoAffParameter,
}

/// The percent-decoded value of the first non-empty `aff` parameter in the query. The fragment is ignored.
///
/// The value is not checked further: the lookup finds no link for an unknown code. Only NUL is refused here,
/// because PostgreSQL cannot store it as text and the lookup would fail.
pub fn aff_code(affiliate_url: &str) -> Result<String, AffiliateUrlError> {
    let url = Url::parse(affiliate_url).map_err(|_| AffiliateUrlError::NotAbsolute)?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(AffiliateUrlError::NotAbsolute);
    }
    url.query_pairs()
        .find(|(name, value)| name == "aff" && !value.is_empty())
        .map(|(_, code)| code.into_owned())
        .filter(|code| !code.contains('\0'))
        .ok_or(AffiliateUrlError::NoAffParameter)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_code_is_read_from_the_query() {
        for (url, code) in [
            ("https://shop.example/?aff=anna", "anna"),
            ("http://shop.example/a/b?x=1&aff=anna&y=2#top", "anna"),
            ("https://shop.example?aff=anna%2Dsummer", "anna-summer"),
            ("https://shop.example?%61ff=anna", "anna"),
            ("https://shop.example?aff=a+b", "a b"),
            ("https://shop.example?aff=&aff=anna&aff=ben", "anna"),
            ("HTTPS://shop.example?aff=Anna", "Anna"),
            ("https://münchen.example/?aff=jörg", "jörg"),
        ] {
            assert_eq!(aff_code(url).as_deref(), Ok(code), "{url}");
        }
    }

    #[test]
    fn only_web_addresses_with_a_host_are_absolute() {
        for url in [
            "",
            "anna",
            "/landing?aff=anna",
            "//shop.example?aff=anna",
            "shop.example?aff=anna",
            "https://?aff=anna",
            "javascript:alert(1)?aff=anna",
            "data:text/html,x?aff=anna",
            "mailto:a@shop.example?aff=anna",
            "ftp://shop.example/?aff=anna",
            "file:///tmp/x?aff=anna",
        ] {
            assert_eq!(aff_code(url), Err(AffiliateUrlError::NotAbsolute), "{url}");
        }
    }

    #[test]
    fn a_missing_or_unusable_parameter_is_told_apart_from_a_bad_url() {
        for url in [
            "https://shop.example/",
            "https://shop.example/?",
            "https://shop.example/?aff",
            "https://shop.example/?aff=",
            "https://shop.example/?AFF=anna",
            "https://shop.example/?affiliate=anna",
            "https://shop.example/#?aff=anna",
            "https://shop.example/?aff=an%00na",
        ] {
            assert_eq!(aff_code(url), Err(AffiliateUrlError::NoAffParameter), "{url}");
        }
    }

    proptest! {
        #[test]
        fn no_string_panics(text in any::<String>()) {
            let _ = aff_code(&text);
        }

        #[test]
        fn no_query_panics_or_lets_nul_through(
            query in "(aff|%61ff|[ -~]{0,4})=(\\PC|%[0-9a-f]{2}|&|#|\\x00){0,20}",
        ) {
            if let Ok(code) = aff_code(&format!("https://shop.example/?{query}")) {
                prop_assert!(!code.is_empty() && !code.contains('\0'));
            }
        }

        #[test]
        fn any_encoded_code_comes_back(code in "[^\\x00]{1,40}") {
            let mut url = Url::parse("https://shop.example/").unwrap();
            url.query_pairs_mut().append_pair("aff", &code);
            prop_assert_eq!(aff_code(url.as_str()), Ok(code));
        }
    }
}
