//! Passkeys: a device's key signs a user in instead of password and code.

use std::collections::BTreeMap;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use chrono::TimeDelta;
use p256::ecdsa::signature::Signer;
use p256::ecdsa::{Signature, SigningKey};
use reqwest::StatusCode;
use runtime::clock::Clock;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use test_harness::{Answer, Person, Stack, noon, succeeds};

const SITE: &str = "http://localhost:8080";
const MINE: &str = "/api/users/me/passkeys";
const ASK: &str = "/api/auth/passkey/challenge";
const SIGN_IN: &str = "/api/auth/passkey";
const CONFIRM: &str = "/api/auth/confirm-passkey";
const FACTOR: &str = "/api/users/me/second-factor";
const OWNER: &str = "owner@acme.example";
const NOT_ACCEPTED: &str = "This passkey is not accepted";

/// A device with one key for one site.
struct Device {
    key: SigningKey,
    id: Vec<u8>,
    user_handle: Vec<u8>,
    counter: u32,
    /// The origin of the owner's browser.
    origin: &'static str,
    /// Whether the device verifies its holder.
    looks: bool,
}

impl Device {
    fn new() -> Self {
        Self {
            key: SigningKey::from_slice(&rand::random::<[u8; 32]>()).unwrap(),
            id: rand::random::<[u8; 32]>().to_vec(),
            user_handle: Vec::new(),
            counter: 0,
            origin: SITE,
            looks: true,
        }
    }

    fn client_data(&self, kind: &str, challenge: &str) -> Vec<u8> {
        json!({ "type": kind, "challenge": challenge, "origin": self.origin, "crossOrigin": false })
            .to_string()
            .into_bytes()
    }

    /// Authenticator data as the standard defines it: the site's hash, flags, a counter, and further data.
    fn data(&self, flags: u8, rest: &[u8]) -> Vec<u8> {
        let looked = if self.looks { 0b100 } else { 0 };
        let mut data = Sha256::digest(b"localhost").to_vec();
        data.push(flags | looked | 1);
        data.extend(self.counter.to_be_bytes());
        data.extend(rest);
        data
    }

    fn make(&mut self, options: &Value) -> Value {
        let asked = &options["publicKey"];
        self.user_handle = BASE64.decode(asked["user"]["id"].as_str().unwrap()).unwrap();
        let client_data = self.client_data("webauthn.create", asked["challenge"].as_str().unwrap());
        let point = self.key.verifying_key().to_sec1_point(false);
        let mut rest = vec![0; 16];
        rest.extend(u16::try_from(self.id.len()).unwrap().to_be_bytes());
        rest.extend(&self.id);
        // COSE, as CBOR: {1: 2, 3: -7, -1: 1, -2: x, -3: y}.
        rest.extend([0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 0x20]);
        rest.extend(point.x().unwrap());
        rest.extend([0x22, 0x58, 0x20]);
        rest.extend(point.y().unwrap());
        let data = self.data(0b0100_0000, &rest);
        // CBOR: {"fmt": "none", "attStmt": {}, "authData": data}.
        let mut object = b"\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData\x59".to_vec();
        object.extend(u16::try_from(data.len()).unwrap().to_be_bytes());
        object.extend(data);
        json!({
            "id": BASE64.encode(&self.id), "rawId": BASE64.encode(&self.id), "type": "public-key",
            "response": { "clientDataJSON": BASE64.encode(client_data), "attestationObject": BASE64.encode(object) },
            "extensions": {},
        })
    }

    fn sign(&mut self, options: &Value) -> Value {
        self.counter += 1;
        let challenge = options["publicKey"]["challenge"].as_str().unwrap();
        let client_data = self.client_data("webauthn.get", challenge);
        let data = self.data(0, &[]);
        let mut signed = data.clone();
        signed.extend(Sha256::digest(&client_data));
        let signature: Signature = self.key.sign(&signed);
        json!({
            "id": BASE64.encode(&self.id), "rawId": BASE64.encode(&self.id), "type": "public-key",
            "response": {
                "clientDataJSON": BASE64.encode(client_data), "authenticatorData": BASE64.encode(data),
                "signature": BASE64.encode(signature.to_der()), "userHandle": BASE64.encode(&self.user_handle),
            },
            "extensions": {},
        })
    }
}

async fn started(clock: Clock) -> Stack {
    let mut stack = Stack::without_services(clock).await;
    stack.set("PUBLIC_URL", SITE);
    stack.start_services().await;
    stack
}

