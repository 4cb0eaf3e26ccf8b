//! `POST /api/v1/cli/init`: creates a program with its policy in one step.
//!
//! Clients use other terms for a commission. `percent` and `fixed` are paid on a customer's first payment.
//! The `recurring_` types are paid on every payment, or for `duration_months` after the first payment; 0
//! means without end. A percentage has at most two decimals. A fixed rate is in units of the program's
//! currency, not in cents, and has at most two decimals too.

use axum::Json;
use domain::earnings::commission::{CommissionType, Rate};
use domain::ids::WorkspaceId;
use domain::money::{BasisPoints, Cents, Currency};
use domain::programs::program::CookieWindow;
use serde_json::json;
use serde_json::value::RawValue;
use storage::program::policies::{self, NewPolicy};
use utoipa::openapi::schema::{ObjectBuilder, OneOfBuilder, Schema, Type};

use super::login::failed;
use crate::http::body;
use crate::http::field::{Field, IdNumber, refused};
use crate::http::request_id::RequestId;
use crate::management::access::{Audited, CliUser, FORBIDDEN, Write};
use crate::management::advertiser::program::program_settings::ProgramChanges;
use crate::management::advertiser::program::programs;
use crate::management::prelude::*;
use crate::tracking::test_event::program_number;

const MONTHS: std::ops::RangeInclusive<i64> = 0..=120;
/// Ten billion units: the largest amount that is stored.
const MAX_FIXED_HUNDREDTHS: i64 = 1_000_000_000_000;

#[derive(Debug, Deserialize, ToSchema)]
pub struct InitRequest<'a> {
    #[schema(value_type = String, max_length = 120)]
    name: Field<String>,
    /// The advertiser's site.
    #[schema(value_type = Option<String>)]
    domain: Field<String>,
    #[schema(value_type = String, pattern = "^(percent|fixed|recurring_percent|recurring_fixed)$")]
    commission_type: Field<String>,
    /// With at most two decimals: percent, or units of the program's currency (`10` is ten dollars).
    #[serde(borrow)]
    #[schema(schema_with = rate_schema)]
    commission_rate: Option<&'a RawValue>,
    /// Days; 90 unless said otherwise.
    #[schema(value_type = Option<i64>, minimum = 1, maximum = 365)]
    cookie_duration: Field<i64>,
    /// Of a recurring commission; 0, and none, is for as long as the customer pays.
    #[schema(value_type = Option<i64>, minimum = 0, maximum = 120)]
    duration_months: Field<i64>,
    /// The workspace the command line was connected to; it need not be named.
    #[schema(schema_with = program_number, required = false)]
    advertiser_id: Field<IdNumber>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct InitAnswer {
    /// A number, in a string.
    #[schema(pattern = "^[0-9]+$")]
    program_id: String,
    /// The program's tracking token. It is shown here and never again.
    api_key: String,
    program_slug: String,
    #[schema(required = true)]
    domain: Option<String>,
}

/// Set a program up
///
/// A draft with a default commission policy, in the workspace the command line was connected to.
#[utoipa::path(
    post,
    path = "/api/v1/cli/init",
    request_body = InitRequest,
    responses(
        (status = 200, description = "Made. Its key is shown here only.", body = InitAnswer),
        (status = 403, description = "The workspace is another than the command line was connected to, or not theirs to run any more.", body = PlatformError),
    ),
    extensions(("x-refusals" = json!([UNKNOWN_TYPE, FORBIDDEN, failed()]))),
)]
pub async fn init_program(
    request_id: RequestId,
    write: Result<Write<CliUser>, ApiError>,
) -> Result<Json<InitAnswer>, ApiError> {
    make(write).await.map_err(|error| error.quoting(&request_id))
}

async fn make(write: Result<Write<CliUser>, ApiError>) -> Result<Json<InitAnswer>, ApiError> {
    let mut write = write?;
    let bytes = write.body().bytes()?;
    let request: InitRequest<'_> = body::parse(&bytes)?;
    let named = request
        .advertiser_id
        .optional(|| refused("advertiser_id", "must be an integer"))?
        .map(|IdNumber(id)| WorkspaceId::new(id));
    let commission_type = commission_type(&request.commission_type, &request.duration_months)?;
    let rate = rate(&request.commission_type, request.commission_rate)?;
    let cookie_duration = request.cookie_duration.clone();
    cookie_duration.within("cookie_duration", 1..=365, CookieWindow::new)?;
    let changes = ProgramChanges::of_site(request.name, request.domain, request.cookie_duration);
    let workspace_id = write.caller.workspace(&mut write.db, named).await?;
    let (program, token) = programs::add(&write.app, &mut write.db, workspace_id, changes).await?;
    let now = write.now();
    let policy = NewPolicy {
        program_id: program.program_id,
        product_id: None,
        effective_from: now,
        commission_type,
        rate: &rate,
        created_at: now,
    };
    policies::create(&mut write.db, &policy).await?;
    let audited = Audited::new(workspace_id, "program.created")
        .in_program(program.program_id)
        .about(program.program_id.get())
        .with(json!({
            "name": program.settings.name,
            "slug": program.settings.slug.as_str(),
            "commission_type": commission_type.as_str(),
            "commission": commission_text(&rate),
        }));
    write.record(audited);
    write.commit().await?;
    let domain = program.settings.domain.as_ref();
    Ok(Json(InitAnswer {
        program_id: program.program_id.to_string(),
        api_key: token.expose().to_owned(),
        program_slug: program.settings.slug.to_string(),
        domain: domain.map(|domain| domain.as_str().to_owned()),
    }))
}

const UNKNOWN_TYPE: ApiError =
    ApiError::refusal("commission_type must be one of percent, fixed, recurring_percent, recurring_fixed");

