//! `…/partners/{partner_program_id}/invitation`: a new link for a partner who has not used the first one.

use domain::ids::{PartnerProgramId, ProgramId};
use domain::people::account::EmailAddress;
use serde_json::json;

use super::partners::stored;
use super::referral_links::UNKNOWN_PARTNER;
use crate::management::access::right::Update;
use crate::management::access::{ARCHIVED, WriteProgram};
use crate::management::advertiser::workspace::invitations::{GETS_NO_EMAIL, InvitationLink, invite_partner};
use crate::management::answers::{Created, created};
use crate::management::prelude::*;

/// Invite a partner again
///
/// Makes a new link to an account of their own. The one before stops working. Where e-mail is on, it is sent to the partner alone; else it is
/// answered.
#[utoipa::path(
    post,
    path = "/api/advertiser/affiliate-programs/{program_id}/partners/{partner_program_id}/invitation",
    responses(
        (status = 201, description = "The new link, or that it is on its way.", body = Data<InvitationLink>),
        (status = 409, description = "They have an account, or no address, or one that gets no e-mail at present, or the program is archived.",
         body = PlatformError),
    ),
    extensions(("x-refusals" = json!([HAS_ACCOUNT, GETS_NO_EMAIL, ARCHIVED]))),
)]
pub async fn renew_partner_invitation(
    mut write: WriteProgram<Update, (ProgramId, PartnerProgramId)>,
) -> Created<InvitationLink> {
    let (program_id, membership) = write.on.ids;
    // The link opens the partner's account.
    write.just_proved()?;
    let partner = stored(&mut write.db, program_id, membership).await?;
    let who = partner.partner.ok_or(UNKNOWN_PARTNER)?;
    if who.user_id.is_some() {
        return Err(HAS_ACCOUNT);
    }
    let email = who.email.and_then(|email| EmailAddress::parse(&email).ok());
    let email = email.ok_or(ApiError::Conflict("This partner has no e-mail address"))?;
    let link = invite_partner(&mut write, who.partner_id, &email).await?;
    let link = link.ok_or(GETS_NO_EMAIL)?;
    let details = json!({ "again": true });
    write.audit("partner.invited", membership.get(), details);
    write.answer(created(link)).await
}

const HAS_ACCOUNT: ApiError = ApiError::Conflict("This partner has an account already");
