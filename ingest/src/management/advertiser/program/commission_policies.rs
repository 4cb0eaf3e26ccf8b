//! `…/commission-policies`: a program's commission terms, in versions. A version never changes; a later
//! version supersedes it.

use chrono::{DateTime, Utc};
use domain::earnings::commission::{CommissionType, Policy, Rate, policy_in_force};
use domain::ids::{PolicyId, ProgramId};
use domain::money::{AmountCents, BasisPoints, Currency};
use domain::text::ProductId;
use messages::instant::as_instant;
use serde_json::json;
use sqlx::PgConnection;
use storage::program::policies::{self, NewPolicy, StoredPolicy};
use storage::program::program_settings::StoredProgram;

use super::program_settings::stored;
use crate::http::field::{Field, refused};
use crate::management::access::right::{Read, Update};
use crate::management::access::{ARCHIVED, ListProgram, WriteProgram};
use crate::management::answers::{Created, List, Listed, PageQuery, created};
use crate::management::prelude::*;

#[derive(Debug, Deserialize, ToSchema)]
pub struct NewPolicyRequest {
    /// Sales of this product only; without it, the program's default.
    #[schema(value_type = Option<String>, max_length = 255)]
    product_id: Field<String>,
    /// `cps_recurring`, `cps_lifetime` or `cps_one_time`.
    #[schema(value_type = String)]
    commission_type: Field<String>,
    /// How many months a recurring commission is paid for; null for lifetime, 0 or null for one-time.
    #[schema(value_type = Option<i32>, minimum = 0)]
    default_duration_months: Field<i64>,
    /// Hundredths of a percent of the sale. Either this or `fixed_cents`.
    #[schema(value_type = Option<i64>, minimum = 0, maximum = 10_000)]
    rate_bps: Field<i64>,
    /// The same for every sale.
    #[schema(value_type = Option<i64>, minimum = 0, maximum = 100_000_000_000_000_i64)]
    fixed_cents: Field<i64>,
    /// Of `fixed_cents`; the program's unless said otherwise.
    #[schema(value_type = Option<String>)]
    currency: Field<String>,
    /// Sales from then on; from now on unless said otherwise. Not in the past.
    #[schema(value_type = Option<String>, format = DateTime)]
    effective_from: Field<String>,
}

/// A requested policy whose fields are valid together.
#[derive(Debug)]
struct Terms {
    product_id: Option<ProductId>,
    commission_type: CommissionType,
    rate: Rate,
    effective_from: DateTime<Utc>,
}

/// One version.
#[derive(Debug, Serialize, ToSchema)]
pub struct PolicyView {
    id: i64,
    /// Null: the program's default.
    product_id: Option<String>,
    /// `cps_recurring`, `cps_lifetime` or `cps_one_time`.
    commission_type: &'static str,
    default_duration_months: Option<i32>,
    rate_bps: Option<u32>,
    fixed_cents: Option<i64>,
    /// Of `fixed_cents`; a share of a sale is paid in the sale's.
    currency: Option<String>,
    #[serde(serialize_with = "as_instant")]
    effective_from: DateTime<Utc>,
    /// It is what its product's sales, or those of products without a policy, earn now.
    in_force: bool,
    #[serde(rename = "createdAt", serialize_with = "as_instant")]
    created_at: DateTime<Utc>,
}

impl PolicyView {
    fn new(stored: &StoredPolicy, in_force: bool) -> Self {
        let policy = &stored.policy;
        let fixed = policy.rate.fixed_amount();
        Self {
            id: policy.id.get(),
            product_id: policy.product_id.clone(),
            commission_type: policy.commission_type.as_str(),
            default_duration_months: policy.commission_type.default_duration_months(),
            rate_bps: policy.rate.basis_points().map(BasisPoints::get),
            fixed_cents: fixed.map(|(amount, _)| amount.get()),
            currency: fixed.map(|(_, currency)| currency.to_string()),
            effective_from: policy.effective_from,
            in_force,
            created_at: stored.created_at,
        }
    }
}

/// List commission policies
///
/// Every version, newest first. Of each product, and of the default, one at most is in force.
#[utoipa::path(
    get,
    path = "/api/advertiser/affiliate-programs/{program_id}/commission-policies",
    params(PageQuery),
    responses((status = 200, description = "A page of them.", body = Listed<PolicyView>))
)]
pub async fn list_commission_policies(
    State(app): State<App>,
    mut list: ListProgram<Read>,
) -> List<PolicyView> {
    let views = views(&mut list.db, list.program_id, app.clock.now()).await?;
    let total = i64::try_from(views.len()).unwrap_or(i64::MAX);
    Ok(list.page.listed((list.page.window().of(views), total)))
}

/// Set a commission policy
///
/// A new version. Sales are paid by the version in force when they happened, so what was sold before stays as it is.
#[utoipa::path(
    post,
    path = "/api/advertiser/affiliate-programs/{program_id}/commission-policies",
    request_body = NewPolicyRequest,
    responses((status = 201, description = "Set.", body = Data<PolicyView>)),
    extensions(("x-refusals" = json!([NO_COMMISSION_TYPE, ARCHIVED]))),
)]
pub async fn create_commission_policy(mut write: WriteProgram<Update>) -> Created<PolicyView> {
    let program_id = write.on.ids;
    let request: NewPolicyRequest = write.body().json()?;
    let program = stored(&mut write.db, program_id).await?;
    let (id, view) = set(&write.app, &mut write.db, &program, request).await?;
    let details = json!(view);
    write.audit("commission_policy.created", id.get(), details);
    write.answer(created(view)).await
}

