//! A program's settings as requests change them and answers show them.

use chrono::{DateTime, Utc};
use domain::earnings::commission::{HoldPeriod, NeedsApproval, Policy, SelfReferrals};
use domain::ids::ProgramId;
use domain::money::{BasisPoints, Currency};
use domain::people::account::EmailAddress;
use domain::programs::program::{
    Color, CookieWindow, Domain, LogoUrl, PartnerLinkLimit, ProgramSettings, Slug,
};
use domain::text::Text;
use domain::tracking::attribution::{AttributionModel, AttributionWindow};
use domain::tracking::lead::LeadAuth;
use messages::instant::{as_instant, as_instant_if_any, instant};
use serde_json::{Value, json};
use sqlx::PgConnection;
use storage::program::program_settings::{self, StoredProgram};

use crate::http::field::{Field, if_present, refused};
use crate::management::access::differences;
use crate::management::prelude::*;

/// What is there is changed; what is not stays as it is. `null` takes a setting back to its default.
#[derive(Debug, Default, Deserialize, ToSchema)]
pub struct ProgramChanges {
    #[serde(default, deserialize_with = "if_present")]
    #[schema(value_type = Option<String>, max_length = 120)]
    pub name: Option<Field<String>>,
    #[serde(default, deserialize_with = "if_present")]
    #[schema(value_type = Option<String>, max_length = 80, pattern = "^[a-z0-9]+(-[a-z0-9]+)*$")]
    pub slug: Option<Field<String>>,
    #[serde(default, deserialize_with = "if_present")]
    #[schema(value_type = Option<String>, max_length = 2000)]
    description: Option<Field<String>>,
    #[serde(default, deserialize_with = "if_present")]
    #[schema(value_type = Option<String>)]
    domain: Option<Field<String>>,
    /// ISO 4217, of fixed commissions.
    #[serde(default, deserialize_with = "if_present")]
    #[schema(value_type = Option<String>)]
    currency: Option<Field<String>>,
    /// `last_click`, `first_click` or `linear`.
    #[serde(default, deserialize_with = "if_present")]
    #[schema(value_type = Option<String>)]
    attribution_model: Option<Field<String>>,
    #[serde(default, deserialize_with = "if_present")]
    #[schema(value_type = Option<i64>, minimum = 1, maximum = 365)]
    attribution_window_days: Option<Field<i64>>,
    #[serde(default, deserialize_with = "if_present")]
    #[schema(value_type = Option<i64>, minimum = 1, maximum = 365)]
    cookie_window_days: Option<Field<i64>>,
    /// `server_required` or null.
    #[serde(default, deserialize_with = "if_present")]
    #[schema(value_type = Option<String>)]
    lead_auth: Option<Field<String>>,
    /// Days a commission stays pending.
    #[serde(default, deserialize_with = "if_present")]
    #[schema(value_type = Option<i64>, minimum = 0, maximum = 31)]
    hold_days: Option<Field<i64>>,
    /// Which commissions are not approved by the end of their hold, only by hand: `none`, those that are `flagged` with a
    /// signal, or `all`.
    #[serde(default, deserialize_with = "if_present")]
    #[schema(value_type = Option<String>)]
    needs_approval: Option<Field<String>>,
    /// A partner's own purchases: `flag` shows them with a signal, `refuse` has the partner earn nothing by them; the sale is
    /// recorded all the same.
    #[serde(default, deserialize_with = "if_present")]
    #[schema(value_type = Option<String>)]
    self_referrals: Option<Field<String>>,
    /// How many referral links a partner may make; what the advertiser makes for them does not count. With 0 they make none.
    #[serde(default, deserialize_with = "if_present")]
    #[schema(value_type = Option<i64>, minimum = 0, maximum = 100)]
    partner_link_limit: Option<Field<i64>>,
    #[serde(default, deserialize_with = "if_present")]
    #[schema(value_type = Option<bool>)]
    exclude_bots: Option<Field<bool>>,
    /// `https:` address of a picture in e-mails to partners and on their pages. Whoever reads them fetches it from there.
    #[serde(default, deserialize_with = "if_present")]
    #[schema(value_type = Option<String>, max_length = 500)]
    logo_url: Option<Field<String>>,
    /// On the partners' pages, as `#rrggbb`.
    #[serde(default, deserialize_with = "if_present")]
    #[schema(value_type = Option<String>)]
    color: Option<Field<String>>,
    /// Where answers to e-mails to partners go.
    #[serde(default, deserialize_with = "if_present")]
    #[schema(value_type = Option<String>, max_length = 254)]
    reply_to_email: Option<Field<String>>,
}

