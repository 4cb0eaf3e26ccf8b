//! A payment, as its processor tells it: under many names, and taken back in parts.
//!
//! Events come in any order, and again. So whatever is made of them depends on what was told, never on when: a payment is
//! called after the least of its names, and what was taken back is the sum of the greatest amounts told by source.

use std::collections::BTreeMap;

use crate::money::{AmountCents, Cents};

/// Names that were told to be one payment's, directly or by way of others.
#[derive(Debug, Clone)]
pub struct Names<T>(BTreeMap<T, T>);

impl<T: Ord + Clone> Names<T> {
    pub const fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// These names are of one payment.
    pub fn join(&mut self, names: impl IntoIterator<Item = T>) {
        let mut names = names.into_iter();
        let Some(first) = names.next() else {
            return;
        };
        let mut payment = self.least(&first);
        self.0.entry(first).or_insert_with(|| payment.clone());
        for name in names {
            let other = self.least(&name);
            self.0.entry(name).or_insert_with(|| other.clone());
            // The greater of two heads points to the lesser, so that a head is always the least of its names.
            let (head, under) = if payment <= other {
                (payment, other)
            } else {
                (other, payment)
            };
            self.0.insert(under, head.clone());
            payment = head;
        }
    }

    /// The least of the names that are one with this one.
    pub fn least(&self, name: &T) -> T {
        let mut head = name;
        while let Some(lesser) = self.0.get(head).filter(|lesser| *lesser != head) {
            head = lesser;
        }
        head.clone()
    }

    /// Every name with its payment's, ascending.
    pub fn payments(&self) -> BTreeMap<T, T> {
        self.0
            .keys()
            .map(|name| (name.clone(), self.least(name)))
            .collect()
    }
}

impl<T: Ord + Clone> Default for Names<T> {
    fn default() -> Self {
        Self::new()
    }
}

/// How money went back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReversalKind {
    /// Of a charge; told as all that was refunded of it so far.
    Refund,
    /// Withdrawn for a dispute, beside what was refunded.
    Dispute,
}

impl ReversalKind {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Refund => "refund",
            Self::Dispute => "dispute",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        [Self::Refund, Self::Dispute]
            .into_iter()
            .find(|kind| kind.as_str() == text)
    }
}

/// All that was taken back of one payment, as far as it was told.
#[derive(Debug, Clone, Default)]
pub struct RunningTotal(BTreeMap<(ReversalKind, String), Cents>);

impl RunningTotal {
    /// Counts what was told of a charge or dispute (`source`), and returns the total of all of them, at most
    /// [`AmountCents::MAX`]. What is less than was told of that source before changes nothing.
    pub fn tell(&mut self, kind: ReversalKind, source: &str, amount: AmountCents) -> AmountCents {
        let told = self.0.entry((kind, source.to_owned())).or_insert(Cents::ZERO);
        *told = (*told).max(amount.into());
        let total = self
            .0
            .values()
            .fold(Cents::ZERO, |total, cents| total.saturating_add(*cents));
        AmountCents::new(total.get()).unwrap_or(AmountCents::MAX)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// By definition: names are one when a chain of tellings leads from one to the other.
    fn slowly(told: &[Vec<u8>]) -> BTreeMap<u8, u8> {
        let mut groups: Vec<BTreeSet<u8>> = Vec::new();
        for names in told {
            let mut group: BTreeSet<u8> = names.iter().copied().collect();
            let (touched, apart) = groups.into_iter().partition(|other| !other.is_disjoint(&group));
            groups = apart;
            let touched: Vec<BTreeSet<u8>> = touched;
            group.extend(touched.into_iter().flatten());
            groups.push(group);
        }
        groups
            .iter()
            .flat_map(|group| group.iter().map(|name| (*name, *group.first().unwrap())))
            .collect()
    }

    fn quickly(told: &[Vec<u8>]) -> BTreeMap<u8, u8> {
        let mut names = Names::new();
        for telling in told {
            names.join(telling.iter().copied());
        }
        names.payments()
    }

    fn tellings() -> impl Strategy<Value = Vec<Vec<u8>>> {
        prop::collection::vec(prop::collection::vec(0u8..20, 0..4), 0..12)
    }

    proptest! {
        #[test]
        fn names_are_one_when_a_chain_of_tellings_joins_them(told in tellings()) {
            prop_assert_eq!(quickly(&told), slowly(&told));
        }

        #[test]
        fn the_order_of_tellings_and_their_repeats_do_not_matter(
            (told, shuffled) in tellings().prop_flat_map(|told| {
                let again: Vec<_> = told.iter().chain(&told).cloned().collect();
                (Just(told), Just(again).prop_shuffle())
            }),
        ) {
            prop_assert_eq!(quickly(&told), quickly(&shuffled));
        }

        #[test]
        fn what_is_known_already_can_be_told_as_pairs(told in tellings(), more in tellings()) {
            let mut names = Names::new();
            for (name, payment) in quickly(&told) {
                names.join([payment, name]);
            }
            for telling in &more {
                names.join(telling.iter().copied());
            }
            prop_assert_eq!(names.payments(), quickly(&[told, more].concat()));
        }

        #[test]
        fn a_total_never_falls_and_ends_the_same_in_any_order(
            (told, shuffled) in prop::collection::vec((any::<bool>(), 0u8..3, 1i64..1_000), 1..12)
                .prop_flat_map(|told| {
                    let again: Vec<_> = told.iter().chain(&told).copied().collect();
                    (Just(told), Just(again).prop_shuffle())
                }),
        ) {
            let run = |told: &[(bool, u8, i64)]| {
                let mut running = RunningTotal::default();
                let totals: Vec<AmountCents> = told
                    .iter()
                    .map(|(refund, source, cents)| {
                        let kind = if *refund { ReversalKind::Refund } else { ReversalKind::Dispute };
                        running.tell(kind, &source.to_string(), AmountCents::new(*cents).unwrap())
                    })
                    .collect();
                assert!(totals.is_sorted());
                *totals.last().unwrap()
            };
            prop_assert_eq!(run(&told), run(&shuffled));
        }
    }

    #[test]
    fn refunds_of_a_charge_are_not_added_but_charges_and_disputes_are() {
        let mut running = RunningTotal::default();
        let mut tell =
            |kind, source, cents| running.tell(kind, source, AmountCents::new(cents).unwrap()).get();
        assert_eq!(tell(ReversalKind::Refund, "ch_1", 200), 200);
        assert_eq!(tell(ReversalKind::Refund, "ch_1", 500), 500);
        assert_eq!(tell(ReversalKind::Refund, "ch_1", 300), 500);
        assert_eq!(tell(ReversalKind::Dispute, "dp_1", 100), 600);
        assert_eq!(tell(ReversalKind::Refund, "ch_2", 1), 601);
        assert_eq!(
            running.tell(ReversalKind::Refund, "ch_2", AmountCents::MAX),
            AmountCents::MAX
        );
    }
}
