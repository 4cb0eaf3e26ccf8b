//! The parameters that select a program's events.

use domain::ids::{CustomerId, PartnerProgramId, ProgramId};
use domain::people::account::EmailAddress;
use domain::reports::program_events::ProgramEventType;
use domain::text::Label;
use domain::tracking::click_id::ClickId;
use domain::tracking::visitor::{CountryCode, DeviceType};
use sqlx::PgConnection;
use storage::reads::program_events::{self, ClickOrigin, Filter, Searched, Subjects};

use crate::http::query::Query;
use crate::management::prelude::*;
use crate::management::reports::dates::Span;

const TYPES: &str = "must be one of click, lead, sale, refund";
const COUNTRY: &str = "must be two letters of ISO 3166-1";
const DEVICE: &str = "must be one of desktop, mobile, tablet, tv, bot";
const SOURCE: &str = "must be the host of a page";
const SEARCH: &str = "must be 1 to 255 visible characters";
pub const TESTS_ARE_NOBODYS: ApiError = ApiError::refusal("search finds no test events");
const LONGEST_HOST: usize = 253;

/// Which events, as it is described.
#[derive(Debug, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "described, never built: a query is read by name")]
pub struct ProgramEventsQuery {
    /// `click`, `lead`, `sale` or `refund`; all of them unless said otherwise.
    #[param(rename = "type", example = "sale")]
    event_type: Option<String>,
    /// ISO 8601, of the years 1970 to 9999: a UTC day or an instant, which is included.
    #[param(example = "2026-01-01")]
    from: Option<String>,
    /// Included, a day as a whole.
    #[param(example = "2026-01-31")]
    to: Option<String>,
    /// A membership (`partner_program_id`): clicks on its links that count, leads that followed them, and sales that credit it.
    partner: Option<i64>,
    /// Clicks from this country, by its two letters.
    #[param(example = "DE")]
    country: Option<String>,
    /// Clicks from a `desktop`, `mobile`, `tablet`, `tv` or `bot`.
    #[param(example = "mobile")]
    device: Option<String>,
    /// Clicks from pages of this host, without `www.`.
    #[param(example = "blog.example")]
    source: Option<String>,
    /// Test events alone; otherwise they are left out.
    is_test: Option<bool>,
    /// A `transaction_id`: that sale and its refunds. A `customer_key`, `click_id` or e-mail address: all that is the customer's, but for
    /// clicks between the first and the hundred latest ones.
    #[param(max_length = 255, example = "user-42")]
    search: Option<String>,
}

pub async fn filter(
    app: &App,
    connection: &mut PgConnection,
    program_id: ProgramId,
    query: &Query,
) -> Result<Filter, ApiError> {
    let span = Span::from_to(query)?;
    let device = query.parsed("device", DEVICE, DeviceType::parse)?;
    let country = query.parsed("country", COUNTRY, CountryCode::parse)?;
    let origin = ClickOrigin {
        country: country.map(|code| code.as_str().to_owned()),
        device: device.map(|device| device.as_str().to_owned()),
        source: query.parsed("source", SOURCE, host)?,
    };
    let event_type = query.parsed("type", TYPES, ProgramEventType::parse)?;
    let types = event_type.map_or_else(|| ProgramEventType::ALL.to_vec(), |only| vec![only]);
    let is_test = query.flag("is_test")?;
    let links = match query.integer("partner")?.map(PartnerProgramId::new) {
        Some(membership) => Some(program_events::links_of_partner(connection, program_id, membership).await?),
        None => None,
    };
    let subjects = subjects(app, connection, program_id, query).await?;
    if is_test && subjects.is_some() {
        return Err(TESTS_ARE_NOBODYS);
    }
    Ok(Filter {
        types,
        from: span.from,
        until: span.until,
        is_test,
        origin,
        links,
        subjects,
    })
}

/// Normalizes a host like `domain::reports::breakdown::referring_host`.
fn host(text: &str) -> Option<String> {
    let text = text.trim().to_lowercase();
    let host = text.strip_prefix("www.").unwrap_or(&text).trim_end_matches('.');
    let is_host = !host.is_empty()
        && host.len() <= LONGEST_HOST
        && !host
            .contains(|c: char| c.is_whitespace() || c.is_control() || matches!(c, '/' | '?' | '#' | '@'));
    is_host.then(|| host.to_owned())
}

/// The customers and sales that a search text stands for.
pub async fn subjects(
    app: &App,
    connection: &mut PgConnection,
    program_id: ProgramId,
    query: &Query,
) -> Result<Option<Subjects>, ApiError> {
    let Some(searched) = query.parsed("search", SEARCH, |text| Label::parse(text.trim()).ok())? else {
        return Ok(None);
    };
    let text = searched.as_str();
    // A click_id that the service cannot have issued matches no customer.
    let click_id = ClickId::parse(text);
    let decode = |click_id| app.customer_ids.codec().decode(click_id);
    let click_id_customers: Vec<i64> = click_id.iter().flat_map(decode).map(CustomerId::get).collect();
    let email = EmailAddress::parse(text).ok();
    let hashes = email
        .iter()
        .flat_map(|email| app.email_hasher.hashes(email.as_str()));
    let email_hashes: Vec<String> = hashes.map(String::from).collect();
    let searched = Searched {
        text,
        click_id_customers: &click_id_customers,
        email_hashes: &email_hashes,
    };
    let found = program_events::search(connection, program_id, searched).await?;
    Ok(Some(found))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_a_host_as_referrers_have_it() {
        assert_eq!(host(" WWW.Blog.Example. ").as_deref(), Some("blog.example"));
        assert_eq!(host("[2001:db8::1]").as_deref(), Some("[2001:db8::1]"));
        for text in ["https://blog.example/", "blog.example/a", "a b", "www.", "."] {
            assert_eq!(host(text), None, "{text}");
        }
        assert_eq!(host(&"a".repeat(254)), None);
    }
}