async fn someone(stack: &Stack) -> Person {
    stack.workspace("acme").await.owner
}

/// The challenge, and the handle for the answer.
async fn asked(stack: &Stack, path: &str, token: Option<&str>) -> (Value, Value) {
    let answer = stack.submitted(path, token, json!({})).await;
    let data = &answer.body["data"];
    (data["handle"].clone(), data["options"].clone())
}

async fn made(stack: &Stack, token: &str, device: &mut Device) -> Answer {
    let (handle, options) = asked(stack, &format!("{MINE}/challenge"), Some(token)).await;
    let body = json!({ "handle": handle, "name": "Phone", "credential": device.make(&options) });
    stack.submit(MINE, Some(token), body).await
}

async fn with_passkey(stack: &Stack, person: &Person) -> Device {
    let mut device = Device::new();
    let made = made(stack, &person.token, &mut device).await;
    assert_eq!(made.status, StatusCode::CREATED, "{made:?}");
    device
}

async fn shown(stack: &Stack, device: &mut Device) -> Value {
    let (handle, options) = asked(stack, ASK, None).await;
    json!({ "handle": handle, "credential": device.sign(&options) })
}

async fn sign_in(stack: &Stack, device: &mut Device) -> Answer {
    let body = shown(stack, device).await;
    stack.submit(SIGN_IN, None, body).await
}

/// A session opened with the passkey.
async fn token_by(stack: &Stack, device: &mut Device) -> String {
    let signed_in = sign_in(stack, device).await;
    assert_eq!(signed_in.status, StatusCode::OK, "{signed_in:?}");
    signed_in.body["jwt"].as_str().unwrap().to_owned()
}

/// The paths of the account's passkeys, oldest first.
async fn paths(stack: &Stack, token: &str) -> Vec<String> {
    let listed = stack.get(MINE, token).await;
    let passkeys = listed.body["data"].as_array().unwrap().iter();
    passkeys
        .map(|passkey| format!("{MINE}/{}", passkey["id"]))
        .collect()
}

fn asks_for_a_passkey(answer: &Answer, what: &str) {
    assert_eq!(answer.status, StatusCode::FORBIDDEN, "{what}: {answer:?}");
    let details = &answer.body["error"]["details"];
    assert_eq!(*details, json!({ "code": "PASSKEY_REQUIRED" }), "{what}");
}

#[tokio::test]
async fn a_passkey_signs_its_owner_in_and_is_listed_with_its_use() {
    let stack = started(Clock::system()).await;
    let person = someone(&stack).await;
    let mut device = with_passkey(&stack, &person).await;
    let signed_in = sign_in(&stack, &mut device).await;
    assert_eq!(signed_in.status, StatusCode::OK, "{signed_in:?}");
    assert_eq!(signed_in.body["user"]["email"], OWNER);
    let token = signed_in.body["jwt"].as_str().unwrap();
    let listed = stack.get(MINE, token).await;
    assert_eq!(listed.body["data"][0]["name"], "Phone");
    assert!(listed.body["data"][0]["last_used_at"].is_string(), "{listed:?}");
    let actions: Vec<String> =
        sqlx::query_scalar("SELECT action FROM audit_log WHERE action LIKE 'user.%' ORDER BY id")
            .fetch_all(stack.pool())
            .await
            .unwrap();
    assert_eq!(
        actions,
        ["user.signed_in", "user.passkey_added", "user.signed_in"]
    );
    let id = listed.body["data"][0]["id"].clone();
    let gone = stack.delete(&format!("{MINE}/{id}"), token).await;
    assert_eq!(gone.status, StatusCode::NO_CONTENT, "{gone:?}");
    sign_in(&stack, &mut device).await.refused(400, NOT_ACCEPTED);
}

