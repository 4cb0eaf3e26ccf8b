//! What a round came to, as a line.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use super::journal::{Answer, Call};
use super::schedule::Round;

#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) round: Round,
    pub(super) requests: usize,
    /// Number by kind.
    pub(super) answers: BTreeMap<String, usize>,
    /// From the end of the faults to the first sale that was answered 200.
    pub(super) recovered: Option<Duration>,
    pub(super) drained: Duration,
    pub(super) took: Duration,
    pub(super) notes: Vec<String>,
    pub(super) violations: Vec<String>,
}

pub(super) fn kinds(calls: &[Call]) -> BTreeMap<String, usize> {
    let mut kinds = BTreeMap::new();
    for call in calls {
        let kind = call.answer.as_ref().map_or("none".to_owned(), Answer::kind);
        *kinds.entry(kind).or_default() += 1;
    }
    kinds
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Round { number, seed, plan } = &self.round;
        write!(f, "round {number}, seed {seed:016x}: {plan:?} {:?}", self.notes)?;
        write!(f, " | {} requests {:?}", self.requests, self.answers)?;
        let (recovered, drained, took) = (self.recovered, self.drained, self.took);
        write!(
            f,
            " | first 200: {recovered:.2?}, drained in {drained:.1?}, {took:.1?} | "
        )?;
        f.write_str(if self.violations.is_empty() {
            "ok"
        } else {
            "VIOLATED"
        })
    }
}
