//! Programs, tokens and links as last read, and which of two reads of a row is the later one.
//!
//! Several tasks read rows at once: notifications, catch-ups and lookups of misses. A slow read may return an
//! old version of a row after a faster read has returned the current one. So every read takes a number before
//! its query, and only a read with a higher number replaces a row. A notification's read takes its number
//! after the change was committed: no earlier read can undo it, and every later read sees the change too.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use chrono::{DateTime, Utc};
use domain::ids::{ProgramId, ReferralLinkId};
use domain::programs::key_rotation::KeyRotation;
use domain::programs::tracking_token::TokenScopes;
use domain::token::TokenHash;
use storage::program::directory::{DirectoryLink, DirectoryProgram, DirectoryToken};
use tokio::time::Instant;

/// How long tokens are trusted after a confirmation. Later they are looked up.
pub const LIVE_FOR: Duration = Duration::from_secs(1);
/// How long cached tokens are trusted while they cannot be looked up: longer than a failover takes.
const TRUSTED_FOR: Duration = Duration::from_mins(1);
/// The shortest interval between two stored uses of a token.
const USE_IS_NOTED_EVERY: Duration = Duration::from_hours(1);

/// A referral link, with the fields of its program that a click needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    Active(ActiveLink),
    Inactive,
    /// The link has no partner or no program.
    Misconfigured,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActiveLink {
    pub referral_link_id: ReferralLinkId,
    pub program_id: ProgramId,
    pub cookie_window_days: u16,
}

/// A program, and what its tracking token may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProgramKey {
    pub program_id: ProgramId,
    pub scopes: TokenScopes,
    /// An archived program takes refunds only.
    pub archived: bool,
    /// The program's own limit of sales and refunds a minute; `None`: the installation's.
    pub sale_refund_limit: Option<u32>,
    /// Set when the token is marked for rotation.
    pub rotation: Option<KeyRotation>,
}

#[derive(Debug, Default)]
pub struct Entries {
    links: HashMap<ReferralLinkId, Seen<DirectoryLink>>,
    codes: HashMap<String, ReferralLinkId>,
    programs: HashMap<ProgramId, Seen<DirectoryProgram>>,
    tokens: HashMap<TokenHash, KnownToken>,
    reads: u64,
    /// The latest change that was read.
    changed_at: Option<DateTime<Utc>>,
    /// Until when tokens are trusted without a lookup.
    pub live_until: Option<Instant>,
    /// Until when tokens are trusted while the database is unavailable.
    trusted_until: Option<Instant>,
}

/// Orders reads by when their queries began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReadNumber(u64);

#[derive(Debug)]
struct KnownToken {
    program_id: ProgramId,
    scopes: TokenScopes,
    rotation: Option<KeyRotation>,
    /// Set when a request uses the token; cleared when the use is stored.
    used: AtomicBool,
    noted_at: Option<Instant>,
}

#[derive(Debug)]
struct Seen<T> {
    row: T,
    by: ReadNumber,
}

impl Entries {
    /// Must be taken before the query.
    pub fn next_read(&mut self) -> ReadNumber {
        self.reads += 1;
        ReadNumber(self.reads)
    }

    pub fn changed_at(&self) -> Option<DateTime<Utc>> {
        self.changed_at
    }

    pub fn link(&self, code: &str) -> Option<Link> {
        let link = &self.links.get(self.codes.get(code)?)?.row;
        let (Some(program_id), Some(_)) = (link.program_id, link.partner_id) else {
            return Some(Link::Misconfigured);
        };
        if !link.active {
            return Some(Link::Inactive);
        }
        // Programs are read before links, so a link's program is always in memory.
        let program = &self.programs.get(&program_id)?.row;
        Some(Link::Active(ActiveLink {
            referral_link_id: link.referral_link_id,
            program_id,
            cookie_window_days: program.cookie_window_days,
        }))
    }

    pub fn has_program(&self, program_id: ProgramId) -> bool {
        self.programs.contains_key(&program_id)
    }

    pub fn owner(&self, hash: &TokenHash) -> Option<ProgramId> {
        Some(self.tokens.get(hash)?.program_id)
    }

    /// Records that everything committed before `at` has been read.
    pub fn confirm(&mut self, at: Instant) {
        self.live_until = Some(at + LIVE_FOR);
        self.trusted_until = Some(at + TRUSTED_FOR);
    }

