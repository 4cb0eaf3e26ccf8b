//! `click_id`: a bijection between texts and pairs of customer and time, for every key.

use domain::ids::CustomerId;
use domain::tracking::click_id::{ClickId, ClickIdCodec, ClickIdKey};

const LIMIT: i64 = 1 << 53;

/// Input: the bytes as a text, and the first sixteen as a customer and a time.
pub fn run(bytes: &[u8]) {
    let key = |byte| ClickIdKey::from_bytes([byte; 32]);
    let codec = ClickIdCodec::new(key(1), vec![key(2)]);
    let older = ClickIdCodec::new(key(2), Vec::new());
    if let Ok(text) = std::str::from_utf8(bytes) {
        match ClickId::parse(text) {
            Some(click_id) => {
                assert!(is_spelled_right(text));
                assert_eq!(click_id.as_str(), text);
                let candidates: Vec<CustomerId> = codec.decode(&click_id).collect();
                assert!(
                    candidates
                        .iter()
                        .all(|candidate| (0..LIMIT).contains(&candidate.get()))
                );
                assert_eq!(codec.encode(candidates[0], click_id.issued_at_ms()), click_id);
                assert_eq!(older.encode(candidates[1], click_id.issued_at_ms()), click_id);
            }
            None => assert!(!is_spelled_right(text)),
        }
    }
    if let Some((numbers, _)) = bytes.split_first_chunk::<16>() {
        let number = |half: &[u8]| i64::from_le_bytes(half.try_into().unwrap());
        let customer = CustomerId::new(number(&numbers[..8]).rem_euclid(LIMIT));
        let issued = codec.encode(customer, number(&numbers[8..]));
        assert_eq!(ClickId::parse(issued.as_str()).as_ref(), Some(&issued));
        assert_eq!(codec.decode(&issued).next(), Some(customer));
        let by_older = older.encode(customer, number(&numbers[8..]));
        assert_eq!(codec.decode(&by_older).nth(1), Some(customer));
    }
}

/// An independent check of the format: `cust_`, a number below 2⁵³, `_`, thirteen or fourteen digits, no leading zeros.
fn is_spelled_right(text: &str) -> bool {
    let parts: Vec<&str> = text.split('_').collect();
    let ["cust", number, moment] = parts[..] else {
        return false;
    };
    let plain = |digits: &str| {
        !digits.is_empty()
            && digits.bytes().all(|digit| digit.is_ascii_digit())
            && (digits.len() == 1 || !digits.starts_with('0'))
    };
    plain(number)
        && plain(moment)
        && number.parse::<u128>().is_ok_and(|number| number < 1 << 53)
        && (moment.len() == 13 || moment.len() == 14)
}
