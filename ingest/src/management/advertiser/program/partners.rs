//! `…/partners`: the partners of a program, and their status.

use chrono::{DateTime, Utc};
use domain::ids::{EventId, PartnerProgramId, ProgramId};
use domain::people::account::EmailAddress;
use domain::programs::partner::{MembershipStatus, PartnerName, ShortCode};
use domain::sorting::PartnerColumn;
use messages::instant::{as_instant, as_instant_if_any};
use serde_json::json;
use sqlx::PgConnection;
use storage::outbound::{outbound_events, outbound_partners};
use storage::processor::processor_events::{self, PARTNER_APPROVED};
use storage::program::partners::list::{Filter, page};
use storage::program::partners::{self, NewMembership, NewPartner, ProgramPartner};

use super::referral_links::{self, CODE_TAKEN, LinkView, UNKNOWN_PARTNER};
use crate::http::field::{Field, Object, if_present, refused};
use crate::http::query::{NO_TEXT, Query};
use crate::management::access::right::{Read, Update};
use crate::management::access::{ARCHIVED, ListProgram, ReadProgram, WriteProgram};
use crate::management::advertiser::workspace::invitations::{InvitationLink, address, invite_partner};
use crate::management::answers::{Created, List, Listed, OrderQuery, PageQuery, created};
use crate::management::balance::CurrencyBalanceView;
use crate::management::prelude::*;

const NO_STATUS: &str = "must be one of pending, approved, suspended";
const NO_COLUMN: &str = "must be one of name, clicks, last_clicked, owed";

#[derive(Debug, Deserialize, ToSchema)]
pub struct NewPartnerRequest {
    #[schema(value_type = String, max_length = 120)]
    name: Field<String>,
    /// One address is one partner of the workspace, in whichever of its programs.
    #[schema(value_type = String, max_length = 254)]
    email: Field<String>,
    /// `pending` unless said otherwise, or `approved`.
    #[schema(value_type = Option<String>)]
    status: Field<String>,
    /// Makes a referral link, too, of a partner who is approved. If its code is taken, nobody is added.
    #[schema(value_type = Option<FirstLink>)]
    referral_link: Field<Object<FirstLink>>,
}

#[derive(Debug, Deserialize, ToSchema)]
pub struct FirstLink {
    /// Unique over all programs. Made up when it is not given.
    #[schema(value_type = Option<String>, min_length = 3, max_length = 64, pattern = "^[A-Za-z0-9_-]+$")]
    short_code: Field<String>,
}

/// What is there is changed; what is not stays as it is.
#[derive(Debug, Deserialize, ToSchema)]
pub struct PartnerChanges {
    /// `approved` or `suspended`.
    #[serde(default, deserialize_with = "if_present")]
    #[schema(value_type = Option<String>)]
    status: Option<Field<String>>,
    /// In every program of the workspace.
    #[serde(default, deserialize_with = "if_present")]
    #[schema(value_type = Option<String>, max_length = 120)]
    name: Option<Field<String>>,
}

/// A partner in a program. `id` is that of the membership, `partner_id` of the partner.
#[derive(Debug, Serialize, ToSchema)]
pub struct PartnerView {
    id: i64,
    /// With `name` null, as the partner's record is gone.
    partner_id: Option<i64>,
    name: Option<String>,
    email: Option<String>,
    /// Whether they have accepted an invitation, and can sign in.
    has_account: bool,
    /// `pending`, `approved` or `suspended`. Only who is approved earns anything.
    status: &'static str,
    clicks: i64,
    #[serde(serialize_with = "as_instant_if_any")]
    last_clicked: Option<DateTime<Utc>>,
    /// In this program, one a currency.
    balances: Vec<CurrencyBalanceView>,
    #[serde(rename = "createdAt", serialize_with = "as_instant")]
    created_at: DateTime<Utc>,
    #[serde(rename = "updatedAt", serialize_with = "as_instant")]
    updated_at: DateTime<Utc>,
}

/// A partner who has just been added.
#[derive(Debug, Serialize, ToSchema)]
pub struct InvitedPartner {
    #[serde(flatten)]
    partner: PartnerView,
    /// Where e-mail is off: the link to an account of their own; null when they have one. Shown here only.
    invitation_url: Option<String>,
    /// Null when nobody was invited: they have an account, or their address gets no e-mail at present.
    #[serde(serialize_with = "as_instant_if_any")]
    invitation_expires_at: Option<DateTime<Utc>>,
    /// The link is sent to the address, and shown to nobody else.
    invitation_emailed: bool,
    /// The one that was asked for.
    referral_link: Option<LinkView>,
}

