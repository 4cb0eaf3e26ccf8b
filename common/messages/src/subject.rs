//! The nouns of the records on the bus, and the names derived from them.

use std::fmt;

/// One kind of record. Each has its own stream, so that a flood of clicks cannot fill the space of sales.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Subject {
    Clicks,
    Leads,
    Sales,
    Refunds,
    Notifications,
    /// Clicks, leads and sales in test mode, separate from the real ones.
    TestEvents,
    TestChains,
    /// Reports of payment processors other than sales.
    Payments,
}

impl Subject {
    pub const ALL: [Self; 8] = [
        Self::Clicks,
        Self::Leads,
        Self::Sales,
        Self::Refunds,
        Self::Notifications,
        Self::TestEvents,
        Self::TestChains,
        Self::Payments,
    ];

    /// The plural noun in lower case. It is also the metric label and the last token of the subject.
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Clicks => "clicks",
            Self::Leads => "leads",
            Self::Sales => "sales",
            Self::Refunds => "refunds",
            Self::Notifications => "notifications",
            Self::TestEvents => "test_events",
            Self::TestChains => "test_chains",
            Self::Payments => "payments",
        }
    }

    /// `<prefix>.tracking.<noun>`, or `tracking.<noun>` if the prefix is empty.
    pub fn on_wire(self, prefix: &str) -> String {
        let noun = self.noun();
        if prefix.is_empty() {
            format!("tracking.{noun}")
        } else {
            format!("{prefix}.tracking.{noun}")
        }
    }

    /// Parses the text that [`Self::on_wire`] makes with this prefix.
    pub fn of_wire(text: &str, prefix: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|subject| subject.on_wire(prefix) == text)
    }

    /// `<PREFIX>_TRACKING_<NOUN>`, or `TRACKING_<NOUN>` if the prefix is empty.
    pub fn stream_name(self, prefix: &str) -> String {
        let noun = self.noun();
        if prefix.is_empty() {
            format!("TRACKING_{noun}").to_uppercase()
        } else {
            format!("{prefix}_TRACKING_{noun}").to_uppercase()
        }
    }

    /// The durable consumer that all workers share. Its name is unique within its stream, so it needs no
    /// prefix.
    pub fn consumer_name(self) -> String {
        format!("worker_{}", self.noun())
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.noun())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_without_a_prefix() {
        assert_eq!(Subject::Clicks.on_wire(""), "tracking.clicks");
        assert_eq!(Subject::Clicks.stream_name(""), "TRACKING_CLICKS");
        assert_eq!(Subject::Clicks.consumer_name(), "worker_clicks");
    }

    #[test]
    fn names_with_a_prefix() {
        assert_eq!(Subject::Sales.on_wire("t1"), "t1.tracking.sales");
        assert_eq!(Subject::Sales.stream_name("t1"), "T1_TRACKING_SALES");
    }

    #[test]
    fn a_subject_is_read_under_its_own_prefix_only() {
        for subject in Subject::ALL {
            assert_eq!(Subject::of_wire(&subject.on_wire("t1"), "t1"), Some(subject));
            assert_eq!(Subject::of_wire(&subject.on_wire("t1"), ""), None);
        }
    }

    #[test]
    fn no_two_subjects_share_a_stream() {
        let names: std::collections::HashSet<_> = Subject::ALL.map(|s| s.stream_name("x")).into();
        assert_eq!(names.len(), Subject::ALL.len());
    }
}
