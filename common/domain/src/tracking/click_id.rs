//! The public id of a customer: `cust_<customer_id>_<epoch_ms>`.
//!
//! In browser mode a `click_id` is the only proof of attribution. So a visitor must not be able to guess
//! another visitor's id. The public number is therefore a keyed permutation of the customer's sequence
//! number. It is an integer that JavaScript keeps exactly. Without the key it cannot be guessed; with the key
//! it can be inverted, so a lookup is one read by primary key.
//!
//! - Permutation: a balanced Feistel network over 54 bits. Its round function is `SipHash`-2-4 over (round,
//!   half). Even and odd rounds use the two halves of the key.
//! - Range: 54 bits is one bit too many, so a result of 2⁵³ or above is permuted again. The start is inside
//!   the range, so the walk must come back to it; the average is two steps.
//! - Rotation: old ids were made with old keys, so decoding gives one candidate for each key. A candidate
//!   proves nothing until the whole `click_id` equals the stored one.
//!
//! The rounds, the key's split and the message layout must never change: issued ids would be unreadable.

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
/// 13 or 14 digits: September 2001 to the year 5138.
const ISSUED_AT_MS: std::ops::RangeInclusive<i64> = 1_000_000_000_000..=99_999_999_999_999;
const MAX_LEN: usize = "cust_".len() + 16 + "_".len() + 14;

/// The secret key of one generation of ids. `Debug` prints only its name.
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

crate::redacted!(ClickIdKey);

/// Issues ids with the current key, and reads the ids of all configured keys.
#[derive(Debug, Clone)]
pub struct ClickIdCodec {
    current: ClickIdKey,
    previous: Vec<ClickIdKey>,
}

impl From<([u8; 32], Vec<[u8; 32]>)> for ClickIdCodec {
    fn from((current, previous): ([u8; 32], Vec<[u8; 32]>)) -> Self {
        let previous = previous.into_iter().map(ClickIdKey::from_bytes).collect();
        Self::new(ClickIdKey::from_bytes(current), previous)
    }
}

impl ClickIdCodec {
    pub fn new(current: ClickIdKey, previous: Vec<ClickIdKey>) -> Self {
        Self { current, previous }
    }

    /// The id for the visitor, made in one allocation.
    ///
    /// `customer` comes from a sequence that starts at 1 and stays below 2⁵³; higher bits are dropped. A
    /// clock outside the years 2001 to 5138 is moved to the nearer end, so that every id can be read back.
    pub fn encode(&self, customer: CustomerId, issued_at_ms: i64) -> ClickId {
        let sequence = customer.get().cast_unsigned();
        debug_assert!(sequence < ID_LIMIT, "customer ids stay below 2^53");
        let number = self.current.permute(sequence & (ID_LIMIT - 1));
        ClickId::from_parts(
            number,
            issued_at_ms.clamp(*ISSUED_AT_MS.start(), *ISSUED_AT_MS.end()),
        )
    }

    /// The customer that each key decodes from the id. The current key comes first.
    ///
    /// Every well-formed id gives candidates, even a forged one. The caller must compare the whole id with
    /// the stored id of the candidate.
    pub fn decode(&self, click_id: &ClickId) -> impl Iterator<Item = CustomerId> {
        let number = click_id.number;
        iter::once(&self.current)
            .chain(&self.previous)
            .map(move |key| CustomerId::new(key.invert(number).cast_signed()))
    }
}

/// A well-formed `click_id` in its only canonical spelling. It may never have been issued.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ClickId {
    text: String,
    number: u64,
    issued_at_ms: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a click_id of the form cust_<customer_id>_<epoch_ms>")]
pub struct MalformedClickId;

impl ClickId {
    /// `None` unless [`ClickIdCodec::encode`] could have written exactly this text: no sign, no leading zero,
    /// a number below 2⁵³, and a time of 13 or 14 digits.
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

    /// The time in the id, in milliseconds since 1970. The id may be forged.
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

/// Accepts only decimal digits in the shortest spelling. Otherwise one customer would have two ids.
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