/// The months apply to recurring commissions only, because clients send them with the other types too.
fn commission_type(name: &Field<String>, months: &Field<i64>) -> Result<CommissionType, ApiError> {
    let recurring = match name {
        Field::Given(name) => match name.as_str() {
            "percent" | "fixed" => false,
            "recurring_percent" | "recurring_fixed" => true,
            _ => return Err(UNKNOWN_TYPE),
        },
        _ => return Err(UNKNOWN_TYPE),
    };
    match months {
        _ if !recurring => Ok(CommissionType::CpsOneTime),
        Field::Absent | Field::Given(0) => Ok(CommissionType::CpsLifetime),
        Field::Given(months) if MONTHS.contains(months) => Ok(CommissionType::CpsRecurring {
            months: u32::try_from(*months).unwrap_or(u32::MAX),
        }),
        _ => Err(refused("duration_months", "must be an integer from 0 to 120")),
    }
}

fn rate(name: &Field<String>, written: Option<&RawValue>) -> Result<Rate, ApiError> {
    let hundredths = written.and_then(|written| hundredths(written.get()));
    let is_percentage = matches!(name, Field::Given(name) if name.ends_with("percent"));
    if is_percentage {
        let bps = hundredths
            .filter(|hundredths| *hundredths > 0)
            .and_then(|hundredths| BasisPoints::new(u32::try_from(hundredths).ok()?));
        return bps.map(Rate::Percentage).ok_or_else(|| {
            refused(
                "commission_rate",
                "must be a number above 0 and up to 100, with at most two decimals",
            )
        });
    }
    let cents = hundredths.filter(|hundredths| (1..=MAX_FIXED_HUNDREDTHS).contains(hundredths));
    let amount = cents.map(Cents::new).ok_or_else(|| {
        refused(
            "commission_rate",
            "must be an amount above 0 in units of the currency, with at most two decimals",
        )
    })?;
    Ok(Rate::Fixed {
        amount,
        currency: Currency::default(),
    })
}

/// Reads a plain decimal number, with or without quotes, as exact hundredths. A float would not be exact.
fn hundredths(written: &str) -> Option<i64> {
    let text = written
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'))
        .unwrap_or(written);
    let (units, decimals) = text.split_once('.').unwrap_or((text, "0"));
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let significant = decimals.trim_end_matches('0');
    if !is_digits(units) || !is_digits(decimals) || significant.len() > 2 {
        return None;
    }
    let decimals: i64 = format!("{significant:0<2}").parse().ok()?;
    units.parse::<i64>().ok()?.checked_mul(100)?.checked_add(decimals)
}

/// Such as `20%`, `12.5%` or `10.00 USD`.
pub fn commission_text(rate: &Rate) -> String {
    match rate {
        Rate::Percentage(bps) => {
            let (whole, part) = (bps.get() / 100, bps.get() % 100);
            let decimals = format!("{part:02}");
            match decimals.trim_end_matches('0') {
                "" => format!("{whole}%"),
                decimals => format!("{whole}.{decimals}%"),
            }
        }
        Rate::Fixed { amount, currency } => {
            format!("{}.{:02} {currency}", amount.get() / 100, amount.get() % 100)
        }
    }
}

fn rate_schema() -> Schema {
    let number = ObjectBuilder::new().schema_type(Type::Number).minimum(Some(0));
    let text = ObjectBuilder::new()
        .schema_type(Type::String)
        .pattern(Some("^[0-9]+([.][0-9]+)?$"));
    OneOfBuilder::new().item(number).item(text).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(name: &str) -> Field<String> {
        Field::Given(name.to_owned())
    }

    #[test]
    fn numbers_are_read_to_the_hundredth_and_no_further() {
        for (written, expected) in [
            ("20", Some(2_000)),
            ("0.1", Some(10)),
            ("12.50", Some(1_250)),
            ("12.5000", Some(1_250)),
            ("\"7.25\"", Some(725)),
            ("0", Some(0)),
            ("12.505", None),
            ("1e2", None),
            ("-1", None),
            ("\"\"", None),
            (".5", None),
            ("5.", None),
            ("null", None),
            ("99999999999999999999", None),
        ] {
            assert_eq!(hundredths(written), expected, "{written}");
        }
    }

    #[test]
    fn the_clients_words_become_our_types() {
        let of = |name: &str, months: Field<i64>| commission_type(&given(name), &months).ok();
        assert_eq!(of("percent", Field::Given(12)), Some(CommissionType::CpsOneTime));
        assert_eq!(of("fixed", Field::Absent), Some(CommissionType::CpsOneTime));
        assert_eq!(
            of("recurring_percent", Field::Given(12)),
            Some(CommissionType::CpsRecurring { months: 12 })
        );
        assert_eq!(
            of("recurring_fixed", Field::Absent),
            Some(CommissionType::CpsLifetime)
        );
        assert_eq!(
            of("recurring_fixed", Field::Given(0)),
            Some(CommissionType::CpsLifetime)
        );
        assert_eq!(of("recurring_fixed", Field::Given(-1)), None);
        assert_eq!(of("hybrid", Field::Absent), None);
    }

    #[test]
    fn a_rate_reads_as_people_write_it() {
        let percent = |bps| commission_text(&Rate::Percentage(BasisPoints::new(bps).unwrap()));
        assert_eq!(
            (percent(2_000), percent(1_250)),
            ("20%".to_owned(), "12.5%".to_owned())
        );
        assert_eq!(
            (percent(5), percent(10_000)),
            ("0.05%".to_owned(), "100%".to_owned())
        );
        let fixed = Rate::Fixed {
            amount: Cents::new(1_005),
            currency: Currency::default(),
        };
        assert_eq!(commission_text(&fixed), "10.05 USD");
    }
}
