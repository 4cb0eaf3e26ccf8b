//! `…/referral-links`: the codes that partners put into URLs.

use chrono::{DateTime, Utc};
use domain::ids::{PartnerProgramId, ProgramId, ReferralLinkId};
use domain::programs::partner::{LinkStatus, MembershipStatus, ShortCode};
use domain::sorting::LinkColumn;
use messages::instant::{as_instant, as_instant_if_any};
use serde_json::json;
use sqlx::PgConnection;
use storage::program::links::list::{Filter, page};
use storage::program::links::{self, StoredLink, Updated};
use storage::program::partners;

use crate::http::field::{Field, if_present, refused};
use crate::http::query::{NO_TEXT, Query};
use crate::management::access::right::{Read, Update};
use crate::management::access::{ARCHIVED, ListProgram, ProgramIds, WriteProgram};
use crate::management::answers::{Created, List, Listed, OrderQuery, PageQuery, created, view};
use crate::management::prelude::*;

/// A generated code is taken with a probability of one in a million million: this many in a row are not
/// chance.
const TRIES: usize = 5;
pub const UNKNOWN_PARTNER: ApiError = ApiError::NotFound("Partner not found");
const NO_STATUS: &str = "must be active or inactive";
const NO_COLUMN: &str = "must be one of short_code, partner, clicks, last_clicked";

#[derive(Debug, Deserialize, ToSchema)]
pub struct NewLinkRequest {
    /// Of a partner who is approved.
    #[schema(value_type = i64)]
    partner_program_id: Field<i64>,
    /// Unique over all programs. Made up when it is not given.
    #[schema(value_type = Option<String>, min_length = 3, max_length = 64, pattern = "^[A-Za-z0-9_-]+$")]
    short_code: Field<String>,
}

/// What is there is changed; what is not stays as it is.
#[derive(Debug, Deserialize, ToSchema)]
pub struct LinkChanges {
    /// The old code stops working at once.
    #[serde(default, deserialize_with = "if_present")]
    #[schema(value_type = Option<String>, min_length = 3, max_length = 64, pattern = "^[A-Za-z0-9_-]+$")]
    short_code: Option<Field<String>>,
    /// `active` or `inactive`.
    #[serde(default, deserialize_with = "if_present")]
    #[schema(value_type = Option<String>)]
    status: Option<Field<String>>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct LinkView {
    id: i64,
    /// Null until the partner has joined the program.
    partner_program_id: Option<i64>,
    partner_name: Option<String>,
    /// The `aff` value.
    short_code: String,
    /// `active` or `inactive`. An active link takes clicks while its partner is approved.
    status: &'static str,
    /// Or else by the advertiser.
    made_by_partner: bool,
    clicks: i64,
    #[serde(serialize_with = "as_instant_if_any")]
    last_clicked: Option<DateTime<Utc>>,
    #[serde(rename = "createdAt", serialize_with = "as_instant")]
    created_at: DateTime<Utc>,
    #[serde(rename = "updatedAt", serialize_with = "as_instant")]
    updated_at: DateTime<Utc>,
}

view! { |link: StoredLink| LinkView {
    partner_name, short_code, made_by_partner, clicks, last_clicked, created_at, updated_at;
    id: link.referral_link_id.get(),
    partner_program_id: link.partner_program_id.map(PartnerProgramId::get),
    status: link.status.as_str(),
} }

/// List referral links
///
/// Newest first, unless sorted; all of them, or one partner's.
#[utoipa::path(
    get,
    path = "/api/advertiser/affiliate-programs/{program_id}/referral-links",
    params(
        ("partner_program_id" = Option<i64>, Query, description = "Only those of this membership."),
        ("status" = Option<String>, Query, description = "Only those: `active` or `inactive`."),
        ("search" = Option<String>, Query, description = "Only those with this in their code or their partner's name, whatever its case."),
        ("sort" = Option<String>, Query, description = "`short_code`, `partner`, `clicks` or `last_clicked`."),
        OrderQuery,
        PageQuery,
    ),
    responses((status = 200, description = "A page of them.", body = Listed<LinkView>)),
    extensions(("x-refusals" = json!([
        refused("status", NO_STATUS), refused("search", NO_TEXT), refused("sort", NO_COLUMN)
    ]))),
)]
pub async fn list_referral_links(mut list: ListProgram<Read>, query: Query) -> List<LinkView> {
    let filter = Filter {
        membership: query.integer("partner_program_id")?.map(PartnerProgramId::new),
        status: query.parsed("status", NO_STATUS, LinkStatus::parse)?,
        text: query.search()?,
    };
    let sorting = query.sorting(NO_COLUMN, LinkColumn::parse)?;
    let window = list.page.window();
    let found = page(&mut list.db, list.program_id, &filter, sorting, window).await?;
    Ok(list.page.listed(found))
}

