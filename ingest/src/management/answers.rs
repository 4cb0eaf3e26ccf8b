//! Answers of management routes: `data`, and for a page of a list `meta.pagination` beside it.

use axum::Json;
use axum::extract::{FromRequestParts, Path};
use axum::http::StatusCode;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;
use storage::page::{Whole, Window};
use url::form_urlencoded;
use utoipa::IntoParams;

use crate::management::prelude::*;

const DEFAULT_PAGE_SIZE: i64 = 10;
/// A request for larger pages gets pages of this size, and `meta` says so.
const MAX_PAGE_SIZE: i64 = 100;

#[derive(Debug, Serialize, ToSchema)]
pub struct Data<T> {
    pub data: T,
}

pub type Answer<T> = Result<Json<Data<T>>, ApiError>;
pub type Created<T> = Result<(StatusCode, Json<Data<T>>), ApiError>;
pub type List<T> = Result<Json<Listed<T>>, ApiError>;

pub fn data<T>(data: T) -> Json<Data<T>> {
    Json(Data { data })
}

pub fn created<T>(made: T) -> (StatusCode, Json<Data<T>>) {
    (StatusCode::CREATED, data(made))
}

#[derive(Debug, Serialize, ToSchema)]
pub struct Listed<T> {
    pub data: Vec<T>,
    pub meta: ListMeta,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct ListMeta {
    pub pagination: Pagination,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Pagination {
    pub page: i64,
    pub page_size: i64,
    pub page_count: i64,
    pub total: i64,
    /// The newest entry. Pages that are asked for with `upTo` are of the list as it was: what is added meanwhile shifts none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub up_to: Option<i64>,
}

/// `page`, `pageSize` and `upTo` of a query. Defaults: page 1, 10 rows a page, and the whole list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    page: i64,
    page_size: i64,
    up_to: i64,
}

/// [`Page`], as it is described.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "described, never built: a page is read leniently")]
pub struct PageQuery {
    /// From 1.
    #[param(minimum = 1, example = 1)]
    page: Option<i64>,
    /// At most 100; larger ones are answered with 100.
    #[param(rename = "pageSize", minimum = 1, example = 10)]
    page_size: Option<i64>,
    /// The `upTo` that the first page was answered with, where it was: what was added later is not listed, and shifts no page.
    #[param(rename = "upTo", minimum = 1)]
    up_to: Option<i64>,
}

/// Which way a list is sorted, as it is described.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "described, never built: a query is read by name")]
pub struct OrderQuery {
    /// With `sort`: `asc`, or `desc`, as when it says nothing. What has no value comes last.
    #[param(example = "desc")]
    order: Option<String>,
}

impl Page {
    fn of(query: &str) -> Result<Self, ApiError> {
        let number = |wanted: &str, default| {
            let mut pairs = form_urlencoded::parse(query.as_bytes());
            match pairs.find(|(name, _)| name == wanted) {
                None => Ok(default),
                Some((_, text)) => match text.parse() {
                    Ok(number) if number >= 1 => Ok(number),
                    _ => Err(ApiError::bad_request(format!(
                        "{wanted} must be a positive integer"
                    ))),
                },
            }
        };
        Ok(Self {
            page: number("page", 1)?,
            page_size: number("pageSize", DEFAULT_PAGE_SIZE)?.min(MAX_PAGE_SIZE),
            up_to: number("upTo", i64::MAX)?,
        })
    }

    pub const fn size(self) -> i64 {
        self.page_size
    }

    pub const fn window(self) -> Window {
        Window {
            up_to: self.up_to,
            offset: (self.page - 1).saturating_mul(self.page_size),
            limit: self.page_size,
        }
    }

    /// This page of a list: its rows, and what the whole list has.
    pub fn listed<T: From<R>, R>(
        self,
        (rows, whole): (impl IntoIterator<Item = R>, impl Into<Whole>),
    ) -> Json<Listed<T>> {
        let Whole { count, up_to } = whole.into();
        let pagination = Pagination {
            page: self.page,
            page_size: self.page_size,
            page_count: count.saturating_add(self.page_size - 1) / self.page_size,
            total: count,
            up_to,
        };
        Json(Listed {
            data: rows.into_iter().map(T::from).collect(),
            meta: ListMeta { pagination },
        })
    }
}

impl<S: Sync> FromRequestParts<S> for Page {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        Self::of(parts.uri.query().unwrap_or_default())
    }
}

/// The ids in a path, one or a tuple. Text that is not an id is 404.
#[derive(Debug, Clone, Copy)]
pub struct Ids<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Ids<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        match Path::<T>::from_request_parts(parts, state).await {
            Ok(Path(ids)) => Ok(Self(ids)),
            Err(_) => Err(ApiError::NotFound("Not Found")),
        }
    }
}

/// Converts a row into its view, by `From`, or by `new` if the view needs more than the row. The listed
/// fields are copied: all fields of the row, or some of them if values for other fields follow after a
/// semicolon.
macro_rules! view {
    (|$row:ident: $from:ident| $view:ident { $($same:ident),+ $(,)? }) => {
        impl From<$from> for $view {
            fn from($row: $from) -> Self {
                let $from { $($same),+ } = $row;
                Self { $($same),+ }
            }
        }
    };
    (|$row:ident: $from:ident| $view:ident { $($same:ident),+; $($name:ident: $value:expr),+ $(,)? }) => {
        impl From<$from> for $view {
            fn from($row: $from) -> Self {
                Self {
                    $($name: $value,)+
                    $($same: $row.$same,)+
                }
            }
        }
    };
    (|$row:ident: $from:ty, $($other:ident: $type:ty),+| $view:ident {
        $($same:ident),*; $($name:ident: $value:expr),+ $(,)?
    }) => {
        impl $view {
            pub fn new($row: $from, $($other: $type),+) -> Self {
                Self {
                    $($name: $value,)+
                    $($same: $row.$same,)*
                }
            }
        }
    };
}

pub(crate) use view;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_a_window_of_the_list() {
        let page = Page::of("pageSize=25&page=3").unwrap();
        assert_eq!(
            page.window(),
            Window {
                up_to: i64::MAX,
                offset: 50,
                limit: 25
            }
        );
        assert_eq!(
            Page::of("").unwrap(),
            Page {
                page: 1,
                page_size: 10,
                up_to: i64::MAX
            }
        );
        assert_eq!(Page::of("pageSize=100000").unwrap().page_size, 100);
        assert_eq!(page.listed::<i64, _>(([1], 51)).meta.pagination.page_count, 3);
        assert_eq!(page.listed::<i64, i64>(([], 0)).meta.pagination.page_count, 0);
        let last = format!("page={}", i64::MAX);
        assert_eq!(Page::of(&last).unwrap().window().offset, i64::MAX);
    }

    #[test]
    fn a_page_is_a_positive_integer() {
        for query in [
            "page=0",
            "page=-1",
            "page=x",
            "pageSize=0",
            "pageSize=",
            "page=1.5",
            "upTo=0",
            "upTo=newest",
        ] {
            assert!(matches!(Page::of(query), Err(ApiError::BadRequest(_))), "{query}");
        }
    }
}
