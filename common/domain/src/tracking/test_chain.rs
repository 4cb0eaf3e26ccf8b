//! A test chain: a synthetic click, lead and sale, and whether each reached the right partner.

use serde::{Deserialize, Serialize};

use crate::ids::PartnerId;

/// Where an event of the chain was credited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// To the partner whose link was used.
    Attributed,
    /// To no partner, or the event was refused.
    Unattributed,
    WrongPartner,
    /// Not decided yet: the event waits for something else.
    Pending,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainVerdict {
    pub click: Verdict,
    pub lead: Verdict,
    pub sale: Verdict,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TestRun {
    /// Click, lead and sale, one after the other.
    Chain,
    /// A single event, which only proves that events arrive.
    Event(TestEventType),
}

crate::text_enum! {
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum TestEventType {
        Click = "click",
        Lead = "lead",
        Sale = "sale",
    }
}

impl Verdict {
    /// Any other credited partner is wrong: the chain has a single click, so credit is not shared.
    pub fn of(expected: PartnerId, credited: &[PartnerId]) -> Self {
        match credited {
            [] => Self::Unattributed,
            credited if credited.iter().all(|partner| *partner == expected) => Self::Attributed,
            _ => Self::WrongPartner,
        }
    }
}

impl ChainVerdict {
    pub const fn uniform(verdict: Verdict) -> Self {
        Self {
            click: verdict,
            lead: verdict,
            sale: verdict,
        }
    }

    /// Whether the whole chain reached the partner.
    pub fn is_attributed(self) -> bool {
        self == Self::uniform(Verdict::Attributed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADA: PartnerId = PartnerId::new(1);
    const BRUNO: PartnerId = PartnerId::new(2);

    #[test]
    fn only_the_links_own_partner_counts() {
        assert_eq!(Verdict::of(ADA, &[]), Verdict::Unattributed);
        assert_eq!(Verdict::of(ADA, &[ADA]), Verdict::Attributed);
        assert_eq!(Verdict::of(ADA, &[BRUNO]), Verdict::WrongPartner);
        assert_eq!(Verdict::of(ADA, &[ADA, BRUNO]), Verdict::WrongPartner);
    }

    #[test]
    fn a_chain_is_attributed_only_as_a_whole() {
        let whole = ChainVerdict::uniform(Verdict::Attributed);
        assert!(whole.is_attributed());
        for broken in [Verdict::Unattributed, Verdict::WrongPartner, Verdict::Pending] {
            assert!(
                !ChainVerdict {
                    sale: broken,
                    ..whole
                }
                .is_attributed()
            );
            assert!(
                !ChainVerdict {
                    click: broken,
                    ..whole
                }
                .is_attributed()
            );
        }
    }
}
