//! `ctl user`: accounts of people who sign in.

mod password;

use anyhow::{Context, bail, ensure};
use chrono::{DateTime, Utc};
use clap::{Args, Subcommand};
use domain::ids::{UserId, WorkspaceId};
use domain::people::account::{EmailAddress, Password, PasswordHash, PersonName, UserKind};
use domain::people::permission::Role;
use runtime::clock::Clock;
use serde_json::{Value, json};
use sqlx::{PgConnection, PgPool};
use storage::people::one_time_links::{self, LinkPurpose};
use storage::people::users::{self, NewUser};
use storage::people::workspaces::WorkspaceName;
use storage::people::{management_keys, members, passkeys, second_factors, sessions, workspaces};

use crate::audit::{self, Done};
use crate::output;

#[derive(Debug, Subcommand)]
pub enum User {
    /// Create an advertiser's account, and put it into a workspace
    Create(Create),
    /// Suspend an account: its sessions, the management keys it created and its open invitations end
    Suspend(Who),
    /// Restore a suspended account
    Restore(Who),
    /// Replace a forgotten password: every session of the account ends, and its passkeys are removed
    ResetPassword(ResetPassword),
    /// Mark an address as verified, after checking it; prints the account's passkeys and management keys
    Verify(Who),
    /// Remove a lost second factor: every session of the account ends, and the password is enough
    ResetSecondFactor(Who),
}

const EXAMPLES: &str = "\
Examples:
  The first owner of a new workspace, with a password that is shown once:
    ctl user create --email olive@shop.example --name Olive --workspace Shop --generate-password

  A colleague in the same workspace; the password is asked for:
    ctl user create --email sam@shop.example --name Sam --workspace Shop --role admin

  From a script:
    ctl user create --email sam@shop.example --name Sam --workspace-id 1 < password.txt";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Create {
    /// Address to sign in with
    #[arg(long, value_parser = EmailAddress::for_sending)]
    email: EmailAddress,
    /// Name shown to others
    #[arg(long, value_parser = PersonName::parse)]
    name: PersonName,
    /// Workspace by name; created if there is none
    #[arg(long, value_name = "NAME", value_parser = WorkspaceName::parse, conflicts_with = "workspace_id")]
    workspace: Option<WorkspaceName>,
    /// Workspace by id
    #[arg(long, value_name = "ID")]
    workspace_id: Option<i64>,
    /// Role in the workspace; a member starts without permissions
    #[arg(long, value_parser = ["owner", "admin", "member"], default_value = "owner")]
    role: String,
    /// Generate a password and print it once, instead of asking for one or reading it from standard input
    #[arg(long)]
    generate_password: bool,
}

#[derive(Debug, Args)]
pub struct Who {
    /// The address of the account
    #[arg(long, value_parser = EmailAddress::parse)]
    email: EmailAddress,
}

#[derive(Debug, Args)]
pub struct ResetPassword {
    #[command(flatten)]
    who: Who,
    /// Generate a password and print it once, instead of asking for one or reading it from standard input
    #[arg(long)]
    generate_password: bool,
    /// Revoke the management keys that the account created, too
    #[arg(long)]
    revoke_keys: bool,
}

impl User {
    pub async fn run(self, pool: &PgPool) -> anyhow::Result<()> {
        match self {
            Self::Create(create) => create.run(pool).await,
            Self::Suspend(who) => who.set_suspended(pool, true).await,
            Self::Restore(who) => who.set_suspended(pool, false).await,
            Self::ResetPassword(reset) => reset.run(pool).await,
            Self::Verify(who) => who.verify(pool).await,
            Self::ResetSecondFactor(who) => who.reset_second_factor(pool).await,
        }
    }
}

