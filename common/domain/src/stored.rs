//! How PostgreSQL's columns are read as types of the domain, for the crate that has the SQL (feature `sqlx`): a
//! mapping, no I/O. A value that no code of ours can have written is an error, which shows the value unless that may
//! be personal data.

/// Reads a column as a type, with a function that returns an `Option`:
/// `stored!(Currency: &str, |code| Self::parse(code))`. Its error shows the value; with `redacted` in front it does
/// not.
#[cfg(feature = "sqlx")]
#[macro_export]
macro_rules! stored {
    (redacted $name:ty: $raw:ty, $read:expr) => {
        $crate::stored!(@ $name, $raw, $read, |_| concat!("a value that is no ", stringify!($name)).to_owned());
    };
    ($name:ty: $raw:ty, $read:expr) => {
        $crate::stored!(@ $name, $raw, $read, |raw| format!("{raw:?} is no {}", stringify!($name)));
    };
    (@ $name:ty, $raw:ty, $read:expr, $refusal:expr) => {
        impl ::sqlx::Type<::sqlx::Postgres> for $name {
            fn type_info() -> ::sqlx::postgres::PgTypeInfo {
                <$raw as ::sqlx::Type<::sqlx::Postgres>>::type_info()
            }

            fn compatible(stored: &::sqlx::postgres::PgTypeInfo) -> bool {
                <$raw as ::sqlx::Type<::sqlx::Postgres>>::compatible(stored)
            }
        }

        impl ::sqlx::Decode<'_, ::sqlx::Postgres> for $name {
            fn decode(value: ::sqlx::postgres::PgValueRef<'_>) -> Result<Self, ::sqlx::error::BoxDynError> {
                let raw = <$raw as ::sqlx::Decode<::sqlx::Postgres>>::decode(value)?;
                let read: fn(&$raw) -> Option<Self> = $read;
                let refusal: fn(&$raw) -> String = $refusal;
                read(&raw).ok_or_else(|| refusal(&raw).into())
            }
        }
    };
}

#[cfg(not(feature = "sqlx"))]
#[macro_export]
macro_rules! stored {
    ($($ignored:tt)*) => {};
}
