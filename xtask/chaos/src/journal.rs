//! The journal of requests and answers: each request is noted before it is sent, each answer after it
//! arrives.

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
            What::Paid(_) => 0,
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
    /// It has not come yet, or the client ended first.
    Missing,
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
            Self::Broken(_) | Self::Late | Self::HungUp | Self::Missing => true,
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
        let message = self.body().pointer("/error/message");
        message.and_then(Value::as_str).unwrap_or_default()
    }

    /// One word for a table of answers.
    pub(super) fn kind(&self) -> String {
        match self {
            Self::Received { status, .. } => status.to_string(),
            Self::Broken(_) => "broken".to_owned(),
            other => format!("{other:?}").to_lowercase(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Call {
    pub(super) asked: Asked,
    pub(super) answer: Answer,
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
                answer: Answer::Missing,
            },
        });
        entries.len() - 1
    }

    pub(super) fn answer(&self, number: usize, answer: &Answer) {
        if let Some(entry) = self.lock().get_mut(number) {
            entry.answered_at_ms = Some(self.now_ms());
            entry.call.answer = answer.clone();
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
        let answers: Vec<Answer> = journal.calls().into_iter().map(|call| call.answer).collect();
        assert_eq!(answers, [received, Answer::Missing]);
    }
}
