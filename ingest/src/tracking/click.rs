//! `POST /api/v1/track/click`: a visitor arrived through a partner's link.
//!
//! The route answers after the stream's acknowledgement and without PostgreSQL: the directory holds the link,
//! and the id comes from a leased block.

use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::{Extension, Json};
use domain::ids::{EventId, ProgramId};
use domain::text::{Label, LongText};
use domain::tracking::affiliate_url::{AffiliateUrlError, aff_code};
use domain::tracking::click::Visit;
use domain::tracking::click_id::ClickId;
use messages::click::ClickRecord;
use messages::test_event::{TestClick, TestEvent};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

use crate::app::App;
use crate::http::body::{RequestBody, parse};
use crate::http::client_address::ClientAddress;
use crate::http::error::ApiError;
use crate::http::field::Field;
use crate::http::openapi::envelopes::{LinkDisabled, PlatformError};
use crate::http::openapi::examples::Examples;
use crate::tracking::caller::Caller;
use crate::tracking::directory::{ActiveLink, Link};
use crate::tracking::test_mode::{
    AdditionalData, AdditionalFields, OTHER_PROGRAM, PROGRAM_ID, TEST_CLICK, TestAnswer, no_program,
    record_test, tested_program,
};

const FAILED: &str = "Click tracking failed";

#[derive(Debug, Deserialize, ToSchema)]
pub struct ClickRequest {
    /// The landing URL, absolute, with the partner's code as its `aff` parameter.
    #[schema(value_type = String, required = true, format = "uri", examples("https://shop.example/?aff=ada"))]
    affiliate_url: Field<String>,
    #[schema(value_type = Option<String>, max_length = 8192)]
    page_url: Field<String>,
    #[schema(value_type = Option<String>, max_length = 8192)]
    page_title: Field<String>,
    #[schema(value_type = Option<String>, max_length = 8192)]
    referrer_url: Field<String>,
    #[schema(value_type = Option<String>, max_length = 255)]
    session_id: Field<String>,
    /// The `User-Agent` header when absent.
    #[schema(value_type = Option<String>, max_length = 8192)]
    user_agent: Field<String>,
    /// Width and height of the screen, in pixels.
    #[schema(value_type = Option<String>, max_length = 255, examples("1920x1080"))]
    screen_resolution: Field<String>,
    /// Width and height of the page's window, in pixels.
    #[schema(value_type = Option<String>, max_length = 255, examples("1280x720"))]
    viewport_size: Field<String>,
    /// As the browser names it.
    #[schema(value_type = Option<String>, max_length = 255, examples("de-AT"))]
    language: Field<String>,
    /// IANA name.
    #[schema(value_type = Option<String>, max_length = 255, examples("Europe/Vienna"))]
    timezone: Field<String>,
    /// The visitor's click_id from an earlier click: a customer of this program is recognised by it. An
    /// unknown one counts as absent.
    #[schema(value_type = Option<String>, max_length = 255)]
    existing_click_id: Field<String>,
    #[schema(value_type = Option<AdditionalFields>)]
    additional_data: AdditionalData,
}

#[derive(Debug)]
struct Click {
    partner_code: String,
    existing_click_id: Option<Label>,
    visit: Visit,
    /// Present in test mode: the program that the body names.
    test: Option<Field<ProgramId>>,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub enum ClickAnswer {
    #[schema(title = "RecordedClick")]
    Tracked {
        success: bool,
        /// What the visitor's browser keeps, and leads and sales quote.
        #[schema(value_type = String, pattern = "^cust_[0-9]+_[0-9]+$")]
        click_id: ClickId,
        /// The short code of the link that was followed.
        partner_code: String,
        /// How long the browser keeps the click_id.
        #[schema(minimum = 1, maximum = 365)]
        cookie_window_days: u16,
    },
    Test(TestAnswer),
}

/// Record a click
///
/// A visitor arrived through a partner's link. Needs no key, and may come from any site's pages.
#[utoipa::path(
    post,
    path = "/api/v1/track/click",
    tag = "tracking",
    request_body = ClickRequest,
    responses(
        (status = 200, description = "Recorded.", body = ClickAnswer),
        (status = 403, description = "Test mode: the key is of another program.", body = PlatformError),
        (status = 410, description = "The link is turned off; nothing is recorded.", body = LinkDisabled),
    )
)]
pub async fn click(
    State(app): State<App>,
    caller: Caller,
    Extension(client): Extension<ClientAddress>,
    headers: HeaderMap,
    body: RequestBody,
) -> Result<Json<ClickAnswer>, ApiError> {
    let bytes = body.bytes()?;
    let click = parse::<ClickRequest>(&bytes)?.validate(&headers)?;
    let link = app
        .directory
        .link(&click.partner_code)
        .await
        .map_err(|error| ApiError::internal(FAILED, error))?;
    if let Some(named) = click.test {
        let test = TestClick {
            referral_link_id: None,
            visit: click.visit,
            client_ip: app.origin.client_ip(client),
            country_hint: app.origin.country(client, &headers),
        };
        return test_click(&app, caller, named, link, test).await;
    }
    let ActiveLink {
        referral_link_id,
        program_id,
        cookie_window_days,
    } = active(link)?.ok_or(LINK_NOT_FOUND)?;
    let clicked_at = app.clock.now();
    let existing = match &click.existing_click_id {
        Some(text) => {
            let existing = &app.existing_clicks;
            existing.customer_of(program_id, text.as_str(), clicked_at).await
        }
        None => None,
    };
    let new_customer = existing.is_none();
    let (customer_id, click_id) = match existing {
        Some(existing) => existing,
        None => app.customer_ids.issue(clicked_at)?,
    };
    let record = ClickRecord {
        event_id: EventId::new(app.clock.mint()),
        clicked_at,
        program_id,
        referral_link_id,
        customer_id,
        click_id,
        new_customer,
        previous_click_id: click.existing_click_id.filter(|_| new_customer),
        visit: click.visit,
        client_ip: app.origin.client_ip(client),
        country_hint: app.origin.country(client, &headers),
    };
    app.pipeline
        .publish(&app.pipeline.clicks, Some(program_id), &record, FAILED)
        .await?;
    Ok(Json(ClickAnswer::Tracked {
        success: true,
        click_id: record.click_id,
        partner_code: click.partner_code,
        cookie_window_days,
    }))
}

