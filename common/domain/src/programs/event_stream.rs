//! The event types that a reader of a program's event stream requests, and the reader's cursor. A cursor is
//! an opaque text. Each answer contains one, and the reader sends it with the next request.

use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, TimeDelta, Utc};

use crate::ids::ProgramId;
use crate::programs::outbound_event::OutboundEventType;

/// Version of the byte layout below. A later layout gets another number.
const VERSION: u8 = 1;

/// Events are kept for 30 days. This is a day less, because some events get their positions late.
const KEPT: TimeDelta = TimeDelta::days(29);

/// The stream's name for a click. Webhook endpoints have no such type.
pub const CLICK_RECORDED: &str = "click.recorded";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamTypes {
    pub clicks: bool,
    pub others: BTreeSet<OutboundEventType>,
}

impl StreamTypes {
    pub fn all() -> Self {
        Self {
            clicks: true,
            others: OutboundEventType::ALL.into_iter().collect(),
        }
    }

    /// Parses names separated by commas. The error is the first unknown name.
    pub fn parse(names: &str) -> Result<Self, &str> {
        let mut types = Self {
            clicks: false,
            others: BTreeSet::new(),
        };
        for name in names.split(',').map(str::trim) {
            if name == CLICK_RECORDED {
                types.clicks = true;
            } else {
                types.others.insert(OutboundEventType::parse(name).ok_or(name)?);
            }
        }
        Ok(types)
    }
}

