//! Headers that list what a caller accepts.

use axum::http::header::{HeaderMap, HeaderName};

/// Whether the header names `wanted` without refusing it (`q=0`).
pub fn accepts(headers: &HeaderMap, name: HeaderName, wanted: &str) -> bool {
    members(headers, name).any(|member| {
        let mut parts = member.split(';').map(str::trim);
        let is_named = parts.next().is_some_and(|name| name.eq_ignore_ascii_case(wanted));
        let weight = parts.find_map(|part| part.strip_prefix(['q', 'Q'])?.strip_prefix('='));
        is_named
            && weight
                .unwrap_or("1")
                .parse()
                .is_ok_and(|weight: f32| weight > 0.0)
    })
}

/// The members of a header that is a list. The list may be spread over several header lines.
pub fn members(headers: &HeaderMap, name: HeaderName) -> impl Iterator<Item = &str> {
    headers
        .get_all(name)
        .into_iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim)
}
