//! A program's list of events, newest first, and a reader's cursor in it: an opaque text of the answer, sent
//! with the next request. New events come before the cursor, so they shift no later page.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, Utc};

use crate::ids::ProgramId;
use crate::programs::event_stream::InvalidCursor;

/// Version of the byte layout below. A later layout gets another number.
const VERSION: u8 = 1;

crate::text_enum! {
    /// Event types, in the order of events with the same time.
    #[derive(PartialOrd, Ord, Hash)]
    pub enum ProgramEventType {
        Click = "click",
        Lead = "lead",
        Sale = "sale",
        Refund = "refund",
    }
}

/// A position in the list. Positions are ordered by time; the list shows the greatest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct EventPlace {
    /// With microseconds, because rows have them.
    pub at: DateTime<Utc>,
    pub event_type: ProgramEventType,
    /// The id of the event's row in its table.
    pub id: i64,
}

impl EventPlace {
    /// The position after all events of this time or later.
    pub const fn before(at: DateTime<Utc>) -> Self {
        Self {
            at,
            event_type: ProgramEventType::Click,
            id: i64::MIN,
        }
    }

    /// Events of a type after this position are older than `at`, or have the same time and an id below the
    /// returned one.
    pub fn lowest_read_id(self, event_type: ProgramEventType) -> i64 {
        match event_type.cmp(&self.event_type) {
            std::cmp::Ordering::Less => i64::MAX,
            std::cmp::Ordering::Equal => self.id,
            std::cmp::Ordering::Greater => i64::MIN,
        }
    }

    /// The encoded cursor has only letters, digits, `-` and `_`.
    pub fn encode(self, program_id: ProgramId) -> String {
        let mut bytes = Vec::with_capacity(30);
        bytes.push(VERSION);
        bytes.extend(program_id.get().to_be_bytes());
        bytes.extend(self.at.timestamp_micros().to_be_bytes());
        bytes.push(self.event_type as u8);
        bytes.extend(self.id.to_be_bytes());
        // The checksum detects truncated and mistyped cursors. It is no protection: a reader with an invented
        // cursor only reads other parts of their own program's list.
        bytes.extend(crc32fast::hash(&bytes).to_be_bytes());
        URL_SAFE_NO_PAD.encode(bytes)
    }

    pub fn parse(text: &str, program_id: ProgramId) -> Result<Self, InvalidCursor> {
        let (of, place) = Self::decode(text).ok_or(InvalidCursor::Broken)?;
        if of == program_id {
            Ok(place)
        } else {
            Err(InvalidCursor::OfAnotherProgram)
        }
    }

    fn decode(text: &str) -> Option<(ProgramId, Self)> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (content, checksum) = bytes.split_last_chunk::<4>()?;
        if u32::from_be_bytes(*checksum) != crc32fast::hash(content) {
            return None;
        }
        let (&version, rest) = content.split_first()?;
        let (program_id, rest) = rest.split_first_chunk::<8>()?;
        let (micros, rest) = rest.split_first_chunk::<8>()?;
        let (&number, rest) = rest.split_first()?;
        let at = DateTime::from_timestamp_micros(i64::from_be_bytes(*micros))?;
        let place = Self {
            at,
            event_type: ProgramEventType::ALL
                .into_iter()
                .find(|event_type| *event_type as u8 == number)?,
            id: i64::from_be_bytes(rest.try_into().ok()?),
        };
        // No event is older than 1970, and PostgreSQL cannot store every time that these bytes can encode.
        (version == VERSION && at >= DateTime::UNIX_EPOCH)
            .then_some((ProgramId::new(i64::from_be_bytes(*program_id)), place))
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;

    const PROGRAM: ProgramId = ProgramId::new(7);

    fn place(event_type: ProgramEventType, id: i64) -> EventPlace {
        EventPlace {
            at: DateTime::UNIX_EPOCH + TimeDelta::microseconds(1_764_160_000_000_001),
            event_type,
            id,
        }
    }

    #[test]
    fn a_place_is_read_back_to_the_microsecond() {
        for event_type in ProgramEventType::ALL {
            for id in [i64::MIN, 0, 42, i64::MAX] {
                let text = place(event_type, id).encode(PROGRAM);
                assert!(
                    text.chars()
                        .all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
                );
                assert_eq!(EventPlace::parse(&text, PROGRAM), Ok(place(event_type, id)));
                assert_eq!(
                    EventPlace::parse(&text, ProgramId::new(8)),
                    Err(InvalidCursor::OfAnotherProgram)
                );
            }
        }
    }

    #[test]
    fn what_was_cut_or_lengthened_is_no_place() {
        let text = place(ProgramEventType::Sale, 42).encode(PROGRAM);
        for end in 0..text.len() {
            assert_eq!(
                EventPlace::parse(&text[..end], PROGRAM),
                Err(InvalidCursor::Broken)
            );
        }
        for text in [format!("{text}A"), format!("{text}AAAA"), "newest".to_owned()] {
            assert_eq!(EventPlace::parse(&text, PROGRAM), Err(InvalidCursor::Broken));
        }
    }

    #[test]
    fn no_event_is_older_than_1970() {
        let place = EventPlace::before(DateTime::UNIX_EPOCH - TimeDelta::microseconds(1));
        assert_eq!(
            EventPlace::parse(&place.encode(PROGRAM), PROGRAM),
            Err(InvalidCursor::Broken)
        );
    }

    #[test]
    fn what_follows_a_place_is_what_is_less() {
        let read = place(ProgramEventType::Lead, 5);
        for event_type in ProgramEventType::ALL {
            for id in 1..10 {
                let follows = id < read.lowest_read_id(event_type);
                assert_eq!(follows, place(event_type, id) < read, "{event_type:?} {id}");
            }
        }
        let before = EventPlace::before(read.at);
        assert!(ProgramEventType::ALL.iter().all(|kind| place(*kind, 0) > before));
    }
}
