//! `/api/partner/referral-links`: lists a partner's links, creates them, and turns them on and off.

use chrono::{DateTime, Utc};
use domain::ids::{ProgramId, ReferralLinkId};
use domain::programs::partner::MembershipStatus;
use domain::programs::program::ProgramStatus;
use domain::sorting::LinkColumn;
use messages::instant::{as_instant, as_instant_if_any};
use serde_json::json;
use storage::program::own_links;
use storage::reads::partner_lists::{self, LinkFilter};
use storage::reads::partner_view::{self, PartnerLink};

use crate::http::field::{Field, refused};
use crate::http::query::Query;
use crate::management::access::{ARCHIVED, Audited, ListForPartner, PartnerUser, Write};
use crate::management::advertiser::program::referral_links::{CODE_TAKEN, NOT_APPROVED, code_if_given, make};
use crate::management::answers::{Created, Ids, List, Listed, OrderQuery, PageQuery, created, view};
use crate::management::prelude::*;

const NO_COLUMN: &str = "must be one of short_code, clicks, last_clicked";

#[derive(Debug, Serialize, ToSchema)]
pub struct PartnerLinkView {
    id: i64,
    program_id: i64,
    program_name: String,
    /// `draft`, `live` or `archived`: clicks on the links of an archived program are refused.
    program_status: String,
    /// The shop's website: the link is a page of it with `?aff=` and the code. Null where the advertiser has not named it.
    domain: Option<String>,
    /// For how many days a browser keeps the click.
    cookie_window_days: i16,
    /// The `aff` value.
    short_code: String,
    /// `active` or `inactive`.
    status: String,
    clicks: i64,
    #[serde(serialize_with = "as_instant_if_any")]
    last_clicked: Option<DateTime<Utc>>,
    #[serde(rename = "createdAt", serialize_with = "as_instant")]
    created_at: DateTime<Utc>,
    #[serde(rename = "updatedAt", serialize_with = "as_instant")]
    updated_at: DateTime<Utc>,
}

view! { |row: PartnerLink| PartnerLinkView {
    id, program_id, program_name, program_status, domain, cookie_window_days, short_code, status, clicks, last_clicked, created_at,
    updated_at,
} }

/// List a partner's links
///
/// Newest first, unless sorted.
#[utoipa::path(
    get,
    path = "/api/partner/referral-links",
    params(
        ("program_id" = Option<i64>, Query, description = "Only those of this program."),
        ("search" = Option<String>, Query, description = "Only those with this in their code, whatever its case."),
        ("sort" = Option<String>, Query, description = "`short_code`, `clicks` or `last_clicked`."),
        OrderQuery,
        PageQuery,
    ),
    responses((status = 200, description = "A page of them.", body = Listed<PartnerLinkView>)),
    extensions(("x-refusals" = json!([refused("sort", NO_COLUMN)]))),
)]
pub async fn list_partner_referral_links(mut list: ListForPartner, query: Query) -> List<PartnerLinkView> {
    let filter = LinkFilter {
        program_id: query.integer("program_id")?.map(ProgramId::new),
        text: query.search()?,
    };
    let sorting = query.sorting(NO_COLUMN, |text| {
        LinkColumn::parse(text).filter(|column| *column != LinkColumn::Partner)
    })?;
    let (user_id, window) = (list.session.user.user_id, list.page.window());
    let found = partner_lists::links(&mut list.db, user_id, &filter, sorting, window).await?;
    Ok(list.page.listed(found))
}

#[derive(Debug, Deserialize, ToSchema)]
pub struct NewOwnLink {
    #[schema(value_type = i64)]
    program_id: Field<i64>,
    /// Unique over all programs, within the workspace whatever its case, and none that another of its links had before. Made up when it is not given.
    #[schema(value_type = Option<String>, min_length = 3, max_length = 64, pattern = "^[A-Za-z0-9_-]+$")]
    short_code: Field<String>,
}