/// A position in a program's event stream: after an event, or inside an event that stands for several clicks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct StreamPlace {
    /// The reader has read all events before this position; 0 is the beginning.
    pub position: i64,
    /// 0: the reader has also read the event at `position`. Otherwise, how many of its clicks are read.
    pub clicks: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventCursor {
    pub program_id: ProgramId,
    pub place: StreamPlace,
    /// The reader has read all events written before this time (to the second), apart from late commits.
    pub read_until: DateTime<Utc>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidCursor {
    #[error("it is not whole")]
    Broken,
    #[error("it is of another program")]
    OfAnotherProgram,
}

impl EventCursor {
    /// The encoded cursor has only letters, digits, `-` and `_`.
    pub fn encode(self) -> String {
        let mut bytes = Vec::with_capacity(33);
        bytes.push(VERSION);
        bytes.extend(self.program_id.get().to_be_bytes());
        bytes.extend(self.place.position.to_be_bytes());
        bytes.extend(self.place.clicks.to_be_bytes());
        bytes.extend(self.read_until.timestamp().to_be_bytes());
        // The checksum detects truncated and mistyped cursors. It is no protection: a reader with an invented
        // cursor only reads other parts of their own program's stream.
        bytes.extend(crc32fast::hash(&bytes).to_be_bytes());
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Parses a cursor of this program. A cursor from any ingest process is valid.
    pub fn parse(text: &str, program_id: ProgramId) -> Result<Self, InvalidCursor> {
        let cursor = Self::decode(text).ok_or(InvalidCursor::Broken)?;
        if cursor.program_id == program_id {
            Ok(cursor)
        } else {
            Err(InvalidCursor::OfAnotherProgram)
        }
    }

    fn decode(text: &str) -> Option<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (content, checksum) = bytes.split_last_chunk::<4>()?;
        if u32::from_be_bytes(*checksum) != crc32fast::hash(content) {
            return None;
        }
        let (&version, rest) = content.split_first()?;
        let (program_id, rest) = rest.split_first_chunk::<8>()?;
        let (position, rest) = rest.split_first_chunk::<8>()?;
        let (clicks, rest) = rest.split_first_chunk::<4>()?;
        let read_until = i64::from_be_bytes(rest.try_into().ok()?);
        let position = i64::from_be_bytes(*position);
        (version == VERSION && position >= 0).then_some(Self {
            program_id: ProgramId::new(i64::from_be_bytes(*program_id)),
            place: StreamPlace {
                position,
                clicks: u32::from_be_bytes(*clicks),
            },
            read_until: DateTime::from_timestamp(read_until, 0)?,
        })
    }

    /// Events after the cursor may already be deleted.
    pub fn is_too_old(self, now: DateTime<Utc>) -> bool {
        self.read_until < now - KEPT
    }

    /// The cursor was issued before the stream was turned off and on again. Events in between were not
    /// written. The tolerance is a day: clocks differ less, and a stream is turned off only after a month.
    pub fn is_from_before(self, since: DateTime<Utc>) -> bool {
        self.read_until < since - TimeDelta::days(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRAM: ProgramId = ProgramId::new(7);

    fn cursor() -> EventCursor {
        EventCursor {
            program_id: PROGRAM,
            place: StreamPlace {
                position: i64::MAX,
                clicks: 12,
            },
            read_until: DateTime::UNIX_EPOCH + TimeDelta::days(20_000),
        }
    }

    #[test]
    fn a_cursor_is_read_back_and_needs_no_escape_in_an_address() {
        let text = cursor().encode();
        assert!(
            text.chars()
                .all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
        );
        assert_eq!(EventCursor::parse(&text, PROGRAM), Ok(cursor()));
        assert_eq!(
            EventCursor::parse(&text, ProgramId::new(8)),
            Err(InvalidCursor::OfAnotherProgram)
        );
    }

    #[test]
    fn types_are_named_one_by_one() {
        let some = StreamTypes::parse("sale.recorded, click.recorded").unwrap();
        assert_eq!(
            some,
            StreamTypes {
                clicks: true,
                others: BTreeSet::from([OutboundEventType::SaleRecorded]),
            }
        );
        for (names, unknown) in [
            ("sale.recorded,clicks", "clicks"),
            ("sale.recorded,", ""),
            ("*", "*"),
        ] {
            assert_eq!(StreamTypes::parse(names), Err(unknown));
        }
        let every: Vec<_> = std::iter::once(CLICK_RECORDED)
            .chain(OutboundEventType::ALL.map(OutboundEventType::as_str))
            .collect();
        assert_eq!(StreamTypes::parse(&every.join(",")), Ok(StreamTypes::all()));
    }

    #[test]
    fn what_was_cut_changed_or_lengthened_is_no_cursor() {
        let text = cursor().encode();
        for end in 0..text.len() {
            assert_eq!(
                EventCursor::parse(&text[..end], PROGRAM),
                Err(InvalidCursor::Broken)
            );
        }
        for at in 0..text.len() {
            let mut changed: Vec<char> = text.chars().collect();
            changed[at] = if changed[at] == 'A' { 'B' } else { 'A' };
            let changed: String = changed.into_iter().collect();
            assert!(EventCursor::parse(&changed, PROGRAM).is_err(), "{changed}");
        }
        for text in [format!("{text}A"), format!("{text}AAAA"), "latest".to_owned()] {
            assert_eq!(EventCursor::parse(&text, PROGRAM), Err(InvalidCursor::Broken));
        }
    }

    #[test]
    fn a_cursor_of_another_version_or_a_negative_position_is_none() {
        let with = |change: fn(&mut Vec<u8>)| {
            let mut bytes = URL_SAFE_NO_PAD.decode(cursor().encode()).unwrap();
            bytes.truncate(bytes.len() - 4);
            change(&mut bytes);
            bytes.extend(crc32fast::hash(&bytes).to_be_bytes());
            EventCursor::parse(&URL_SAFE_NO_PAD.encode(bytes), PROGRAM)
        };
        assert_eq!(with(|_| {}), Ok(cursor()));
        assert_eq!(with(|bytes| bytes[0] = 2), Err(InvalidCursor::Broken));
        assert_eq!(with(|bytes| bytes[9] = 0xff), Err(InvalidCursor::Broken));
    }

    #[test]
    fn a_cursor_is_good_for_as_long_as_what_follows_it_is_kept() {
        let cursor = cursor();
        assert!(!cursor.is_too_old(cursor.read_until + TimeDelta::days(29)));
        assert!(cursor.is_too_old(cursor.read_until + TimeDelta::days(29) + TimeDelta::seconds(1)));
        assert!(!cursor.is_from_before(cursor.read_until + TimeDelta::hours(1)));
        assert!(cursor.is_from_before(cursor.read_until + TimeDelta::days(2)));
    }
}
