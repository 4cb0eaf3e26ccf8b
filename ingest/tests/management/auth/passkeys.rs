//! Passkeys: a device's key signs a user in instead of password and code.

use std::collections::BTreeMap;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use chrono::TimeDelta;
use p256::ecdsa::signature::Signer;
use p256::ecdsa::{Signature, SigningKey};
use runtime::clock::Clock;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use test_harness::managed::{PROGRAMS, audit_actions};
use test_harness::{Answer, Json, Person, Stack, noon, succeeds};

const SITE: &str = "http://localhost:8080";
const MINE: &str = "/api/users/me/passkeys";
const ASK: &str = "/api/auth/passkey/challenge";
const SIGN_IN: &str = "/api/auth/passkey";
const CHALLENGE: &str = "/api/users/me/passkeys/challenge";
const CONFIRM: &str = "/api/auth/confirm-passkey";
const KEYS: &str = "/api/advertiser/api-keys";
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

/// A service at a host name, and the owner of a workspace.
async fn started(clock: Clock) -> (Stack, Person) {
    let mut stack = Stack::without_services(clock).await;
    stack.set("PUBLIC_URL", SITE);
    stack.start_services().await;
    let owner = stack.workspace("acme").await.owner;
    (stack, owner)
}

async fn require_second_factors(stack: &Stack) {
    let statement = "UPDATE workspaces SET second_factor_required = true";
    stack.execute(statement).await;
}

/// The challenge, and the handle for the answer.
async fn asked(stack: &Stack, path: &str, token: Option<&str>) -> (Value, Value) {
    let answer = stack.submit(path, token, json!({})).await.ok();
    let data = answer.data();
    (data["handle"].clone(), data["options"].clone())
}

/// The body that stores a new key of the device.
async fn new_key(stack: &Stack, person: &Person, device: &mut Device) -> Value {
    let (handle, options) = asked(stack, CHALLENGE, Some(&person.token)).await;
    json!({ "handle": handle, "name": "Phone", "credential": device.make(&options) })
}

async fn made(stack: &Stack, person: &Person, device: &mut Device) {
    let body = new_key(stack, person, device).await;
    person.submit(MINE, body).await.created();
}

