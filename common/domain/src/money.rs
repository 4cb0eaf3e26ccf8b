//! Money is integers: cents (the currency's smallest unit) and basis points. Floats appear only in JSON
//! answers.
//!
//! The whole service has one rounding rule, in [`proportion`]: to the nearest cent, halves away from zero.

mod amount;

use std::fmt;
use std::num::NonZeroUsize;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

pub use self::amount::Amount;

/// A number outside the range its type documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{value} is outside {min}..={max}")]
pub struct OutOfRange {
    pub value: i64,
    pub min: i64,
    pub max: i64,
}

/// A paid or refunded amount, in cents: 1..=[`AmountCents::MAX`].
///
/// The maximum keeps sums of many sales inside `i64`, and single amounts exact in a JavaScript number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "i64", into = "i64")]
pub struct AmountCents(i64);

impl AmountCents {
    pub const MAX: Self = Self(100_000_000_000_000);

    pub const fn new(cents: i64) -> Option<Self> {
        if cents >= 1 && cents <= Self::MAX.0 {
            Some(Self(cents))
        } else {
            None
        }
    }

    pub const fn get(self) -> i64 {
        self.0
    }
}

crate::stored!(AmountCents: i64, |cents| Self::new(*cents));

impl TryFrom<i64> for AmountCents {
    type Error = OutOfRange;

    fn try_from(value: i64) -> Result<Self, OutOfRange> {
        Self::new(value).ok_or(OutOfRange {
            value,
            min: 1,
            max: Self::MAX.0,
        })
    }
}

impl From<AmountCents> for i64 {
    fn from(amount: AmountCents) -> Self {
        amount.0
    }
}

impl From<AmountCents> for Cents {
    fn from(amount: AmountCents) -> Self {
        Self(amount.0)
    }
}

/// The part of a sale's amount that percentages apply to, for example the amount without tax.
/// 0..=[`AmountCents::MAX`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "i64", into = "i64")]
pub struct CommissionableCents(i64);

impl CommissionableCents {
    /// `None` unless `cents` is within 0..=`amount`.
    pub fn of(amount: AmountCents, cents: i64) -> Option<Self> {
        (0..=amount.0).contains(&cents).then_some(Self(cents))
    }

    pub const fn get(self) -> i64 {
        self.0
    }
}

crate::stored!(CommissionableCents: i64, |cents| Self::of(AmountCents::MAX, *cents));

impl TryFrom<i64> for CommissionableCents {
    type Error = OutOfRange;

    fn try_from(value: i64) -> Result<Self, OutOfRange> {
        Self::of(AmountCents::MAX, value).ok_or(OutOfRange {
            value,
            min: 0,
            max: AmountCents::MAX.0,
        })
    }
}

impl From<CommissionableCents> for i64 {
    fn from(part: CommissionableCents) -> Self {
        part.0
    }
}

/// A signed amount in cents: commissions, deductions, balances.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
#[cfg_attr(feature = "sqlx", derive(sqlx::Type), sqlx(transparent))]
pub struct Cents(i64);

impl Cents {
    pub const ZERO: Self = Self(0);

    pub const fn new(cents: i64) -> Self {
        Self(cents)
    }

    pub const fn get(self) -> i64 {
        self.0
    }

    pub fn checked_add(self, other: Self) -> Option<Self> {
        self.0.checked_add(other.0).map(Self)
    }

    pub fn checked_sub(self, other: Self) -> Option<Self> {
        self.0.checked_sub(other.0).map(Self)
    }

    pub fn checked_neg(self) -> Option<Self> {
        self.0.checked_neg().map(Self)
    }

    /// Only for sums whose terms are far below the bounds of `i64`.
    #[must_use]
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    #[must_use]
    pub const fn saturating_neg(self) -> Self {
        Self(self.0.saturating_neg())
    }

    /// Dollars for JSON answers: 1234 becomes `12.34`. Exact to the cent within ±10¹⁵ cents.
    #[expect(
        clippy::cast_precision_loss,
        reason = "documented bound; one rounded division prints the two decimals"
    )]
    pub fn to_dollars(self) -> f64 {
        self.0 as f64 / 100.0
    }
}

