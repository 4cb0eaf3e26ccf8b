//! Splits `PostgreSQL`'s responses into messages, so that a connection can be cut exactly at the confirmation
//! of a commit.

/// The stream from the server to its client, whose messages are `type, length, content`.
#[derive(Debug, Default)]
pub(super) struct Backend {
    /// The response to the request for TLS is one byte, not a message.
    has_started: bool,
    /// Part of a message.
    partial: Vec<u8>,
    /// Messages since a confirmation that may be of a commit, until the transaction status is known.
    held: Vec<u8>,
}

const HEAD: usize = 5;

impl Backend {
    /// Appends to `out` the bytes to forward. `true`: cut the connection after them.
    pub(super) fn pass(&mut self, bytes: &[u8], cuts_at_commit: bool, out: &mut Vec<u8>) -> bool {
        self.partial.extend_from_slice(bytes);
        if !self.has_started
            && let Some(first) = self.partial.first().copied()
        {
            self.has_started = true;
            if matches!(first, b'N' | b'S') {
                out.push(first);
                self.partial.remove(0);
            }
        }
        while let Some(message) = self.message() {
            let (kind, content) = (message.first().copied(), message.get(HEAD..).unwrap_or_default());
            if cuts_at_commit && kind == Some(b'Z') && content == b"I" && !self.held.is_empty() {
                return true;
            }
            let may_be_commit = cuts_at_commit && kind == Some(b'C') && may_be_commit(content);
            let holds = may_be_commit || !self.held.is_empty();
            let to = if holds { &mut self.held } else { &mut *out };
            to.extend(&message);
            if kind == Some(b'Z') {
                out.append(&mut self.held);
            }
        }
        false
    }

    /// The next whole message.
    fn message(&mut self) -> Option<Vec<u8>> {
        let length = self.partial.get(1..HEAD)?.try_into().ok()?;
        let end = 1 + usize::try_from(u32::from_be_bytes(length)).ok()?;
        if self.partial.len() < end {
            return None;
        }
        let rest = self.partial.split_off(end);
        Some(std::mem::replace(&mut self.partial, rest))
    }
}

/// The confirmation of a commit, or of an insert, which is a commit outside a transaction.
fn may_be_commit(tag: &[u8]) -> bool {
    tag == b"COMMIT\0" || (tag.starts_with(b"INSERT 0 ") && tag != b"INSERT 0 0\0")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u8, content: &[u8]) -> Vec<u8> {
        let length = u32::try_from(content.len() + 4).unwrap();
        [&[kind][..], &length.to_be_bytes(), content].concat()
    }

    fn messages(all: &[(u8, &[u8])]) -> Vec<u8> {
        all.iter()
            .flat_map(|(kind, content)| message(*kind, content))
            .collect()
    }

    /// What passes, byte by byte, and whether it is cut.
    fn passed(stream: &[u8], cuts_at_commit: bool) -> (Vec<u8>, bool) {
        let (mut backend, mut out) = (Backend::default(), Vec::new());
        let is_cut = stream
            .iter()
            .any(|byte| backend.pass(&[*byte], cuts_at_commit, &mut out));
        (out, is_cut)
    }

    #[test]
    fn everything_passes_without_a_cut() {
        let answers = messages(&[
            (b'R', &[0; 4]),
            (b'C', b"COMMIT\0"),
            (b'C', b"INSERT 0 1\0"),
            (b'Z', b"I"),
        ]);
        let stream = [&b"N"[..], &answers].concat();
        assert_eq!(passed(&stream, false), (stream, false));
    }

    #[test]
    fn a_commit_is_cut_before_its_confirmation() {
        let before = messages(&[(b'R', &[0; 4]), (b'C', b"UPDATE 1\0"), (b'Z', b"T")]);
        let stream = [before.clone(), messages(&[(b'C', b"COMMIT\0"), (b'Z', b"I")])].concat();
        assert_eq!(passed(&stream, true), (before, true));
    }

    #[test]
    fn an_insert_is_cut_only_outside_a_transaction() {
        let after = |tag: &'static [u8], status: &'static [u8]| {
            messages(&[(b'R', &[0; 4]), (b'C', tag), (b'Z', status)])
        };
        let alone = after(b"INSERT 0 3\0", b"I");
        assert_eq!(passed(&alone, true), (message(b'R', &[0; 4]), true));
        for whole in [after(b"INSERT 0 3\0", b"T"), after(b"INSERT 0 0\0", b"I")] {
            assert_eq!(passed(&whole, true), (whole.clone(), false));
        }
    }
}
