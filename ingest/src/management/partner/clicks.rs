//! `GET /api/partner/clicks`: clicks on a partner's links, with the visitor's country and device, but no
//! identity.

use chrono::{DateTime, Utc};
use domain::ids::ProgramId;
use messages::instant::as_instant;
use storage::reads::partner_lists::{self, LinkFilter, PartnerClick};

use crate::http::field::refused;
use crate::http::query::{NO_TEXT, Query};
use crate::management::access::ListForPartner;
use crate::management::answers::{List, Listed, PageQuery, view};
use crate::management::prelude::*;

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

view! { |row: PartnerClick| PartnerClickView {
    id, program_id, referral_link_id, short_code, device_type, converted;
    click_timestamp: row.clicked_at,
    geo_country: row.country,
} }

/// List a partner's clicks
///
/// Those that count, newest first, on all of their links or on some.
#[utoipa::path(
    get,
    path = "/api/partner/clicks",
    params(
        ("program_id" = Option<i64>, Query, description = "Only those on links of this program."),
        ("search" = Option<String>, Query, description = "Only those on links with this in their code, whatever its case."),
        PageQuery,
    ),
    responses((status = 200, description = "A page of them.", body = Listed<PartnerClickView>)),
    extensions(("x-refusals" = json!([refused("search", NO_TEXT)]))),
)]
pub async fn list_partner_clicks(mut list: ListForPartner, query: Query) -> List<PartnerClickView> {
    let filter = LinkFilter {
        program_id: query.integer("program_id")?.map(ProgramId::new),
        text: query.search()?,
    };
    let user_id = list.session.user.user_id;
    let found = partner_lists::clicks(&mut list.db, user_id, &filter, list.page.window()).await?;
    Ok(list.page.listed(found))
}
