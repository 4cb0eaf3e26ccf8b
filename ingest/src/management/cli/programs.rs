//! `GET /api/v1/cli/programs`: the programs of the workspace that the command line is connected to.

use axum::Json;
use chrono::{DateTime, Utc};
use messages::instant::as_instant;
use storage::reads::program_overview::{self, ProgramOverview};

use super::init::commission_text;
use super::login::failed;
use crate::http::request_id::RequestId;
use crate::management::access::CliUser;
use crate::management::prelude::*;

/// The commission of a program without a policy.
const NO_COMMISSION: &str = "none";

#[derive(Debug, Serialize, ToSchema)]
pub struct ListedProgram {
    id: i64,
    name: String,
    #[schema(required = true)]
    domain: Option<String>,
    /// `draft` or `live`.
    #[schema(pattern = "^(draft|live)$")]
    status: &'static str,
    /// Of the default policy in force: `20%`, `10.00 USD` or `none`.
    commission: String,
    /// Approved ones.
    #[schema(minimum = 0)]
    partners: i64,
    #[serde(serialize_with = "as_instant")]
    created_at: DateTime<Utc>,
}

/// List programs, in a few words
///
/// Those of the workspace that are not archived, newest first.
#[utoipa::path(
    get,
    path = "/api/v1/cli/programs",
    responses((status = 200, description = "All of them.", body = Vec<ListedProgram>)),
    extensions(("x-refusals" = json!([failed()]))),
)]
pub async fn list_cli_programs(
    State(app): State<App>,
    request_id: RequestId,
    user: Result<CliUser, ApiError>,
) -> Result<Json<Vec<ListedProgram>>, ApiError> {
    look(&app, user).await.map_err(|error| error.quoting(&request_id))
}

async fn look(app: &App, user: Result<CliUser, ApiError>) -> Result<Json<Vec<ListedProgram>>, ApiError> {
    let user = user?;
    let mut connection = app.management.acquire().await?;
    let workspace_id = user.workspace(&mut connection, None).await?;
    let programs = program_overview::of_workspace(&mut connection, workspace_id, app.clock.now()).await?;
    Ok(Json(programs.into_iter().map(ListedProgram::new).collect()))
}

impl ListedProgram {
    fn new(program: ProgramOverview) -> Self {
        let commission = program.commission.as_ref().map(commission_text);
        Self {
            id: program.program_id.get(),
            name: program.name,
            domain: program.domain,
            status: program.status.as_str(),
            commission: commission.unwrap_or_else(|| NO_COMMISSION.to_owned()),
            partners: program.partners,
            created_at: program.created_at,
        }
    }
}
