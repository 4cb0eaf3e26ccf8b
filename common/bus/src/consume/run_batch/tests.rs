use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use proptest::prelude::*;

use super::super::in_flight::Admission;
use super::super::queue::Origin;
use super::*;
use messages::subject::Subject;

const QUICK: RetryPolicy = RetryPolicy {
    first_delay: Duration::from_micros(1),
    max_delay: Duration::from_micros(2),
    max_attempts: 3,
    max_elapsed: None,
};

/// Settles every number except the configured failures.
#[derive(Default)]
struct Scripted {
    poison: HashSet<u32>,
    panics: HashSet<u32>,
    later: HashSet<u32>,
    /// Records whose rows are locked.
    locked: HashSet<u32>,
    /// Runs that fail transiently before one succeeds.
    outage: AtomicU32,
    miscounts: bool,
    dead_letter_fails: bool,
    runs: AtomicU32,
    committed: Mutex<Vec<u32>>,
    dead_letters: Mutex<Vec<DeadLetter>>,
}

impl Step for Scripted {
    type Record = u32;
    const SUBJECT: Subject = Subject::Sales;

    async fn run(&self, batch: &[Delivered<u32>]) -> Result<Processed, StepError> {
        self.runs.fetch_add(1, Ordering::Relaxed);
        if self.outage.load(Ordering::Relaxed) > 0 {
            self.outage.fetch_sub(1, Ordering::Relaxed);
            return Err(StepError::Transient(anyhow!("store is down")));
        }
        let records: Vec<u32> = batch.iter().map(|delivered| delivered.record).collect();
        assert!(
            !records.iter().any(|record| self.panics.contains(record)),
            "tripped"
        );
        if records.iter().any(|record| self.poison.contains(record)) {
            return Err(StepError::Permanent(anyhow!("poison")));
        }
        if records.iter().any(|record| self.locked.contains(record)) {
            return Err(StepError::Blocked(anyhow!("a row is locked")));
        }
        let verdict = |record| {
            if self.later.contains(record) {
                Verdict::Later
            } else {
                Verdict::Done
            }
        };
        let mut verdicts: Vec<_> = records.iter().map(verdict).collect();
        if self.miscounts {
            verdicts.pop();
        }
        self.committed.lock().unwrap().extend(records);
        Ok(Processed {
            verdicts,
            replies: Vec::new(),
        })
    }

    async fn dead_letter(&self, letter: DeadLetter) -> Result<(), StepError> {
        if self.dead_letter_fails {
            return Err(StepError::Transient(anyhow!("store is down")));
        }
        self.dead_letters.lock().unwrap().push(letter);
        Ok(())
    }
}

fn batch(records: impl IntoIterator<Item = u32>) -> Batch<u32> {
    let (records, origins) = records
        .into_iter()
        .map(|record| {
            let raw = serde_json::value::to_raw_value(&record).unwrap();
            (
                Delivered {
                    record,
                    reply_to: None,
                    deliveries: 1,
                    stored_at: chrono::DateTime::UNIX_EPOCH,
                    postponed: false,
                },
                Origin {
                    admission: Admission::of(1),
                    raw,
                },
            )
        })
        .unzip();
    Batch { records, origins }
}

async fn settle(step: &Scripted, records: impl IntoIterator<Item = u32>) -> Vec<Disposition> {
    let shutdown = CancellationToken::new();
    let attempts = Attempts {
        step,
        subject: "tracking.sales",
        policy: &QUICK,
        shutdown: &shutdown,
    };
    let (answers, _committed) = mpsc::channel(64);
    attempts.run_batch(&batch(records), answers).await
}

#[tokio::test]
async fn a_clean_batch_takes_one_run() {
    let step = Scripted {
        later: [2].into(),
        ..Scripted::default()
    };
    assert_eq!(
        settle(&step, [1, 2, 3]).await,
        [Disposition::Done, Disposition::Later, Disposition::Done]
    );
    assert_eq!(step.runs.into_inner(), 1);
}

#[tokio::test]
async fn a_bad_record_is_dead_lettered_with_its_own_text_and_its_neighbours_pass() {
    let step = Scripted {
        poison: [5].into(),
        ..Scripted::default()
    };
    assert_eq!(settle(&step, 0..8).await, [Disposition::Done; 8]);
    assert_eq!(*step.committed.lock().unwrap(), [0, 1, 2, 3, 4, 6, 7]);
    let dead_letters = step.dead_letters.lock().unwrap();
    assert_eq!(dead_letters.len(), 1);
    assert_eq!(dead_letters[0].payload, "5");
    assert_eq!(dead_letters[0].reason, "poison");
}

