//! `/api/advertiser/affiliate-programs`: programs, their settings and their status.

use domain::ids::{ProgramId, WorkspaceId};
use domain::people::permission::Permission;
use domain::programs::program::{ProgramSettings, ProgramStatus, Slug};
use domain::sorting::ProgramColumn;
use domain::token::ProgramToken;
use serde_json::json;
use sqlx::PgConnection;
use storage::money::balances::{self, UnpaidOfProgram};
use storage::people::workspaces::{self, ProgramFilter};
use storage::program::policies;
use storage::program::program_settings::{self, NewProgram, StoredProgram, Updated};

use super::commission_policies::{NewPolicyRequest, set as set_policy};
use super::program_settings::{ProgramChanges, ProgramView, changed, stored};
use crate::http::body;
use crate::http::field::{Field, Object, refused};
use crate::http::query::{NO_TEXT, Query};
use crate::management::access::right::{Delete, GoLive, Read, Update};
use crate::management::access::{ARCHIVED, Advertiser, Audited, ReadProgram, Write, WriteProgram};
use crate::management::advertiser::named_workspace::named_workspace;
use crate::management::answers::{Created, List, Listed, OrderQuery, Page, PageQuery, created};
use crate::management::prelude::*;

/// The settings a program starts with; only its name must be there.
#[derive(Debug, ToSchema)]
#[expect(
    dead_code,
    reason = "described, never built: its two parts are read one by one"
)]
pub struct NewProgramRequest {
    /// Required for a user who runs several workspaces.
    workspace_id: Option<i64>,
    /// What it pays by default. If it will not do, no program is made.
    commission_policy: Option<NewPolicyRequest>,
    #[serde(flatten)]
    settings: ProgramChanges,
}

/// A new program. Its token is shown here and never again.
#[derive(Debug, Serialize, ToSchema)]
pub struct CreatedProgram {
    #[serde(flatten)]
    program: ProgramView,
    api_token: String,
}

/// A program in a list.
#[derive(Debug, Serialize, ToSchema)]
pub struct ProgramWithUnpaid {
    #[serde(flatten)]
    program: ProgramView,
    /// Of an archived one, what has not been settled with its partners, by currency; else null.
    unpaid: Option<Vec<UnpaidView>>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct UnpaidView {
    currency: String,
    /// To partners, each less their debt: pending and approved.
    amount_cents: i64,
    /// By partners whose debt is more than that: it was taken back after it had been paid.
    owed_by_partners_cents: i64,
}

impl From<UnpaidOfProgram> for UnpaidView {
    fn from(row: UnpaidOfProgram) -> Self {
        Self {
            currency: row.currency.to_string(),
            amount_cents: row.to_partners.get(),
            owed_by_partners_cents: row.by_partners.get(),
        }
    }
}

const NO_STATUS: &str = "must be draft or live";
const NO_COLUMN: &str = "must be name";

/// List programs
///
/// Those that are within reach, newest first unless sorted; archived ones by themselves.
#[utoipa::path(
    get,
    path = "/api/advertiser/affiliate-programs",
    params(
        ("archived" = Option<bool>, Query, description = "`true`: those that are archived, and only those."),
        ("status" = Option<String>, Query, description = "Only those: `draft` or `live`."),
        ("search" = Option<String>, Query, description = "Only those with this in their name, whatever its case."),
        ("sort" = Option<String>, Query, description = "`name`."),
        OrderQuery,
        PageQuery,
    ),
    responses((status = 200, description = "A page of them.", body = Listed<ProgramWithUnpaid>)),
    extensions(("x-refusals" = json!([
        refused("status", NO_STATUS), refused("search", NO_TEXT), refused("sort", NO_COLUMN)
    ]))),
)]
pub async fn list_programs(
    State(app): State<App>,
    advertiser: Advertiser,
    page: Page,
    query: Query,
) -> List<ProgramWithUnpaid> {
    advertiser.demand(Permission::ProgramList)?;
    let filter = ProgramFilter {
        archived: query.flag("archived")?,
        status: query.parsed("status", NO_STATUS, |text| {
            ProgramStatus::parse(text).filter(|status| *status != ProgramStatus::Archived)
        })?,
        text: query.search()?,
    };
    let sorting = query.sorting(NO_COLUMN, ProgramColumn::parse)?;
    let now = app.clock.now();
    let mut connection = app.management.acquire().await?;
    let reach = advertiser.reach(Permission::ProgramList);
    let (ids, total) =
        workspaces::programs_within(&mut connection, &reach, &filter, sorting, page.window()).await?;
    let ids: Vec<i64> = ids.into_iter().map(ProgramId::get).collect();
    let mut programs = program_settings::find(&mut connection, &ids).await?;
    programs.sort_by_key(|program| ids.iter().position(|id| *id == program.program_id.get()));
    let pays = policies::defaults_in_force(&mut connection, &ids, now).await?;
    let mut unpaid = if filter.archived {
        Some(balances::unpaid(&mut connection, &ids).await?)
    } else {
        None
    };
    let views = programs.iter().map(|program| ProgramWithUnpaid {
        program: ProgramView::new(program, pays.get(&program.program_id)),
        unpaid: unpaid.as_mut().map(|unpaid| {
            let of_program = unpaid.remove(&program.program_id).unwrap_or_default();
            of_program.into_iter().map(Into::into).collect()
        }),
    });
    Ok(page.listed((views, total)))
}

