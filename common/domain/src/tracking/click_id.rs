//! The public name of a customer: `cust_<customer_id>_<epoch_ms>`.
//!
//! In browser mode a `click_id` is the only proof of attribution, so one visitor's must not lead to a
//! neighbour's. The public number is therefore a keyed permutation of the customer's sequence number: an
//! integer that JavaScript keeps exactly, unguessable without the key, and invertible with it, so that a
//! lookup is one primary-key probe.
//!
//! - Permutation: a balanced Feistel network over 54 bits, its round function `SipHash`-2-4 over (round,
//!   half), even and odd rounds under the two halves of the key.
//! - Range: 54 bits is one more than wanted, so a result of 2⁵³ or above is permuted again. Starting inside
//!   the range, the walk must come back to it; on average it takes two steps.
//! - Rotation: old ids were made under old keys, so decoding yields one candidate for each key. A candidate
//!   proves nothing until the whole `click_id` equals the stored one.
//!
//! The rounds, the key split and the message layout are frozen: changing any orphans every id ever issued.

use std::fmt::{self, Write as _};
use std::iter;

use serde::{Deserialize, Serialize};
use siphasher::sip::SipHasher24;

use crate::ids::CustomerId;

const ID_LIMIT: u64 = 1 << 53;
const HALF_BITS: u32 = 27;
const HALF_MASK: u64 = (1 << HALF_BITS) - 1;
const ROUNDS: u8 = 10;

const PREFIX: &str = "cust_";
/// Thirteen to fourteen digits: September 2001 to the year 5138.
const ISSUED_AT_MS: std::ops::RangeInclusive<i64> = 1_000_000_000_000..=99_999_999_999_999;
const MAX_LEN: usize = "cust_".len() + 16 + "_".len() + 14;

/// The secret of one generation of ids. Prints only its name.
#[derive(Clone)]
pub struct ClickIdKey {
    even: SipHasher24,
    odd: SipHasher24,
}

impl ClickIdKey {
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        let (mut even, mut odd) = ([0; 16], [0; 16]);
        for (half, byte) in even.iter_mut().chain(&mut odd).zip(bytes) {
            *half = byte;
        }
        Self {
            even: SipHasher24::new_with_key(&even),
            odd: SipHasher24::new_with_key(&odd),
        }
    }

    fn permute(&self, mut number: u64) -> u64 {
        loop {
            number = self.encipher(number);
            if number < ID_LIMIT {
                return number;
            }
        }
    }

    fn invert(&self, mut number: u64) -> u64 {
        loop {
            number = self.decipher(number);
            if number < ID_LIMIT {
                return number;
            }
        }
    }

    fn encipher(&self, number: u64) -> u64 {
        let halves = (number >> HALF_BITS, number & HALF_MASK);
        let (left, right) = (0..ROUNDS).fold(halves, |(left, right), round| {
            (right, left ^ self.round(round, right))
        });
        left << HALF_BITS | right
    }

    fn decipher(&self, number: u64) -> u64 {
        let halves = (number >> HALF_BITS, number & HALF_MASK);
        let (left, right) = (0..ROUNDS).rev().fold(halves, |(left, right), round| {
            (right ^ self.round(round, left), left)
        });
        left << HALF_BITS | right
    }

    fn round(&self, round: u8, half: u64) -> u64 {
        let hasher = if round.is_multiple_of(2) {
            &self.even
        } else {
            &self.odd
        };
        let message = u64::from(round) << 32 | half;
        hasher.hash(&message.to_le_bytes()) & HALF_MASK
    }
}

impl fmt::Debug for ClickIdKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClickIdKey")
    }
}

/// Issues ids under the current key and reads those of every key still honoured.
#[derive(Debug, Clone)]
pub struct ClickIdCodec {
    current: ClickIdKey,
    previous: Vec<ClickIdKey>,
}

impl From<([u8; 32], Vec<[u8; 32]>)> for ClickIdCodec {
    /// The current key, and previous ones.
    fn from((current, previous): ([u8; 32], Vec<[u8; 32]>)) -> Self {
        let previous = previous.into_iter().map(ClickIdKey::from_bytes).collect();
        Self::new(ClickIdKey::from_bytes(current), previous)
    }
}

