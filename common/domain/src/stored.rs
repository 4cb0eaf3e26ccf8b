//! Conversion of PostgreSQL columns to domain types, for the storage crate (feature `sqlx`). It does no I/O.
//! A value that our code cannot have written is an error, which shows it unless it is personal data.

/// Decodes a column with a function that returns an `Option`: `stored!(Color: &str, |text| parse(text))`.
/// The error shows the value; `redacted` in front of the type hides it.
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
