//! `/api/partner/referral-links`: a partner's links, and turning them on and off.

use axum::extract::State;
use chrono::{DateTime, TimeDelta, Utc};
use domain::ids::ReferralLinkId;
use domain::program::ProgramStatus;
use serde::{Deserialize, Serialize};
use serde_json::json;
use storage::partner_view::{self, PartnerLink};
use utoipa::ToSchema;

use crate::app::App;
use crate::http::body::RequestBody;
use crate::http::error::ApiError;
use crate::http::field::{Field, refused};
use crate::http::openapi::envelopes::PlatformError;
use crate::http::openapi::examples::Examples;
use crate::management::access::{Audited, PartnerUser, archived};
use crate::management::answers::{
    Answer, Data, Ids, List, Listed, Page, PageQuery, as_instant, as_instant_if_any, data,
};

#[derive(Debug, Serialize, ToSchema)]
pub struct PartnerLinkView {
    id: i64,
    program_id: i64,
    program_name: String,
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

impl From<PartnerLink> for PartnerLinkView {
    fn from(row: PartnerLink) -> Self {
        Self {
            id: row.id,
            program_id: row.program_id,
            program_name: row.program_name,
            short_code: row.short_code,
            status: row.status,
            clicks: row.clicks,
            last_clicked: row.last_clicked,
            created_at: row.created_at,
            updated_at: row.updated_at,
        }
    }
}

/// List a partner's links
///
/// Newest first.
#[utoipa::path(
    get,
    path = "/api/partner/referral-links",
    operation_id = "list_partner_referral_links",
    params(PageQuery),
    responses((status = 200, description = "A page of them.", body = Listed<PartnerLinkView>))
)]
pub async fn list(State(app): State<App>, partner: PartnerUser, page: Page) -> List<PartnerLinkView> {
    let mut connection = app.management.acquire().await?;
    let (rows, total) = partner_view::links(&mut connection, partner.user.user_id, page.window()).await?;
    Ok(page.listed(rows.into_iter().map(Into::into).collect(), total))
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
    operation_id = "update_partner_referral_link",
    request_body = LinkChange,
    responses(
        (status = 200, description = "As it is now.", body = Data<PartnerLinkView>),
        (status = 409, description = "Its program is archived, or the advertiser turned it off.", body = PlatformError),
    )
)]
pub async fn update(
    State(app): State<App>,
    partner: PartnerUser,
    Ids(link_id): Ids<ReferralLinkId>,
    body: RequestBody,
) -> Answer<PartnerLinkView> {
    let mut transaction = app.management.begin().await?;
    let locked = partner_view::lock_link(&mut transaction, partner.user.user_id, link_id)
        .await?
        .ok_or(ApiError::NotFound("Referral link not found"))?;
    if locked.program_status == ProgramStatus::Archived {
        return Err(archived());
    }
    let change: LinkChange = body.json()?;
    let active = match &change.status {
        Field::Given(status) if status == "active" => true,
        Field::Given(status) if status == "inactive" => false,
        _ => return Err(neither()),
    };
    if active && locked.turned_off_by_advertiser {
        return Err(turned_off_by_advertiser());
    }
    let link = partner_view::set_link_active(&mut transaction, link_id, active).await?;
    let audited = Audited::new(locked.workspace_id, "referral_link.updated")
        .in_program(locked.program_id)
        .about(link_id.get())
        .with(json!({ "status": link.status }));
    partner.audit(&app, &mut transaction, audited).await?;
    transaction.commit().await?;
    Ok(data(link.into()))
}

const fn turned_off_by_advertiser() -> ApiError {
    ApiError::Conflict("The advertiser has turned this link off")
}

fn neither() -> ApiError {
    refused("status", "must be active or inactive")
}

fn example() -> PartnerLinkView {
    let at = DateTime::UNIX_EPOCH + TimeDelta::days(20_000);
    PartnerLinkView {
        id: 9,
        program_id: 1,
        program_name: "Shop affiliates".to_owned(),
        short_code: "ada".to_owned(),
        status: "active".to_owned(),
        clicks: 310,
        last_clicked: Some(at),
        created_at: at,
        updated_at: at,
    }
}

pub fn list_examples() -> Examples {
    Examples::of_refusals([ApiError::bad_request("page must be a positive integer")]).page(example())
}

pub fn examples() -> Examples {
    Examples::of_refusals([neither(), archived(), turned_off_by_advertiser()])
        .request("Off", json!({ "status": "inactive" }))
        .data("The link", example())
}