impl From<ProgramPartner> for PartnerView {
    fn from(partner: ProgramPartner) -> Self {
        let who = partner.partner;
        Self {
            id: partner.partner_program_id.get(),
            partner_id: who.as_ref().map(|who| who.partner_id.get()),
            has_account: who.as_ref().is_some_and(|who| who.user_id.is_some()),
            email: who.as_ref().and_then(|who| who.email.clone()),
            name: who.map(|who| who.name),
            status: partner.status.as_str(),
            clicks: partner.clicks,
            last_clicked: partner.last_clicked,
            balances: partner.balances.into_iter().map(Into::into).collect(),
            created_at: partner.created_at,
            updated_at: partner.updated_at,
        }
    }
}

impl InvitedPartner {
    fn new(
        partner: PartnerView,
        invitation: Option<InvitationLink>,
        referral_link: Option<LinkView>,
    ) -> Self {
        Self {
            partner,
            invitation_expires_at: invitation.as_ref().map(|link| link.expires_at),
            invitation_emailed: invitation.as_ref().is_some_and(|link| link.emailed),
            invitation_url: invitation.and_then(|link| link.invitation_url),
            referral_link,
        }
    }
}

/// List partners
///
/// Newest first, unless sorted.
#[utoipa::path(
    get,
    path = "/api/advertiser/affiliate-programs/{program_id}/partners",
    params(
        ("status" = Option<String>, Query, description = "Only those: `pending`, `approved` or `suspended`."),
        ("search" = Option<String>, Query, description = "Only those with this in their name or address, whatever its case."),
        ("sort" = Option<String>, Query, description = "`name`, `clicks`, `last_clicked`, or `owed` in the program's currency."),
        OrderQuery,
        PageQuery,
    ),
    responses((status = 200, description = "A page of them.", body = Listed<PartnerView>)),
    extensions(("x-refusals" = json!([
        refused("status", NO_STATUS), refused("search", NO_TEXT), refused("sort", NO_COLUMN)
    ]))),
)]
pub async fn list_partners(mut list: ListProgram<Read>, query: Query) -> List<PartnerView> {
    let filter = Filter {
        status: query.parsed("status", NO_STATUS, MembershipStatus::parse)?,
        text: query.search()?,
    };
    let sorting = query.sorting(NO_COLUMN, PartnerColumn::parse)?;
    let window = list.page.window();
    let found = page(&mut list.db, list.program_id, &filter, sorting, window).await?;
    Ok(list.page.listed(found))
}

/// Add a partner
///
/// Finds the workspace's partner by address, or makes one. Who has no account yet gets a link to one, which works once, for seven days: where
/// e-mail is on, it is sent to the address alone; else it is shown here only.
#[utoipa::path(
    post,
    path = "/api/advertiser/affiliate-programs/{program_id}/partners",
    request_body = NewPartnerRequest,
    responses(
        (status = 201, description = "Added.", body = Data<InvitedPartner>),
        (status = 409, description = "They are in the program already, or it is archived, or the code is taken.", body = PlatformError),
    ),
    extensions(("x-refusals" = json!([ALREADY_A_PARTNER, CODE_TAKEN, ARCHIVED]))),
)]
pub async fn add_partner(mut write: WriteProgram<Update>) -> Created<InvitedPartner> {
    let program_id = write.on.ids;
    let request: NewPartnerRequest = write.body().json()?;
    let name: PartnerName = request.name.required_name("name", "name is required")?;
    let email = address(request.email)?;
    let status = first_status(request.status)?;
    let link = first_link(request.referral_link, status)?;
    let membership = join(&mut write, (&name, &email), status).await?;
    let partner = stored(&mut write.db, program_id, membership).await?;
    let invitation = match &partner.partner {
        Some(who) if who.user_id.is_none() => invite_partner(&mut write, who.partner_id, &email).await?,
        _ => None,
    };
    let details = json!({ "status": status.as_str() });
    write.audit("partner.invited", membership.get(), details);
    add_event(&mut write, &partner).await?;
    let link = match link {
        Some(WantedLink { code }) => Some(referral_links::add(&mut write, membership, code).await?),
        None => None,
    };
    write.commit().await?;
    Ok(created(InvitedPartner::new(partner.into(), invitation, link)))
}

struct WantedLink {
    /// `None`: the service generates a code.
    code: Option<ShortCode>,
}

fn first_link(
    field: Field<Object<FirstLink>>,
    status: MembershipStatus,
) -> Result<Option<WantedLink>, ApiError> {
    let Some(Object(link)) = field.optional(|| refused("referral_link", "must be an object"))? else {
        return Ok(None);
    };
    if status != MembershipStatus::Approved {
        return Err(refused(
            "referral_link",
            "must be null: only approved partners have links",
        ));
    }
    let code = referral_links::code_if_given(link.short_code)?;
    Ok(Some(WantedLink { code }))
}

