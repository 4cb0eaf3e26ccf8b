//! A payment as its processor reports it: under several names, and reversed in parts.
//!
//! Events arrive in any order and more than once. So the result depends only on the reports, never on their
//! order. The least of its names identifies a payment. The reversed amount is the sum of the greatest amount
//! of each source.

use std::collections::BTreeMap;

use crate::money::{AmountCents, Cents};

/// Names that reports assign to the same payment, directly or through other names: a union-find.
#[derive(Debug, Clone)]
pub struct Names<T>(BTreeMap<T, T>);

impl<T: Ord + Clone> Names<T> {
    pub const fn new() -> Self {
        Self(BTreeMap::new())
    }

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
            // The greater of two roots points to the lesser, so a root is always the least of its names.
            let (head, under) = if payment <= other {
                (payment, other)
            } else {
                (other, payment)
            };
            self.0.insert(under, head.clone());
            payment = head;
        }
    }

    /// The least name of the payment that has this name.
    pub fn least(&self, name: &T) -> T {
        let mut head = name;
        while let Some(lesser) = self.0.get(head).filter(|lesser| *lesser != head) {
            head = lesser;
        }
        head.clone()
    }

    /// Every name with the least name of its payment, ascending.
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

crate::text_enum! {
    #[derive(PartialOrd, Ord, Hash)]
    pub enum ReversalKind {
        /// A refund of a charge, reported as the total refunded so far.
        Refund = "refund",
        /// Money withdrawn for a dispute, in addition to refunds.
        Dispute = "dispute",
    }
}

#[derive(Debug, Clone, Default)]
pub struct RunningTotal(BTreeMap<(ReversalKind, String), Cents>);

impl RunningTotal {
    /// Records the total reported for a charge or dispute (`source`). Returns the total over all sources, at
    /// most [`AmountCents::MAX`]. A total below an earlier one of the same source changes nothing.
    pub fn record(&mut self, kind: ReversalKind, source: &str, amount: AmountCents) -> AmountCents {
        let reported = self.0.entry((kind, source.to_owned())).or_insert(Cents::ZERO);
        *reported = (*reported).max(amount.into());
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

    /// The definition: two names belong together if a chain of reports connects them.
    fn slowly(reported: &[Vec<u8>]) -> BTreeMap<u8, u8> {
        let mut groups: Vec<BTreeSet<u8>> = Vec::new();
        for names in reported {
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

    fn quickly(reported: &[Vec<u8>]) -> BTreeMap<u8, u8> {
        let mut names = Names::new();
        for report in reported {
            names.join(report.iter().copied());
        }
        names.payments()
    }

    fn reports() -> impl Strategy<Value = Vec<Vec<u8>>> {
        prop::collection::vec(prop::collection::vec(0u8..20, 0..4), 0..12)
    }

    proptest! {
        #[test]
        fn names_are_one_when_a_chain_of_reports_joins_them(reported in reports()) {
            prop_assert_eq!(quickly(&reported), slowly(&reported));
        }

        #[test]
        fn the_order_of_reports_and_their_repeats_do_not_matter(
            (reported, shuffled) in reports().prop_flat_map(|reported| {
                let again: Vec<_> = reported.iter().chain(&reported).cloned().collect();
                (Just(reported), Just(again).prop_shuffle())
            }),
        ) {
            prop_assert_eq!(quickly(&reported), quickly(&shuffled));
        }

        #[test]
        fn what_is_known_already_can_be_reported_as_pairs(reported in reports(), more in reports()) {
            let mut names = Names::new();
            for (name, payment) in quickly(&reported) {
                names.join([payment, name]);
            }
            for report in &more {
                names.join(report.iter().copied());
            }
            prop_assert_eq!(names.payments(), quickly(&[reported, more].concat()));
        }

        #[test]
        fn a_total_never_falls_and_ends_the_same_in_any_order(
            (reported, shuffled) in prop::collection::vec((any::<bool>(), 0u8..3, 1i64..1_000), 1..12)
                .prop_flat_map(|reported| {
                    let again: Vec<_> = reported.iter().chain(&reported).copied().collect();
                    (Just(reported), Just(again).prop_shuffle())
                }),
        ) {
            let run = |reported: &[(bool, u8, i64)]| {
                let mut running = RunningTotal::default();
                let totals: Vec<AmountCents> = reported
                    .iter()
                    .map(|(refund, source, cents)| {
                        let kind = if *refund { ReversalKind::Refund } else { ReversalKind::Dispute };
                        running.record(kind, &source.to_string(), AmountCents::new(*cents).unwrap())
                    })
                    .collect();
                assert!(totals.is_sorted());
                *totals.last().unwrap()
            };
            prop_assert_eq!(run(&reported), run(&shuffled));
        }
    }

    #[test]
    fn refunds_of_a_charge_are_not_added_but_charges_and_disputes_are() {
        let mut running = RunningTotal::default();
        let mut record = |kind, source, cents| {
            running
                .record(kind, source, AmountCents::new(cents).unwrap())
                .get()
        };
        assert_eq!(record(ReversalKind::Refund, "ch_1", 200), 200);
        assert_eq!(record(ReversalKind::Refund, "ch_1", 500), 500);
        assert_eq!(record(ReversalKind::Refund, "ch_1", 300), 500);
        assert_eq!(record(ReversalKind::Dispute, "dp_1", 100), 600);
        assert_eq!(record(ReversalKind::Refund, "ch_2", 1), 601);
        assert_eq!(
            running.record(ReversalKind::Refund, "ch_2", AmountCents::MAX),
            AmountCents::MAX
        );
    }
}
