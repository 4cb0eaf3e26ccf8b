use std::collections::HashSet;

use proptest::prelude::*;

use super::*;

const ISSUED: i64 = 1_750_000_000_123;

fn counting_key() -> ClickIdKey {
    ClickIdKey::from_bytes(std::array::from_fn(|at| u8::try_from(at).unwrap()))
}

fn codec(seed: u8) -> ClickIdCodec {
    ClickIdCodec::new(ClickIdKey::from_bytes([seed; 32]), Vec::new())
}

/// A separate implementation of the permutation computed these. They must never change.
#[test]
fn issued_ids_stay_what_they_are() {
    let codec = ClickIdCodec::new(counting_key(), Vec::new());
    for (customer, number) in [
        (0, 3_899_642_375_896_172_u64),
        (1, 3_924_691_346_586_124),
        (2, 2_592_017_712_738_192),
        (3, 7_291_514_093_650_637),
        (1_000_000, 7_539_381_004_061_665),
        (9_007_199_254_740_991, 8_779_124_149_952_054),
    ] {
        let click_id = codec.encode(CustomerId::new(customer), ISSUED);
        assert_eq!(click_id.as_str(), format!("cust_{number}_1750000000123"));
    }
}

#[test]
fn neighbours_share_nothing_visible() {
    let codec = codec(7);
    let numbers: HashSet<u64> = (1..=1000)
        .map(|customer| codec.encode(CustomerId::new(customer), ISSUED).number)
        .collect();
    assert_eq!(numbers.len(), 1000);
    assert!((1..=1000).all(|customer| !numbers.contains(&customer)));
}

#[test]
fn ids_of_earlier_keys_still_resolve_after_rotation() {
    let old = ClickIdKey::from_bytes([1; 32]);
    let new = ClickIdKey::from_bytes([2; 32]);
    let customer = CustomerId::new(77);
    let click_id = ClickIdCodec::new(old.clone(), Vec::new()).encode(customer, ISSUED);

    let rotated = ClickIdCodec::new(new, vec![old]);
    let candidates: Vec<_> = rotated.decode(&click_id).collect();
    assert_eq!(candidates.len(), 2);
    assert_ne!(candidates[0], customer);
    assert_eq!(candidates[1], customer);

    let fresh = rotated.encode(customer, ISSUED);
    assert_ne!(fresh, click_id);
    assert_eq!(rotated.decode(&fresh).next(), Some(customer));
}

#[test]
fn only_the_canonical_spelling_is_read() {
    for text in [
        "cust_0_1000000000000",
        "cust_9007199254740991_99999999999999",
        "cust_12_1750000000123",
    ] {
        assert_eq!(ClickId::parse(text).unwrap().as_str(), text);
    }
    for text in [
        "",
        "cust_",
        "cust__1750000000123",
        "cust_12_",
        "cust_12",
        "cust_012_1750000000123",
        "cust_00_1750000000123",
        "cust_+12_1750000000123",
        "cust_-12_1750000000123",
        "cust_12_01750000000123",
        "cust_12_999999999999",
        "cust_12_100000000000000",
        "cust_12_-1750000000123",
        "cust_9007199254740992_1750000000123",
        "cust_99999999999999999999999_1750000000123",
        "cust_12_1750000000123_",
        "cust_12_1750000000123\n",
        " cust_12_1750000000123",
        "CUST_12_1750000000123",
        "cust_1２_1750000000123",
    ] {
        assert_eq!(ClickId::parse(text), None, "{text:?}");
    }
}

#[test]
fn a_clock_out_of_range_still_issues_readable_ids() {
    for (clock, issued) in [
        (0, 1_000_000_000_000),
        (i64::MIN, 1_000_000_000_000),
        (i64::MAX, 99_999_999_999_999),
    ] {
        let click_id = codec(1).encode(CustomerId::new(1), clock);
        assert_eq!(click_id.issued_at_ms(), issued);
        assert_eq!(ClickId::parse(click_id.as_str()), Some(click_id));
    }
}

#[test]
fn the_longest_id_fits_the_one_allocation() {
    let click_id = ClickId::from_parts(ID_LIMIT - 1, *ISSUED_AT_MS.end());
    assert_eq!(click_id.as_str().len(), MAX_LEN);
}

#[test]
fn json_is_the_text_and_is_validated() {
    let click_id = codec(3).encode(CustomerId::new(5), ISSUED);
    let json = serde_json::to_string(&click_id).unwrap();
    assert_eq!(json, format!("\"{click_id}\""));
    assert_eq!(serde_json::from_str::<ClickId>(&json).unwrap(), click_id);
    assert!(serde_json::from_str::<ClickId>("\"cust_1_2\"").is_err());
}

#[test]
fn a_key_prints_only_its_name() {
    let printed = format!("{:?}", codec(9));
    assert_eq!(printed, "ClickIdCodec { current: ClickIdKey, previous: [] }");
}

proptest! {
    #[test]
    fn decoding_inverts_encoding(key: [u8; 32], customer in 0i64..1 << 53, issued in ISSUED_AT_MS) {
        let codec = ClickIdCodec::new(ClickIdKey::from_bytes(key), Vec::new());
        let click_id = codec.encode(CustomerId::new(customer), issued);
        prop_assert_eq!(codec.decode(&click_id).collect::<Vec<_>>(), [CustomerId::new(customer)]);
        prop_assert_eq!(click_id.issued_at_ms(), issued);
        prop_assert_eq!(ClickId::parse(click_id.as_str()), Some(click_id));
    }

    #[test]
    fn every_number_names_exactly_one_customer(key: [u8; 32], number in 0..ID_LIMIT) {
        let key = ClickIdKey::from_bytes(key);
        let sequence = key.invert(number);
        prop_assert!(sequence < ID_LIMIT);
        prop_assert_eq!(key.permute(sequence), number);
    }

    #[test]
    fn either_half_of_the_key_matters(key: [u8; 32], flipped in 0usize..32, customer in 0..ID_LIMIT) {
        let mut other = key;
        other[flipped] ^= 1;
        let (key, other) = (ClickIdKey::from_bytes(key), ClickIdKey::from_bytes(other));
        let differs = (0..4).any(|step| key.permute(customer ^ step) != other.permute(customer ^ step));
        prop_assert!(differs);
    }

    #[test]
    fn no_string_panics_and_what_parses_is_unchanged(text in "\\PC*|cust_[0-9+-]{0,18}_[0-9]{0,16}") {
        if let Some(click_id) = ClickId::parse(&text) {
            prop_assert_eq!(click_id.as_str(), &text);
            prop_assert_eq!(ClickId::from_parts(click_id.number, click_id.issued_at_ms), click_id);
        }
    }
}