async fn join(
    write: &mut WriteProgram<Update>,
    (name, email): (&PartnerName, &EmailAddress),
    status: MembershipStatus,
) -> Result<PartnerProgramId, ApiError> {
    let (program_id, created_at) = (write.on.ids, write.now());
    let partner = NewPartner {
        program_id,
        name,
        email: Some(email),
        created_at,
    };
    let membership = NewMembership {
        program_id,
        partner_id: partners::provide(&mut write.db, &partner).await?,
        status,
        created_at,
    };
    let found = partners::join(&mut write.db, &membership).await?;
    found.ok_or(ALREADY_A_PARTNER)
}

/// Read a partner
#[utoipa::path(
    get,
    path = "/api/advertiser/affiliate-programs/{program_id}/partners/{partner_program_id}",
    responses((status = 200, description = "As they are.", body = Data<PartnerView>))
)]
pub async fn read_partner(mut read: ReadProgram<Read, (ProgramId, PartnerProgramId)>) -> Answer<PartnerView> {
    let (program_id, membership) = read.ids;
    let partner = stored(&mut read.db, program_id, membership).await?;
    Ok(data(partner.into()))
}

/// Approve, suspend or rename a partner
///
/// Who is suspended earns nothing from then on, and their links take no clicks, until they are approved again.
#[utoipa::path(
    put,
    path = "/api/advertiser/affiliate-programs/{program_id}/partners/{partner_program_id}",
    request_body = PartnerChanges,
    responses((status = 200, description = "As they are now.", body = Data<PartnerView>)),
    extensions(("x-refusals" = json!([NO_NEXT_STATUS, ARCHIVED]))),
)]
pub async fn update_partner(
    mut write: WriteProgram<Update, (ProgramId, PartnerProgramId)>,
) -> Answer<PartnerView> {
    let (program_id, membership) = write.on.ids;
    let changes: PartnerChanges = write.body().json()?;
    let status = changes.status.map(next_status).transpose()?;
    let name: Option<PartnerName> = changes
        .name
        .map(|name| name.required_name("name", "name is required"))
        .transpose()?;
    let before = partners::lock(&mut write.db, program_id, membership).await?;
    let before = before.ok_or(UNKNOWN_PARTNER)?;
    if let Some(status) = status.filter(|status| *status != before.status) {
        partners::set_status(&mut write.db, membership, status, write.app.clock.now()).await?;
        if status == MembershipStatus::Approved {
            let awaited = (program_id, PARTNER_APPROVED.to_owned());
            processor_events::wake(&mut write.db, &[awaited]).await?;
        }
        let action = match status {
            MembershipStatus::Approved => "partner.approved",
            MembershipStatus::Pending | MembershipStatus::Suspended => "partner.suspended",
        };
        let details = json!({ "before": before.status.as_str() });
        write.audit(action, membership.get(), details);
    }
    if let Some(name) = name {
        let partner_id = before.partner.as_ref().ok_or(UNKNOWN_PARTNER)?.partner_id;
        partners::rename(&mut write.db, partner_id, &name).await?;
        // The audit log is never erased, so it does not contain names of people.
        write.audit("partner.renamed", membership.get(), json!({}));
    }
    let partner = stored(&mut write.db, program_id, membership).await?;
    if partner.status != before.status {
        add_event(&mut write, &partner).await?;
    }
    write.answer(data(partner.into())).await
}

/// Adds an outbound event with the partner's new status.
async fn add_event<I>(write: &mut WriteProgram<Update, I>, partner: &ProgramPartner) -> Result<(), ApiError> {
    if !write.wants(partner.status.event_type()) {
        return Ok(());
    }
    let (now, program_id) = (write.now(), write.on.access.program_id);
    let event = outbound_partners::event(program_id, partner);
    let new_event_id = || EventId::new(write.app.clock.mint());
    Ok(outbound_events::add_without_customer(&mut write.db, now, new_event_id, event).await?)
}

fn first_status(field: Field<String>) -> Result<MembershipStatus, ApiError> {
    let status = match field {
        Field::Absent => Some(MembershipStatus::Pending),
        Field::Given(text) => MembershipStatus::parse(&text),
        Field::WrongType => None,
    };
    status
        .filter(|status| *status != MembershipStatus::Suspended)
        .ok_or_else(|| refused("status", "must be pending or approved"))
}

fn next_status(field: Field<String>) -> Result<MembershipStatus, ApiError> {
    let read =
        |text: &str| MembershipStatus::parse(text).filter(|status| *status != MembershipStatus::Pending);
    field.word(read, || NO_NEXT_STATUS)
}

const NO_NEXT_STATUS: ApiError = ApiError::refusal("status must be approved or suspended");

const ALREADY_A_PARTNER: ApiError = ApiError::Conflict("This partner is in the program already");

pub async fn stored(
    connection: &mut PgConnection,
    program_id: ProgramId,
    membership: PartnerProgramId,
) -> Result<ProgramPartner, ApiError> {
    let found = partners::find(connection, program_id, membership).await?;
    found.ok_or(UNKNOWN_PARTNER)
}