impl ProgramChanges {
    /// The settings that the command line sends.
    pub fn of_site(name: Field<String>, domain: Field<String>, cookie_window_days: Field<i64>) -> Self {
        Self {
            name: Some(name),
            domain: Some(domain),
            cookie_window_days: Some(cookie_window_days),
            ..Self::default()
        }
    }

    /// The settings after the changes, or the refusal of the first invalid change.
    pub fn apply(self, mut settings: ProgramSettings) -> Result<ProgramSettings, ApiError> {
        if let Some(name) = self.name {
            settings.name = name.required_name("name", "name is required")?;
        }
        if let Some(slug) = self.slug {
            settings.slug = slug
                .parsed("slug", Slug::parse)?
                .ok_or_else(|| refused("slug", "must not be empty"))?;
        }
        if let Some(description) = self.description {
            settings.description = description.text("description")?;
        }
        if let Some(domain) = self.domain {
            settings.domain = domain.parsed("domain", Domain::parse)?;
        }
        if let Some(currency) = self.currency {
            settings.currency = changed_currency(currency, settings.currency)?;
        }
        if let Some(model) = self.attribution_model {
            let read = |name: &str| {
                AttributionModel::parse(name).ok_or("must be one of last_click, first_click, linear")
            };
            settings.attribution_model = model
                .parsed("attribution_model", read)?
                .unwrap_or(AttributionModel::LastClick);
        }
        if let Some(days) = self.attribution_window_days {
            let days = days.within("attribution_window_days", 1..=365, AttributionWindow::new)?;
            settings.attribution_window = days.unwrap_or(AttributionWindow::DEFAULT);
        }
        if let Some(days) = self.cookie_window_days {
            let days = days.within("cookie_window_days", 1..=365, CookieWindow::new)?;
            settings.cookie_window = days.unwrap_or(CookieWindow::DEFAULT);
        }
        if let Some(lead_auth) = self.lead_auth {
            let read = |name: &str| LeadAuth::parse(Some(name)).ok_or("must be server_required or null");
            settings.lead_auth = lead_auth
                .parsed("lead_auth", read)?
                .unwrap_or(LeadAuth::AnyCaller);
        }
        if let Some(days) = self.hold_days {
            let days = days.within("hold_days", 0..=31, HoldPeriod::new)?;
            settings.hold = days.unwrap_or(HoldPeriod::DEFAULT);
        }
        if let Some(which) = self.needs_approval {
            let read = |name: &str| NeedsApproval::parse(name).ok_or("must be one of none, flagged, all");
            settings.needs_approval = which.parsed("needs_approval", read)?.unwrap_or_default();
        }
        if let Some(which) = self.self_referrals {
            let read = |name: &str| SelfReferrals::parse(name).ok_or("must be one of flag, refuse");
            settings.self_referrals = which.parsed("self_referrals", read)?.unwrap_or_default();
        }
        if let Some(links) = self.partner_link_limit {
            let links = links.within("partner_link_limit", 0..=100, PartnerLinkLimit::new)?;
            settings.partner_link_limit = links.unwrap_or(PartnerLinkLimit::DEFAULT);
        }
        if let Some(exclude_bots) = self.exclude_bots {
            settings.exclude_bots = exclude_bots.flag("exclude_bots")?;
        }
        if let Some(logo_url) = self.logo_url {
            settings.logo_url = logo_url.parsed("logo_url", LogoUrl::parse)?;
        }
        if let Some(color) = self.color {
            settings.color = color.parsed("color", Color::parse)?;
        }
        if let Some(reply_to) = self.reply_to_email {
            settings.reply_to = reply_to.parsed("reply_to_email", EmailAddress::for_sending)?;
        }
        Ok(settings)
    }
}

pub async fn stored(connection: &mut PgConnection, program_id: ProgramId) -> Result<StoredProgram, ApiError> {
    let found = program_settings::find_one(connection, program_id).await?;
    found.ok_or(ApiError::NotFound("Program not found"))
}

/// A program may keep a currency that is no longer in use, but cannot change to one.
fn changed_currency(given: Field<String>, current: Currency) -> Result<Currency, ApiError> {
    let read = |code: &str| Currency::parse(code).ok_or("must be a currency code of three letters");
    let currency = given.parsed("currency", read)?.unwrap_or_default();
    if currency != current && !currency.is_paid_in() {
        return Err(refused("currency", "must be one that people pay in, such as USD"));
    }
    Ok(currency)
}