    /// `None` also while the entries are not live.
    pub fn program_of_live_token(&self, hash: &TokenHash) -> Option<ProgramKey> {
        if self.is_live() {
            self.program_of_token(hash)
        } else {
            None
        }
    }

    /// For use while the database is unavailable.
    pub fn program_of_trusted_token(&self, hash: &TokenHash) -> Option<ProgramKey> {
        let is_trusted = self.trusted_until.is_some_and(|until| Instant::now() < until);
        self.program_of_token(hash).filter(|_| is_trusted)
    }

    /// Whether a confirmation came within [`LIVE_FOR`].
    pub fn is_live(&self) -> bool {
        self.live_until.is_some_and(|until| Instant::now() < until)
    }

    pub fn program_of_token(&self, hash: &TokenHash) -> Option<ProgramKey> {
        let token = self.tokens.get(hash)?;
        let program = &self.programs.get(&token.program_id)?.row;
        token.used.store(true, Ordering::Relaxed);
        Some(ProgramKey {
            program_id: program.program_id,
            scopes: token.scopes,
            archived: program.archived,
            sale_refund_limit: program.sale_refund_limit,
            rotation: token.rotation,
        })
    }

    /// The tokens whose use must be stored now, each at most once in [`USE_IS_NOTED_EVERY`].
    pub fn take_uses(&mut self, now: Instant) -> Vec<TokenHash> {
        let mut used = Vec::new();
        for (hash, token) in &mut self.tokens {
            let is_due = token.noted_at.is_none_or(|at| now >= at + USE_IS_NOTED_EVERY);
            if is_due && std::mem::take(token.used.get_mut()) {
                token.noted_at = Some(now);
                used.push(*hash);
            }
        }
        used
    }

    pub fn put_program(&mut self, program: DirectoryProgram, by: ReadNumber) {
        self.changed_at = self.changed_at.max(Some(program.updated_at));
        let id = program.program_id;
        let mut before = HashMap::new();
        if let Some(known) = self.programs.get(&id) {
            if known.by > by {
                return;
            }
            for DirectoryToken { hash, .. } in &known.row.tokens {
                before.extend(self.tokens.remove(hash).map(|token| (*hash, token)));
            }
        }
        for token in &program.tokens {
            // A program is also re-read for other reasons, so the token's use is kept.
            let (used, noted_at) = before
                .remove(&token.hash)
                .map_or_else(Default::default, |token| (token.used, token.noted_at));
            let entry = KnownToken {
                program_id: id,
                scopes: token.scopes,
                rotation: token.rotation,
                used,
                noted_at,
            };
            self.tokens.insert(token.hash, entry);
        }
        self.programs.insert(id, Seen { row: program, by });
    }

