//! Fraud signals of a sale: hints for the advertiser. They are decided with the sale and stored with the
//! commission; a contested key may be found later. They change no amount, status or answer.

use std::collections::HashSet;

use chrono::{DateTime, TimeDelta, Utc};

use crate::email::EmailHasher;
use crate::ids::PartnerId;

crate::text_enum! {
    /// Signals, in the order in which they are shown.
    #[derive(PartialOrd, Ord, Hash)]
    pub enum Signal {
        /// The customer's address is that of the paid partner or of the partner's account.
        SelfReferral = "self_referral",
        /// The sale followed the customer's first click suspiciously fast.
        FastSale = "fast_sale",
        /// A browser had bound a key to one click, and an authenticated call named the key with another
        /// click. The customers of both clicks get the signal.
        ContestedKey = "contested_key",
        /// One of many leads that browsers sent within an hour for one link or from one address.
        ManyLeads = "many_leads",
        /// An earlier click or payment became known, so this commission replaces another commission of the
        /// customer, which a person had rejected or adjusted.
        ReplacesChanged = "replaces_changed",
        /// It had a signal before the customer's data was erased. The signal could identify the customer.
        Erased = "erased",
    }
}

/// Addresses of a partner, as written in the partner record and in the account.
pub type PartnerAddresses = std::collections::HashMap<PartnerId, Vec<String>>;

#[derive(Debug, Clone, Copy)]
pub struct SignalFacts<'a> {
    pub customer_key: Option<&'a str>,
    /// The hash of the customer's address, made by the same hasher.
    pub email_hash: Option<&'a str>,
    pub key_contested: bool,
    pub many_leads: bool,
    pub partner_addresses: &'a [String],
    pub first_click_at: DateTime<Utc>,
    pub sold_at: DateTime<Utc>,
}

#[derive(Debug, Clone)]
pub struct SignalRules {
    pub hasher: EmailHasher,
    /// The limit below which the time from the first click to the sale is suspicious.
    pub fast_sale: TimeDelta,
}

impl SignalRules {
    /// The signals of a sale and partner, each once, in their order.
    pub fn judge(&self, facts: &SignalFacts<'_>) -> Vec<Signal> {
        let is_so = |signal: &Signal| match signal {
            Signal::SelfReferral => self.is_self_referral(facts),
            Signal::FastSale => facts.sold_at - facts.first_click_at < self.fast_sale,
            Signal::ContestedKey => facts.key_contested,
            Signal::ManyLeads => facts.many_leads,
            // Set when commissions are replaced and when customers are erased.
            Signal::ReplacesChanged | Signal::Erased => false,
        };
        Signal::ALL.into_iter().filter(is_so).collect()
    }

    fn is_self_referral(&self, facts: &SignalFacts<'_>) -> bool {
        self.is_customer(facts.partner_addresses, facts.customer_key, facts.email_hash)
    }

    /// Whether one of a partner's addresses is the customer's. Many advertisers use addresses as keys. Others
    /// may send the address with the lead.
    fn is_customer(
        &self,
        addresses: &[String],
        customer_key: Option<&str>,
        email_hash: Option<&str>,
    ) -> bool {
        let key = customer_key.map(normalised);
        addresses.iter().any(|address| {
            let address = normalised(address);
            !address.is_empty()
                && (key.as_ref() == Some(&address)
                    || email_hash.is_some_and(|hash| {
                        let hashes = self.hasher.hashes(&address);
                        hashes.iter().any(|own| own.as_str() == hash)
                    }))
        })
    }

    /// The partners who are the customer themselves.
    pub fn buying_partners(
        &self,
        partners: &PartnerAddresses,
        customer_key: Option<&str>,
        email_hash: Option<&str>,
    ) -> HashSet<PartnerId> {
        partners
            .iter()
            .filter(|(_, addresses)| self.is_customer(addresses, customer_key, email_hash))
            .map(|(partner_id, _)| *partner_id)
            .collect()
    }
}

/// The form in which addresses are compared and hashed.
fn normalised(address: &str) -> String {
    address.trim().to_lowercase()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rules() -> SignalRules {
        SignalRules {
            hasher: EmailHasher::from(([3; 32], Vec::new())),
            fast_sale: TimeDelta::seconds(10),
        }
    }

    fn facts<'a>(key: Option<&'a str>, hash: Option<&'a str>, addresses: &'a [String]) -> SignalFacts<'a> {
        SignalFacts {
            customer_key: key,
            email_hash: hash,
            key_contested: false,
            many_leads: false,
            partner_addresses: addresses,
            first_click_at: DateTime::UNIX_EPOCH,
            sold_at: DateTime::UNIX_EPOCH + TimeDelta::hours(1),
        }
    }

    #[test]
    fn names_are_read_back() {
        for signal in Signal::ALL {
            assert_eq!(Signal::parse(signal.as_str()), Some(signal));
        }
        assert_eq!(Signal::parse("SELF_REFERRAL"), None);
    }

    #[test]
    fn a_partner_without_an_address_refers_nobody_to_themselves() {
        let nothing = [String::new(), " ".to_owned()];
        let empty = rules().hasher.hash("").unwrap();
        for addresses in [&[][..], &nothing] {
            for (key, hash) in [(None, None), (Some(""), Some(empty.as_str())), (Some(" "), None)] {
                assert!(
                    rules().judge(&facts(key, hash, addresses)).is_empty(),
                    "{key:?} {hash:?}"
                );
            }
        }
    }

    proptest! {
        #[test]
        fn a_customer_with_a_partners_address_is_seen_however_it_is_written(
            name in "[a-z0-9.+]{1,12}", left in "[ \t]{0,2}", right in "[ \t]{0,2}", upper: bool, by_key: bool, second: bool,
        ) {
            let address = format!("{name}@partner.example");
            let written = if upper { address.to_uppercase() } else { address.clone() };
            let written = format!("{left}{written}{right}");
            let mut addresses = vec![address];
            if second {
                addresses.insert(0, "somebody@else.example".to_owned());
            }
            let hash = rules().hasher.hash(&written).unwrap();
            let facts = if by_key {
                facts(Some(&written), None, &addresses)
            } else {
                facts(Some("user-42"), Some(hash.as_str()), &addresses)
            };
            prop_assert_eq!(rules().judge(&facts), [Signal::SelfReferral]);
        }

        #[test]
        fn another_address_is_not_taken_for_the_partners(name in "[a-z0-9.+]{1,12}", other in "[a-z0-9.+]{1,12}") {
            prop_assume!(name != other);
            let addresses = [format!("{name}@partner.example")];
            let customer = format!("{other}@partner.example");
            let hash = rules().hasher.hash(&customer).unwrap();
            prop_assert!(rules().judge(&facts(Some(&customer), Some(hash.as_str()), &addresses)).is_empty());
        }

        #[test]
        fn a_sale_is_fast_until_the_limit(milliseconds in -60_000i64..60_000, limit in 0i64..30) {
            let rules = SignalRules { fast_sale: TimeDelta::seconds(limit), ..rules() };
            let mut facts = facts(None, None, &[]);
            facts.sold_at = facts.first_click_at + TimeDelta::milliseconds(milliseconds);
            let fast = rules.judge(&facts) == [Signal::FastSale];
            prop_assert_eq!(fast, milliseconds < limit * 1_000);
        }
    }
}
