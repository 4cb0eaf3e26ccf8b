//! `Stripe-Signature`: a body is accepted if and only if one of the signatures is the HMAC under one of
//! the secrets, and the timestamp is recent.

use chrono::DateTime;
use domain::processors::processor::WebhookSecret;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use webhook_consumer::stripe::signature::{SignatureError, SignatureHeader};

const NOW: i64 = 1_790_000_000;
const SECRETS: [&str; 2] = ["whsec_the_first_one", "whsec_the_second_one"];

/// Input: the header on one line, and the body. `{now}`, `{old}`, `{one}`, `{two}` and `{other}` are replaced by a recent and an old
/// timestamp, and by signatures of the two secrets and of another one.
pub fn run(bytes: &[u8]) {
    let mut lines = bytes.splitn(2, |byte| *byte == b'\n');
    let (Some(Ok(header)), Some(body)) = (lines.next().map(std::str::from_utf8), lines.next()) else {
        return;
    };
    let header = header
        .replace("{now}", &(NOW - 7).to_string())
        .replace("{old}", &(NOW - 301).to_string());
    let moment = header
        .split(',')
        .find_map(|item| item.strip_prefix("t="))
        .unwrap_or_default()
        .to_owned();
    let signed = |secret: &str| {
        let mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
        let mac = mac.chain_update(&moment).chain_update(".").chain_update(body);
        hex::encode(mac.finalize().into_bytes())
    };
    let header = header
        .replace("{one}", &signed(SECRETS[0]))
        .replace("{two}", &signed(SECRETS[1]))
        .replace("{other}", &signed("whsec_of_somebody_else"));
    let now = DateTime::from_timestamp(NOW, 0).unwrap();
    let secrets: Vec<WebhookSecret> = SECRETS.iter().filter_map(|secret| secret.parse().ok()).collect();
    assert_eq!(secrets.len(), SECRETS.len());
    let parsed = SignatureHeader::parse(&header);
    let believed = parsed
        .as_ref()
        .map_err(|error| *error)
        .and_then(|parsed| parsed.verify(body, &secrets, now));
    let signatures: Vec<String> = header
        .split(',')
        .filter_map(|item| item.strip_prefix("v1="))
        .map(str::to_ascii_lowercase)
        .collect();
    let ours = SECRETS.map(signed);
    let recent = moment
        .parse::<i64>()
        .is_ok_and(|moment| (NOW - moment).abs() <= 300);
    let matches = signatures.iter().any(|signature| ours.contains(signature));
    match believed {
        Ok(()) => assert!(recent && matches && signatures.len() <= 8),
        Err(SignatureError::Mismatch) => assert!(recent && !matches),
        Err(SignatureError::OutsideTolerance) => assert!(!recent),
        Err(SignatureError::TooManySignatures) => assert!(signatures.len() > 8),
        Err(SignatureError::NoSignature) => assert!(signatures.is_empty()),
        Err(SignatureError::Malformed | SignatureError::Missing) => assert!(!is_in_form(&header)),
    }
    if let Ok(parsed) = parsed {
        let without_secrets = parsed.verify(body, &[], now);
        assert!(without_secrets.is_err(), "nothing is accepted without a secret");
    }
}

/// Named items, one timestamp of digits, signatures of 64 hex digits.
fn is_in_form(header: &str) -> bool {
    let items: Vec<Option<(&str, &str)>> = header.split(',').map(|item| item.split_once('=')).collect();
    let values = |scheme: &str| -> Vec<&str> {
        let named = items.iter().flatten().filter(|(name, _)| *name == scheme);
        named.map(|(_, value)| *value).collect()
    };
    let moments = values("t");
    items.iter().all(Option::is_some)
        && moments.len() == 1
        && (1..=12).contains(&moments[0].len())
        && moments[0].bytes().all(|digit| digit.is_ascii_digit())
        && values("v1")
            .iter()
            .all(|hex| hex.len() == 64 && hex.chars().all(|digit| digit.is_ascii_hexdigit()))
}
