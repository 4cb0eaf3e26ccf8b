//! Users, sessions, keys and workspaces. They are created in the tables and signed in over HTTP.

use domain::ids::{PartnerId, UserId, WorkspaceId};
use domain::people::account::{EmailAddress, PasswordHash, UserKind};
use domain::people::permission::Role;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use storage::people::users::{self, NewUser};
use storage::people::workspaces;

use crate::program::Program;
use crate::requests::Answer;
use crate::stack::Stack;

pub const PASSWORD: &str = "correct horse battery";

/// A user with a session.
#[derive(Debug, Clone)]
pub struct Person {
    pub user_id: UserId,
    pub token: String,
}

/// An advertiser: a workspace with its owner, signed in.
#[derive(Debug, Clone)]
pub struct Workspace {
    pub workspace_id: WorkspaceId,
    pub owner: Person,
}

/// The hash of [`PASSWORD`] with the smallest parameters, which the hash itself contains. A hash that the
/// service made takes tens of milliseconds to check.
const HASH: &str =
    "$argon2id$v=19$m=8,t=1,p=1$c2FsdCBvZiB0aGUgdGVzdA$eEe+OE12fqIf4UglQj1cTUJiyqA7SHTq6Od7NMLu79A";

impl Stack {
    pub async fn workspace(&self, name: &str) -> Workspace {
        let mut connection = self.pool().acquire().await.unwrap();
        let workspace_id = workspaces::create(&mut connection, name).await.unwrap();
        drop(connection);
        Workspace {
            workspace_id,
            owner: self
                .member(workspace_id, &format!("owner@{name}.example"), Role::Owner)
                .await,
        }
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
        let answer = self.sign_in(email, PASSWORD).await;
        assert_eq!(answer.status, StatusCode::OK, "{:?}", answer.body);
        Person {
            user_id,
            token: answer.body["jwt"].as_str().unwrap().to_owned(),
        }
    }

    /// Confirms the password. A session must do so again after a while.
    pub async fn prove(&self, person: &Person) {
        let body = json!({ "password": PASSWORD });
        let proved = self
            .submit("/api/auth/confirm-password", Some(&person.token), body)
            .await;
        assert_eq!(proved.status, StatusCode::NO_CONTENT, "{proved:?}");
    }

    pub async fn sign_in(&self, identifier: &str, password: &str) -> Answer {
        let body = json!({ "identifier": identifier, "password": password });
        self.submit("/api/auth/local", None, body).await
    }

    pub async fn get(&self, path: &str, token: &str) -> Answer {
        self.send(self.request(Method::GET, path).bearer_auth(token))
            .await
    }

    pub async fn submit(&self, path: &str, token: Option<&str>, body: Value) -> Answer {
        let request = self.request(Method::POST, path).json(&body);
        self.send(match token {
            Some(token) => request.bearer_auth(token),
            None => request,
        })
        .await
    }

    /// Submits, and asserts that the answer is 200.
    pub async fn submitted(&self, path: &str, token: Option<&str>, body: Value) -> Answer {
        self.submit(path, token, body).await.expect_status(StatusCode::OK)
    }

    /// Submits, and asserts that the answer is 201.
    pub async fn created(&self, path: &str, token: Option<&str>, body: Value) -> Answer {
        self.submit(path, token, body)
            .await
            .expect_status(StatusCode::CREATED)
    }

    pub async fn put(&self, path: &str, token: &str, body: Value) -> Answer {
        self.send(self.request(Method::PUT, path).bearer_auth(token).json(&body))
            .await
    }

    pub async fn patch(&self, path: &str, token: &str, body: Value) -> Answer {
        self.send(self.request(Method::PATCH, path).bearer_auth(token).json(&body))
            .await
    }

    pub async fn delete(&self, path: &str, token: &str) -> Answer {
        self.send(self.request(Method::DELETE, path).bearer_auth(token))
            .await
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