/// Create a program
///
/// A draft, with a tracking token that works at once. It pays nothing before it has a policy.
#[utoipa::path(
    post,
    path = "/api/advertiser/affiliate-programs",
    request_body = NewProgramRequest,
    responses((status = 201, description = "Made. Its token is shown here only.", body = Data<CreatedProgram>)),
    extensions(("x-refusals" = json!([SLUG_TAKEN]))),
)]
pub async fn create_program(mut write: Write<Advertiser>) -> Created<CreatedProgram> {
    write.caller.demand(Permission::ProgramCreate)?;
    let bytes = write.body().bytes()?;
    let named = named_workspace(&bytes)?;
    let policy = first_policy(&bytes)?;
    let settings: ProgramChanges = body::parse(&bytes)?;
    let workspace_id = write.caller.workspace_for_programs(&mut write.db, named).await?;
    let (program, token) = add(&write.app, &mut write.db, workspace_id, settings).await?;
    let audited = Audited::new(workspace_id, "program.created")
        .in_program(program.program_id)
        .about(program.program_id.get())
        .with(json!({ "name": program.settings.name, "slug": program.settings.slug.as_str() }));
    write.record(audited);
    if let Some(policy) = policy {
        let (id, policy) = set_policy(&write.app, &mut write.db, &program, policy).await?;
        let audited = Audited::new(workspace_id, "commission_policy.created")
            .in_program(program.program_id)
            .about(id.get())
            .with(json!(policy));
        write.record(audited);
    }
    let view = view(&write.app, &mut write.db, program.program_id).await?;
    write.commit().await?;
    Ok(created(CreatedProgram {
        program: view,
        api_token: token.expose().to_owned(),
    }))
}

/// Parsed separately, like the named workspace.
fn first_policy(bytes: &[u8]) -> Result<Option<NewPolicyRequest>, ApiError> {
    #[derive(Deserialize)]
    struct Named {
        commission_policy: Field<Object<NewPolicyRequest>>,
    }
    let named: Named = body::parse(bytes)?;
    let policy = named
        .commission_policy
        .optional(|| refused("commission_policy", "must be an object"))?;
    Ok(policy.map(|Object(policy)| policy))
}

pub async fn add(
    app: &App,
    connection: &mut PgConnection,
    workspace_id: WorkspaceId,
    mut changes: ProgramChanges,
) -> Result<(StoredProgram, ProgramToken), ApiError> {
    let name = changes.name.take().unwrap_or_default();
    let name = name.required_name("name", "name is required")?;
    let slug = Slug::of_name(name.as_str(), u32::from_ne_bytes(App::random()));
    let settings = changes.apply(ProgramSettings::new(name, slug))?;
    let token = ProgramToken::generate(App::random());
    let new = NewProgram {
        workspace_id,
        settings: &settings,
        status: ProgramStatus::Draft,
        token: &token,
        created_at: app.clock.now(),
    };
    let program_id = program_settings::create(connection, &new).await?;
    let program_id = program_id.ok_or(SLUG_TAKEN)?;
    Ok((stored(connection, program_id).await?, token))
}