/// If a key or the body names the program, the link need not exist. A link that is turned off or
/// misconfigured is rejected as for a real click.
async fn test_click(
    app: &App,
    caller: Caller,
    named: Field<ProgramId>,
    link: Option<Link>,
    mut test: TestClick,
) -> Result<Json<ClickAnswer>, ApiError> {
    let tested = tested_program(app, caller, named, PROGRAM_ID, FAILED).await?;
    let link = active(link)?;
    let program_id = tested
        .or(link.map(|link| link.program_id))
        .ok_or_else(|| no_program(PROGRAM_ID))?;
    test.referral_link_id = link
        .filter(|link| link.program_id == program_id)
        .map(|link| link.referral_link_id);
    let answer = record_test(app, program_id, TestEvent::Click(test), FAILED).await?;
    Ok(Json(ClickAnswer::Test(answer)))
}

fn active(link: Option<Link>) -> Result<Option<ActiveLink>, ApiError> {
    match link {
        Some(Link::Active(link)) => Ok(Some(link)),
        Some(Link::Inactive) => Err(ApiError::LinkDisabled),
        Some(Link::Misconfigured) => Err(ApiError::bad_request("Invalid referral link configuration")),
        None => Ok(None),
    }
}

impl ClickRequest {
    fn validate(self, headers: &HeaderMap) -> Result<Click, ApiError> {
        let affiliate_url = match self.affiliate_url {
            Field::Given(url) if !url.is_empty() => url,
            Field::Given(_) | Field::Absent => {
                return Err(ApiError::bad_request("affiliate_url is required"));
            }
            Field::WrongType => return Err(ApiError::bad_request("Invalid affiliate_url")),
        };
        let partner_code = aff_code(&affiliate_url).map_err(|error| match error {
            AffiliateUrlError::NotAbsolute => ApiError::bad_request("Invalid affiliate_url"),
            AffiliateUrlError::NoAffParameter => {
                ApiError::bad_request("No aff parameter found in affiliate_url")
            }
        })?;
        let additional = self.additional_data.fields()?;
        let is_test = additional.is_test()?;
        let visit = Visit {
            page_url: self.page_url.text("page_url")?,
            page_title: self.page_title.text("page_title")?,
            referrer_url: self.referrer_url.text("referrer_url")?,
            session_id: self.session_id.text("session_id")?,
            user_agent: self
                .user_agent
                .text("user_agent")?
                .or_else(|| user_agent(headers)),
            screen_resolution: self.screen_resolution.text("screen_resolution")?,
            viewport_size: self.viewport_size.text("viewport_size")?,
            language: self.language.text("language")?,
            timezone: self.timezone.text("timezone")?,
        };
        Ok(Click {
            partner_code,
            existing_click_id: self.existing_click_id.text("existing_click_id")?,
            visit,
            test: is_test.then_some(additional.program_id),
        })
    }
}

/// The parsed request: the partner's code, the click_id sent with it, and the visit's fields.
pub fn read(body: &[u8]) -> Result<(String, Option<Label>, Visit), ApiError> {
    let click = parse::<ClickRequest>(body)?.validate(&HeaderMap::new())?;
    Ok((click.partner_code, click.existing_click_id, click.visit))
}

const LINK_NOT_FOUND: ApiError = ApiError::refusal("Referral link not found");

/// A header that is too long is ignored, not rejected: the visitor's browser sends it, not the caller.
fn user_agent(headers: &HeaderMap) -> Option<LongText> {
    LongText::parse(headers.get(header::USER_AGENT)?.to_str().ok()?).ok()
}

pub fn examples() -> Examples {
    let click_id = ClickId::parse("cust_7204319856127340_1798796400000");
    let tracked = click_id.map(|click_id| ClickAnswer::Tracked {
        success: true,
        click_id,
        partner_code: "ada".to_owned(),
        cookie_window_days: 90,
    });
    Examples::default()
        .request(
            "The least",
            json!({ "affiliate_url": "https://shop.example/?aff=ada" }),
        )
        .request(
            "All that a browser knows",
            json!({
                "affiliate_url": "https://shop.example/pricing?aff=ada&utm_source=newsletter",
                "page_url": "https://shop.example/pricing",
                "page_title": "Pricing",
                "referrer_url": "https://news.example/issue-12",
                "session_id": "s-81",
                "user_agent": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
                "screen_resolution": "1920x1080",
                "viewport_size": "1280x720",
                "language": "de-AT",
                "timezone": "Europe/Vienna",
                "existing_click_id": null,
            }),
        )
        .request(
            "Test mode",
            json!({
                "affiliate_url": "https://shop.example/?aff=ada",
                "additional_data": { "test_mode": true, "program_id": 1 },
            }),
        )
        .answer("Recorded", tracked)
        .answer("Test mode", ClickAnswer::Test(TestAnswer::example(TEST_CLICK)))
        .refusal(&LINK_NOT_FOUND)
        .refusal(&ApiError::Forbidden(OTHER_PROGRAM))
        .refusal(&ApiError::LinkDisabled)
        .refusal(&ApiError::internal(FAILED, anyhow::Error::msg("an example")))
}