/// Create a referral link
///
/// For a partner who is approved. It works at once.
#[utoipa::path(
    post,
    path = "/api/advertiser/affiliate-programs/{program_id}/referral-links",
    request_body = NewLinkRequest,
    responses(
        (status = 201, description = "Made.", body = Data<LinkView>),
        (status = 409, description = "The code is taken, or the partner not approved, or the program archived.",
         body = PlatformError),
    ),
    extensions(("x-refusals" = json!([CODE_TAKEN, NOT_APPROVED]))),
)]
pub async fn create_referral_link(mut write: WriteProgram<Update>) -> Created<LinkView> {
    let program_id = write.on.ids;
    let request: NewLinkRequest = write.body().json()?;
    let membership = request.partner_program_id;
    let membership = PartnerProgramId::new(membership.required_integer("partner_program_id")?);
    let code = code_if_given(request.short_code)?;
    let partner = partners::find(&mut write.db, program_id, membership)
        .await?
        .filter(|membership| membership.partner.is_some())
        .ok_or(UNKNOWN_PARTNER)?;
    if partner.status != MembershipStatus::Approved {
        return Err(NOT_APPROVED);
    }
    let link = add(&mut write, membership, code).await?;
    write.answer(created(link)).await
}

/// Creates a link for an approved partner, with the requested code or a free one.
pub async fn add<I: ProgramIds>(
    write: &mut WriteProgram<Update, I>,
    membership: PartnerProgramId,
    code: Option<ShortCode>,
) -> Result<LinkView, ApiError> {
    let id = make(&write.app, &mut write.db, membership, code).await?;
    let link = stored(&mut write.db, write.on.access.program_id, id).await?;
    let details = json!({ "short_code": link.short_code, "partner_program_id": membership.get() });
    write.audit("referral_link.created", id.get(), details);
    Ok(LinkView::from(link))
}

/// Like [`add`], without the audit entry.
pub async fn make(
    app: &App,
    connection: &mut PgConnection,
    membership: PartnerProgramId,
    code: Option<ShortCode>,
) -> Result<ReferralLinkId, ApiError> {
    let now = app.clock.now();
    if let Some(code) = code {
        return links::create(connection, membership, &code, now)
            .await?
            .ok_or(CODE_TAKEN);
    }
    for _ in 0..TRIES {
        let code = ShortCode::generate(App::random());
        if let Some(id) = links::create(connection, membership, &code, now).await? {
            return Ok(id);
        }
    }
    Err(ApiError::unexpected(anyhow::anyhow!("no short code is free")))
}

/// Change a referral link
///
/// Its code, or whether it takes clicks. What was earned through it stays.
#[utoipa::path(
    put,
    path = "/api/advertiser/affiliate-programs/{program_id}/referral-links/{referral_link_id}",
    request_body = LinkChanges,
    responses(
        (status = 200, description = "As it is now.", body = Data<LinkView>),
        (status = 409, description = "The code is taken, or the program archived.", body = PlatformError),
    ),
    extensions(("x-refusals" = json!([CODE_TAKEN, ARCHIVED]))),
)]
pub async fn update_referral_link(
    mut write: WriteProgram<Update, (ProgramId, ReferralLinkId)>,
) -> Answer<LinkView> {
    let (program_id, link_id) = write.on.ids;
    let changes: LinkChanges = write.body().json()?;
    let code = changes.short_code.map(short_code).transpose()?;
    let status = changes.status.map(status).transpose()?;
    let before = links::lock(&mut write.db, program_id, link_id).await?;
    let before = before.ok_or(UNKNOWN)?;
    if links::update(&mut write.db, link_id, code.as_ref(), status).await? == Updated::CodeTaken {
        return Err(CODE_TAKEN);
    }
    let link = stored(&mut write.db, program_id, link_id).await?;
    let was = |link: &StoredLink| json!({ "short_code": link.short_code, "status": link.status.as_str() });
    let details = json!({ "before": was(&before), "after": was(&link) });
    write.audit("referral_link.updated", link_id.get(), details);
    write.answer(data(LinkView::from(link))).await
}

async fn stored(
    connection: &mut PgConnection,
    program_id: ProgramId,
    link_id: ReferralLinkId,
) -> Result<StoredLink, ApiError> {
    links::find(connection, program_id, link_id).await?.ok_or(UNKNOWN)
}

/// `None`: the service generates a code.
pub fn code_if_given(field: Field<String>) -> Result<Option<ShortCode>, ApiError> {
    match field {
        Field::Absent => Ok(None),
        given => short_code(given).map(Some),
    }
}

fn short_code(field: Field<String>) -> Result<ShortCode, ApiError> {
    let text = field.given().unwrap_or_default();
    ShortCode::parse(&text).map_err(|error| refused("short_code", &error.to_string()))
}

fn status(field: Field<String>) -> Result<LinkStatus, ApiError> {
    field.word(LinkStatus::parse, || refused("status", NO_STATUS))
}

const UNKNOWN: ApiError = ApiError::NotFound("Referral link not found");
pub const NOT_APPROVED: ApiError = ApiError::Conflict("This partner is not approved");
pub const CODE_TAKEN: ApiError = ApiError::Conflict("short_code is taken by another link");
