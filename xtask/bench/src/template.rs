//! Prepared requests: complete bytes with fields that are overwritten for each number.

/// A field in a request; empty unless it was found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Slot {
    at: usize,
    length: usize,
}

impl Slot {
    /// A part of it.
    pub(super) fn inner(self, from: usize, length: usize) -> Self {
        Self {
            at: self.at + from,
            length: length.min(self.length.saturating_sub(from)),
        }
    }
}

#[derive(Debug, Clone)]
pub(super) struct Template {
    bytes: Vec<u8>,
}

impl Template {
    /// `headers`: complete lines.
    pub(super) fn get(path: &str, headers: &str) -> Self {
        Self {
            bytes: format!("GET {path} HTTP/1.1\r\nHost: shop.example\r\n{headers}\r\n").into_bytes(),
        }
    }

    pub(super) fn post(path: &str, headers: &str, body: &str) -> Self {
        let length = body.len();
        Self {
            bytes: format!(
                "POST {path} HTTP/1.1\r\nHost: shop.example\r\n{headers}Content-Type: application/json\r\n\
                 Content-Length: {length}\r\n\r\n{body}"
            )
            .into_bytes(),
        }
    }

    /// The field with this text; empty if there is none.
    pub(super) fn slot(&self, text: &str) -> Slot {
        let found = memchr::memmem::find(&self.bytes, text.as_bytes());
        Slot {
            at: found.unwrap_or_default(),
            length: found.map_or(0, |_| text.len()),
        }
    }

    /// The content of a field.
    pub(super) fn at(&self, slot: Slot) -> &[u8] {
        self.bytes.get(slot.at..slot.at + slot.length).unwrap_or_default()
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Writes a zero-padded decimal; digits that do not fit are dropped.
    pub(super) fn set_number(&mut self, slot: Slot, number: u64) {
        let mut rest = number;
        for byte in self.place(slot).iter_mut().rev() {
            // A remainder of ten is a digit.
            *byte = b'0' + u8::try_from(rest % 10).unwrap_or_default();
            rest /= 10;
        }
    }

    /// Overwrites as many bytes as both have.
    pub(super) fn set_text(&mut self, slot: Slot, text: &str) {
        for (byte, new) in self.place(slot).iter_mut().zip(text.bytes()) {
            *byte = new;
        }
    }

    fn place(&mut self, slot: Slot) -> &mut [u8] {
        self.bytes
            .get_mut(slot.at..slot.at + slot.length)
            .unwrap_or_default()
    }
}

/// Overwritten by [`set_client`].
pub(super) const CLIENT: &str = "198.100.100.100";
/// Enough clients that none reaches its rate limit.
pub(super) const CLIENTS: u64 = 156 * 156 * 156;

/// Writes the address of a client: unique below [`CLIENTS`], of fixed width.
pub(super) fn set_client(template: &mut Template, slot: Slot, number: u64) {
    for (offset, weight) in [(4, 156 * 156), (8, 156), (12, 1)] {
        template.set_number(slot.inner(offset, 3), 100 + number / weight % 156);
    }
}

/// A deterministic scattering of numbers below `bound`.
pub(super) fn scattered(number: u64, bound: u64) -> u64 {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_right(29) % bound.max(1)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn text(template: &Template) -> &str {
        std::str::from_utf8(template.bytes()).unwrap()
    }

    #[test]
    fn places_are_written_over_and_nothing_else() {
        let mut template = Template::post(
            "/x",
            "X-Forwarded-For: 198.100.100.100\r\n",
            r#"{"id":"000000","k":"aa"}"#,
        );
        let before = text(&template).to_owned();
        let (id, key, client) = (
            template.slot("000000"),
            template.slot("aa"),
            template.slot(CLIENT),
        );
        template.set_number(id, 1_234_567);
        template.set_text(key, "zz");
        set_client(&mut template, client, 156 * 2 + 3);
        let expected = before
            .replace("000000", "234567")
            .replace("aa", "zz")
            .replace(CLIENT, "198.100.102.103");
        assert_eq!(text(&template), expected);
    }

    #[test]
    fn clients_are_addresses_and_differ() {
        let mut seen = std::collections::BTreeSet::new();
        let mut template = Template::get("/", "X-Forwarded-For: 198.100.100.100\r\n");
        let slot = template.slot(CLIENT);
        for number in [0, 1, 155, 156, 157, CLIENTS - 1] {
            set_client(&mut template, slot, number);
            let address = text(&template)
                .lines()
                .nth(2)
                .unwrap()
                .split_once(": ")
                .unwrap()
                .1
                .to_owned();
            assert!(address.parse::<Ipv4Addr>().is_ok(), "{address}");
            assert!(seen.insert(address));
        }
    }

    #[test]
    fn what_is_not_there_is_not_written() {
        let mut template = Template::get("/", "");
        let before = text(&template).to_owned();
        let slot = template.slot("nothing");
        template.set_number(slot, 7);
        set_client(&mut template, slot, 7);
        assert_eq!(text(&template), before);
    }

    #[test]
    fn scattered_numbers_stay_in_bounds() {
        assert!((0..1000).all(|number| scattered(number, 7) < 7));
        let hit: std::collections::BTreeSet<_> = (0..1000).map(|number| scattered(number, 100)).collect();
        assert!(hit.len() > 90);
    }
}
