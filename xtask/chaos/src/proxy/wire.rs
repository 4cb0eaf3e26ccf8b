//! Splits `PostgreSQL`'s responses into messages, so that a connection can be cut exactly at the confirmation of a commit.

/// Where to cut a connection to the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    /// Before the confirmation of a commit.
    Commit,
    /// Before the confirmation of an insert outside a transaction.
    LoneInsert,
}

/// The stream from the server to its client, whose messages are `type, length, content`.
#[derive(Debug, Default)]
pub(super) struct Backend {
    /// The response to the request for TLS is one byte, not a message.
    has_started: bool,
    /// Part of a message.
    partial: Vec<u8>,
    /// Messages since the confirmation of an insert, until the transaction status is known.
    held: Vec<u8>,
}

const HEAD: usize = 5;

impl Backend {
    /// Appends to `out` the bytes to forward. `true`: cut the connection after them.
    pub(super) fn pass(&mut self, bytes: &[u8], cut: Option<Cut>, out: &mut Vec<u8>) -> bool {
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
            let committed = match cut {
                Some(Cut::Commit) => kind == Some(b'C') && content == b"COMMIT\0",
                Some(Cut::LoneInsert) => kind == Some(b'Z') && content == b"I" && !self.held.is_empty(),
                None => false,
            };
            if committed {
                return true;
            }
            let confirms_insert = cut == Some(Cut::LoneInsert) && kind == Some(b'C') && is_insert(content);
            let holds = confirms_insert || !self.held.is_empty();
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

fn is_insert(tag: &[u8]) -> bool {
    tag.starts_with(b"INSERT 0 ") && tag != b"INSERT 0 0\0"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u8, content: &[u8]) -> Vec<u8> {
        let length = u32::try_from(content.len() + 4).unwrap();
        [&[kind][..], &length.to_be_bytes(), content].concat()
    }

    /// What passes, byte by byte, and whether it is cut.
    fn passed(stream: &[u8], cut: Option<Cut>) -> (Vec<u8>, bool) {
        let (mut backend, mut out) = (Backend::default(), Vec::new());
        let is_cut = stream.iter().any(|byte| backend.pass(&[*byte], cut, &mut out));
        (out, is_cut)
    }

    #[test]
    fn everything_passes_without_a_cut() {
        let stream = [
            vec![b'N'],
            message(b'R', &[0, 0, 0, 0]),
            message(b'C', b"COMMIT\0"),
            message(b'C', b"INSERT 0 1\0"),
            message(b'Z', b"I"),
        ]
        .concat();
        assert_eq!(passed(&stream, None), (stream, false));
    }

    #[test]
    fn a_commit_is_cut_before_its_confirmation() {
        let before = [
            message(b'R', &[0; 4]),
            message(b'C', b"UPDATE 1\0"),
            message(b'Z', b"T"),
        ]
        .concat();
        let stream = [before.clone(), message(b'C', b"COMMIT\0"), message(b'Z', b"I")].concat();
        assert_eq!(passed(&stream, Some(Cut::Commit)), (before, true));
    }

    #[test]
    fn an_insert_is_cut_only_outside_a_transaction() {
        let insert = message(b'C', b"INSERT 0 3\0");
        let before = message(b'R', &[0; 4]);
        let alone = [before.clone(), insert.clone(), message(b'Z', b"I")].concat();
        assert_eq!(passed(&alone, Some(Cut::LoneInsert)), (before, true));
        let within = [message(b'R', &[0; 4]), insert, message(b'Z', b"T")].concat();
        assert_eq!(passed(&within, Some(Cut::LoneInsert)), (within.clone(), false));
        let nothing = [
            message(b'R', &[0; 4]),
            message(b'C', b"INSERT 0 0\0"),
            message(b'Z', b"I"),
        ]
        .concat();
        assert_eq!(passed(&nothing, Some(Cut::LoneInsert)), (nothing.clone(), false));
    }
}
