use std::fmt::Write;

use proptest::prelude::*;

use super::*;

const NOW: i64 = 1_790_000_000;
const KNOWN: &str = "e8ec69c6219f3a491b21a99b08933bae2fd13c0876e0b79372e8be8ddb850a4a";

fn now() -> DateTime<Utc> {
    DateTime::from_timestamp(NOW, 0).unwrap()
}

fn secret(text: &str) -> WebhookSecret {
    WebhookSecret::parse(text).unwrap()
}

fn ours() -> WebhookSecret {
    secret("whsec_of_this_endpoint")
}

fn theirs() -> WebhookSecret {
    secret("whsec_of_another_one")
}

fn hex(secret: &WebhookSecret, timestamp: impl std::fmt::Display, body: &[u8]) -> String {
    let mac = Hmac::<Sha256>::new_from_slice(secret.expose().as_bytes())
        .unwrap()
        .chain_update(format!("{timestamp}."))
        .chain_update(body);
    let mut hex = String::new();
    for byte in mac.finalize().into_bytes() {
        write!(hex, "{byte:02x}").unwrap();
    }
    hex
}

fn verified(header: &str, body: &[u8], secrets: &[WebhookSecret]) -> Result<(), SignatureError> {
    SignatureHeader::parse(header)?.verify(body, secrets, now())
}

/// `KNOWN` is from openssl: `printf '1700000000.{}' | openssl dgst -sha256 -hmac whsec_0123456789`.
#[test]
fn a_signature_made_elsewhere_is_recognised() {
    let header = format!("t=1700000000,v1={KNOWN}");
    let at = DateTime::from_timestamp(1_700_000_000, 0).unwrap();
    let parsed = SignatureHeader::parse(&header).unwrap();
    assert_eq!(parsed.verify(b"{}", &[secret("whsec_0123456789")], at), Ok(()));
}

#[test]
fn any_v1_may_match_any_secret() {
    let (mine, other) = (hex(&ours(), NOW, b"{}"), hex(&theirs(), NOW, b"{}"));
    let both = [theirs(), ours()];
    for header in [
        format!("t={NOW},v1={mine}"),
        format!("v1={mine},t={NOW}"),
        format!("t={NOW},v1={},v1={mine}", "0".repeat(64)),
        format!("t={NOW},v0=anything,v1={mine},v9=x"),
        format!("t={NOW},v1={other},v1={mine}"),
    ] {
        assert_eq!(verified(&header, b"{}", &both), Ok(()), "{header}");
    }
    assert_eq!(
        verified(&format!("t={NOW},v1={other}"), b"{}", &[ours()]),
        Err(SignatureError::Mismatch)
    );
    assert_eq!(
        verified(&format!("t={NOW},v1={mine}"), b"{}", &[]),
        Err(SignatureError::Mismatch)
    );
}

/// Without a secret, the body is hashed with an empty one.
#[test]
fn without_a_secret_nothing_matches() {
    let mac = Hmac::<Sha256>::new_from_slice(b"").unwrap();
    let digest = mac.chain_update(format!("{NOW}.{{}}")).finalize().into_bytes();
    let mut header = format!("t={NOW},v1=");
    for byte in digest {
        write!(header, "{byte:02x}").unwrap();
    }
    assert_eq!(verified(&header, b"{}", &[]), Err(SignatureError::Mismatch));
}

#[test]
fn five_minutes_either_way_are_recent() {
    for (seconds, outcome) in [
        (-300, Ok(())),
        (300, Ok(())),
        (-301, Err(SignatureError::OutsideTolerance)),
        (301, Err(SignatureError::OutsideTolerance)),
    ] {
        let at = NOW + seconds;
        let header = format!("t={at},v1={}", hex(&ours(), at, b"{}"));
        assert_eq!(verified(&header, b"{}", &[ours()]), outcome, "{seconds}");
    }
}

#[test]
fn what_is_not_in_form_is_refused() {
    let good = hex(&ours(), NOW, b"{}");
    let many = |count: usize| format!("t={NOW}{}", format!(",v1={good}").repeat(count));
    for (header, error) in [
        (String::new(), SignatureError::Malformed),
        (format!("v1={good}"), SignatureError::Malformed),
        (format!("t={NOW}"), SignatureError::NoSignature),
        (format!("t={NOW},v0={good}"), SignatureError::NoSignature),
        (format!("t={NOW},t={NOW},v1={good}"), SignatureError::Malformed),
        (format!("t=,v1={good}"), SignatureError::Malformed),
        (format!("t=-{NOW},v1={good}"), SignatureError::Malformed),
        (format!("t=+{NOW},v1={good}"), SignatureError::Malformed),
        (format!("t={NOW}.0,v1={good}"), SignatureError::Malformed),
        (
            format!("t={},v1={good}", "9".repeat(40)),
            SignatureError::Malformed,
        ),
        (format!("t={NOW},v1"), SignatureError::Malformed),
        (format!("t={NOW},v1={}", &good[1..]), SignatureError::Malformed),
        (format!("t={NOW},v1={}g", &good[1..]), SignatureError::Malformed),
        (many(9), SignatureError::TooManySignatures),
        (many(50), SignatureError::TooManySignatures),
    ] {
        assert_eq!(verified(&header, b"{}", &[ours()]), Err(error), "{header}");
    }
    assert_eq!(verified(&many(8), b"{}", &[ours()]), Ok(()));
}

proptest! {
    #[test]
    fn what_was_signed_is_believed_and_nothing_else(
        body: Vec<u8>, age in -300i64..=300, at in any::<prop::sample::Index>(), flip in 1u8..,
    ) {
        let timestamp = NOW - age;
        let header = format!("t={timestamp},v1={}", hex(&ours(), timestamp, &body));
        prop_assert_eq!(verified(&header, &body, &[theirs(), ours()]), Ok(()));
        let longer = [body.as_slice(), b" "].concat();
        prop_assert_eq!(verified(&header, &longer, &[ours()]), Err(SignatureError::Mismatch));
        if !body.is_empty() {
            let mut altered = body.clone();
            altered[at.index(body.len())] ^= flip;
            prop_assert_eq!(verified(&header, &altered, &[ours()]), Err(SignatureError::Mismatch));
        }
        let later = header.replacen(&timestamp.to_string(), &(timestamp + 1).to_string(), 1);
        prop_assert!(verified(&later, &body, &[ours()]).is_err());
    }

    #[test]
    fn no_header_panics(header in "[tv01=,a-f9 ]{0,80}", other in ".*") {
        let _ = verified(&header, b"{}", &[ours()]);
        let _ = verified(&other, b"{}", &[ours()]);
    }
}
