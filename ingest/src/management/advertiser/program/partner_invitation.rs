//! `…/partners/{partner_program_id}/invitation`: another link for a partner who has not used theirs.

use axum::extract::State;
use domain::account::EmailAddress;
use domain::ids::{PartnerProgramId, ProgramId};
use domain::permission::Permission;
use serde_json::json;

use super::partners::{stored, unknown};
use crate::app::App;
use crate::http::error::ApiError;
use crate::http::openapi::envelopes::PlatformError;
use crate::http::openapi::examples::Examples;
use crate::management::access::{Advertiser, archived};
use crate::management::advertiser::workspace::invitations::{InvitationLink, invite_partner};
use crate::management::answers::{Created, Data, Ids, created};

/// Invite a partner again
///
/// Makes a new link to an account of their own. The one before stops working.
#[utoipa::path(
    post,
    path = "/api/advertiser/affiliate-programs/{program_id}/partners/{partner_program_id}/invitation",
    operation_id = "renew_partner_invitation",
    responses(
        (status = 201, description = "The new link, shown here only.", body = Data<InvitationLink>),
        (status = 409, description = "They have an account, or no address, or the program is archived.",
         body = PlatformError),
    )
)]
pub async fn renew(
    State(app): State<App>,
    advertiser: Advertiser,
    Ids((program_id, membership)): Ids<(ProgramId, PartnerProgramId)>,
) -> Created<InvitationLink> {
    let mut transaction = app.management.begin().await?;
    let access = advertiser
        .program(&mut transaction, program_id, Permission::ProgramUpdate)
        .await?
        .for_change()?;
    // Whoever has the link has the partner's account.
    advertiser.just_proved(&app)?;
    let partner = stored(&mut transaction, program_id, membership).await?;
    let who = partner.partner.ok_or_else(unknown)?;
    if who.user_id.is_some() {
        return Err(has_account());
    }
    let email = who.email.and_then(|email| EmailAddress::parse(&email).ok());
    let email = email.ok_or(ApiError::Conflict("This partner has no e-mail address"))?;
    let (inviter, id) = (advertiser.actor(), who.partner_id);
    let link = invite_partner(&app, &mut transaction, &access, inviter, id, &email).await?;
    let audited = access
        .audited("partner.invited")
        .about(membership.get())
        .with(json!({ "again": true }));
    advertiser.audit(&app, &mut transaction, audited).await?;
    transaction.commit().await?;
    Ok(created(link))
}

fn has_account() -> ApiError {
    ApiError::Conflict("This partner has an account already")
}

pub fn examples() -> Examples {
    let link = InvitationLink::example();
    Examples::of_refusals([has_account(), archived()]).created("A new link", link)
}