/// Read a program
#[utoipa::path(
    get,
    path = "/api/advertiser/affiliate-programs/{program_id}",
    responses((status = 200, description = "As it is.", body = Data<ProgramView>))
)]
pub async fn read_program(State(app): State<App>, mut read: ReadProgram<Read>) -> Answer<ProgramView> {
    let program_id = read.ids;
    Ok(data(view(&app, &mut read.db, program_id).await?))
}

/// Change a program's settings
#[utoipa::path(
    put,
    path = "/api/advertiser/affiliate-programs/{program_id}",
    request_body = ProgramChanges,
    responses(
        (status = 200, description = "As it is now.", body = Data<ProgramView>),
        (status = 409, description = "It is archived, or its currency is to be another and it has sales.", body = PlatformError),
    ),
    extensions(("x-refusals" = json!([SLUG_TAKEN, HAS_SALES, ARCHIVED]))),
)]
pub async fn update_program(mut write: WriteProgram<Update>) -> Answer<ProgramView> {
    let program_id = write.on.ids;
    let changes: ProgramChanges = write.body().json()?;
    let locked = program_settings::lock(&mut write.db, program_id).await?;
    let locked = locked.ok_or(ApiError::NotFound("Program not found"))?;
    // The program may have been archived while this request waited for the lock.
    if locked.status == ProgramStatus::Archived {
        return Err(ARCHIVED);
    }
    let before = locked.settings;
    let settings = changes.apply(before.clone())?;
    if settings.currency != before.currency && program_settings::has_sales(&mut write.db, program_id).await? {
        return Err(HAS_SALES);
    }
    if program_settings::update(&mut write.db, program_id, &settings).await? == Updated::SlugTaken {
        return Err(SLUG_TAKEN);
    }
    let details = changed(&before, &settings);
    write.audit("program.updated", program_id.get(), details);
    let program = view(&write.app, &mut write.db, program_id).await?;
    write.answer(data(program)).await
}

/// Go live
///
/// A program that is live already stays so.
#[utoipa::path(
    post,
    path = "/api/advertiser/affiliate-programs/{program_id}/publish",
    responses(
        (status = 200, description = "Live.", body = Data<ProgramView>),
        (status = 409, description = "It is archived.", body = PlatformError),
    ),
    extensions(("x-refusals" = json!([ARCHIVED]))),
)]
pub async fn publish_program(mut write: WriteProgram<GoLive>) -> Answer<ProgramView> {
    let program_id = write.on.ids;
    program_settings::publish(&mut write.db, program_id, write.app.clock.now()).await?;
    write.audit("program.published", program_id.get(), json!({}));
    let program = view(&write.app, &mut write.db, program_id).await?;
    write.answer(data(program)).await
}

/// Archive a program
///
/// It takes no new sales from anywhere; its links stop working, and its key but for refunds of what was sold. Records stay,
/// and what is owed is still owed. Archiving again changes nothing.
#[utoipa::path(
    delete,
    path = "/api/advertiser/affiliate-programs/{program_id}",
    responses((status = 200, description = "Archived.", body = Data<ProgramView>))
)]
pub async fn archive_program(mut write: WriteProgram<Delete>) -> Answer<ProgramView> {
    let program_id = write.on.ids;
    write.just_proved()?;
    program_settings::archive(&mut write.db, program_id, write.app.clock.now()).await?;
    write.audit("program.archived", program_id.get(), json!({}));
    let program = view(&write.app, &mut write.db, program_id).await?;
    write.answer(data(program)).await
}

/// The program's current state, with its commission policy.
async fn view(
    app: &App,
    connection: &mut PgConnection,
    program_id: ProgramId,
) -> Result<ProgramView, ApiError> {
    let program = stored(connection, program_id).await?;
    let pays = policies::defaults_in_force(connection, &[program_id.get()], app.clock.now()).await?;
    Ok(ProgramView::new(&program, pays.get(&program_id)))
}

/// Reports show amounts in the program's currency alone: earlier sales would vanish from them.
const HAS_SALES: ApiError = ApiError::Conflict("currency cannot be changed any more: the program has sales");
const SLUG_TAKEN: ApiError = ApiError::refusal("slug is taken by another program");
