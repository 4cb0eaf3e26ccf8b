//! The journal of requests and answers: each request is written before it is sent, each answer after it arrives.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The relevant fields of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum Asked {
    Click {
        code: String,
    },
    Lead {
        click_id: String,
        customer_key: String,
    },
    Sale {
        transaction_id: String,
        customer_key: String,
        amount_cents: i64,
    },
    Refund {
        transaction_id: String,
        refund_id: String,
        /// `None`: the rest of the sale.
        amount_cents: Option<i64>,
    },
    Event(Event),
}

/// An event of the payment processor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Event {
    pub(super) id: String,
    pub(super) transaction_id: String,
    pub(super) customer_key: String,
    pub(super) amount_cents: i64,
    pub(super) what: What,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum What {
    Paid(Names),
    /// An invoice of the product that earns only on a customer's first payment. In Unix seconds.
    Invoiced {
        at: i64,
    },
    /// The running total of refunds.
    Refunded {
        cents: i64,
    },
}

/// How a payment names the customer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Names {
    Key,
    /// The customer_key and the processor's customer.
    KeyAndCustomer(String),
    /// Only the processor's customer.
    Customer(String),
}

impl Event {
    pub(super) const fn refunded_cents(&self) -> i64 {
        match self.what {
            What::Refunded { cents } => cents,
            What::Paid(_) | What::Invoiced { .. } => 0,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Answer {
    Received {
        status: u16,
        body: Value,
    },
    /// Connection refused: nothing was sent.
    Refused,
    Broken(String),
    Late,
    /// The client disconnected before the answer.
    HungUp,
}

impl Answer {
    pub(super) fn status(&self) -> Option<u16> {
        match self {
            Self::Received { status, .. } => Some(*status),
            _ => None,
        }
    }

    pub(super) fn is_ok(&self) -> bool {
        self.status() == Some(200)
    }

    /// Whether the outcome of the request is unknown.
    pub(super) fn is_unknown(&self) -> bool {
        match self {
            Self::Received { status, .. } => *status >= 500,
            Self::Refused => false,
            Self::Broken(_) | Self::Late | Self::HungUp => true,
        }
    }

    /// A field of the answer's body.
    pub(super) fn number(&self, field: &str) -> Option<i64> {
        match self {
            Self::Received { body, .. } => body.get(field)?.as_i64(),
            _ => None,
        }
    }

    pub(super) fn text(&self, field: &str) -> Option<&str> {
        match self {
            Self::Received { body, .. } => body.get(field)?.as_str(),
            _ => None,
        }
    }

    /// The message of a refusal.
    pub(super) fn message(&self) -> &str {
        match self {
            Self::Received { body, .. } => body
                .pointer("/error/message")
                .and_then(Value::as_str)
                .unwrap_or_default(),
            _ => "",
        }
    }

    /// One word for a table of answers.
    pub(super) fn kind(&self) -> String {
        match self {
            Self::Received { status, .. } => status.to_string(),
            Self::Refused => "refused".to_owned(),
            Self::Broken(_) => "broken".to_owned(),
            Self::Late => "late".to_owned(),
            Self::HungUp => "hung up".to_owned(),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Call {
    pub(super) asked: Asked,
    /// `None` if the client ended first: unknown.
    pub(super) answer: Option<Answer>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Line {
    call: u64,
    at_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    asked: Option<Asked>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<Answer>,
}

#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    file: Mutex<File>,
    next: AtomicU64,
    started: Instant,
}

impl Journal {
    pub(super) fn create(path: PathBuf) -> Result<Self> {
        if let Some(dir) = path.parent() {
            fs::create_dir_all(dir)?;
        }
        let file = File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Self {
            path,
            file: Mutex::new(file),
            next: AtomicU64::new(0),
            started: Instant::now(),
        })
    }

    /// Records a request before it is sent. Returns its number.
    pub(super) fn ask(&self, to: &str, asked: &Asked) -> Result<u64> {
        let call = self.next.fetch_add(1, Ordering::SeqCst);
        self.write(&Line {
            call,
            at_ms: self.now_ms(),
            to: Some(to.to_owned()),
            asked: Some(asked.clone()),
            answer: None,
        })?;
        Ok(call)
    }

    pub(super) fn answer(&self, call: u64, answer: &Answer) -> Result<()> {
        self.write(&Line {
            call,
            at_ms: self.now_ms(),
            to: None,
            asked: None,
            answer: Some(answer.clone()),
        })
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn write(&self, line: &Line) -> Result<()> {
        let mut text = serde_json::to_string(line)?;
        text.push('\n');
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(text.as_bytes())
            .context("cannot write the journal")
    }

    /// All calls so far, in order.
    pub(super) fn calls(&self) -> Result<Vec<Call>> {
        read(&fs::read_to_string(&self.path)?)
    }
}

/// Each event that was answered 200, once, in the order of the requests.
pub(super) fn accepted_events(calls: &[Call]) -> Vec<Asked> {
    let mut known = BTreeSet::new();
    calls
        .iter()
        .filter(|call| call.answer.as_ref().is_some_and(Answer::is_ok))
        .filter(|call| matches!(&call.asked, Asked::Event(event) if known.insert(&event.id)))
        .map(|call| call.asked.clone())
        .collect()
}

fn read(text: &str) -> Result<Vec<Call>> {
    let mut calls: BTreeMap<u64, Call> = BTreeMap::new();
    for line in text.lines() {
        let line: Line = serde_json::from_str(line).context("the journal cannot be read")?;
        if let Some(asked) = line.asked {
            let call = Call { asked, answer: None };
            calls.insert(line.call, call);
        } else if let Some(call) = calls.get_mut(&line.call) {
            call.answer = line.answer;
        }
    }
    Ok(calls.into_values().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_was_written_is_read_and_a_request_without_answer_stays() {
        let path = std::env::temp_dir().join(format!("journal-{}.jsonl", std::process::id()));
        let journal = Journal::create(path.clone()).unwrap();
        let click = Asked::Click { code: "ada".into() };
        let sale = Asked::Sale {
            transaction_id: "t1".into(),
            customer_key: "u1".into(),
            amount_cents: 100,
        };
        let first = journal.ask("ingest-1", &click).unwrap();
        journal.ask("ingest-2", &sale).unwrap();
        let received = Answer::Received {
            status: 200,
            body: json!({ "click_id": "cust_1_1" }),
        };
        journal.answer(first, &received).unwrap();
        let calls = journal.calls().unwrap();
        fs::remove_file(path).unwrap();
        assert_eq!(calls.len(), 2);
        assert_eq!(
            (&calls[0].asked, calls[0].answer.as_ref()),
            (&click, Some(&received))
        );
        assert_eq!((&calls[1].asked, calls[1].answer.as_ref()), (&sale, None));
        assert_eq!(received.text("click_id"), Some("cust_1_1"));
    }

    #[test]
    fn a_processor_sends_again_what_was_accepted_and_each_event_once() {
        let call = |id: &str, status: u16| Call {
            asked: Asked::Event(Event {
                id: id.into(),
                transaction_id: "pi_1".into(),
                customer_key: "u1".into(),
                amount_cents: 100,
                what: What::Paid(Names::Key),
            }),
            answer: Some(Answer::Received {
                status,
                body: json!({}),
            }),
        };
        let click = Call {
            asked: Asked::Click { code: "ada".into() },
            ..call("", 200)
        };
        let calls = [
            click,
            call("evt_2", 503),
            call("evt_2", 200),
            call("evt_1", 200),
            call("evt_2", 200),
            call("evt_3", 400),
        ];
        let again = [calls[2].asked.clone(), calls[3].asked.clone()];
        assert_eq!(accepted_events(&calls), again);
    }
}
