//! Passkeys: challenges for devices, and the check of their answers.
//!
//! A passkey is bound to the host of `PUBLIC_URL`. If that host is an IP address, or if the URL is neither
//! HTTPS nor localhost, browsers create no passkeys, and the service offers none. The device verifies its
//! owner (finger, face or PIN) before it signs, so a passkey is two factors in one.

use domain::ids::UserId;
use serde::de::DeserializeOwned;
use serde_json::Value;
use url::{Host, Url};
use uuid::Uuid;
use webauthn_rs::prelude::{
    AuthenticationResult, DiscoverableAuthentication, DiscoverableKey, Passkey, PasskeyRegistration,
    PublicKeyCredential, RegisterPublicKeyCredential,
};
use webauthn_rs::{Webauthn, WebauthnBuilder};
use webauthn_rs_proto::ResidentKeyRequirement;

use crate::management::prelude::*;

/// `PUBLIC_URL` does not allow passkeys.
pub const NOT_OFFERED: ApiError = ApiError::Conflict("Passkeys are not offered at this address");
/// The same for every reason, so that it does not reveal which passkeys exist.
pub const REFUSED: ApiError = ApiError::refusal("This passkey is not accepted");

/// Holds `None` if passkeys are not offered.
#[derive(Debug, Clone)]
pub struct Passkeys(Option<Webauthn>);

#[derive(Debug)]
pub struct Challenge {
    /// The challenge for the device, in WebAuthn's JSON.
    pub options: Value,
    /// The state that the device's answer is checked against. It stays on the server.
    pub state: Value,
}

#[derive(Debug)]
pub struct MadePasskey {
    pub credential_id: Vec<u8>,
    pub credential: Value,
}

#[derive(Debug)]
pub struct Shown {
    answer: PublicKeyCredential,
    /// The passkey's owner according to the device.
    pub user_id: UserId,
}

impl Passkeys {
    pub fn at(public_url: &Url) -> Self {
        let offered = match (public_url.scheme(), public_url.host()) {
            ("https", Some(Host::Domain(host))) | ("http", Some(Host::Domain(host @ "localhost"))) => {
                Some(host)
            }
            _ => None,
        };
        let webauthn = offered.and_then(|host| {
            let builder = WebauthnBuilder::new(host, public_url).ok()?;
            builder.rp_name("Referral tracker").build().ok()
        });
        Self(webauthn)
    }

    fn offered(&self) -> Result<&Webauthn, ApiError> {
        self.0.as_ref().ok_or(NOT_OFFERED)
    }

    /// Asks a device to create a passkey. Devices that hold a `known` passkey refuse.
    pub fn ask_for_new(
        &self,
        user_id: UserId,
        email: &str,
        name: &str,
        known: Vec<Vec<u8>>,
    ) -> Result<Challenge, ApiError> {
        let (mut options, state) = self
            .offered()?
            .start_passkey_registration(handle_of(user_id), email, name, Some(known))
            .map_err(ApiError::unexpected)?;
        // A discoverable passkey: the device finds it by the site alone, so that sign-in needs no e-mail
        // address.
        if let Some(selection) = &mut options.public_key.authenticator_selection {
            selection.resident_key = Some(ResidentKeyRequirement::Required);
            selection.require_resident_key = true;
        }
        Challenge::new(&options, &state)
    }

    pub fn made(&self, answer: Value, state: Value) -> Result<MadePasskey, ApiError> {
        let answer: RegisterPublicKeyCredential = sent(answer)?;
        let state: PasskeyRegistration = read(state)?;
        let passkey = self
            .offered()?
            .finish_passkey_registration(&answer, &state)
            .map_err(|_| REFUSED)?;
        Ok(MadePasskey {
            credential_id: passkey.cred_id().clone(),
            credential: stored(&passkey)?,
        })
    }

    /// Asks a device to sign with any of its passkeys for this site.
    pub fn ask_for_any(&self) -> Result<Challenge, ApiError> {
        let (mut options, state) = self
            .offered()?
            .start_discoverable_authentication()
            .map_err(ApiError::unexpected)?;
        // A button asks for the passkey; the browser must not offer it in a form field.
        options.mediation = None;
        Challenge::new(&options, &state)
    }

    pub fn shown(&self, answer: Value) -> Result<Shown, ApiError> {
        let answer: PublicKeyCredential = sent(answer)?;
        let (handle, _) = self
            .offered()?
            .identify_discoverable_authentication(&answer)
            .map_err(|_| REFUSED)?;
        let user_id = i64::try_from(handle.as_u128()).map_err(|_| REFUSED)?;
        Ok(Shown {
            answer,
            user_id: UserId::new(user_id),
        })
    }

    /// The passkey after this use, if the device signed the challenge.
    pub fn signed(&self, shown: &Shown, state: Value, credential: Value) -> Result<Value, ApiError> {
        let mut passkey: Passkey = read(credential)?;
        let state: DiscoverableAuthentication = read(state)?;
        let result: AuthenticationResult = self
            .offered()?
            .finish_discoverable_authentication_v2(&shown.answer, state, DiscoverableKey::from(&passkey))
            .map_err(|_| REFUSED)?;
        if !result.user_verified() {
            return Err(REFUSED);
        }
        passkey.update_credential(&result);
        stored(&passkey)
    }
}

impl Challenge {
    fn new(options: &impl Serialize, state: &impl Serialize) -> Result<Self, ApiError> {
        Ok(Self {
            options: stored(options)?,
            state: stored(state)?,
        })
    }
}

impl Shown {
    pub fn credential_id(&self) -> &[u8] {
        self.answer.get_credential_id()
    }
}

/// The WebAuthn user handle. It contains only the id of the user's row.
fn handle_of(user_id: UserId) -> Uuid {
    Uuid::from_u128(u128::from(user_id.get().unsigned_abs()))
}

fn sent<T: DeserializeOwned>(answer: Value) -> Result<T, ApiError> {
    serde_json::from_value(answer).map_err(|_| REFUSED)
}

fn read<T: DeserializeOwned>(stored: Value) -> Result<T, ApiError> {
    serde_json::from_value(stored).map_err(ApiError::unexpected)
}

fn stored(value: &impl Serialize) -> Result<Value, ApiError> {
    serde_json::to_value(value).map_err(ApiError::unexpected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passkeys_are_of_a_host_that_browsers_trust() {
        for (url, offered) in [
            ("https://track.example", true),
            ("https://track.example:8443", true),
            ("http://localhost:8080", true),
            ("http://track.example", false),
            ("http://127.0.0.1:8080", false),
            ("https://192.0.2.1", false),
        ] {
            let passkeys = Passkeys::at(&Url::parse(url).unwrap());
            assert_eq!(passkeys.ask_for_any().is_ok(), offered, "{url}");
        }
    }
}
