//! What every route shares.

use common::domain::ids::ProgramId;
use common::domain::token::ProgramToken;
use common::runtime::clock::Clock;
use sqlx::PgPool;

use crate::customer_ids::CustomerIds;
use crate::directory::Directory;
use crate::email::EmailHasher;
use crate::error::ApiError;
use crate::existing_clicks::ExistingClicks;
use crate::pipeline::Pipeline;

#[derive(Debug, Clone)]
pub struct App {
    pub clock: Clock,
    /// For readiness only; routes go through the batching parts below.
    pub pool: PgPool,
    pub directory: Directory,
    pub customer_ids: CustomerIds,
    pub existing_clicks: ExistingClicks,
    pub email_hasher: EmailHasher,
    pub pipeline: Pipeline,
}

impl App {
    /// The program this bearer token belongs to. What is not even of a token's form is nobody's, and costs no
    /// look-up.
    pub async fn program_of(&self, token: &str, failed: &'static str) -> Result<Option<ProgramId>, ApiError> {
        let Some(token) = ProgramToken::parse(token) else {
            return Ok(None);
        };
        let program_id = self.directory.program_of_token(token.hash()).await;
        program_id.map_err(|error| ApiError::internal(failed, error))
    }
}
