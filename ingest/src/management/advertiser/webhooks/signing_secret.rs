//! A new secret for an endpoint: it is shown once, and stored sealed.

use domain::ids::WebhookEndpointId;
use domain::programs::webhook::SigningSecret;

use crate::management::prelude::*;

/// The secret as it is shown once, and as it is stored.
pub struct NewSecret {
    pub secret: SigningSecret,
    pub sealed: Vec<u8>,
}

impl NewSecret {
    pub fn generate(app: &App, endpoint_id: WebhookEndpointId) -> Result<Self, ApiError> {
        let secret = SigningSecret::generate(App::random());
        let purpose = SigningSecret::purpose(endpoint_id);
        let sealed = app
            .sealing_keys
            .seal(secret.expose(), &purpose, App::random())
            .map_err(ApiError::unexpected)?;
        Ok(Self { secret, sealed })
    }
}