impl ClickIdCodec {
    pub fn new(current: ClickIdKey, previous: Vec<ClickIdKey>) -> Self {
        Self { current, previous }
    }

    /// The id to hand to the visitor, in one allocation.
    ///
    /// `customer` comes from a sequence that starts at 1 and stays below 2⁵³; higher bits are dropped. A
    /// clock outside the years 2001 to 5138 is moved to the nearer end, so that what is issued can always be
    /// read back.
    pub fn encode(&self, customer: CustomerId, issued_at_ms: i64) -> ClickId {
        let sequence = customer.get().cast_unsigned();
        debug_assert!(sequence < ID_LIMIT, "customer ids stay below 2^53");
        let number = self.current.permute(sequence & (ID_LIMIT - 1));
        ClickId::from_parts(
            number,
            issued_at_ms.clamp(*ISSUED_AT_MS.start(), *ISSUED_AT_MS.end()),
        )
    }

    /// The customer the id decodes to under each key, the current one first.
    ///
    /// Every well-formed id yields candidates, forged ones too: compare the whole id with the candidate's
    /// stored one.
    pub fn decode(&self, click_id: &ClickId) -> impl Iterator<Item = CustomerId> {
        let number = click_id.number;
        iter::once(&self.current)
            .chain(&self.previous)
            .map(move |key| CustomerId::new(key.invert(number).cast_signed()))
    }
}

/// A well-formed `click_id` in its one canonical spelling. Says nothing about whether it was ever issued.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ClickId {
    text: String,
    number: u64,
    issued_at_ms: i64,
}

/// Text that is not a `click_id` in canonical form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a click_id of the form cust_<customer_id>_<epoch_ms>")]
pub struct MalformedClickId;

impl ClickId {
    /// `None` unless this is exactly what [`ClickIdCodec::encode`] could have written: no sign, no leading
    /// zero, a number below 2⁵³, a time of 13 or 14 digits.
    pub fn parse(text: &str) -> Option<Self> {
        let (number, issued_at_ms) = Self::numbers(text)?;
        Some(Self {
            text: text.to_owned(),
            number,
            issued_at_ms,
        })
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// When the id was issued, in milliseconds since 1970, as the id itself claims.
    pub const fn issued_at_ms(&self) -> i64 {
        self.issued_at_ms
    }

    fn from_parts(number: u64, issued_at_ms: i64) -> Self {
        let mut text = String::with_capacity(MAX_LEN);
        let infallible = write!(text, "{PREFIX}{number}_{issued_at_ms}");
        debug_assert!(infallible.is_ok(), "writing to a String does not fail");
        Self {
            text,
            number,
            issued_at_ms,
        }
    }

    fn numbers(text: &str) -> Option<(u64, i64)> {
        let (number, issued_at_ms) = text.strip_prefix(PREFIX)?.split_once('_')?;
        let number = canonical_number(number).filter(|&number| number < ID_LIMIT)?;
        let issued_at_ms = i64::try_from(canonical_number(issued_at_ms)?).ok()?;
        ISSUED_AT_MS
            .contains(&issued_at_ms)
            .then_some((number, issued_at_ms))
    }
}

/// Decimal digits only, and only the shortest spelling: two texts for one number would be two ids for one
/// customer.
fn canonical_number(digits: &str) -> Option<u64> {
    let is_canonical =
        digits.bytes().all(|byte| byte.is_ascii_digit()) && (digits == "0" || !digits.starts_with('0'));
    if is_canonical { digits.parse().ok() } else { None }
}

impl TryFrom<String> for ClickId {
    type Error = MalformedClickId;

    fn try_from(text: String) -> Result<Self, MalformedClickId> {
        let (number, issued_at_ms) = Self::numbers(&text).ok_or(MalformedClickId)?;
        Ok(Self {
            text,
            number,
            issued_at_ms,
        })
    }
}

impl From<ClickId> for String {
    fn from(click_id: ClickId) -> Self {
        click_id.text
    }
}

impl fmt::Display for ClickId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests;
