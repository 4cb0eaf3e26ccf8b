//! Names of people and things, as others will read them.

use std::fmt;

use serde::{Serialize, Serializer};
use unicode_normalization::UnicodeNormalization;
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

use super::text::{Text, TextError};

const MAX: usize = 120;

/// A name as typed: trimmed, with a visible character, and without invisible or bidirectional controls.
#[derive(Clone, PartialEq, Eq)]
pub struct Name(Text<MAX>);

/// Why a string is not a [`Name`]. Displayed after the name of the field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    #[error(transparent)]
    Text(#[from] TextError),
    #[error("must not contain control characters or invisible ones")]
    Hidden,
}

impl Name {
    pub fn parse(text: &str) -> Result<Self, NameError> {
        let text: String = text.trim().nfc().collect();
        if has_hidden(&text) {
            return Err(NameError::Hidden);
        }
        Ok(Self(Text::try_from(text)?))
    }

    /// A stored name. It may have been valid under earlier rules only.
    pub fn stored(text: &str) -> Result<Self, TextError> {
        Text::parse(text).map(Self)
    }

    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

crate::stored!(redacted Name: &str, |text| Self::stored(text).ok());

impl Serialize for Name {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Names are personal data: logs show only their size.
impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Name({} bytes)", self.as_str().len())
    }
}

/// Joiners belong between letters of some scripts and parts of an emoji. Elsewhere they only hide text.
fn has_hidden(text: &str) -> bool {
    let mut joins = false;
    let mut seen = false;
    for c in text.chars() {
        let is_joiner = matches!(c, '\u{200C}' | '\u{200D}');
        let is_mark = matches!(
            c.general_category(),
            GeneralCategory::NonspacingMark | GeneralCategory::EnclosingMark | GeneralCategory::SpacingMark
        );
        let needs_neighbour = is_joiner || is_mark;
        if (is_hidden(c) && !is_joiner) || (needs_neighbour && !seen) || (joins && (is_joiner || is_space(c)))
        {
            return true;
        }
        joins = is_joiner;
        seen = !is_space(c);
    }
    joins
}

fn is_space(c: char) -> bool {
    c.general_category() == GeneralCategory::SpaceSeparator
}

/// Whether a character is invisible, or changes how other characters appear.
pub fn is_hidden(c: char) -> bool {
    // By category these are letters, marks and symbols, but they appear blank.
    let is_blank = matches!(
        c,
        '\u{034F}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}' | '\u{2800}' | '\u{3164}' | '\u{FFA0}'
    );
    is_blank
        || matches!(
            c.general_category(),
            GeneralCategory::Control
                | GeneralCategory::Format
                | GeneralCategory::LineSeparator
                | GeneralCategory::ParagraphSeparator
                | GeneralCategory::PrivateUse
                | GeneralCategory::Surrogate
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_people_everywhere_are_names() {
        for good in [
            "Ada",
            "Jörg Müller-O'Neil",
            "日本 太郎",
            "محمد علي",
            "नरेन्द्र",
            "\u{915}\u{94D}\u{200D}\u{937}",
            "می\u{200C}خواهم",
            "\u{1F469}\u{200D}\u{1F4BB} Works",
            "\u{2764}\u{FE0F}\u{200D}\u{1F525}",
            "A & B (2)",
        ] {
            assert!(Name::parse(good).is_ok(), "{good:?}");
        }
        assert_eq!(Name::parse(" \u{3000}Ada\u{a0} ").unwrap().as_str(), "Ada");
        assert_eq!(Name::parse("A\u{308}da").unwrap().as_str(), "Äda");
    }

    #[test]
    fn what_shows_nothing_or_turns_the_text_around_is_no_name() {
        assert_eq!(Name::parse(" \u{2003}\t"), Err(NameError::Text(TextError::Empty)));
        for bad in [
            "a\0b",
            "a\nb",
            "a\u{1b}[2J",
            "a\u{85}b",
            "\u{200B}",
            "\u{FEFF}Ada",
            "Ada\u{2060}",
            "\u{202E}adA",
            "a\u{2066}b\u{2069}",
            "\u{200F}Ada",
            "\u{61C}Ada",
            "a\u{2028}b",
            "\u{AD}",
            "\u{3164}",
            "\u{2800}",
            "\u{200D}",
            "Ada\u{200D}",
            "\u{200D}Ada",
            "A\u{200D}\u{200D}B",
            "A \u{200D}B",
            "A\u{200D} B",
            "\u{FE0F}",
            "\u{301}",
            "\u{E0041}",
            "\u{E000}",
        ] {
            assert_eq!(Name::parse(bad), Err(NameError::Hidden), "{bad:?}");
        }
        assert!(Name::parse(&"x".repeat(121)).is_err());
        assert!(Name::stored("\u{200B}").is_ok());
    }
}
