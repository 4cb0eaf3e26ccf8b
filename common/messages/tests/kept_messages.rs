//! Messages of every release, as they were encoded. Old and new processes run side by side during an upgrade, streams hold a week, and
//! claims, the outbox and dead letters hold records for as long as it takes: what was written once must be read for ever.
//!
//! `messages/<version>` is never changed once that version is released. A change of what is encoded makes the directory of the
//! version to come, beside the others.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

use std::fs;
use std::path::{Path, PathBuf};

use messages::click::ClickRecord;
use messages::envelope;
use messages::lead::{LeadOutcome, LeadRecord};
use messages::notification::NotificationRecord;
use messages::payment::PaymentRecord;
use messages::refund::{RefundOutcome, RefundRecord};
use messages::sale::{SaleOutcome, SaleRecord};
use messages::subject::Subject;
use messages::test_chain::{TestChainOutcome, TestChainRecord};
use messages::test_event::{TestEventOutcome, TestEventRecord};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// What is kept, as it is read and written again today.
type Reading = fn(&str) -> Result<Value, String>;

fn of<T: DeserializeOwned + Serialize>(json: &str) -> Result<Value, String> {
    let read: T = serde_json::from_str(json).map_err(|error| error.to_string())?;
    // By text: a raw value cannot pass through a `Value` otherwise.
    Ok(serde_json::from_str(&serde_json::to_string(&read).unwrap()).unwrap())
}

/// How a subject's records are read, and its outcomes, if it has any.
fn reading(subject: Subject) -> (Reading, Option<Reading>) {
    match subject {
        Subject::Clicks => (of::<ClickRecord>, None),
        Subject::Leads => (of::<LeadRecord>, Some(of::<LeadOutcome>)),
        Subject::Sales => (of::<SaleRecord>, Some(of::<SaleOutcome>)),
        Subject::Refunds => (of::<RefundRecord>, Some(of::<RefundOutcome>)),
        Subject::Notifications => (of::<NotificationRecord>, None),
        Subject::TestEvents => (of::<TestEventRecord>, Some(of::<TestEventOutcome>)),
        Subject::TestChains => (of::<TestChainRecord>, Some(of::<TestChainOutcome>)),
        Subject::Payments => (of::<PaymentRecord>, None),
    }
}

/// By their versions.
fn releases() -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/messages");
    let mut releases: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    releases.sort();
    releases
}

/// Everything that `kept` says is in `read`, which may say more.
fn says(read: &Value, kept: &Value) -> bool {
    match (read, kept) {
        (Value::Object(read), Value::Object(kept)) => kept
            .iter()
            .all(|(name, kept)| read.get(name).is_some_and(|read| says(read, kept))),
        (Value::Array(read), Value::Array(kept)) => {
            read.len() == kept.len() && read.iter().zip(kept).all(|(read, kept)| says(read, kept))
        }
        _ => read == kept,
    }
}

/// Each kept piece of a file and what is read of it today.
fn pieces(release: &Path, subject: Subject) -> Vec<(Value, Value)> {
    let (record, outcome) = reading(subject);
    let bytes = |kind: &str| {
        let file = release.join(format!("{subject}.{kind}.json"));
        fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
    };
    let read = |reading: Reading, json: &str| {
        let read =
            reading(json).unwrap_or_else(|error| panic!("{}, {subject}: {error}: {json}", release.display()));
        (serde_json::from_str(json).unwrap(), read)
    };
    let work = envelope::decode(&bytes("work")).unwrap();
    assert_eq!(work.reply_to.as_deref(), Some("replies.a"));
    let mut pieces: Vec<_> = work.records.iter().map(|json| read(record, json.get())).collect();
    if let Some(outcome) = outcome {
        let answers = envelope::decode_replies(&bytes("answers")).unwrap();
        pieces.extend(
            answers
                .outcomes
                .iter()
                .map(|answer| read(outcome, answer.outcome.get())),
        );
    }
    assert!(!pieces.is_empty(), "{subject}");
    pieces
}

#[test]
fn what_a_release_has_written_is_read_whole() {
    for release in releases() {
        for subject in Subject::ALL {
            for (kept, read) in pieces(&release, subject) {
                assert!(says(&read, &kept), "{}: {kept} became {read}", release.display());
            }
        }
    }
}

/// Else what the next release meets would not be among what is kept.
#[test]
fn what_this_version_writes_is_kept() {
    let this = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/messages")
        .join(env!("CARGO_PKG_VERSION"));
    for subject in Subject::ALL {
        for (kept, read) in pieces(&this, subject) {
            assert_eq!(kept, read, "{subject}");
        }
    }
}

/// Records gain fields: a process of this version passes over those of a later one.
#[test]
fn what_a_later_version_adds_to_a_record_is_passed_over() {
    for release in releases() {
        for subject in Subject::ALL {
            let (record, _) = reading(subject);
            let bytes = fs::read(release.join(format!("{subject}.work.json"))).unwrap();
            for kept in envelope::decode(&bytes).unwrap().records {
                let fields = kept.get().strip_prefix('{').unwrap();
                let later = format!("{{\"of_a_later_version\":[1],{fields}");
                assert_eq!(record(&later), record(kept.get()), "{subject}");
            }
        }
    }
}