impl Create {
    async fn run(self, pool: &PgPool) -> anyhow::Result<()> {
        let role = Role::parse(&self.role).context("--role")?;
        let password = chosen(self.generate_password, &[self.name.as_str(), self.email.as_str()])?;
        let password_hash = PasswordHash::of(&password, rand::random())?;
        let now = Clock::system().now();
        let new = NewUser {
            kind: UserKind::Advertiser,
            name: self.name.as_str(),
            email: &self.email,
            password_hash: &password_hash,
            verified_at: Some(now),
        };
        let mut transaction = pool.begin().await?;
        let user_id = users::create(&mut transaction, &new)
            .await?
            .with_context(|| format!("{} has an account already", self.email.as_str()))?;
        let workspace_id = self.workspace(&mut transaction).await?;
        if let Some(workspace_id) = workspace_id {
            workspaces::add_member(&mut transaction, workspace_id, user_id, role).await?;
            let details = json!({ "role": role.as_str() });
            let done = Done::in_workspace(workspace_id, now, "user.created", user_id.get(), details);
            audit::append(&mut transaction, done).await?;
        }
        transaction.commit().await?;
        let mut facts = vec![("user_id", user_id.to_string())];
        facts.extend(workspace_id.map(|id| ("workspace_id", id.to_string())));
        if self.generate_password {
            facts.push(("password", password.expose().to_owned()));
        }
        output::facts(facts);
        Ok(())
    }

    /// The named workspace, created if needed. `None` when the account gets no workspace yet.
    async fn workspace(&self, connection: &mut PgConnection) -> anyhow::Result<Option<WorkspaceId>> {
        if let Some(id) = self.workspace_id.map(WorkspaceId::new) {
            ensure!(
                workspaces::exists(connection, id).await?,
                "there is no workspace {id}"
            );
            return Ok(Some(id));
        }
        let Some(name) = &self.workspace else {
            return Ok(None);
        };
        match workspaces::called(connection, name.as_str()).await?.as_slice() {
            [] => Ok(Some(workspaces::create(connection, name.as_str()).await?)),
            [only] => Ok(Some(*only)),
            several => bail!(
                "{} workspaces are called {name}: choose with --workspace-id among {}",
                several.len(),
                several
                    .iter()
                    .map(ToString::to_string)
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
        }
    }
}

fn chosen(generate: bool, personal: &[&str]) -> anyhow::Result<Password> {
    if generate {
        Ok(Password::generate(rand::random()))
    } else {
        password::read(personal)
    }
}

impl ResetPassword {
    async fn run(self, pool: &PgPool) -> anyhow::Result<()> {
        let password = chosen(self.generate_password, &[self.who.email.as_str()])?;
        let password_hash = PasswordHash::of(&password, rand::random())?;
        let now = Clock::system().now();
        let mut transaction = pool.begin().await?;
        let user = self.who.user(&mut transaction).await?;
        users::set_password(&mut transaction, user.user_id, &password_hash).await?;
        one_time_links::end_all(&mut transaction, LinkPurpose::PasswordReset, user.user_id, now).await?;
        let removed = passkeys::remove_all(&mut transaction, user.user_id).await?;
        let details = json!({ "passkeys_removed": removed });
        let action = "user.password_reset";
        audit_account(&mut transaction, user.user_id, action, details, now).await?;
        let ended = sessions::revoke_all(&mut transaction, user.user_id, now).await?;
        let keys = management_keys::active_of_creator(&mut transaction, user.user_id, now).await?;
        let revoked = if self.revoke_keys { keys.len() } else { 0 };
        for &(key_id, workspace_id) in keys.iter().take(revoked) {
            management_keys::revoke(&mut transaction, key_id, now).await?;
            let details = json!({ "reason": "password_reset" });
            let done = Done::in_workspace(workspace_id, now, "api_key.revoked", key_id.get(), details);
            audit::append(&mut transaction, done).await?;
        }
        transaction.commit().await?;
        let mut facts = vec![
            ("user_id", user.user_id.to_string()),
            ("sessions_ended", ended.to_string()),
            ("passkeys_removed", removed.to_string()),
            ("management_keys", keys.len().to_string()),
            ("management_keys_revoked", revoked.to_string()),
        ];
        if self.generate_password {
            facts.push(("password", password.expose().to_owned()));
        }
        output::facts(facts);
        Ok(())
    }
}

impl Who {
    async fn user(&self, connection: &mut PgConnection) -> anyhow::Result<users::User> {
        users::find_by_email(connection, &self.email)
            .await?
            .with_context(|| format!("no account has the address {}", self.email.as_str()))
    }

