//! Prints one line a round, and a summary table.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use super::round::Outcome;
use super::usage::Usage;

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = if self.violations.is_empty() {
            "ok"
        } else {
            "VIOLATED"
        };
        write!(
            f,
            "round {:>3}  seed {:016x}  {}",
            self.round.number, self.round.seed, self.round.plan
        )?;
        for note in &self.notes {
            write!(f, " [{note}]")?;
        }
        write!(f, " | {} requests:", self.requests)?;
        for (kind, count) in &self.answers {
            write!(f, " {count}×{kind}")?;
        }
        let recovered = self.recovered.map_or("never".to_owned(), |time| {
            format!("after {:.2} s", time.as_secs_f32())
        });
        write!(
            f,
            " | first 200 {recovered}, drained in {:.1} s, {} | {:.1} s | {verdict}",
            self.drained.as_secs_f32(),
            self.usage,
            self.took.as_secs_f32()
        )
    }
}

/// Summary of all rounds.
#[derive(Debug, Default)]
pub(super) struct Summary {
    rounds: u64,
    violated: u64,
    requests: usize,
    answers: BTreeMap<String, usize>,
    /// By kind of round: rounds, and the longest times to recover and to drain.
    kinds: BTreeMap<String, (u64, Duration, Duration)>,
    usage: Usage,
}

impl Summary {
    pub(super) fn add(&mut self, outcome: &Outcome) {
        self.rounds += 1;
        self.violated += u64::from(!outcome.violations.is_empty());
        self.requests += outcome.requests;
        for (kind, count) in &outcome.answers {
            *self.answers.entry(kind.clone()).or_default() += count;
        }
        for name in outcome.round.plan.kinds() {
            let (rounds, recovered, drained) = self.kinds.entry(name).or_default();
            *rounds += 1;
            *recovered = (*recovered).max(outcome.recovered.unwrap_or_default());
            *drained = (*drained).max(outcome.drained);
        }
        self.usage = self.usage.max(outcome.usage);
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "\n{:<40} {:>6} {:>16} {:>14}",
            "", "rounds", "first 200 within", "drained within"
        )?;
        for (name, (rounds, recovered, drained)) in &self.kinds {
            let (recovered, drained) = (recovered.as_secs_f32(), drained.as_secs_f32());
            writeln!(f, "{name:<40} {rounds:>6} {recovered:>14.2} s {drained:>12.1} s")?;
        }
        write!(f, "\n{} rounds, {} requests:", self.rounds, self.requests)?;
        for (kind, count) in &self.answers {
            write!(f, " {count}×{kind}")?;
        }
        writeln!(f, "\nno service held more than {}", self.usage)?;
        match self.violated {
            0 => write!(f, "nothing lost, nothing counted twice"),
            violated => write!(f, "{violated} rounds VIOLATED"),
        }
    }
}
