//! Metadata that a merchant's own code attaches to a payment: the paying customer and the program.
//!
//! The keys are `tracker_click_id`, `tracker_customer_key` and `program_id`. Other prefixes can be configured
//! as aliases of `tracker_`, so that an integration can keep the keys it already writes.

use std::collections::HashMap;
use std::str::FromStr;

use domain::ids::ProgramId;
use domain::processors::payer::Payer;
use domain::text::CustomerKey;
use domain::tracking::click_id::ClickId;

use super::event::Untranslatable;

const PREFIX: &str = "tracker_";
const CLICK_ID: &str = "click_id";
const CUSTOMER_KEY: &str = "customer_key";
const PROGRAM_ID: &str = "program_id";

/// An object's metadata. Values are always strings.
pub type Metadata = HashMap<String, String>;

/// A prefix that is an alias of `tracker_`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetadataPrefix(String);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a prefix has 1 to 28 letters, digits, `_`, `-`, `.` or `:`")]
pub struct MetadataPrefixError;

impl FromStr for MetadataPrefix {
    type Err = MetadataPrefixError;

    /// A metadata key has at most 40 characters, of which our longest suffix leaves 28.
    fn from_str(text: &str) -> Result<Self, MetadataPrefixError> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.:".contains(&byte);
        let is_good = (1..=40 - CUSTOMER_KEY.len()).contains(&text.len()) && text.bytes().all(is_plain);
        is_good.then(|| Self(text.to_owned())).ok_or(MetadataPrefixError)
    }
}

/// The keys to look for.
#[derive(Debug, Clone)]
pub struct MetadataKeys(Vec<String>);

impl MetadataKeys {
    pub fn new(aliases: &[MetadataPrefix]) -> Self {
        let own = std::iter::once(PREFIX.to_owned());
        Self(own.chain(aliases.iter().map(|alias| alias.0.clone())).collect())
    }

    /// Reads each key from the first of `sources` that has it. Returns `None` without either key: the
    /// customer is unknown.
    pub fn payer(&self, sources: &[&Metadata]) -> Result<Option<Payer>, Untranslatable> {
        let (click_id, customer_key) = (self.find(sources, CLICK_ID), self.find(sources, CUSTOMER_KEY));
        if click_id.is_none() && customer_key.is_none() {
            return Ok(None);
        }
        let customer_key = customer_key
            .map(CustomerKey::parse)
            .transpose()
            .map_err(|_| Untranslatable("its customer key is too long or holds NUL"))?;
        // A malformed click_id counts as absent, as on every route.
        let click_id = click_id.and_then(ClickId::parse);
        if click_id.is_none() && customer_key.is_none() {
            return Err(Untranslatable("its click id is none, and it has no customer key"));
        }
        Ok(Some(Payer {
            click_id,
            customer_key,
        }))
    }

    /// The program, if the metadata names one.
    pub fn program(&self, sources: &[&Metadata]) -> Result<Option<ProgramId>, Untranslatable> {
        let named = present(sources, PROGRAM_ID).or_else(|| self.find(sources, PROGRAM_ID));
        named
            .map(|text| text.trim().parse().map(ProgramId::new))
            .transpose()
            .map_err(|_| Untranslatable("its program_id is no number"))
    }

    fn find<'m>(&self, sources: &[&'m Metadata], key: &str) -> Option<&'m str> {
        self.0
            .iter()
            .find_map(|prefix| present(sources, &format!("{prefix}{key}")))
    }
}

/// Ignores empty values, which Stripe uses for removed keys.
fn present<'m>(sources: &[&'m Metadata], key: &str) -> Option<&'m str> {
    sources
        .iter()
        .filter_map(|source| source.get(key))
        .map(String::as_str)
        .find(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLICK: &str = "cust_12345_1700000000000";

    fn metadata(pairs: &[(&str, &str)]) -> Metadata {
        pairs
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect()
    }

    fn keys() -> MetadataKeys {
        MetadataKeys::new(&["aff.".parse().unwrap()])
    }

    fn read(pairs: &[(&str, &str)]) -> Result<Option<Payer>, Untranslatable> {
        keys().payer(&[&metadata(pairs)])
    }

    #[test]
    fn either_name_will_do_and_neither_is_nobody() {
        let click_id = ClickId::parse(CLICK);
        let customer_key = CustomerKey::parse("user-1").ok();
        let payer = |click_id: &Option<ClickId>, customer_key: &Option<CustomerKey>| {
            let (click_id, customer_key) = (click_id.clone(), customer_key.clone());
            Ok(Some(Payer {
                click_id,
                customer_key,
            }))
        };
        assert_eq!(read(&[("tracker_click_id", CLICK)]), payer(&click_id, &None));
        assert_eq!(
            read(&[("tracker_customer_key", "user-1")]),
            payer(&None, &customer_key)
        );
        let both = [("tracker_click_id", CLICK), ("tracker_customer_key", "user-1")];
        assert_eq!(read(&both), payer(&click_id, &customer_key));
        let forged = [("tracker_click_id", "cust_x"), ("tracker_customer_key", "user-1")];
        assert_eq!(read(&forged), payer(&None, &customer_key));
        for unnamed in [
            &[][..],
            &[("click_id", CLICK)],
            &[("tracker_click_id", "")],
            &[("program_id", "1")],
        ] {
            assert_eq!(read(unnamed), Ok(None), "{unnamed:?}");
        }
    }

    #[test]
    fn what_names_a_customer_but_cannot_be_read_is_no_payment_of_nobody() {
        assert!(read(&[("tracker_click_id", "cust_x")]).is_err());
        assert!(read(&[("tracker_customer_key", &"x".repeat(256))]).is_err());
        assert!(read(&[("tracker_customer_key", "a\0b")]).is_err());
    }

    #[test]
    fn an_alias_is_read_like_our_prefix_and_after_it() {
        let alias = [("aff.customer_key", "user-2")];
        assert_eq!(
            read(&alias).unwrap().unwrap().customer_key.unwrap().as_str(),
            "user-2"
        );
        let both = [("aff.customer_key", "user-2"), ("tracker_customer_key", "user-1")];
        assert_eq!(
            read(&both).unwrap().unwrap().customer_key.unwrap().as_str(),
            "user-1"
        );
        let program = |pairs: &[(&str, &str)]| keys().program(&[&metadata(pairs)]);
        assert_eq!(program(&[("aff.program_id", "7")]), Ok(Some(ProgramId::new(7))));
        let both = [("aff.program_id", "7"), ("program_id", " 8 ")];
        assert_eq!(program(&both), Ok(Some(ProgramId::new(8))));
        assert!(program(&[("program_id", "eight")]).is_err());
    }

    #[test]
    fn the_first_source_that_has_a_key_counts() {
        let near = metadata(&[("tracker_customer_key", "near")]);
        let far = metadata(&[("tracker_customer_key", "far"), ("program_id", "7")]);
        let payer = keys().payer(&[&near, &far]).unwrap().unwrap();
        assert_eq!(payer.customer_key.unwrap().as_str(), "near");
        assert_eq!(keys().program(&[&near, &far]), Ok(Some(ProgramId::new(7))));
    }

    #[test]
    fn a_prefix_is_plain_and_leaves_room_for_a_key() {
        assert!("x".repeat(28).parse::<MetadataPrefix>().is_ok());
        for text in ["", "a b", "ä", &"x".repeat(29)] {
            assert_eq!(text.parse::<MetadataPrefix>(), Err(MetadataPrefixError), "{text}");
        }
    }
}