async fn with_passkey(stack: &Stack, person: &Person) -> Device {
    let mut device = Device::new();
    made(stack, person, &mut device).await;
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

/// The person in a session opened with the passkey.
async fn signed_in(stack: &Stack, person: &Person, device: &mut Device) -> Person {
    person.in_session(sign_in(stack, device).await.ok().session())
}

/// The paths of the account's passkeys, oldest first.
async fn paths(person: &Person) -> Vec<String> {
    let ids = person.get(MINE).await.column("id");
    let ids = ids.as_array().unwrap().iter();
    ids.map(|id| format!("{MINE}/{id}")).collect()
}

#[tokio::test]
async fn a_passkey_signs_its_owner_in_and_is_listed_with_its_use() {
    let (stack, owner) = started(Clock::system()).await;
    let mut device = with_passkey(&stack, &owner).await;
    let opened = sign_in(&stack, &mut device).await.ok();
    assert_eq!(opened.body["user"]["email"], OWNER);
    let owner = owner.in_session(opened.session());
    let listed = owner.get(MINE).await;
    assert_eq!(listed.column("name"), json!(["Phone"]));
    assert!(listed.data()[0]["last_used_at"].is_string(), "{listed:?}");
    let actions = audit_actions(&stack, "action LIKE 'user.%'").await;
    assert_eq!(
        actions,
        ["user.signed_in", "user.passkey_added", "user.signed_in"]
    );
    owner.delete(&paths(&owner).await[0]).await.is(204);
    sign_in(&stack, &mut device).await.refused(400, NOT_ACCEPTED);
}

#[tokio::test]
async fn what_a_device_signed_is_good_once_for_what_was_asked_and_for_minutes() {
    let (stack, owner) = started(Clock::manual(noon())).await;
    let mut device = with_passkey(&stack, &owner).await;
    let body = shown(&stack, &mut device).await;
    let by_passkey = stack.submit(SIGN_IN, None, body.clone()).await.ok().session();
    let refusals = BTreeMap::from([
        ("again", body.clone()),
        ("under another handle", {
            let (handle, _) = asked(&stack, ASK, None).await;
            json!({ "handle": handle, "credential": body["credential"] })
        }),
        ("under the handle of a new passkey", {
            let (handle, options) = asked(&stack, CHALLENGE, Some(&by_passkey)).await;
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
        ("as nothing", body.clone().with(json!({ "credential": null }))),
        ("as a text", body.clone().with(json!({ "credential": "x" }))),
        (
            "under no handle of ours",
            body.clone().with(json!({ "handle": "affw_x" })),
        ),
    ]);
    for (what, body) in refusals {
        let answer = stack.submit(SIGN_IN, None, body).await;
        assert_eq!(
            (answer.status.as_u16(), answer.message()),
            (400, NOT_ACCEPTED),
            "{what}"
        );
    }
    let late = shown(&stack, &mut device).await;
    stack.clock.set(noon() + TimeDelta::minutes(5));
    let answer = stack.submit(SIGN_IN, None, late).await;
    answer.refused(400, NOT_ACCEPTED);
    sign_in(&stack, &mut device).await.ok();
}

#[tokio::test]
async fn a_passkey_stands_in_for_the_password_and_a_second_factor() {
    let (stack, by_password) = started(Clock::manual(noon())).await;
    let mut device = with_passkey(&stack, &by_password).await;
    require_second_factors(&stack).await;
    by_password.get(PROGRAMS).await.is(403);
    let owner = signed_in(&stack, &by_password, &mut device).await;
    owner.get(PROGRAMS).await.ok();
    // Half an hour later sensitive actions require proof again, and the passkey suffices.
    stack.clock.set(noon() + TimeDelta::minutes(31));
    let asked_again = owner.submit(KEYS, json!({ "name": "Key" })).await;
    asked_again.forbidden("PASSWORD_REQUIRED");
    owner
        .submit(CONFIRM, shown(&stack, &mut device).await)
        .await
        .is(204);
    owner.api_key(json!({ "name": "Key" })).await;
}

#[tokio::test]
async fn a_passkey_of_somebody_else_confirms_nothing_and_makes_nothing() {
    let (stack, one) = started(Clock::system()).await;
    let other = stack.workspace("other").await.owner;
    let mut device = with_passkey(&stack, &one).await;
    let confirmed = other.submit(CONFIRM, shown(&stack, &mut device).await).await;
    confirmed.refused(400, NOT_ACCEPTED);
    // A challenge for one kind of request does not serve another.
    let by_passkey = signed_in(&stack, &one, &mut device).await;
    let body = new_key(&stack, &by_passkey, &mut Device::new()).await;
    other.submit(MINE, body).await.refused(400, NOT_ACCEPTED);
    other.delete(&paths(&one).await[0]).await.is(404);
    sign_in(&stack, &mut device).await.ok();
}

#[tokio::test]
async fn making_and_removing_asks_for_the_password_and_who_is_suspended_stays_out() {
    let (stack, owner) = started(Clock::manual(noon())).await;
    let mut device = with_passkey(&stack, &owner).await;
    stack.clock.set(noon() + TimeDelta::minutes(31));
    for (path, body) in [(CHALLENGE, json!({})), (MINE, json!({ "name": "A" }))] {
        owner.submit(path, body).await.forbidden("PASSWORD_REQUIRED");
    }
    owner.delete(&paths(&owner).await[0]).await.is(403);
    succeeds(&stack, &["user", "suspend", "--email", OWNER]).await;
    sign_in(&stack, &mut device).await.forbidden("ACCOUNT_BLOCKED");
    succeeds(&stack, &["user", "restore", "--email", OWNER]).await;
    succeeds(&stack, &["user", "reset-second-factor", "--email", OWNER]).await;
    sign_in(&stack, &mut device).await.refused(400, NOT_ACCEPTED);
}

/// A stolen password opens a session; it must not replace or remove the account's other factors.
#[tokio::test]
async fn the_password_alone_adds_and_removes_no_passkey_and_no_app() {
    let (stack, owner) = started(Clock::system()).await;
    let thief = stack.signed_in(owner.user_id, OWNER).await;
    // Begun while the account had no other factor.
    thief.submit(FACTOR, json!({})).await.ok();
    let begun = new_key(&stack, &thief, &mut Device::new()).await;
    let mut device = with_passkey(&stack, &owner).await;
    let own = paths(&thief).await.remove(0);
    for required in [false, true] {
        let statement = format!("UPDATE workspaces SET second_factor_required = {required}");
        stack.execute(&statement).await;
        for (path, body) in [
            (FACTOR, json!({})),
            ("/api/users/me/second-factor/enable", json!({ "code": "000000" })),
            (CHALLENGE, json!({})),
            (MINE, begun.clone()),
        ] {
            thief.submit(path, body).await.forbidden("PASSKEY_REQUIRED");
        }
        thief.delete(&own).await.forbidden("PASSKEY_REQUIRED");
    }
    assert_eq!(paths(&thief).await, [own]);
    // The session lacked a confirmation with the passkey.
    thief.get(PROGRAMS).await.is(403);
    thief
        .submit(CONFIRM, shown(&stack, &mut device).await)
        .await
        .is(204);
    thief.get(PROGRAMS).await.ok();
    made(&stack, &thief, &mut Device::new()).await;
    thief.submit(FACTOR, json!({})).await.ok();
}

#[tokio::test]
async fn the_last_passkey_stays_where_a_workspace_requires_a_second_factor() {
    let (stack, by_password) = started(Clock::system()).await;
    let mut device = with_passkey(&stack, &by_password).await;
    let owner = signed_in(&stack, &by_password, &mut device).await;
    require_second_factors(&stack).await;
    let first = paths(&owner).await.remove(0);
    let demanded = "A workspace of yours requires a second factor";
    owner.delete(&first).await.refused(409, demanded);
    made(&stack, &owner, &mut Device::new()).await;
    owner.delete(&first).await.is(204);
    let second = paths(&owner).await.remove(0);
    owner.delete(&second).await.refused(409, demanded);
}

#[tokio::test]
async fn removing_a_passkey_ends_every_other_session_and_what_it_opened_counts_no_more() {
    let (stack, by_password) = started(Clock::system()).await;
    let mut device = with_passkey(&stack, &by_password).await;
    let here = signed_in(&stack, &by_password, &mut device).await;
    let elsewhere = signed_in(&stack, &by_password, &mut device).await;
    here.delete(&paths(&here).await[0]).await.is(204);
    for ended in [&elsewhere, &by_password] {
        ended.get("/api/users/me").await.is(401);
    }
    here.get("/api/users/me").await.ok();
    // The remaining session no longer has a second factor.
    require_second_factors(&stack).await;
    here.get(PROGRAMS).await.forbidden("SECOND_FACTOR_MISSING");
}

/// A stranger accepted an invitation to another's address, with a password and a passkey of their own, and
/// created a key.
#[tokio::test]
async fn a_reset_password_removes_passkeys_and_on_request_revokes_keys() {
    let (stack, stranger) = started(Clock::system()).await;
    let mut device = with_passkey(&stack, &stranger).await;
    let key = stranger.api_key(json!({ "name": "Key" })).await;
    let key = key["key"].as_str().unwrap();
    stack.get(PROGRAMS, key).await.ok();

    let verified = succeeds(&stack, &["user", "verify", "--email", OWNER]).await;
    assert_eq!(
        ["passkeys", "management_keys"].map(|name| verified.fact(name)),
        ["1", "1"]
    );
    let reset = ["user", "reset-password", "--email", OWNER, "--generate-password"];
    let first = succeeds(&stack, &reset).await;
    let facts = [
        "sessions_ended",
        "passkeys_removed",
        "management_keys",
        "management_keys_revoked",
    ];
    assert_eq!(facts.map(|name| first.fact(name)), ["1", "1", "1", "0"]);
    sign_in(&stack, &mut device).await.refused(400, NOT_ACCEPTED);
    stack.get(PROGRAMS, key).await.ok();

    let second = succeeds(&stack, &[&reset[..], &["--revoke-keys"]].concat()).await;
    assert_eq!(facts.map(|name| second.fact(name))[1], "0");
    assert_eq!(facts.map(|name| second.fact(name))[3], "1");
    stack.get(PROGRAMS, key).await.is(401);
    let query = "SELECT action || ' ' || details FROM audit_log WHERE actor = 'operator' ORDER BY id";
    let noted: Vec<String> = stack.values(query).await;
    assert_eq!(
        noted,
        [
            "user.password_reset {\"passkeys_removed\": 1}",
            "user.password_reset {\"passkeys_removed\": 0}",
            "api_key.revoked {\"reason\": \"password_reset\"}",
        ]
    );
}

#[tokio::test]
async fn without_a_host_name_none_are_offered() {
    let (stack, acme) = Stack::with_workspace().await;
    let none = "Passkeys are not offered at this address";
    stack.submit(ASK, None, json!({})).await.refused(409, none);
    acme.owner.submit(CHALLENGE, json!({})).await.refused(409, none);
}
