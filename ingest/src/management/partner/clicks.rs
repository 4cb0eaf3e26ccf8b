//! `GET /api/partner/clicks`: clicks on a partner's links. Of visitors it tells where and on what they were, not who.

use axum::extract::State;
use chrono::{DateTime, TimeDelta, Utc};
use serde::Serialize;
use storage::partner_view::{self, PartnerClick};
use utoipa::ToSchema;

use crate::app::App;
use crate::http::error::ApiError;
use crate::http::openapi::examples::Examples;
use crate::management::access::PartnerUser;
use crate::management::answers::{List, Listed, Page, PageQuery, as_instant};

#[derive(Debug, Serialize, ToSchema)]
pub struct PartnerClickView {
    id: i64,
    #[serde(serialize_with = "as_instant")]
    click_timestamp: DateTime<Utc>,
    program_id: i64,
    referral_link_id: i64,
    short_code: String,
    geo_country: Option<String>,
    device_type: Option<String>,
    /// The visitor has bought something since.
    converted: bool,
}

impl From<PartnerClick> for PartnerClickView {
    fn from(row: PartnerClick) -> Self {
        Self {
            id: row.id,
            click_timestamp: row.clicked_at,
            program_id: row.program_id,
            referral_link_id: row.referral_link_id,
            short_code: row.short_code,
            geo_country: row.country,
            device_type: row.device_type,
            converted: row.converted,
        }
    }
}

/// List a partner's clicks
///
/// Those that count, newest first, on all of their links.
#[utoipa::path(
    get,
    path = "/api/partner/clicks",
    operation_id = "list_partner_clicks",
    params(PageQuery),
    responses((status = 200, description = "A page of them.", body = Listed<PartnerClickView>))
)]
pub async fn list(State(app): State<App>, partner: PartnerUser, page: Page) -> List<PartnerClickView> {
    let mut connection = app.management.acquire().await?;
    let (rows, total) = partner_view::clicks(&mut connection, partner.user.user_id, page.window()).await?;
    Ok(page.listed(rows.into_iter().map(Into::into).collect(), total))
}

pub fn examples() -> Examples {
    let click = PartnerClickView {
        id: 77,
        click_timestamp: DateTime::UNIX_EPOCH + TimeDelta::days(20_000),
        program_id: 1,
        referral_link_id: 9,
        short_code: "ada".to_owned(),
        geo_country: Some("NL".to_owned()),
        device_type: Some("mobile".to_owned()),
        converted: false,
    };
    Examples::of_refusals([ApiError::bad_request("page must be a positive integer")]).page(click)
}
