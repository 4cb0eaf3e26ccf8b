//! Small numbers within bounds, such as the days of a period.

/// Defines a number within a range, with a default. It is stored as a smallint.
macro_rules! bounded {
    ($(#[$meta:meta])* $name:ident { $unit:ident: $kind:ty }, $range:pat, default $default:literal) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $name {
            $unit: $kind,
        }

        $crate::stored!($name: i16, |number| <$kind>::try_from(*number).ok().and_then(Self::new));

        impl $name {
            pub const DEFAULT: Self = Self { $unit: $default };

            pub const fn new($unit: $kind) -> Option<Self> {
                match $unit {
                    $range => Some(Self { $unit }),
                    _ => None,
                }
            }

            pub const fn $unit(self) -> $kind {
                self.$unit
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self::DEFAULT
            }
        }
    };
}

pub(crate) use bounded;
