//! `POST /api/auth/invitations/inspect` and `…/accept`: shows what an invitation is for, and accepts it. The
//! token comes in the body: paths and queries end up in logs.

use axum::Extension;
use axum::http::StatusCode;
use axum::response::Response;
use chrono::{DateTime, Utc};
use domain::ids::UserId;
use domain::people::account::{Password, PasswordHash, PersonName};
use domain::people::email_content::EmailContent;
use domain::token::InvitationToken;
use messages::instant::as_instant;
use serde_json::json;
use sqlx::PgConnection;
use storage::operations::audit_log::AuditActor;
use storage::people::invitations::{self, OpenInvitation, Purpose};
use storage::people::users::{self, NewUser, User};
use storage::people::{members, workspaces};
use storage::program::partners;

use super::address_verification;
use super::open_session::{SignInMethod, SignedInAnswer, sign_in_by};
use crate::http::body::RequestBody;
use crate::http::client_address::ClientAddress;
use crate::http::field::{Field, refused};
use crate::http::openapi::envelopes::RateLimited;
use crate::management::access::{Audited, Proof, Source, commit};
use crate::management::advertiser::workspace::invitations::MEMBER_ALREADY;
use crate::management::emails;
use crate::management::prelude::*;

#[derive(Debug, Deserialize, ToSchema)]
pub struct InspectRequest {
    /// The last part of the link.
    #[schema(value_type = String)]
    token: Field<String>,
}

#[derive(Debug, Deserialize, ToSchema)]
pub struct AcceptRequest {
    /// The last part of the link.
    #[schema(value_type = String)]
    token: Field<String>,
    /// Of the new account. Where the address has an account, that keeps its name.
    #[schema(value_type = Option<String>, max_length = 120)]
    name: Field<String>,
    /// Of the new account; where the address has one already, that account's.
    #[schema(value_type = String, max_length = 128)]
    password: Field<String>,
    /// Where the address has an account with a second factor.
    #[schema(value_type = Option<String>)]
    code: Field<String>,
}

/// What an invitation is for.
#[derive(Debug, Serialize, ToSchema)]
pub struct InvitationInspected {
    /// Of the account it takes: `advertiser`, to work in a workspace, or `partner`.
    kind: &'static str,
    /// Of the workspace or, for a partner, of the program.
    name: String,
    /// The account's address.
    email: String,
    #[serde(serialize_with = "as_instant")]
    expires_at: DateTime<Utc>,
}

enum Guest {
    Known(User, Proof),
    New {
        name: PersonName,
        password_hash: PasswordHash,
    },
}

/// What an invitation is for
#[utoipa::path(
    post,
    path = "/api/auth/invitations/inspect",
    request_body = InspectRequest,
    responses(
        (status = 200, description = "It can be accepted.", body = Data<InvitationInspected>),
        (status = 404, description = "There is none, or it has ended.", body = PlatformError),
        (status = 429, description = "Too many unknown tokens from this address.", body = RateLimited),
    ),
    extensions(("x-refusals" = json!([NONE]))),
)]
pub async fn inspect_invitation(
    State(app): State<App>,
    client: Option<Extension<ClientAddress>>,
    body: RequestBody,
) -> Answer<InvitationInspected> {
    let request: InspectRequest = body.json()?;
    let invitation = open(&app, client.map(|Extension(client)| client), request.token).await?;
    Ok(data(InvitationInspected {
        kind: invitation.purpose.user_kind().as_str(),
        name: invitation.name,
        email: invitation.email.as_str().to_owned(),
        expires_at: invitation.expires_at,
    }))
}

/// Accept an invitation
///
/// Makes an account and signs it in. An address that has an account already accepts with that account's password. A link that was e-mailed verifies
/// the address.
#[utoipa::path(
    post,
    path = "/api/auth/invitations/accept",
    request_body = AcceptRequest,
    responses(
        (status = 201, description = "Accepted and signed in, for 14 days.", body = SignedInAnswer),
        (status = 400, description = "The name or password will not do.", body = PlatformError),
        (status = 403, description = "The account has a second factor, whose code is missing; or it is suspended, or a page of another \
                                      site asks.", body = PlatformError),
        (status = 404, description = "There is none, or it has ended.", body = PlatformError),
        (status = 409, description = "The account is of another kind or is a member already, or the invitation was accepted meanwhile.",
         body = PlatformError),
        (status = 429, description = "Too many attempts from this address, or for this account.", body = RateLimited),
    ),
    extensions(("x-refusals" = json!([
        WRONG_PASSWORD, ApiError::AccountBlocked, NONE, OTHER_KIND, JUST_ENDED, JUST_MADE
    ]))),
)]
pub async fn accept_invitation(
    State(app): State<App>,
    source: Source,
    body: RequestBody,
) -> Result<Response, ApiError> {
    let request: AcceptRequest = body.json()?;
    let password = request.password.required("password is required")?;
    let invitation = open(&app, source.client, request.token).await?;
    // Guesses of the account's password are counted as at sign-in.
    app.limits
        .spend_sign_in(source.client, invitation.email.as_str())
        .await?;
    let account = users::find_by_email(&mut *app.management.acquire().await?, &invitation.email).await?;
    let guest = if let Some(user) = account {
        let proof = Proof::of(password, request.code)?;
        let user = known(&app, &source, user, &proof, &invitation).await?;
        Guest::Known(user, proof)
    } else {
        let name = request.name.required_name("name", "name is required")?;
        let personal = [name.as_str(), invitation.email.as_str()];
        let password_hash = chosen(&app, password, &personal).await?;
        Guest::New { name, password_hash }
    };
    let mut transaction = app.management.begin().await?;
    if let Guest::Known(user, proof) = &guest {
        proof
            .take_second_factor(&app, &mut transaction, &source, user.user_id)
            .await?;
    }
    // A concurrent change of the inviter's rights either waits for this transaction or is seen by it.
    members::lock(&mut transaction, invitation.workspace_id).await?;
    if !invitations::accept(&mut transaction, invitation.invitation_id, app.clock.now()).await? {
        return Err(JUST_ENDED);
    }
    let (mut user, method) = match guest {
        Guest::Known(user, _) => (user, SignInMethod::Password),
        Guest::New { name, password_hash } => {
            let user = register(&mut transaction, &invitation, &name, &password_hash).await?;
            (user, SignInMethod::NewAccount)
        }
    };
    take_place(&mut transaction, &invitation, user.user_id).await?;
    // Follows the membership, so that the workspace's audit log gets a member's verification.
    if invitation.emailed {
        address_verification::verify(&app, &mut transaction, &source, user.user_id).await?;
        user.verified = true;
    } else if method == SignInMethod::NewAccount {
        address_verification::send_link(&app, &mut transaction, &user).await?;
    }
    let audited = Audited::new(invitation.workspace_id, "invitation.accepted")
        .in_program(match invitation.purpose {
            Purpose::Member { .. } => None,
            Purpose::Partner { program_id, .. } => Some(program_id),
        })
        .about(invitation.invitation_id.get())
        .with(json!({ "kind": user.kind.as_str() }));
    let actor = AuditActor::User(user.user_id);
    source.audit(&app, &mut transaction, actor, audited).await?;
    let mut answer = sign_in_by(method, &app, &mut transaction, &source, &user).await?;
    commit(transaction).await?;
    *answer.status_mut() = StatusCode::CREATED;
    Ok(answer)
}