/// Make a link
///
/// In a program in which the partner is approved, as many as it allows. It works at once.
#[utoipa::path(
    post,
    path = "/api/partner/referral-links",
    request_body = NewOwnLink,
    responses(
        (status = 201, description = "Made.", body = Data<PartnerLinkView>),
        (status = 409, description = "The code is taken, the partner not approved or without links left, or the program archived.",
         body = PlatformError),
    ),
    extensions(("x-refusals" = json!([ARCHIVED, NOT_APPROVED, NO_LINKS_LEFT, CODE_TAKEN]))),
)]
pub async fn create_partner_referral_link(mut write: Write<PartnerUser>) -> Created<PartnerLinkView> {
    let request: NewOwnLink = write.body().json()?;
    let program_id = ProgramId::new(request.program_id.required_integer("program_id")?);
    let code = code_if_given(request.short_code)?;
    let place = own_links::lock_membership(&mut write.db, write.caller.user.user_id, program_id).await?;
    let place = place.ok_or(ApiError::NotFound("Program not found"))?;
    if place.program_status == ProgramStatus::Archived {
        return Err(ARCHIVED);
    }
    if place.status != MembershipStatus::Approved {
        return Err(NOT_APPROVED);
    }
    if place.links_left <= 0 {
        return Err(NO_LINKS_LEFT);
    }
    if let Some(code) = &code
        && own_links::is_like_anothers(&mut write.db, place.workspace_id, code).await?
    {
        return Err(CODE_TAKEN);
    }
    let membership = place.partner_program_id;
    let id = make(&write.app, &mut write.db, membership, code).await?;
    let link = own_links::set_made_by_partner(&mut write.db, id).await?;
    let audited = Audited::new(place.workspace_id, "referral_link.created")
        .in_program(program_id)
        .about(id.get())
        .with(json!({ "short_code": link.short_code, "partner_program_id": membership.get() }));
    write.record(audited);
    write.answer(created(link.into())).await
}

#[derive(Debug, Deserialize, ToSchema)]
pub struct LinkChange {
    /// `active` or `inactive`.
    #[schema(value_type = String)]
    #[serde(default)]
    status: Field<String>,
}

/// Turn a link on or off
///
/// While it is off, clicks on it are refused. What the advertiser turned off, only the advertiser turns on again.
#[utoipa::path(
    put,
    path = "/api/partner/referral-links/{link_id}",
    request_body = LinkChange,
    responses(
        (status = 200, description = "As it is now.", body = Data<PartnerLinkView>),
        (status = 409, description = "Its program is archived, or the advertiser turned it off.", body = PlatformError),
    ),
    extensions(("x-refusals" = json!([NEITHER, ARCHIVED, TURNED_OFF_BY_ADVERTISER]))),
)]
pub async fn update_partner_referral_link(
    mut write: Write<PartnerUser, Ids<ReferralLinkId>>,
) -> Answer<PartnerLinkView> {
    let Ids(link_id) = write.on;
    let locked = partner_view::lock_link(&mut write.db, write.caller.user.user_id, link_id).await?;
    let locked = locked.ok_or(ApiError::NotFound("Referral link not found"))?;
    if locked.program_status == ProgramStatus::Archived {
        return Err(ARCHIVED);
    }
    let change: LinkChange = write.body().json()?;
    let active = match change.status.given().as_deref() {
        Some("active") => true,
        Some("inactive") => false,
        _ => return Err(NEITHER),
    };
    if active && locked.turned_off_by_advertiser {
        return Err(TURNED_OFF_BY_ADVERTISER);
    }
    let link = partner_view::set_link_active(&mut write.db, link_id, active).await?;
    let audited = Audited::new(locked.workspace_id, "referral_link.updated")
        .in_program(locked.program_id)
        .about(link_id.get())
        .with(json!({ "status": link.status }));
    write.record(audited);
    write.answer(data(link.into())).await
}

const NO_LINKS_LEFT: ApiError = ApiError::Conflict("This program does not let you make more referral links");
const TURNED_OFF_BY_ADVERTISER: ApiError = ApiError::Conflict("The advertiser has turned this link off");

const NEITHER: ApiError = ApiError::refusal("status must be active or inactive");
