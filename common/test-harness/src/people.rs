//! Users, sessions, keys and workspaces. They are created in the tables and signed in over HTTP.

use domain::ids::{PartnerId, UserId, WorkspaceId};
use domain::people::account::{EmailAddress, PasswordHash, UserKind};
use domain::people::permission::Role;
use reqwest::Method;
use serde_json::{Value, json};
use storage::people::users::{self, NewUser};
use storage::people::workspaces;

use crate::program::Program;
use crate::requests::{Answer, Client};
use crate::stack::Stack;

pub const PASSWORD: &str = "correct horse battery";

/// A user with a session, and a client that uses it.
#[derive(Debug, Clone)]
pub struct Person {
    pub user_id: UserId,
    pub token: String,
    client: Client,
}

impl Person {
    pub async fn get(&self, path: &str) -> Answer {
        self.call(Method::GET, path, None).await
    }

    pub async fn submit(&self, path: &str, body: Value) -> Answer {
        self.call(Method::POST, path, Some(body)).await
    }

    pub async fn put(&self, path: &str, body: Value) -> Answer {
        self.call(Method::PUT, path, Some(body)).await
    }

    pub async fn patch(&self, path: &str, body: Value) -> Answer {
        self.call(Method::PATCH, path, Some(body)).await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        self.call(Method::DELETE, path, None).await
    }

    pub async fn call(&self, method: Method, path: &str, body: Option<Value>) -> Answer {
        let token = Some(self.token.as_str());
        self.client.call(method, path, token, body.as_ref()).await
    }

    /// The same person in another session.
    #[must_use]
    pub fn in_session(&self, token: String) -> Self {
        Self {
            token,
            ..self.clone()
        }
    }

    /// Creates a key of the workspace that the person runs. Returns the key in the answer.
    pub async fn api_key(&self, settings: Value) -> Value {
        let made = self.submit("/api/advertiser/api-keys", settings).await;
        made.created().body["data"].clone()
    }
}

/// An advertiser: a workspace with its owner, signed in.
#[derive(Debug, Clone)]
pub struct Workspace {
    pub workspace_id: WorkspaceId,
    pub owner: Person,
    name: String,
}

impl Workspace {
    /// Adds a signed-in member, `name@workspace.example`.
    pub async fn join(&self, stack: &Stack, name: &str, role: Role) -> Person {
        let email = format!("{name}@{}.example", self.name);
        stack.member(self.workspace_id, &email, role).await
    }

    /// Adds an account that exists already.
    pub async fn admit(&self, stack: &Stack, person: &Person, role: Role) {
        let mut connection = stack.pool().acquire().await.unwrap();
        workspaces::add_member(&mut connection, self.workspace_id, person.user_id, role)
            .await
            .unwrap()
            .unwrap();
    }
}

/// The hash of [`PASSWORD`] with the smallest parameters, which the hash itself contains. A hash that the
/// service made takes tens of milliseconds to check.
const HASH: &str =
    "$argon2id$v=19$m=8,t=1,p=1$c2FsdCBvZiB0aGUgdGVzdA$eEe+OE12fqIf4UglQj1cTUJiyqA7SHTq6Od7NMLu79A";

impl Stack {
    /// A running stack and the workspace `acme`.
    pub async fn with_workspace() -> (Self, Workspace) {
        let stack = Self::start().await;
        let acme = stack.workspace("acme").await;
        (stack, acme)
    }

    pub async fn workspace(&self, name: &str) -> Workspace {
        let mut connection = self.pool().acquire().await.unwrap();
        let workspace_id = workspaces::create(&mut connection, name).await.unwrap();
        drop(connection);
        let email = format!("owner@{name}.example");
        Workspace {
            workspace_id,
            owner: self.member(workspace_id, &email, Role::Owner).await,
            name: name.to_owned(),
        }
    }

    /// The path of a person's only membership.
    pub async fn member_path(&self, person: &Person) -> String {
        let id: i64 = sqlx::query_scalar("SELECT id FROM workspace_members WHERE user_id = $1")
            .bind(person.user_id.get())
            .fetch_one(self.pool())
            .await
            .unwrap();
        format!("/api/advertiser/members/{id}")
    }

    /// Accepts an invitation with [`PASSWORD`].
    pub async fn accept(&self, token: &str, name: &str) -> Answer {
        let body = json!({ "token": token, "name": name, "password": PASSWORD });
        self.submit("/api/auth/invitations/accept", None, body).await
    }

    pub async fn member(&self, workspace_id: WorkspaceId, email: &str, role: Role) -> Person {
        let user_id = self.user(UserKind::Advertiser, email).await;
        let mut connection = self.pool().acquire().await.unwrap();
        workspaces::add_member(&mut connection, workspace_id, user_id, role)
            .await
            .unwrap()
            .unwrap();
        drop(connection);
        self.signed_in(user_id, email).await
    }

