//! The session token in a browser: a cookie that scripts cannot read. Other sites cannot make the browser
//! send it with a write.

use axum::http::{HeaderMap, HeaderValue, header};
use cookie::time::Duration;
use cookie::{Cookie, SameSite};
use domain::token::SessionToken;

/// `__Host-`: browsers accept the cookie from a secure origin only and for this host only. No subdomain can
/// plant one.
const NAME: &str = "__Host-session";

/// The `Set-Cookie` that keeps a token for as long as its session lasts.
pub fn session_cookie(token: &SessionToken, seconds: i64) -> Option<HeaderValue> {
    value(token.expose(), Duration::seconds(seconds))
}

/// The `Set-Cookie` that makes the browser forget the token.
pub fn end_cookie() -> Option<HeaderValue> {
    value("", Duration::ZERO)
}

fn value(text: &str, max_age: Duration) -> Option<HeaderValue> {
    let cookie = Cookie::build((NAME, text))
        .path("/")
        .secure(true)
        .http_only(true)
        .same_site(SameSite::Lax)
        .max_age(max_age)
        .build();
    let mut value = HeaderValue::from_str(&cookie.to_string()).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// The token of the session cookie, if it is well formed.
pub fn token_of_cookie(headers: &HeaderMap) -> Option<SessionToken> {
    headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(Cookie::split_parse)
        .filter_map(Result::ok)
        .filter(|cookie| cookie.name() == NAME)
        .find_map(|cookie| SessionToken::parse(cookie.value()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_found_again() {
        let token = SessionToken::generate([3; 32]);
        let kept = session_cookie(&token, 60).unwrap();
        let text = kept.to_str().unwrap();
        assert_eq!(
            text,
            format!(
                "__Host-session={}; HttpOnly; SameSite=Lax; Secure; Path=/; Max-Age=60",
                token.expose()
            )
        );
        let mut headers = HeaderMap::new();
        let sent = format!("theme=dark; __Host-session={}", token.expose());
        headers.insert(header::COOKIE, sent.parse().unwrap());
        assert_eq!(token_of_cookie(&headers), Some(token));
        assert!(end_cookie().unwrap().to_str().unwrap().contains("Max-Age=0"));
    }

    #[test]
    fn other_cookies_are_no_session() {
        let mut headers = HeaderMap::new();
        headers.insert(
            header::COOKIE,
            HeaderValue::from_static("session=x; __Host-session=nonsense"),
        );
        assert_eq!(token_of_cookie(&headers), None);
    }
}