    pub fn put_link(&mut self, link: DirectoryLink, by: ReadNumber) {
        self.changed_at = self.changed_at.max(Some(link.updated_at));
        let id = link.referral_link_id;
        if let Some(before) = self.links.get(&id) {
            if before.by > by {
                return;
            }
            // Another link may have taken over the code by now.
            if self.codes.get(&before.row.short_code) == Some(&id) {
                self.codes.remove(&before.row.short_code);
            }
        }
        self.codes.insert(link.short_code.clone(), id);
        self.links.insert(id, Seen { row: link, by });
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeZone;
    use domain::ids::PartnerId;

    use super::*;

    const PROGRAM: ProgramId = ProgramId::new(1);

    fn program(token: u8) -> DirectoryProgram {
        DirectoryProgram {
            program_id: PROGRAM,
            tokens: vec![DirectoryToken {
                hash: TokenHash::from_bytes([token; 32]),
                scopes: TokenScopes::ALL,
                rotation: None,
            }],
            cookie_window_days: 90,
            archived: false,
            sale_refund_limit: None,
            updated_at: Utc.timestamp_nanos(0),
        }
    }

    /// Entries that have read the program with its token.
    fn with_program() -> Entries {
        let mut entries = Entries::default();
        let by = entries.next_read();
        entries.put_program(program(1), by);
        entries
    }

    fn link(id: i64, code: &str, active: bool) -> DirectoryLink {
        DirectoryLink {
            referral_link_id: ReferralLinkId::new(id),
            short_code: code.to_owned(),
            program_id: Some(PROGRAM),
            partner_id: Some(PartnerId::new(1)),
            active,
            updated_at: Utc.timestamp_nanos(0),
        }
    }

    #[test]
    fn a_slow_read_does_not_bring_a_replaced_token_back() {
        let mut entries = Entries::default();
        let slow = entries.next_read();
        let pushed = entries.next_read();
        entries.put_program(program(2), pushed);
        entries.put_program(program(1), slow);
        let known = [1, 2].map(|byte| entries.owner(&TokenHash::from_bytes([byte; 32])));
        assert_eq!(known, [None, Some(PROGRAM)]);
    }

    #[test]
    fn each_of_a_programs_tokens_opens_it_until_it_is_gone() {
        let mut entries = Entries::default();
        let hash = |byte| TokenHash::from_bytes([byte; 32]);
        let by = entries.next_read();
        let mut two = program(1);
        two.tokens.extend(program(2).tokens);
        entries.put_program(two, by);
        assert!(entries.program_of_token(&hash(1)).is_some() && entries.program_of_token(&hash(2)).is_some());
        let by = entries.next_read();
        entries.put_program(program(2), by);
        assert!(entries.program_of_token(&hash(1)).is_none() && entries.program_of_token(&hash(2)).is_some());
    }

    #[test]
    fn the_use_of_a_token_is_noted_once_in_a_while_also_when_its_program_is_read_again() {
        let mut entries = Entries::default();
        let hash = TokenHash::from_bytes([1; 32]);
        let start = Instant::now();
        let put = |entries: &mut Entries| {
            let by = entries.next_read();
            entries.put_program(program(1), by);
        };
        put(&mut entries);
        assert!(entries.take_uses(start).is_empty());
        entries.program_of_token(&hash);
        assert_eq!(entries.take_uses(start), [hash]);
        entries.program_of_token(&hash);
        put(&mut entries);
        assert!(entries.take_uses(start).is_empty());
        assert_eq!(entries.take_uses(start + USE_IS_NOTED_EVERY), [hash]);
        assert!(entries.take_uses(start + 2 * USE_IS_NOTED_EVERY).is_empty());
    }

    #[test]
    fn an_archived_programs_token_is_known_as_such() {
        let mut entries = Entries::default();
        let hash = TokenHash::from_bytes([1; 32]);
        for archived in [false, true] {
            let by = entries.next_read();
            entries.put_program(
                DirectoryProgram {
                    archived,
                    ..program(1)
                },
                by,
            );
            assert_eq!(entries.program_of_token(&hash).unwrap().archived, archived);
        }
        assert!(entries.has_program(PROGRAM));
    }

    #[test]
    fn a_slow_read_does_not_turn_a_link_on_again() {
        let mut entries = with_program();
        let slow = entries.next_read();
        let pushed = entries.next_read();
        entries.put_link(link(1, "ada", false), pushed);
        entries.put_link(link(1, "ada", true), slow);
        assert_eq!(entries.link("ada"), Some(Link::Inactive));
        let later = entries.next_read();
        entries.put_link(link(1, "ada", true), later);
        assert!(matches!(entries.link("ada"), Some(Link::Active(_))));
    }

    #[test]
    fn a_code_that_changed_hands_stays_with_its_new_link_in_either_order() {
        for renamed_first in [true, false] {
            let mut entries = with_program();
            let by = entries.next_read();
            entries.put_link(link(1, "ada", true), by);
            let by = entries.next_read();
            let mut rows = [link(1, "former", true), link(2, "ada", false)];
            if !renamed_first {
                rows.reverse();
            }
            for row in rows {
                entries.put_link(row, by);
            }
            assert_eq!(entries.link("ada"), Some(Link::Inactive));
            assert!(matches!(entries.link("former"), Some(Link::Active(_))));
        }
    }

    #[test]
    fn a_token_is_trusted_while_the_entries_are_live() {
        let mut entries = with_program();
        let hash = TokenHash::from_bytes([1; 32]);
        assert!(entries.program_of_live_token(&hash).is_none());
        entries.live_until = Some(Instant::now() + Duration::from_hours(1));
        assert!(entries.program_of_live_token(&hash).is_some());
    }
}