    pub async fn workspace_of(&self, program: &Program) -> WorkspaceId {
        let query = format!(
            "SELECT workspace_id FROM programs WHERE id = {}",
            program.program_id
        );
        WorkspaceId::new(self.value(&query).await)
    }

    /// Adds a signed-in owner to the workspace of a program that [`Self::program`] made.
    pub async fn owner_of(&self, program: &Program) -> Person {
        let email = format!("owner-of-{}@program.example", program.program_id);
        self.member(self.workspace_of(program).await, &email, Role::Owner)
            .await
    }

    /// Adds a signed-in member without permissions to the workspace of a program.
    pub async fn member_of(&self, program: &Program, email: &str) -> Person {
        self.member(self.workspace_of(program).await, email, Role::Member)
            .await
    }

    /// Gives a member these permissions for a program, separated by commas, and takes all others.
    pub async fn permit(&self, program: &Program, member: &Person, permissions: &str) {
        self.execute(&format!(
            "DELETE FROM member_permissions;
             INSERT INTO member_permissions SELECT id, {}, '{{{permissions}}}' FROM workspace_members
             WHERE user_id = {}",
            program.program_id, member.user_id
        ))
        .await;
    }

    /// Opens a new session, for example because the earlier one has expired.
    pub async fn sign_in_again(&self, person: &mut Person) {
        let query = format!("SELECT email FROM users WHERE id = {}", person.user_id);
        let email: String = self.value(&query).await;
        *person = self.signed_in(person.user_id, &email).await;
    }

    /// A partner's account, linked to these partner records.
    pub async fn account_of(&self, email: &str, partners: &[PartnerId]) -> Person {
        let user_id = self.user(UserKind::Partner, email).await;
        let ids: Vec<i64> = partners.iter().map(|partner_id| partner_id.get()).collect();
        sqlx::query("UPDATE partners SET user_id = $1 WHERE id = ANY($2)")
            .bind(user_id.get())
            .bind(ids)
            .execute(self.pool())
            .await
            .unwrap();
        self.signed_in(user_id, email).await
    }

    /// An account with [`PASSWORD`].
    pub async fn user(&self, kind: UserKind, email: &str) -> UserId {
        let mut connection = self.pool().acquire().await.unwrap();
        let new = NewUser {
            kind,
            name: "Somebody",
            email: &EmailAddress::parse(email).unwrap(),
            password_hash: &PasswordHash::stored(HASH.to_owned()),
            verified_at: Some(self.clock.now()),
        };
        users::create(&mut connection, &new).await.unwrap().unwrap()
    }

    pub async fn signed_in(&self, user_id: UserId, email: &str) -> Person {
        Person {
            user_id,
            token: self.sign_in(email, PASSWORD).await.ok().session(),
            client: self.client.clone(),
        }
    }

    /// Confirms the password. A session must do so again after a while.
    pub async fn prove(&self, person: &Person) {
        let body = json!({ "password": PASSWORD });
        person.submit("/api/auth/confirm-password", body).await.is(204);
    }

    pub async fn sign_in(&self, identifier: &str, password: &str) -> Answer {
        let body = json!({ "identifier": identifier, "password": password });
        self.submit("/api/auth/local", None, body).await
    }

    /// Reads without a credential.
    pub async fn visit(&self, path: &str) -> Answer {
        self.client.call(Method::GET, path, None, None).await
    }

    pub async fn get(&self, path: &str, token: &str) -> Answer {
        self.client.call(Method::GET, path, Some(token), None).await
    }

    pub async fn submit(&self, path: &str, token: Option<&str>, body: Value) -> Answer {
        self.client.call(Method::POST, path, token, Some(&body)).await
    }

    pub async fn put(&self, path: &str, token: &str, body: Value) -> Answer {
        let token = Some(token);
        self.client.call(Method::PUT, path, token, Some(&body)).await
    }

    pub async fn patch(&self, path: &str, token: &str, body: Value) -> Answer {
        let token = Some(token);
        self.client.call(Method::PATCH, path, token, Some(&body)).await
    }

    pub async fn delete(&self, path: &str, token: &str) -> Answer {
        self.client.call(Method::DELETE, path, Some(token), None).await
    }

    /// Runs a statement in this test's own database.
    pub async fn execute(&self, statement: &str) {
        sqlx::raw_sql(sqlx::AssertSqlSafe(statement.to_owned()))
            .execute(self.pool())
            .await
            .unwrap();
    }

    /// Runs a statement about links or memberships while the worker may count clicks. It first locks the
    /// links by ascending id, as the product does. In another order, the statement and the count could
    /// deadlock.
    pub async fn execute_on_links(&self, statement: &str) {
        self.execute(&format!(
            "SELECT FROM referral_links ORDER BY id FOR NO KEY UPDATE; {statement}"
        ))
        .await;
    }
}
