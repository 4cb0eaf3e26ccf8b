//! Counts leads of browsers by link and hour: many within one hour are a signal.
//!
//! The counts are in this worker's memory, by the leads' own times. A signal is not worth a row that all
//! leads of a popular link would lock. Each worker counts its own share, and starts from zero.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use chrono::{DateTime, Utc};
use domain::ids::ReferralLinkId;

const HOUR_SECONDS: i64 = 3_600;

#[derive(Debug)]
pub struct LeadRates {
    /// Up to this many leads in an hour are usual.
    usual: u32,
    latest: Mutex<Hour>,
}

#[derive(Debug, Default)]
struct Hour {
    number: i64,
    leads: HashMap<ReferralLinkId, u32>,
}

impl LeadRates {
    pub fn new(usual: u32) -> Self {
        Self {
            usual,
            latest: Mutex::default(),
        }
    }

    /// Counts a lead. `true` if there are unusually many. Leads of an earlier hour are not counted.
    pub fn is_one_of_many(&self, link: ReferralLinkId, led_at: DateTime<Utc>) -> bool {
        let number = led_at.timestamp().div_euclid(HOUR_SECONDS);
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        if number > latest.number {
            *latest = Hour {
                number,
                leads: HashMap::new(),
            };
        }
        if number < latest.number {
            return false;
        }
        let leads = latest.leads.entry(link).or_default();
        *leads = leads.saturating_add(1);
        *leads > self.usual
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;

    #[test]
    fn a_link_has_its_count_and_each_hour_begins_anew() {
        let (ada, bruno) = (ReferralLinkId::new(1), ReferralLinkId::new(2));
        let rates = LeadRates::new(2);
        let start = DateTime::UNIX_EPOCH + TimeDelta::days(20_000);
        let at = |minutes| start + TimeDelta::minutes(minutes);
        let many = |link, minutes| rates.is_one_of_many(link, at(minutes));
        assert_eq!([many(ada, 0), many(ada, 1), many(ada, 59)], [false, false, true]);
        assert!(!many(bruno, 59));
        assert!(!many(ada, 60));
        // Late leads are not counted, and do not end the current hour.
        assert_eq!(
            [many(ada, 58), many(ada, 61), many(ada, 62)],
            [false, false, true]
        );
    }
}
