//! `POST /api/v1/cli/stripe-connect`: stores the account and the webhook that a command line has set up at
//! the processor.
//!
//! Takes the program's own key, which a command line has after `init`, or a session of a user who may change
//! the program.

use axum::Json;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use domain::ids::ProgramId;
use domain::people::permission::Permission;
use domain::processors::processor::ConnectionStatus;
use domain::programs::tracking_token::TokenScope;
use sqlx::PgConnection;
use storage::operations::audit_log::AuditActor;
use storage::processor::processor_connections;

use super::login::failed;
use crate::http::credential::Credential;
use crate::http::field::{Field, IdNumber, refused};
use crate::http::request_id::RequestId;
use crate::management::access;
use crate::management::access::{ARCHIVED, Caller, CliUser, ProgramAccess, Source, Write};
use crate::management::advertiser::program::connection_change::{CONNECTED_ALREADY, HELD_ELSEWHERE, change};
use crate::management::advertiser::program::connection_settings::ConnectionChanges;
use crate::management::prelude::*;
use crate::tracking::caller::{self, out_of_scope};
use crate::tracking::test_event::program_number;
use crate::tracking::test_mode::OTHER_PROGRAM;

#[derive(Debug, Deserialize, ToSchema)]
pub struct StripeConnectRequest {
    #[schema(schema_with = program_number)]
    program_id: Field<IdNumber>,
    /// The processor's id of the account.
    #[schema(value_type = String, max_length = 255)]
    stripe_user_id: Field<String>,
    #[schema(value_type = String, max_length = 255)]
    webhook_endpoint_id: Field<String>,
    /// What the endpoint's webhooks are signed with. Kept sealed, and never shown.
    #[schema(value_type = String, min_length = 16, max_length = 255)]
    webhook_secret: Field<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct StripeConnectAnswer {
    /// Always true.
    connected: bool,
    stripe_account_id: String,
    #[schema(required = true)]
    webhook_endpoint_id: Option<String>,
    /// As last reported by the account's own events or set at the dashboard.
    charges_enabled: bool,
    payouts_enabled: bool,
}

/// Connect the payment processor
#[utoipa::path(
    post,
    path = "/api/v1/cli/stripe-connect",
    request_body = StripeConnectRequest,
    responses(
        (status = 200, description = "Connected.", body = StripeConnectAnswer),
        (status = 403, description = "The program is another than the key's, not theirs to change, connected already, which a key does not change, or the key is for other calls.", body = PlatformError),
        (status = 404, description = "There is no such program.", body = PlatformError),
        (status = 409, description = "The program is archived, or another workspace has the account.", body = PlatformError),
    ),
    extensions(("x-refusals" = json!([
        refused("stripe_user_id", "is required"), ApiError::Forbidden(OTHER_PROGRAM),
        out_of_scope(TokenScope::Connect), CONNECTED_ALREADY, ApiError::NotFound("Program not found"),
        ARCHIVED, HELD_ELSEWHERE, failed()
    ]))),
)]
pub async fn connect_stripe(
    request_id: RequestId,
    write: Result<Write<Connector>, ApiError>,
) -> Result<Json<StripeConnectAnswer>, ApiError> {
    keep(write).await.map_err(|error| error.quoting(&request_id))
}

async fn keep(write: Result<Write<Connector>, ApiError>) -> Result<Json<StripeConnectAnswer>, ApiError> {
    let mut write = write?;
    let request: StripeConnectRequest = write.body().json()?;
    let Field::Given(IdNumber(program_id)) = request.program_id else {
        return Err(refused("program_id", "must be an integer"));
    };
    let program_id = ProgramId::new(program_id);
    let access = write.caller.program(&mut write.db, program_id).await?;
    access.for_change()?;
    processor_connections::lock(&mut write.db, program_id).await?;
    if let Connector::User(user) = &write.caller
        && processor_connections::find(&mut write.db, program_id)
            .await?
            .is_some()
    {
        // The secret signs sales. A wrong secret makes the real events fail.
        user.just_proved(&write.app)?;
    }
    let changes = ConnectionChanges::connected(
        required(request.stripe_user_id, "stripe_user_id")?,
        required(request.webhook_endpoint_id, "webhook_endpoint_id")?,
        required(request.webhook_secret, "webhook_secret")?,
    );
    let connection = change(write, access, changes).await?;
    Ok(Json(StripeConnectAnswer {
        connected: connection.status == ConnectionStatus::Connected,
        stripe_account_id: connection.account_id.to_string(),
        webhook_endpoint_id: connection.webhook_endpoint_id.map(|id| id.to_string()),
        charges_enabled: connection.charges_enabled,
        payouts_enabled: connection.payouts_enabled,
    }))
}

fn required(field: Field<String>, name: &'static str) -> Result<String, ApiError> {
    match field {
        Field::Given(text) if !text.is_empty() => Ok(text),
        Field::Given(_) | Field::Absent => Err(refused(name, "is required")),
        Field::WrongType => Err(refused(name, "must be a string")),
    }
}

#[derive(Debug)]
pub enum Connector {
    User(CliUser),
    Program { program_id: ProgramId, source: Source },
}

impl Connector {
    async fn program(
        &self,
        connection: &mut PgConnection,
        program_id: ProgramId,
    ) -> Result<ProgramAccess, ApiError> {
        match self {
            Self::User(user) => {
                user.program(connection, program_id, Permission::ProgramUpdate)
                    .await
            }
            Self::Program { program_id: own, .. } if *own == program_id => {
                access::own_program(connection, program_id).await
            }
            Self::Program { .. } => Err(ApiError::Forbidden(OTHER_PROGRAM)),
        }
    }
}

impl Caller for Connector {
    fn actor(&self) -> AuditActor {
        match self {
            Self::User(user) => user.actor(),
            Self::Program { program_id, .. } => AuditActor::Program(*program_id),
        }
    }

    fn source(&self) -> &Source {
        match self {
            Self::User(user) => user.source(),
            Self::Program { source, .. } => source,
        }
    }

    fn just_proved(&self, app: &App) -> Result<(), ApiError> {
        match self {
            Self::User(user) => user.just_proved(app),
            Self::Program { .. } => Ok(()),
        }
    }
}

impl FromRequestParts<App> for Connector {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        if !matches!(Credential::of(&parts.headers), Credential::Program(_)) {
            return CliUser::from_request_parts(parts, app).await.map(Self::User);
        }
        let Ok(caller) = caller::Caller::from_request_parts(parts, app).await;
        let program_id = caller
            .program("Missing API token", "Internal Server Error")?
            .demand(TokenScope::Connect)?;
        let Ok(source) = Source::from_request_parts(parts, app).await;
        Ok(Self::Program { program_id, source })
    }
}
