//! A program's own tracking token: its regeneration, and the mark for rotation.

use chrono::{DateTime, TimeDelta, Utc};
use domain::ids::ProgramId;
use domain::programs::key_rotation::KeyRotation;
use domain::token::ProgramToken;
use messages::instant::instant;
use serde_json::json;
use sqlx::PgConnection;
use storage::program::{program_settings, tracking_tokens};

use crate::http::body;
use crate::http::field::Field;
use crate::management::access::right::IssueToken;
use crate::management::access::{ARCHIVED, WriteProgram};
use crate::management::advertiser::program::program_settings::stored;
use crate::management::prelude::*;

const KEEP_UNTIL: &str = "keep_previous_until";
const KEPT_AT_MOST: TimeDelta = TimeDelta::days(30);

/// A new token. It is shown here and never again.
#[derive(Debug, Serialize, ToSchema)]
pub struct NewToken {
    api_token: String,
    api_token_masked: String,
}

/// May be left out, and then the old token is refused at once.
#[derive(Debug, Default, Deserialize, ToSchema)]
pub struct RegenerateRequest {
    /// ISO 8601, at most 30 days ahead: until then the old token is accepted too, as one that is marked for rotation.
    #[schema(value_type = Option<String>, format = DateTime)]
    keep_previous_until: Field<String>,
}

impl RegenerateRequest {
    fn keep_previous(self, now: DateTime<Utc>) -> Result<Option<KeyRotation>, ApiError> {
        let Some(rotate_by) = self.keep_previous_until.time_to_come(KEEP_UNTIL, now)? else {
            return Ok(None);
        };
        if rotate_by > now + KEPT_AT_MOST {
            return Err(KEPT_TOO_LONG);
        }
        Ok(Some(KeyRotation {
            marked_at: now,
            rotate_by,
        }))
    }
}

#[derive(Debug, Deserialize, ToSchema)]
pub struct RotationRequest {
    /// ISO 8601, in the future: from then on the token is refused.
    #[schema(value_type = String, format = DateTime)]
    rotate_by: Field<String>,
}

/// The mark on a token; both times are null where there is none.
#[derive(Debug, Serialize, ToSchema)]
pub struct RotationView {
    api_token_masked: String,
    #[schema(format = DateTime)]
    marked_at: Option<String>,
    #[schema(format = DateTime)]
    rotate_by: Option<String>,
}

/// Replace a program's tracking token
///
/// The old one is refused from now on, unless it is to be kept for a while; one that was kept before is refused in any case. A mark for
/// rotation goes with the old one, and its deadline holds: it is not kept beyond it.
#[utoipa::path(
    post,
    path = "/api/advertiser/affiliate-programs/{program_id}/regenerate-api-token",
    request_body(content = Option<RegenerateRequest>),
    responses((status = 200, description = "The new token, shown here only.", body = Data<NewToken>)),
    extensions(("x-refusals" = json!([KEPT_TOO_LONG, ARCHIVED]))),
)]
pub async fn regenerate_api_token(mut write: WriteProgram<IssueToken>) -> Answer<NewToken> {
    let program_id = write.on.ids;
    write.just_proved()?;
    let bytes = write.body().bytes()?;
    let request: RegenerateRequest = if bytes.is_empty() {
        RegenerateRequest::default()
    } else {
        body::parse(&bytes)?
    };
    let now = write.now();
    let keep_previous = request.keep_previous(now)?;
    // The deadline that was set for the old token still applies.
    let current = locked_mark(&mut write.db, program_id).await?;
    let keep_previous = keep_previous.and_then(|kept| kept.no_later_than(current, now));
    let token = ProgramToken::generate(App::random());
    tracking_tokens::replace_own(&mut write.db, program_id, &token, keep_previous, now).await?;
    let details = match keep_previous {
        Some(kept) => json!({ "api_token_masked": token.masked(), KEEP_UNTIL: instant(kept.rotate_by) }),
        None => json!({ "api_token_masked": token.masked() }),
    };
    write.audit("program_token.regenerated", program_id.get(), details);
    write.commit().await?;
    Ok(data(NewToken {
        api_token: token.expose().to_owned(),
        api_token_masked: token.masked(),
    }))
}