impl fmt::Display for Cents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A commission percentage in hundredths of a percent: 0..=10 000.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct BasisPoints(u32);

impl BasisPoints {
    /// 100 %.
    pub const WHOLE: Self = Self(10_000);

    pub const fn new(basis_points: u32) -> Option<Self> {
        if basis_points <= Self::WHOLE.0 {
            Some(Self(basis_points))
        } else {
            None
        }
    }

    pub const fn get(self) -> u32 {
        self.0
    }
}

impl TryFrom<u32> for BasisPoints {
    type Error = OutOfRange;

    fn try_from(value: u32) -> Result<Self, OutOfRange> {
        Self::new(value).ok_or(OutOfRange {
            value: value.into(),
            min: 0,
            max: Self::WHOLE.0.into(),
        })
    }
}

impl From<BasisPoints> for u32 {
    fn from(basis_points: BasisPoints) -> Self {
        basis_points.0
    }
}

/// The currencies of ISO 4217 in which people pay, as of 2026.
const PAID_IN: &str = "AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CLP CNY COP \
    CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR \
    IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU \
    MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG \
    SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD UYU UZS VES VND VUV WST \
    XAF XCD XCG XOF XPF YER ZAR ZMW ZWG";

/// A currency code in the form of ISO 4217: three letters, upper-case. `USD` by default.
///
/// Only the form is checked: a fixed list would refuse sales in a currency that is newer than our release.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Currency([u8; 3]);

impl Currency {
    pub const USD: Self = Self(*b"USD");

    /// Takes lower case too, which processors report; `None` unless the code is three ASCII letters.
    pub fn parse(code: &str) -> Option<Self> {
        let letters: [u8; 3] = code.as_bytes().try_into().ok()?;
        letters
            .iter()
            .all(u8::is_ascii_alphabetic)
            .then(|| Self(letters.map(|letter| letter.to_ascii_uppercase())))
    }

    /// Whether people pay in this currency today. A program's own currency must pass this check, because its
    /// pages show amounts in it.
    pub fn is_paid_in(&self) -> bool {
        PAID_IN.split(' ').any(|code| code == self.as_str())
    }

    #[expect(clippy::expect_used, reason = "the only constructor admits ASCII letters")]
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("three ASCII letters")
    }
}

crate::stored!(Currency: &str, |code| Self::parse(code));

impl Default for Currency {
    fn default() -> Self {
        Self::USD
    }
}

impl fmt::Debug for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Currency").field(&self.as_str()).finish()
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Currency {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Currency {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let code = String::deserialize(deserializer)?;
        Self::parse(&code).ok_or_else(|| de::Error::custom("a currency is three letters"))
    }
}

/// `of · numerator / denominator`, to the nearest cent, halves away from zero.
///
/// `denominator` must be positive. A result beyond `i64` saturates; only a fraction above one can cause it.
pub fn proportion(of: Cents, numerator: i64, denominator: i64) -> Cents {
    debug_assert!(denominator > 0, "a share of nothing has no amount");
    let product = i128::from(of.0) * i128::from(numerator);
    let denominator = i128::from(denominator);
    let half_away = product.signum() * (denominator / 2);
    let rounded = (product + half_away) / denominator;
    Cents(i64::try_from(rounded).unwrap_or(if rounded < 0 { i64::MIN } else { i64::MAX }))
}

/// Equal parts with the sum `total`. The last part has the remainder.
pub fn split_evenly(total: Cents, parts: NonZeroUsize) -> Vec<Cents> {
    let others = parts.get() - 1;
    let count = i64::try_from(parts.get()).unwrap_or(i64::MAX);
    let each = total.0 / count;
    let last = total.0 - each * (count - 1);
    let mut split = vec![Cents(each); others];
    split.push(Cents(last));
    split
}

#[cfg(test)]
mod tests;