#[tokio::test]
async fn what_a_device_signed_is_good_once_for_what_was_asked_and_for_minutes() {
    let clock = Clock::manual(noon());
    let stack = started(clock.clone()).await;
    let person = someone(&stack).await;
    let mut device = with_passkey(&stack, &person).await;
    let body = shown(&stack, &mut device).await;
    let signed_in = stack.submitted(SIGN_IN, None, body.clone()).await;
    let by_passkey = signed_in.body["jwt"].as_str().unwrap().to_owned();
    let refusals = BTreeMap::from([
        ("again", body.clone()),
        ("under another handle", {
            let (handle, _) = asked(&stack, ASK, None).await;
            json!({ "handle": handle, "credential": body["credential"] })
        }),
        ("under the handle of a new passkey", {
            let (handle, options) = asked(&stack, &format!("{MINE}/challenge"), Some(&by_passkey)).await;
            json!({ "handle": handle, "credential": device.sign(&options) })
        }),
        ("by a counter that went back", {
            device.counter = 0;
            shown(&stack, &mut device).await
        }),
        ("on another site", {
            device.counter = 10;
            device.origin = "https://evil.example";
            let shown = shown(&stack, &mut device).await;
            device.origin = SITE;
            shown
        }),
        ("without a look at who holds it", {
            device.looks = false;
            let shown = shown(&stack, &mut device).await;
            device.looks = true;
            shown
        }),
        ("by another key", {
            let (handle, options) = asked(&stack, ASK, None).await;
            let mut other = Device::new();
            (other.id, other.user_handle) = (device.id.clone(), device.user_handle.clone());
            json!({ "handle": handle, "credential": other.sign(&options) })
        }),
        ("as somebody else's", {
            let (handle, options) = asked(&stack, ASK, None).await;
            let mut credential = device.sign(&options);
            credential["response"]["userHandle"] = json!(BASE64.encode(999_u128.to_be_bytes()));
            json!({ "handle": handle, "credential": credential })
        }),
        (
            "as nothing",
            json!({ "handle": body["handle"], "credential": null }),
        ),
        (
            "as a text",
            json!({ "handle": body["handle"], "credential": "x" }),
        ),
        (
            "under no handle of ours",
            json!({ "handle": "affw_x", "credential": body["credential"] }),
        ),
    ]);
    for (what, body) in refusals {
        let answer = stack.submit(SIGN_IN, None, body).await;
        assert_eq!(
            (answer.status, answer.message()),
            (StatusCode::BAD_REQUEST, NOT_ACCEPTED),
            "{what}"
        );
    }
    let late = shown(&stack, &mut device).await;
    clock.set(noon() + TimeDelta::minutes(5));
    let answer = stack.submit(SIGN_IN, None, late).await;
    assert_eq!(answer.message(), NOT_ACCEPTED, "{answer:?}");
    assert_eq!(sign_in(&stack, &mut device).await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_passkey_stands_in_for_the_password_and_a_second_factor() {
    let clock = Clock::manual(noon());
    let stack = started(clock.clone()).await;
    let acme = stack.workspace("acme").await;
    let mut device = with_passkey(&stack, &acme.owner).await;
    stack
        .execute("UPDATE workspaces SET second_factor_required = true")
        .await;
    let programs = "/api/advertiser/affiliate-programs";
    let by_password = stack.get(programs, &acme.owner.token).await;
    assert_eq!(by_password.status, StatusCode::FORBIDDEN, "{by_password:?}");
    let signed_in = sign_in(&stack, &mut device).await;
    let token = signed_in.body["jwt"].as_str().unwrap().to_owned();
    assert_eq!(stack.get(programs, &token).await.status, StatusCode::OK);
    // Half an hour later sensitive actions require proof again, and the passkey suffices.
    clock.set(noon() + TimeDelta::minutes(31));
    let key = json!({ "name": "Key" });
    let keys = "/api/advertiser/api-keys";
    let asked_again = stack.submit(keys, Some(&token), key.clone()).await;
    assert_eq!(asked_again.body["error"]["details"]["code"], "PASSWORD_REQUIRED");
    let body = shown(&stack, &mut device).await;
    let confirmed = stack.submit(CONFIRM, Some(&token), body).await;
    assert_eq!(confirmed.status, StatusCode::NO_CONTENT, "{confirmed:?}");
    assert_eq!(
        stack.submit(keys, Some(&token), key).await.status,
        StatusCode::CREATED
    );
}

#[tokio::test]
async fn a_passkey_of_somebody_else_confirms_nothing_and_makes_nothing() {
    let stack = started(Clock::system()).await;
    let (one, other) = (someone(&stack).await, stack.workspace("other").await.owner);
    let mut device = with_passkey(&stack, &one).await;
    let body = shown(&stack, &mut device).await;
    let confirmed = stack.submit(CONFIRM, Some(&other.token), body).await;
    confirmed.refused(400, NOT_ACCEPTED);
    // A challenge for one kind of request does not serve another.
    let by_passkey = token_by(&stack, &mut device).await;
    let (handle, options) = asked(&stack, &format!("{MINE}/challenge"), Some(&by_passkey)).await;
    let body = json!({ "handle": handle, "name": "Mine", "credential": Device::new().make(&options) });
    let taken = stack.submit(MINE, Some(&other.token), body).await;
    taken.refused(400, NOT_ACCEPTED);
    let listed = stack.get(MINE, &one.token).await;
    let path = format!("{MINE}/{}", listed.body["data"][0]["id"]);
    assert_eq!(
        stack.delete(&path, &other.token).await.status,
        StatusCode::NOT_FOUND
    );
    assert_eq!(sign_in(&stack, &mut device).await.status, StatusCode::OK);
}

#[tokio::test]
async fn making_and_removing_asks_for_the_password_and_who_is_suspended_stays_out() {
    let clock = Clock::manual(noon());
    let stack = started(clock.clone()).await;
    let person = someone(&stack).await;
    let mut device = with_passkey(&stack, &person).await;
    clock.set(noon() + TimeDelta::minutes(31));
    for (path, body) in [
        (format!("{MINE}/challenge"), json!({})),
        (MINE.to_owned(), json!({ "name": "A" })),
    ] {
        let asked = stack.submit(&path, Some(&person.token), body).await;
        assert_eq!(
            asked.body["error"]["details"]["code"], "PASSWORD_REQUIRED",
            "{path}"
        );
    }
    let listed = stack.get(MINE, &person.token).await;
    let path = format!("{MINE}/{}", listed.body["data"][0]["id"]);
    assert_eq!(
        stack.delete(&path, &person.token).await.status,
        StatusCode::FORBIDDEN
    );
    succeeds(&stack, &["user", "suspend", "--email", OWNER]).await;
    let suspended = sign_in(&stack, &mut device).await;
    assert_eq!(
        suspended.body["error"]["details"]["code"], "ACCOUNT_BLOCKED",
        "{suspended:?}"
    );
    succeeds(&stack, &["user", "restore", "--email", OWNER]).await;
    succeeds(&stack, &["user", "reset-second-factor", "--email", OWNER]).await;
    sign_in(&stack, &mut device).await.refused(400, NOT_ACCEPTED);
}

/// A stolen password opens a session; it must not replace or remove the account's other factors.
#[tokio::test]
async fn the_password_alone_adds_and_removes_no_passkey_and_no_app() {
    let stack = started(Clock::system()).await;
    let acme = stack.workspace("acme").await;
    let by_password = stack.signed_in(acme.owner.user_id, OWNER).await.token;
    // Begun while the account had no other factor.
    stack.submitted(FACTOR, Some(&by_password), json!({})).await;
    let (handle, options) = asked(&stack, &format!("{MINE}/challenge"), Some(&by_password)).await;
    let mut device = with_passkey(&stack, &acme.owner).await;
    let own = paths(&stack, &by_password).await.remove(0);
    for required in [false, true] {
        stack
            .execute(&format!(
                "UPDATE workspaces SET second_factor_required = {required}"
            ))
            .await;
        for (path, body) in [
            (FACTOR.to_owned(), json!({})),
            (format!("{FACTOR}/enable"), json!({ "code": "000000" })),
            (format!("{MINE}/challenge"), json!({})),
            (
                MINE.to_owned(),
                json!({ "handle": handle, "name": "Mine", "credential": Device::new().make(&options) }),
            ),
        ] {
            let answer = stack.submit(&path, Some(&by_password), body).await;
            asks_for_a_passkey(&answer, &path);
        }
        asks_for_a_passkey(&stack.delete(&own, &by_password).await, &own);
    }
    assert_eq!(paths(&stack, &by_password).await, [own]);
    // The session lacked a confirmation with the passkey.
    let programs = "/api/advertiser/affiliate-programs";
    assert_eq!(
        stack.get(programs, &by_password).await.status,
        StatusCode::FORBIDDEN
    );
    let body = shown(&stack, &mut device).await;
    let confirmed = stack.submit(CONFIRM, Some(&by_password), body).await;
    assert_eq!(confirmed.status, StatusCode::NO_CONTENT, "{confirmed:?}");
    assert_eq!(stack.get(programs, &by_password).await.status, StatusCode::OK);
    let second = made(&stack, &by_password, &mut Device::new()).await;
    assert_eq!(second.status, StatusCode::CREATED, "{second:?}");
    stack.submitted(FACTOR, Some(&by_password), json!({})).await;
}

#[tokio::test]
async fn the_last_passkey_stays_where_a_workspace_requires_a_second_factor() {
    let stack = started(Clock::system()).await;
    let acme = stack.workspace("acme").await;
    let mut device = with_passkey(&stack, &acme.owner).await;
    let token = token_by(&stack, &mut device).await;
    stack
        .execute("UPDATE workspaces SET second_factor_required = true")
        .await;
    let first = paths(&stack, &token).await.remove(0);
    let demanded = "A workspace of yours requires a second factor";
    stack.delete(&first, &token).await.refused(409, demanded);
    let second = made(&stack, &token, &mut Device::new()).await;
    assert_eq!(second.status, StatusCode::CREATED, "{second:?}");
    let removed = stack.delete(&first, &token).await;
    assert_eq!(removed.status, StatusCode::NO_CONTENT, "{removed:?}");
    let second = paths(&stack, &token).await.remove(0);
    stack.delete(&second, &token).await.refused(409, demanded);
}

#[tokio::test]
async fn removing_a_passkey_ends_every_other_session_and_what_it_opened_counts_no_more() {
    let stack = started(Clock::system()).await;
    let acme = stack.workspace("acme").await;
    let mut device = with_passkey(&stack, &acme.owner).await;
    let (here, elsewhere) = (
        token_by(&stack, &mut device).await,
        token_by(&stack, &mut device).await,
    );
    let own = paths(&stack, &here).await.remove(0);
    assert_eq!(stack.delete(&own, &here).await.status, StatusCode::NO_CONTENT);
    let me = "/api/users/me";
    for ended in [&elsewhere, &acme.owner.token] {
        assert_eq!(stack.get(me, ended).await.status, StatusCode::UNAUTHORIZED);
    }
    assert_eq!(stack.get(me, &here).await.status, StatusCode::OK);
    // The remaining session no longer has a second factor.
    stack
        .execute("UPDATE workspaces SET second_factor_required = true")
        .await;
    let programs = stack.get("/api/advertiser/affiliate-programs", &here).await;
    assert_eq!(
        programs.body["error"]["details"]["code"], "SECOND_FACTOR_MISSING",
        "{programs:?}"
    );
}

/// A stranger accepted an invitation to another's address, with a password and a passkey of their own, and
/// created a key.
#[tokio::test]
async fn a_reset_password_removes_passkeys_and_on_request_revokes_keys() {
    let stack = started(Clock::system()).await;
    let acme = stack.workspace("acme").await;
    let mut device = with_passkey(&stack, &acme.owner).await;
    let keys = "/api/advertiser/api-keys";
    let made = stack
        .submit(keys, Some(&acme.owner.token), json!({ "name": "Key" }))
        .await;
    let key = made.body["data"]["key"].as_str().unwrap();
    let programs = "/api/advertiser/affiliate-programs";
    assert_eq!(stack.get(programs, key).await.status, StatusCode::OK);

    let verified = succeeds(&stack, &["user", "verify", "--email", OWNER]).await;
    assert_eq!(
        (verified.fact("passkeys"), verified.fact("management_keys")),
        ("1".to_owned(), "1".to_owned())
    );
    let reset = ["user", "reset-password", "--email", OWNER, "--generate-password"];
    let first = succeeds(&stack, &reset).await;
    for (name, value) in [
        ("sessions_ended", "1"),
        ("passkeys_removed", "1"),
        ("management_keys", "1"),
        ("management_keys_revoked", "0"),
    ] {
        assert_eq!(first.fact(name), value, "{name}");
    }
    let refusal = sign_in(&stack, &mut device).await;
    refusal.refused(400, NOT_ACCEPTED);
    assert_eq!(stack.get(programs, key).await.status, StatusCode::OK);

    let second = succeeds(&stack, &[&reset[..], &["--revoke-keys"]].concat()).await;
    assert_eq!(second.fact("passkeys_removed"), "0");
    assert_eq!(second.fact("management_keys_revoked"), "1");
    assert_eq!(stack.get(programs, key).await.status, StatusCode::UNAUTHORIZED);
    let noted: String = stack
        .value("SELECT string_agg(action || ' ' || details, ', ' ORDER BY id) FROM audit_log WHERE actor = 'operator'")
        .await;
    assert_eq!(
        noted,
        "user.password_reset {\"passkeys_removed\": 1}, user.password_reset {\"passkeys_removed\": 0}, \
         api_key.revoked {\"reason\": \"password_reset\"}"
    );
}

#[tokio::test]
async fn without_a_host_name_none_are_offered() {
    let stack = Stack::start().await;
    let person = someone(&stack).await;
    for (path, token) in [
        (ASK.to_owned(), None),
        (format!("{MINE}/challenge"), Some(person.token.as_str())),
    ] {
        let refusal = stack.submit(&path, token, json!({})).await;
        refusal.refused(409, "Passkeys are not offered at this address");
    }
}