/// Mark a program's token for rotation
///
/// It works until the deadline, and every answer to it says so. A later mark replaces an earlier one. After the
/// deadline the token is refused for good, and has to be replaced.
#[utoipa::path(
    post,
    path = "/api/advertiser/affiliate-programs/{program_id}/key-rotation",
    request_body = RotationRequest,
    responses(
        (status = 200, description = "Marked.", body = Data<RotationView>),
        (status = 409, description = "The program is archived, or the token's deadline has passed.", body = PlatformError),
    ),
    extensions(("x-refusals" = json!([REQUIRED, ARCHIVED, DEADLINE_PASSED]))),
)]
pub async fn mark_key_rotation(mut write: WriteProgram<IssueToken>) -> Answer<RotationView> {
    let program_id = write.on.ids;
    write.just_proved()?;
    let request: RotationRequest = write.body().json()?;
    let now = write.now();
    let rotation = KeyRotation {
        marked_at: now,
        rotate_by: request
            .rotate_by
            .time_to_come("rotate_by", now)?
            .ok_or(REQUIRED)?,
    };
    set_mark(&mut write.db, program_id, Some(rotation), now).await?;
    let details = json!({ "rotate_by": instant(rotation.rotate_by) });
    write.audit("program_token.marked_for_rotation", program_id.get(), details);
    let view = marked(&mut write.db, program_id).await?;
    write.answer(data(view)).await
}

/// Take the mark for rotation back
///
/// Where there is none, nothing changes. After the deadline the token is refused for good, and has to be replaced.
#[utoipa::path(
    delete,
    path = "/api/advertiser/affiliate-programs/{program_id}/key-rotation",
    responses(
        (status = 200, description = "Not marked.", body = Data<RotationView>),
        (status = 409, description = "The program is archived, or the token's deadline has passed.", body = PlatformError),
    ),
    extensions(("x-refusals" = json!([ARCHIVED, DEADLINE_PASSED]))),
)]
pub async fn unmark_key_rotation(mut write: WriteProgram<IssueToken>) -> Answer<RotationView> {
    let program_id = write.on.ids;
    write.just_proved()?;
    set_mark(&mut write.db, program_id, None, write.app.clock.now()).await?;
    write.audit("program_token.unmarked", program_id.get(), json!({}));
    let view = marked(&mut write.db, program_id).await?;
    write.answer(data(view)).await
}

/// The rotation mark of the program's own token, locked until the transaction ends.
async fn locked_mark(
    connection: &mut PgConnection,
    program_id: ProgramId,
) -> Result<Option<KeyRotation>, ApiError> {
    program_settings::lock(connection, program_id).await?;
    let program = program_settings::find_one(connection, program_id).await?;
    Ok(program.and_then(|program| program.rotation))
}

/// The rotation mark of an expired token cannot be changed: a later deadline, or none, would make the token valid
/// again.
async fn set_mark(
    connection: &mut PgConnection,
    program_id: ProgramId,
    mark: Option<KeyRotation>,
    now: DateTime<Utc>,
) -> Result<(), ApiError> {
    let current = locked_mark(connection, program_id).await?;
    if current.is_some_and(|mark| mark.is_over(now)) {
        return Err(DEADLINE_PASSED);
    }
    program_settings::mark_rotation(connection, program_id, mark).await?;
    Ok(())
}

const DEADLINE_PASSED: ApiError = ApiError::Conflict("The token's deadline has passed: replace it");

async fn marked(connection: &mut PgConnection, program_id: ProgramId) -> Result<RotationView, ApiError> {
    let program = stored(connection, program_id).await?;
    Ok(RotationView {
        api_token_masked: program.api_token_masked,
        marked_at: program.rotation.map(|rotation| instant(rotation.marked_at)),
        rotate_by: program.rotation.map(|rotation| instant(rotation.rotate_by)),
    })
}

const REQUIRED: ApiError = ApiError::refusal("rotate_by is required");

const KEPT_TOO_LONG: ApiError = ApiError::refusal("keep_previous_until must be within 30 days");
