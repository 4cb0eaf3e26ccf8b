//! Query parameters that filter and sort a list, read by name. Unknown parameters are ignored.

use std::borrow::Cow;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use domain::name::Name;
use domain::sorting::Sorting;
use url::form_urlencoded;

use crate::http::error::ApiError;
use crate::http::field::refused;

/// The rule for search texts.
pub const NO_TEXT: &str = "must be 1 to 120 visible characters";

#[derive(Clone, Default)]
pub struct Query(String);

/// Hides the query, because a search text may be personal data.
impl std::fmt::Debug for Query {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Query")
    }
}

impl Query {
    /// An empty value counts as absent. A repeated name is refused: some clients send a list that way, and
    /// the route would ignore all entries but the first.
    fn value(&self, wanted: &str) -> Result<Option<Cow<'_, str>>, ApiError> {
        let mut given = form_urlencoded::parse(self.0.as_bytes())
            .filter(|(name, value)| name == wanted && !value.is_empty())
            .map(|(_, value)| value);
        let first = given.next();
        match given.next() {
            Some(_) => Err(refused(wanted, "must be given once")),
            None => Ok(first),
        }
    }

    /// `rule` ends the message that begins with the parameter's name.
    pub fn parsed<T>(
        &self,
        name: &str,
        rule: &str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, ApiError> {
        self.value(name)?
            .map(|text| read(&text).ok_or_else(|| refused(name, rule)))
            .transpose()
    }

    /// `search`: a part of a name.
    pub fn search(&self) -> Result<Option<Name>, ApiError> {
        self.parsed("search", NO_TEXT, |text| Name::parse(text).ok())
    }

    /// `sort` names a column; `order` is descending by default. `rule` lists the columns.
    pub fn sorting<Column>(
        &self,
        rule: &str,
        column: impl FnOnce(&str) -> Option<Column>,
    ) -> Result<Option<Sorting<Column>>, ApiError> {
        let by = self.parsed("sort", rule, column)?;
        let ascending = self.parsed("order", "must be asc or desc", |text| match text {
            "asc" => Some(true),
            "desc" => Some(false),
            _ => None,
        })?;
        let ascending = ascending.unwrap_or(false);
        Ok(by.map(|by| Sorting { by, ascending }))
    }

    pub fn integer(&self, name: &str) -> Result<Option<i64>, ApiError> {
        self.parsed(name, "must be an integer", |text| text.parse().ok())
    }

    pub fn within<N: FromStr + PartialOrd + Display>(
        &self,
        name: &str,
        range: RangeInclusive<N>,
    ) -> Result<Option<N>, ApiError> {
        let rule = format!("must be an integer from {} to {}", range.start(), range.end());
        self.parsed(name, &rule, |text| {
            text.parse().ok().filter(|number| range.contains(number))
        })
    }

    pub fn optional_flag(&self, name: &str) -> Result<Option<bool>, ApiError> {
        self.parsed(name, "must be true or false", |text| text.parse().ok())
    }

    pub fn flag(&self, name: &str) -> Result<bool, ApiError> {
        Ok(self.optional_flag(name)?.unwrap_or(false))
    }
}

impl<S: Sync> FromRequestParts<S> for Query {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        Ok(Self(parts.uri.query().unwrap_or_default().to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_is_absent_read_or_refused_by_its_name() {
        let query = Query("unread=true&id=7&empty=&other=x&types=a&types=b".to_owned());
        assert!(query.flag("unread").unwrap());
        assert!(!query.flag("missing").unwrap());
        assert_eq!(query.optional_flag("missing").unwrap(), None);
        assert_eq!(query.integer("id").unwrap(), Some(7));
        assert_eq!(query.integer("empty").unwrap(), None);
        let refusal = query.integer("other").unwrap_err();
        assert_eq!(refusal.to_string(), "other must be an integer");
        let refusal = query
            .parsed("types", "", |text| Some(text.to_owned()))
            .unwrap_err();
        assert_eq!(refusal.to_string(), "types must be given once");
    }
}
