//! The journal of requests and answers: each request is noted before it is sent, each answer after it arrives.

use std::collections::BTreeSet;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use anyhow::{Context, Result};
use serde::Serialize;
use serde_json::Value;

/// The relevant fields of a request. Except for clicks and events, they are its body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
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
        #[serde(rename = "refund_amount_cents", skip_serializing_if = "Option::is_none")]
        amount_cents: Option<i64>,
    },
    Event(Event),
}

impl Asked {
    pub(super) const fn kind(&self) -> &'static str {
        match self {
            Self::Click { .. } => "click",
            Self::Lead { .. } => "lead",
            Self::Sale { .. } => "sale",
            Self::Refund { .. } => "refund",
            Self::Event(_) => "event",
        }
    }

    /// The transaction, the customer and the amount of a sale, or of an event of one.
    pub(super) fn sale(&self) -> Option<(&str, &str, i64)> {
        match self {
            Self::Sale {
                transaction_id,
                customer_key,
                amount_cents,
            }
            | Self::Event(Event {
                transaction_id,
                customer_key,
                amount_cents,
                ..
            }) => Some((transaction_id, customer_key, *amount_cents)),
            _ => None,
        }
    }
}

/// An event of the payment processor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Event {
    pub(super) id: String,
    pub(super) transaction_id: String,
    pub(super) customer_key: String,
    pub(super) amount_cents: i64,
    pub(super) what: What,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
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

#[derive(Debug, Clone, PartialEq, Serialize)]
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

    /// Whether a client tries again.
    pub(super) fn is_retryable(&self) -> bool {
        self.is_unknown() || *self == Self::Refused
    }

    /// The answer's body; `null` without an answer.
    pub(super) fn body(&self) -> &Value {
        match self {
            Self::Received { body, .. } => body,
            _ => &Value::Null,
        }
    }

    /// The message of a refusal.
    pub(super) fn message(&self) -> &str {
        self.body()["error"]["message"].as_str().unwrap_or_default()
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Call {
    pub(super) asked: Asked,
    /// `None` if the client ended first: unknown.
    pub(super) answer: Option<Answer>,
}

impl Call {
    pub(super) fn status(&self) -> Option<u16> {
        self.answer.as_ref()?.status()
    }

    pub(super) fn is_ok(&self) -> bool {
        self.status() == Some(200)
    }

    /// Whether its outcome is unknown.
    pub(super) fn is_open(&self) -> bool {
        self.answer.as_ref().is_none_or(Answer::is_unknown)
    }

    /// The answer's body; `null` without an answer.
    pub(super) fn body(&self) -> &Value {
        self.answer.as_ref().map_or(&Value::Null, Answer::body)
    }

    /// One word for a table of answers.
    pub(super) fn kind(&self) -> String {
        match &self.answer {
            Some(Answer::Received { status, .. }) => status.to_string(),
            Some(Answer::Broken(_)) => "broken".to_owned(),
            Some(other) => format!("{other:?}").to_lowercase(),
            None => "none".to_owned(),
        }
    }
}

#[derive(Debug, Serialize)]
struct Entry {
    kind: &'static str,
    to: SocketAddr,
    asked_at_ms: u64,
    answered_at_ms: Option<u64>,
    #[serde(flatten)]
    call: Call,
}

#[derive(Debug)]
pub(super) struct Journal {
    started: Instant,
    entries: Mutex<Vec<Entry>>,
}

impl Journal {
    pub(super) fn start() -> Self {
        Self {
            started: Instant::now(),
            entries: Mutex::default(),
        }
    }

    /// Notes a request before it is sent. Returns its number.
    pub(super) fn ask(&self, to: SocketAddr, asked: &Asked) -> usize {
        let mut entries = self.lock();
        entries.push(Entry {
            kind: asked.kind(),
            to,
            asked_at_ms: self.now_ms(),
            answered_at_ms: None,
            call: Call {
                asked: asked.clone(),
                answer: None,
            },
        });
        entries.len() - 1
    }

    pub(super) fn answer(&self, number: usize, answer: &Answer) {
        if let Some(entry) = self.lock().get_mut(number) {
            entry.answered_at_ms = Some(self.now_ms());
            entry.call.answer = Some(answer.clone());
        }
    }

    /// All calls so far, in order.
    pub(super) fn calls(&self) -> Vec<Call> {
        self.lock().iter().map(|entry| entry.call.clone()).collect()
    }

    /// Writes a line of JSON for each call.
    pub(super) fn write(&self, path: &Path) -> Result<()> {
        let lines: Result<Vec<String>, _> = self.lock().iter().map(serde_json::to_string).collect();
        if let Some(dir) = path.parent() {
            fs::create_dir_all(dir)?;
        }
        fs::write(path, lines?.join("\n")).with_context(|| format!("cannot write {}", path.display()))
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Each event that was answered 200, once, in the order of the requests.
pub(super) fn accepted_events(calls: &[Call]) -> Vec<Asked> {
    let mut known = BTreeSet::new();
    calls
        .iter()
        .filter(|call| call.is_ok())
        .filter(|call| matches!(&call.asked, Asked::Event(event) if known.insert(&event.id)))
        .map(|call| call.asked.clone())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_request_without_answer_stays() {
        let journal = Journal::start();
        let to = SocketAddr::from(([127, 0, 0, 1], 1));
        let click = Asked::Click { code: "ada".into() };
        let first = journal.ask(to, &click);
        journal.ask(to, &click);
        let received = Answer::Received {
            status: 200,
            body: json!({ "click_id": "cust_1_1" }),
        };
        journal.answer(first, &received);
        let answers: Vec<Option<Answer>> = journal.calls().into_iter().map(|call| call.answer).collect();
        assert_eq!(answers, [Some(received), None]);
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
                body: Value::Null,
            }),
        };
        let click = Call {
            asked: Asked::Click { code: "ada".into() },
            ..call("", 200)
        };
        let events = [
            ("evt_2", 503),
            ("evt_2", 200),
            ("evt_1", 200),
            ("evt_2", 200),
            ("evt_3", 400),
        ];
        let mut calls = vec![click];
        calls.extend(events.map(|(id, status)| call(id, status)));
        let again = [calls[2].asked.clone(), calls[3].asked.clone()];
        assert_eq!(accepted_events(&calls), again);
    }
}