/// A program as answers show it. Of its token, the masked form only.
#[derive(Debug, Serialize, ToSchema)]
pub struct ProgramView {
    id: i64,
    workspace_id: i64,
    #[serde(flatten)]
    settings: SettingsView,
    #[serde(flatten)]
    pays: PaysView,
    /// `draft`, `live` or `archived`.
    status: &'static str,
    api_token_masked: String,
    /// The tracking token must be replaced until then; null when it need not be.
    key_rotate_by: Option<String>,
    #[serde(rename = "publishedAt", serialize_with = "as_instant_if_any")]
    published_at: Option<DateTime<Utc>>,
    #[serde(rename = "createdAt", serialize_with = "as_instant")]
    created_at: DateTime<Utc>,
    #[serde(rename = "updatedAt", serialize_with = "as_instant")]
    updated_at: DateTime<Utc>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct SettingsView {
    name: String,
    slug: String,
    description: Option<String>,
    domain: Option<String>,
    currency: String,
    attribution_model: &'static str,
    attribution_window_days: u16,
    cookie_window_days: u16,
    lead_auth: Option<&'static str>,
    hold_days: u8,
    /// `none`, `flagged` or `all`.
    needs_approval: &'static str,
    /// `flag` or `refuse`.
    self_referrals: &'static str,
    /// How many referral links a partner may make.
    partner_link_limit: u8,
    exclude_bots: bool,
    /// In e-mails to partners and on their pages.
    logo_url: Option<String>,
    /// On the partners' pages, as `#rrggbb`.
    color: Option<String>,
    /// Where answers to e-mails to partners go.
    reply_to_email: Option<String>,
}

/// The default policy in force; all null when there is none.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct PaysView {
    /// `cps_recurring`, `cps_lifetime` or `cps_one_time`.
    commission_type: Option<&'static str>,
    /// Of `cps_recurring`; 0 for `cps_one_time`.
    default_duration_months: Option<i32>,
    /// Hundredths of a percent of the sale, or null where the amount is fixed.
    rate_bps: Option<u32>,
    fixed_cents: Option<i64>,
}

impl PaysView {
    fn new(policy: &Policy) -> Self {
        Self {
            commission_type: Some(policy.commission_type.as_str()),
            default_duration_months: policy.commission_type.default_duration_months(),
            rate_bps: policy.rate.basis_points().map(BasisPoints::get),
            fixed_cents: policy.rate.fixed_amount().map(|(amount, _)| amount.get()),
        }
    }
}

impl ProgramView {
    /// `pays` is the default policy in force.
    pub fn new(program: &StoredProgram, pays: Option<&Policy>) -> Self {
        Self {
            id: program.program_id.get(),
            workspace_id: program.workspace_id.get(),
            settings: SettingsView::new(&program.settings),
            pays: pays.map(PaysView::new).unwrap_or_default(),
            status: program.status.as_str(),
            api_token_masked: program.api_token_masked.clone(),
            key_rotate_by: program.rotation.map(|rotation| instant(rotation.rotate_by)),
            published_at: program.published_at,
            created_at: program.created_at,
            updated_at: program.updated_at,
        }
    }
}

impl SettingsView {
    fn new(settings: &ProgramSettings) -> Self {
        Self {
            name: settings.name.as_str().to_owned(),
            slug: settings.slug.to_string(),
            description: settings.description.as_ref().map(Text::to_string),
            domain: settings.domain.as_ref().map(|domain| domain.as_str().to_owned()),
            currency: settings.currency.to_string(),
            attribution_model: settings.attribution_model.as_str(),
            attribution_window_days: settings.attribution_window.days(),
            cookie_window_days: settings.cookie_window.days(),
            lead_auth: settings.lead_auth.as_str(),
            hold_days: settings.hold.days(),
            needs_approval: settings.needs_approval.as_str(),
            self_referrals: settings.self_referrals.as_str(),
            partner_link_limit: settings.partner_link_limit.links(),
            exclude_bots: settings.exclude_bots,
            logo_url: settings.logo_url.as_ref().map(|url| url.as_str().to_owned()),
            color: settings.color.map(|color| color.to_string()),
            reply_to_email: settings
                .reply_to
                .as_ref()
                .map(|address| address.as_str().to_owned()),
        }
    }
}

/// The changed settings for the audit log, before and after.
pub fn changed(before: &ProgramSettings, after: &ProgramSettings) -> Value {
    differences(json!(SettingsView::new(before)), &json!(SettingsView::new(after)))
}