#[tokio::test]
async fn a_panic_costs_only_its_own_record() {
    let step = Scripted {
        panics: [1].into(),
        ..Scripted::default()
    };
    assert_eq!(settle(&step, [0, 1, 2]).await, [Disposition::Done; 3]);
    assert_eq!(*step.committed.lock().unwrap(), [0, 2]);
    assert_eq!(step.dead_letters.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_record_that_cannot_be_dead_lettered_is_redelivered() {
    let step = Scripted {
        poison: [1].into(),
        dead_letter_fails: true,
        ..Scripted::default()
    };
    assert_eq!(
        settle(&step, [0, 1]).await,
        [Disposition::Done, Disposition::Redeliver]
    );
}

#[tokio::test]
async fn a_short_outage_is_ridden_out() {
    let step = Scripted {
        outage: 2.into(),
        ..Scripted::default()
    };
    assert_eq!(settle(&step, [1, 2]).await, [Disposition::Done; 2]);
}

#[tokio::test]
async fn a_long_outage_gives_the_whole_batch_back_without_trying_its_parts() {
    let step = Scripted {
        outage: 100.into(),
        ..Scripted::default()
    };
    assert_eq!(settle(&step, [1, 2]).await, [Disposition::Redeliver; 2]);
    assert_eq!(step.runs.into_inner(), QUICK.max_attempts);
}

#[tokio::test]
async fn a_blocked_record_stands_apart_and_its_neighbours_pass() {
    let step = Scripted {
        locked: [300].into(),
        ..Scripted::default()
    };
    let dispositions = settle(&step, 0..512).await;
    assert_eq!(dispositions[300], Disposition::Isolated);
    assert_eq!(
        dispositions
            .iter()
            .filter(|disposition| **disposition == Disposition::Done)
            .count(),
        511
    );
    assert!(step.dead_letters.lock().unwrap().is_empty());
    // Two runs of the whole batch, two of each part with several records, one of the single record. Each
    // waits for the lock.
    let runs = step.runs.into_inner();
    assert!(runs <= 2 + 3 * 8 + 2, "{runs}");
}

#[tokio::test]
async fn records_that_pass_are_answered_while_others_are_blocked() {
    let step = Scripted {
        locked: [0].into(),
        ..Scripted::default()
    };
    let shutdown = CancellationToken::new();
    let attempts = Attempts {
        step: &step,
        subject: "tracking.sales",
        policy: &QUICK,
        shutdown: &shutdown,
    };
    let (answers, mut committed) = mpsc::channel(1);
    let batch = batch(0..16);
    let settled = attempts.run_batch(&batch, answers);
    let first_answer = async {
        committed.recv().await.unwrap();
        let runs = step.runs.load(Ordering::Relaxed);
        while committed.recv().await.is_some() {}
        runs
    };
    let (dispositions, runs) = tokio::join!(settled, first_answer);
    assert!(runs < step.runs.into_inner());
    assert_eq!(dispositions[0], Disposition::Isolated);
    assert_eq!(dispositions[1..], [Disposition::Done; 15]);
}

#[tokio::test]
async fn where_nothing_passes_the_batch_is_given_back_before_all_of_it_was_tried() {
    let step = Scripted {
        locked: (0..512).collect(),
        ..Scripted::default()
    };
    assert_eq!(settle(&step, 0..512).await, [Disposition::Redeliver; 512]);
    let runs = step.runs.into_inner();
    assert!(runs < 32, "{runs}");
}

#[tokio::test]
async fn shutdown_ends_the_retries() {
    let step = Scripted {
        outage: 100.into(),
        ..Scripted::default()
    };
    let shutdown = CancellationToken::new();
    shutdown.cancel();
    let attempts = Attempts {
        step: &step,
        subject: "tracking.sales",
        policy: &QUICK,
        shutdown: &shutdown,
    };
    let (answers, _committed) = mpsc::channel(1);
    assert_eq!(
        attempts.run_batch(&batch([1]), answers).await,
        [Disposition::Redeliver]
    );
    assert_eq!(step.runs.into_inner(), 1);
}

#[tokio::test]
async fn verdicts_that_do_not_match_lose_nothing() {
    let step = Scripted {
        miscounts: true,
        ..Scripted::default()
    };
    assert_eq!(settle(&step, [1, 2]).await, [Disposition::Redeliver; 2]);
}

proptest! {
    #[test]
    fn whatever_is_blocked_or_poison_the_others_pass(
        poison: HashSet<u8>, locked in proptest::collection::hash_set(0u32..128, 0..3), size in 1u32..128,
    ) {
        let poison: HashSet<u32> = poison.into_iter().map(u32::from).filter(|record| !locked.contains(record)).collect();
        let step = Scripted { poison: poison.clone(), locked: locked.clone(), ..Scripted::default() };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let dispositions = runtime.block_on(settle(&step, 0..size));
        for (record, disposition) in (0..size).zip(dispositions) {
            let expected = if locked.contains(&record) { Disposition::Isolated } else { Disposition::Done };
            prop_assert_eq!(disposition, expected, "{}", record);
        }
        let committed: HashSet<u32> = step.committed.lock().unwrap().iter().copied().collect();
        let passes = |record: &u32| !poison.contains(record) && !locked.contains(record);
        prop_assert_eq!(committed, (0..size).filter(passes).collect());
    }

    #[test]
    fn bisection_buries_exactly_the_poison_and_keeps_order(poison: HashSet<u8>, size in 1u32..128) {
        let poison: HashSet<u32> = poison.into_iter().map(u32::from).collect();
        let step = Scripted { poison: poison.clone(), ..Scripted::default() };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let dispositions = runtime.block_on(settle(&step, 0..size));
        prop_assert!(dispositions.iter().all(|disposition| *disposition == Disposition::Done));
        let (bad, good): (Vec<u32>, Vec<u32>) = (0..size).partition(|record| poison.contains(record));
        prop_assert_eq!(&*step.committed.lock().unwrap(), &good);
        let dead_letters: Vec<u32> = step.dead_letters.lock().unwrap().iter()
            .map(|letter| serde_json::from_slice(&letter.payload).unwrap()).collect();
        prop_assert_eq!(dead_letters, bad);
    }
}