/// Stores a version, if the checks against stored versions pass.
pub async fn set(
    app: &App,
    connection: &mut PgConnection,
    program: &StoredProgram,
    request: NewPolicyRequest,
) -> Result<(PolicyId, PolicyView), ApiError> {
    let now = app.clock.now();
    let terms = request.validate(program.settings.currency, now)?;
    let new = NewPolicy {
        program_id: program.program_id,
        product_id: terms.product_id.as_ref(),
        effective_from: terms.effective_from,
        commission_type: terms.commission_type,
        rate: &terms.rate,
        created_at: now,
    };
    let id = policies::create(connection, &new).await?;
    Ok((id, made(connection, program.program_id, id, now).await?))
}

async fn views(
    connection: &mut PgConnection,
    program_id: ProgramId,
    now: DateTime<Utc>,
) -> Result<Vec<PolicyView>, ApiError> {
    let mut by_program = policies::of_programs(connection, &[program_id.get()]).await?;
    let stored = by_program.remove(&program_id).unwrap_or_default();
    let policies: Vec<Policy> = stored.iter().map(|stored| stored.policy.clone()).collect();
    let in_force = |policy: &Policy| {
        policy_in_force(&policies, policy.product_id.as_deref(), now)
            .is_some_and(|in_force| in_force.id == policy.id)
    };
    Ok(stored
        .iter()
        .map(|stored| PolicyView::new(stored, in_force(&stored.policy)))
        .collect())
}

async fn made(
    connection: &mut PgConnection,
    program_id: ProgramId,
    id: PolicyId,
    now: DateTime<Utc>,
) -> Result<PolicyView, ApiError> {
    let mut views = views(connection, program_id, now).await?.into_iter();
    views
        .find(|view| view.id == id.get())
        .ok_or_else(|| ApiError::unexpected(anyhow::anyhow!("the policy just made is not there")))
}

impl NewPolicyRequest {
    /// `currency` is the program's.
    fn validate(self, currency: Currency, now: DateTime<Utc>) -> Result<Terms, ApiError> {
        let commission_type = commission_type(self.commission_type, &self.default_duration_months)?;
        Ok(Terms {
            product_id: self.product_id.text("product_id")?,
            commission_type,
            rate: rate(self.rate_bps, self.fixed_cents, self.currency, currency)?,
            effective_from: effective_from(self.effective_from, now)?,
        })
    }
}

fn commission_type(name: Field<String>, months: &Field<i64>) -> Result<CommissionType, ApiError> {
    let Field::Given(name) = name else {
        return Err(NO_COMMISSION_TYPE);
    };
    let rule = match name.as_str() {
        "cps_recurring" => "must be a positive integer for cps_recurring",
        "cps_lifetime" => "must be null for cps_lifetime",
        "cps_one_time" => "must be 0 or null for cps_one_time",
        _ => return Err(NO_COMMISSION_TYPE),
    };
    let refused = || refused("default_duration_months", rule);
    let months = match months {
        Field::Absent => None,
        Field::Given(months) => Some(i32::try_from(*months).map_err(|_| refused())?),
        Field::WrongType => return Err(refused()),
    };
    CommissionType::from_parts(&name, months).ok_or_else(refused)
}

fn rate(
    rate_bps: Field<i64>,
    fixed_cents: Field<i64>,
    currency: Field<String>,
    programs: Currency,
) -> Result<Rate, ApiError> {
    let missing = || ApiError::refusal("rate_bps or fixed_cents is required");
    match (rate_bps, fixed_cents) {
        (rate_bps, Field::Absent) => {
            if rate_bps != Field::Absent && currency != Field::Absent {
                let rule = "must be null: a share is paid in the sale's currency";
                return Err(refused("currency", rule));
            }
            let rate = rate_bps.within("rate_bps", 0..=10_000, Rate::percentage)?;
            rate.ok_or_else(missing)
        }
        (Field::Absent, fixed_cents) => {
            let currency = match currency {
                Field::Absent => Some(programs),
                Field::Given(code) => Currency::parse(&code),
                Field::WrongType => None,
            };
            let currency =
                currency.ok_or_else(|| refused("currency", "must be a currency code of three letters"))?;
            let range = 0..=AmountCents::MAX.get();
            let rate = fixed_cents.within("fixed_cents", range, |cents| Rate::fixed(cents, currency))?;
            rate.ok_or_else(missing)
        }
        _ => Err(refused("fixed_cents", "must be null where rate_bps is given")),
    }
}

fn effective_from(field: Field<String>, now: DateTime<Utc>) -> Result<DateTime<Utc>, ApiError> {
    let from = match field {
        Field::Absent => return Ok(now),
        Field::Given(text) => DateTime::parse_from_rfc3339(&text).ok(),
        Field::WrongType => None,
    };
    let from = from.ok_or_else(|| {
        refused(
            "effective_from",
            "must be an ISO 8601 date and time with its offset",
        )
    })?;
    if from < now {
        return Err(refused("effective_from", "must not be in the past"));
    }
    Ok(from.to_utc())
}

const NO_COMMISSION_TYPE: ApiError =
    ApiError::refusal("commission_type must be one of cps_recurring, cps_lifetime, cps_one_time");

#[cfg(test)]
mod tests;