    async fn verify(self, pool: &PgPool) -> anyhow::Result<()> {
        let now = Clock::system().now();
        let mut transaction = pool.begin().await?;
        let user = self.user(&mut transaction).await?;
        if users::verify(&mut transaction, user.user_id, now).await? {
            audit_account(&mut transaction, user.user_id, "user.verified", json!({}), now).await?;
        }
        let passkeys = passkeys::list(&mut transaction, user.user_id).await?;
        let keys = management_keys::active_of_creator(&mut transaction, user.user_id, now).await?;
        transaction.commit().await?;
        output::facts([
            ("user_id", user.user_id.to_string()),
            ("passkeys", passkeys.len().to_string()),
            ("management_keys", keys.len().to_string()),
        ]);
        Ok(())
    }

    async fn reset_second_factor(self, pool: &PgPool) -> anyhow::Result<()> {
        let now = Clock::system().now();
        let mut transaction = pool.begin().await?;
        let user = self.user(&mut transaction).await?;
        let passkeys = passkeys::remove_all(&mut transaction, user.user_id).await?;
        ensure!(
            second_factors::remove(&mut transaction, user.user_id).await? || passkeys > 0,
            "this account has no second factor and no passkey"
        );
        let details = json!({ "passkeys_removed": passkeys });
        let action = "user.second_factor_reset";
        audit_account(&mut transaction, user.user_id, action, details, now).await?;
        let ended = sessions::revoke_all(&mut transaction, user.user_id, now).await?;
        transaction.commit().await?;
        output::facts([
            ("user_id", user.user_id.to_string()),
            ("passkeys_removed", passkeys.to_string()),
            ("sessions_ended", ended.to_string()),
        ]);
        Ok(())
    }

    async fn set_suspended(self, pool: &PgPool, suspended: bool) -> anyhow::Result<()> {
        let now = Clock::system().now();
        let mut transaction = pool.begin().await?;
        let user = self.user(&mut transaction).await?;
        let memberships = workspaces::of_user(&mut transaction, user.user_id).await?;
        // Locks the workspaces, so that an invitation is accepted before the suspension or sees it. They are
        // in ascending order: two commands may run at once.
        for membership in &memberships {
            members::lock(&mut transaction, membership.workspace_id).await?;
        }
        users::set_suspended(&mut transaction, user.user_id, suspended).await?;
        let ended = if suspended {
            sessions::revoke_all(&mut transaction, user.user_id, now).await?
        } else {
            0
        };
        let (action, status) = if suspended {
            for membership in memberships {
                end_unsupported(&mut transaction, membership.workspace_id, now).await?;
            }
            ("user.suspended", "suspended")
        } else {
            ("user.restored", "active")
        };
        audit_account(&mut transaction, user.user_id, action, json!({}), now).await?;
        transaction.commit().await?;
        output::facts([
            ("user_id", user.user_id.to_string()),
            ("status", status.to_owned()),
            ("sessions_ended", ended.to_string()),
        ]);
        Ok(())
    }
}

/// Appends an entry to the audit log of every workspace of the account.
async fn audit_account(
    connection: &mut PgConnection,
    user_id: UserId,
    action: &'static str,
    details: Value,
    now: DateTime<Utc>,
) -> anyhow::Result<()> {
    for membership in workspaces::of_user(connection, user_id).await? {
        let workspace_id = membership.workspace_id;
        let done = Done::in_workspace(workspace_id, now, action, user_id.get(), details.clone());
        audit::append(connection, done).await?;
    }
    Ok(())
}

/// Ends management keys, open invitations, CLI logins and CLI sessions to which the account has lost the
/// right.
async fn end_unsupported(
    connection: &mut PgConnection,
    workspace_id: WorkspaceId,
    now: DateTime<Utc>,
) -> anyhow::Result<()> {
    for (action, subject_id) in workspaces::end_unsupported(connection, workspace_id, now).await? {
        let details = json!({ "reason": "right_ended" });
        let done = Done::in_workspace(workspace_id, now, action, subject_id, details);
        audit::append(connection, done).await?;
    }
    Ok(())
}
