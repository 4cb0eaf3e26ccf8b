//! `/api/users/me/notification-settings`: which optional e-mails the user wants.

use serde_json::json;
use storage::people::users::{self, WantedEmails};

use crate::http::field::{Field, refused};
use crate::management::access::{SignedIn, Write};
use crate::management::prelude::*;

#[derive(Debug, Serialize, ToSchema)]
pub struct NotificationSettingsView {
    /// This installation sends e-mails.
    emails_are_sent: bool,
    /// A partner's summary of each week.
    weekly_summary: bool,
    /// A member's notices about programs: webhook endpoints that were disabled, payment processors' events to review.
    program_notices: bool,
}

impl NotificationSettingsView {
    fn new(app: &App, wanted: WantedEmails) -> Self {
        Self {
            emails_are_sent: app.emails.are_on(),
            weekly_summary: wanted.weekly_summary,
            program_notices: wanted.program_notices,
        }
    }
}

/// A field that is present is changed. A field that is missing or null keeps its value.
#[derive(Debug, Deserialize, ToSchema)]
pub struct NotificationSettingsChanges {
    #[schema(value_type = Option<bool>)]
    weekly_summary: Field<bool>,
    #[schema(value_type = Option<bool>)]
    program_notices: Field<bool>,
}

/// Which e-mails one wants
///
/// E-mails about the account itself, such as a new sign-in, are always sent. Optional e-mails are sent only to an address that the user has proved to be theirs.
#[utoipa::path(
    get,
    path = "/api/users/me/notification-settings",
    responses((status = 200, description = "As they are.", body = Data<NotificationSettingsView>))
)]
pub async fn read_notification_settings(
    State(app): State<App>,
    signed_in: SignedIn,
) -> Answer<NotificationSettingsView> {
    let mut connection = app.management.acquire().await?;
    let wanted = users::wanted_emails(&mut connection, signed_in.user.user_id).await?;
    Ok(data(NotificationSettingsView::new(&app, wanted)))
}

/// Change which e-mails one wants
#[utoipa::path(
    patch,
    path = "/api/users/me/notification-settings",
    request_body = NotificationSettingsChanges,
    responses((status = 200, description = "As they are now.", body = Data<NotificationSettingsView>)),
    extensions(("x-refusals" = json!([refused("weekly_summary", "must be a boolean")]))),
)]
pub async fn change_notification_settings(mut write: Write<SignedIn>) -> Answer<NotificationSettingsView> {
    let user_id = write.caller.user.user_id;
    let changes: NotificationSettingsChanges = write.body().json()?;
    let weekly_summary = choice(changes.weekly_summary, "weekly_summary")?;
    let program_notices = choice(changes.program_notices, "program_notices")?;
    let (wanted, is_another) =
        users::want_emails(&mut write.db, user_id, weekly_summary, program_notices).await?;
    if is_another {
        let details =
            json!({ "weekly_summary": wanted.weekly_summary, "program_notices": wanted.program_notices });
        write.audit_account("user.notifications_changed", details).await?;
    }
    let view = NotificationSettingsView::new(&write.app, wanted);
    write.answer(data(view)).await
}

fn choice(field: Field<bool>, name: &str) -> Result<Option<bool>, ApiError> {
    field.optional(|| refused(name, "must be a boolean"))
}