async fn open(
    app: &App,
    client: Option<ClientAddress>,
    token: Field<String>,
) -> Result<OpenInvitation, ApiError> {
    let text = token.required("token is required")?;
    let token = InvitationToken::parse(&text).ok_or(NONE)?;
    app.limits.admit_token(client)?;
    let mut connection = app.management.acquire().await?;
    let found = invitations::find_open(&mut connection, token.hash(), app.clock.now()).await?;
    app.limits.count_if_unknown(client, found).ok_or(NONE)
}

/// The state of an account is revealed only with its password.
async fn known(
    app: &App,
    source: &Source,
    user: User,
    proof: &Proof,
    invitation: &OpenInvitation,
) -> Result<User, ApiError> {
    if !proof.has_password_of(app, source, Some(&user)).await? {
        alarm(app, user, invitation.name.clone())?;
        return Err(WRONG_PASSWORD);
    }
    if user.suspended {
        return Err(ApiError::AccountBlocked);
    }
    if user.kind != invitation.purpose.user_kind() {
        return Err(OTHER_KIND);
    }
    Ok(user)
}

/// E-mails the account's owner that someone else holds an invitation for the owner's address.
fn alarm(app: &App, user: User, invited_to: String) -> Result<(), ApiError> {
    if !app.emails.are_on() || user.suspended {
        return Ok(());
    }
    let behind = app.clone();
    app.emails.behind_the_answer(async move {
        let app = &behind;
        let content = EmailContent::SecondClaim {
            at: app.clock.now(),
            invited_to,
            account_link: emails::account_link(app),
        };
        let mut connection = app.management.acquire().await?;
        emails::write_to_owner(app, &mut connection, &user, &content).await
    })
}

async fn chosen(app: &App, password: String, personal: &[&str]) -> Result<PasswordHash, ApiError> {
    let password =
        Password::choose(password, personal).map_err(|error| refused("password", &error.to_string()))?;
    app.passwords.hash(password, App::random()).await
}

async fn register(
    connection: &mut PgConnection,
    invitation: &OpenInvitation,
    name: &PersonName,
    password_hash: &PasswordHash,
) -> Result<User, ApiError> {
    let new = NewUser {
        kind: invitation.purpose.user_kind(),
        name: name.as_str(),
        email: &invitation.email,
        password_hash,
        verified_at: None,
    };
    // Another invitation for the same address may have been accepted meanwhile.
    let user_id = users::create(connection, &new).await?.ok_or(JUST_MADE)?;
    let found = users::find(connection, user_id).await?;
    found.ok_or_else(|| ApiError::unexpected(anyhow::anyhow!("the account just made is not there")))
}

async fn take_place(
    connection: &mut PgConnection,
    invitation: &OpenInvitation,
    user_id: UserId,
) -> Result<(), ApiError> {
    match &invitation.purpose {
        Purpose::Member { role, permissions } => {
            let member_id = workspaces::add_member(connection, invitation.workspace_id, user_id, *role)
                .await?
                .ok_or(MEMBER_ALREADY)?;
            members::set_permissions(connection, member_id, permissions).await?;
        }
        Purpose::Partner { partner_id, .. } => {
            if !partners::give_to(connection, *partner_id, user_id).await? {
                return Err(JUST_ENDED);
            }
        }
    }
    Ok(())
}

/// The same refusal for every token that opens no invitation.
const NONE: ApiError = ApiError::NotFound("Invitation not found, or no longer valid");
const WRONG_PASSWORD: ApiError =
    ApiError::refusal("This address has an account: password must be that account's");
const OTHER_KIND: ApiError = ApiError::Conflict("This address has an account of another kind");
const JUST_ENDED: ApiError = ApiError::Conflict("This invitation has just been accepted or withdrawn");
const JUST_MADE: ApiError =
    ApiError::Conflict("This address has just got an account: accept with its password");
