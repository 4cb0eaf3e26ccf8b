//! A tenant that any text identifies: its marker is in every free text, and its ids are in a range of its
//! own.

mod rows;

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};
use domain::ids::{ManagementKeyId, ProgramId, UserId, WorkspaceId};
use domain::name::Name;
use domain::people::account::{EmailAddress, PasswordHash, UserKind};
use domain::people::management_key::KeySettings;
use domain::people::permission::{Permission, ProgramPermissions, ProgramScope, Role, Scopes};
use domain::people::unsubscribe::unsubscribe_token;
use domain::programs::program::{ProgramSettings, ProgramStatus, Slug};
use domain::programs::tracking_token::TokenScopes;
use domain::sealed::SealingKeys;
use domain::text::Text;
use domain::token::{ManagementKey, ProgramToken, SessionToken};
use serde_json::{Value, json};
use storage::people::management_keys::{self, NewKey};
use storage::people::passkeys::{self, NewPasskey};
use storage::people::sessions::{self, NewSession, SessionKind, Whereabouts};
use storage::people::users::{self, NewUser};
use storage::people::{members, workspaces};
use storage::program::program_settings::{self, NewProgram};
use storage::program::tracking_tokens::{self, NewToken};
use test_harness::Stack;

/// Each tenant's ids begin with this number, then the tenant's number, then six digits.
const IDS: i64 = 7_000_000;
const IDS_EACH: i64 = 1_000_000;

/// A tenant with at least one of everything, and every kind of credential.
pub struct Tenant {
    pub number: i64,
    /// By the names that the table and the paths use.
    pub credentials: BTreeMap<String, String>,
    /// The values for the names in braces in paths, queries and bodies.
    pub resources: BTreeMap<&'static str, Value>,
}

/// A text that only this tenant's rows contain.
pub fn marker(number: i64) -> String {
    format!("quokka{number}q")
}

/// The numbers of the tenants whose marker or ids a text contains.
pub fn told_of(text: &str, tenants: i64) -> Vec<i64> {
    let markers = text
        .split("quokka")
        .skip(1)
        .filter_map(|rest| rest.split_once('q')?.0.parse().ok());
    let ids = text
        .split(|c: char| !c.is_ascii_digit())
        .filter_map(|digits| digits.parse::<i64>().ok())
        .map(|id| id / IDS_EACH - IDS);
    let mut numbers: Vec<i64> = markers
        .chain(ids)
        .filter(|number| (0..tenants).contains(number))
        .collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

/// The state while a tenant is created.
struct Making<'a> {
    stack: &'a Stack,
    now: DateTime<Utc>,
    marker: String,
    workspace_id: WorkspaceId,
    credentials: BTreeMap<String, String>,
    resources: BTreeMap<&'static str, Value>,
}

impl Tenant {
    pub async fn create(stack: &Stack, number: i64) -> Self {
        ids_from(stack, (IDS + number) * IDS_EACH).await;
        let marker = marker(number);
        let mut connection = stack.pool().acquire().await.unwrap();
        let workspace_id = workspaces::create(&mut connection, &format!("{marker} workspace"))
            .await
            .unwrap();
        drop(connection);
        let mut making = Making {
            stack,
            now: stack.clock.now(),
            marker,
            workspace_id,
            credentials: BTreeMap::new(),
            resources: BTreeMap::from([("workspace_id", json!(workspace_id))]),
        };
        let (program_id, token) = making.program("program").await;
        let (other_program_id, _) = making.program("other").await;
        making.name("program key", &token);
        making.put("program_id", program_id);
        making.retired_program_key().await;
        let owner = making.people(program_id).await;
        making.keys(owner, other_program_id).await;
        making.tracking_token(owner, program_id).await;
        making.passkey(owner).await;
        making.partners(program_id, &token).await;
        making.audited(owner, program_id).await;
        making.rows(program_id).await;
        making.webhook_endpoint(program_id).await;
        let Making {
            credentials,
            resources,
            ..
        } = making;
        // Rows that the calls create belong to no tenant's range.
        ids_from(stack, 600_000_000_000 + number * IDS_EACH).await;
        Self {
            number,
            credentials,
            resources,
        }
    }
}

/// Gives every row that is created from now on an id from `start` on.
async fn ids_from(stack: &Stack, start: i64) {
    let identities = "SELECT setval(pg_get_serial_sequence(quote_ident(table_name), column_name), {start})
                      FROM information_schema.columns
                      WHERE table_schema = 'public' AND is_identity = 'YES'";
    stack
        .execute(&identities.replace("{start}", &start.to_string()))
        .await;
}

impl Making<'_> {
    fn name(&mut self, credential: &str, token: &str) {
        self.credentials.insert(credential.to_owned(), token.to_owned());
    }

    fn put(&mut self, resource: &'static str, id: impl Into<Value>) {
        self.resources.insert(resource, id.into());
    }

    /// Puts the id that a statement returns.
    async fn put_id(&mut self, resource: &'static str, statement: &str) -> i64 {
        let id: i64 = self.stack.value(statement).await;
        self.put(resource, id);
        id
    }

    async fn program(&self, name: &str) -> (i64, String) {
        let token = ProgramToken::generate(rand::random());
        let slug = Slug::parse(&format!("{}-{name}", self.marker)).unwrap();
        let settings = ProgramSettings {
            description: Some(Text::parse(&format!("{} description", self.marker)).unwrap()),
            ..ProgramSettings::new(Name::parse(&format!("{} {name}", self.marker)).unwrap(), slug)
        };
        let new = NewProgram {
            workspace_id: self.workspace_id,
            settings: &settings,
            status: ProgramStatus::Live,
            token: &token,
            created_at: self.now,
        };
        let mut connection = self.stack.pool().acquire().await.unwrap();
        let created = program_settings::create(&mut connection, &new).await;
        let program_id = created.unwrap().unwrap();
        drop(connection);
        let statement = format!(
            "INSERT INTO commission_policies (program_id, effective_from, commission_type, rate_bps)
                 VALUES ({program_id}, '2000-01-01', 'cps_lifetime', 2000)"
        );
        self.stack.execute(&statement).await;
        (program_id.get(), token.expose().to_owned())
    }

    /// The key's deadline was yesterday.
    async fn retired_program_key(&mut self) {
        let (program_id, token) = self.program("retired").await;
        let statement = format!(
            "UPDATE programs SET key_rotation_marked_at = now() - interval '2 days',
                     key_rotation_rotate_by = now() - interval '1 day' WHERE id = {program_id}"
        );
        self.stack.execute(&statement).await;
        self.name("retired program key", &token);
    }

    /// Creates all members of the workspace; returns the owner.
    async fn people(&mut self, program_id: i64) -> UserId {
        let mut owner = None;
        for (name, role, given) in [
            ("owner", Role::Owner, None),
            ("admin", Role::Admin, None),
            ("member", Role::Member, None),
            ("member with program:*", Role::Member, Some(&["program:*"][..])),
            (
                "member with tracking:*",
                Role::Member,
                Some(&["tracking:read", "tracking:list"]),
            ),
            ("suspended user", Role::Admin, None),
            // The member that the calls change or remove; there is another owner.
            ("changed member", Role::Member, None),
        ] {
            let user_id = self.user(UserKind::Advertiser, name).await;
            let mut connection = self.stack.pool().acquire().await.unwrap();
            let member_id = workspaces::add_member(&mut connection, self.workspace_id, user_id, role)
                .await
                .unwrap()
                .unwrap();
            if let Some(given) = given {
                let permissions = ProgramPermissions::parse(given.iter().copied()).unwrap();
                let given = [(ProgramId::new(program_id), permissions)].into();
                members::set_permissions(&mut connection, member_id, &given)
                    .await
                    .unwrap();
            }
            drop(connection);
            self.put("member_id", member_id.get());
            self.session(name, user_id, SessionKind::Dashboard).await;
            if role == Role::Owner {
                owner = Some(user_id);
            }
        }
        self.credentials.remove("changed member");
        let statement = format!(
            "UPDATE users SET status = 'suspended' WHERE email LIKE 'suspended%@{}.example'",
            self.marker
        );
        self.stack.execute(&statement).await;
        let owner = owner.unwrap();
        self.session("ended session", owner, SessionKind::Dashboard).await;
        let statement = format!(
            "UPDATE sessions SET revoked_at = now()
                 WHERE id = (SELECT max(id) FROM sessions WHERE user_id = {owner})"
        );
        self.stack.execute(&statement).await;
        let of_workspace = SessionKind::Cli(self.workspace_id);
        self.session("session of the command line", owner, of_workspace)
            .await;
        owner
    }

    async fn user(&self, kind: UserKind, name: &str) -> UserId {
        let local = name.replace([' ', ':', '*'], "-");
        let email = EmailAddress::parse(&format!("{local}@{}.example", self.marker)).unwrap();
        let new = NewUser {
            kind,
            name: &format!("{} {name}", self.marker),
            email: &email,
            password_hash: &PasswordHash::stored("of no password".to_owned()),
            verified_at: Some(self.now),
        };
        let mut connection = self.stack.pool().acquire().await.unwrap();
        let user_id = users::create(&mut connection, &new).await.unwrap();
        user_id.unwrap()
    }

    async fn session(&mut self, name: &str, user_id: UserId, kind: SessionKind) {
        let token = SessionToken::generate(rand::random());
        let new = NewSession {
            // The owner has a passkey, and changes passkeys and second factor.
            by_passkey: name == "owner",
            user_id,
            kind,
            token_hash: token.hash(),
            created_at: self.now,
            expires_at: self.now + TimeDelta::days(1),
            whereabouts: &Whereabouts::default(),
        };
        let mut connection = self.stack.pool().acquire().await.unwrap();
        let session_id = sessions::open(&mut connection, &new).await.unwrap();
        // The path of a session that may be ended names a session that makes no call.
        if name == "ended session" {
            self.put("session_id", session_id.get());
        }
        self.name(name, token.expose());
    }

    /// One key with all scopes, one with each, one for another program, one revoked and one expired.
    async fn keys(&mut self, owner: UserId, other_program_id: i64) {
        let names = Permission::ALL.iter().map(|permission| permission.as_str());
        for scope in std::iter::once("*").chain(names) {
            // Not every permission may be a scope.
            if let Ok(scopes) = Scopes::parse([scope]) {
                self.key(&format!("key with {scope}"), owner, scopes, None).await;
            }
        }
        let other = Some(other_program_id);
        self.key("key for another program", owner, Scopes::ALL, other)
            .await;
        for (name, assignment) in [
            ("revoked key", "status = 'revoked', revoked_at = now()"),
            ("expired key", "expires_at = now() - interval '1 second'"),
        ] {
            let key_id = self.key(name, owner, Scopes::ALL, None).await;
            let statement = format!("UPDATE management_keys SET {assignment} WHERE id = {key_id}");
            self.stack.execute(&statement).await;
        }
        let key_id = self.key("changed key", owner, Scopes::ALL, None).await;
        self.put("key_id", key_id.get());
        self.credentials.remove("changed key");
    }

    async fn passkey(&mut self, owner: UserId) {
        let mut connection = self.stack.pool().acquire().await.unwrap();
        let new = NewPasskey {
            user_id: owner,
            name: &Name::parse(&format!("{} phone", self.marker)).unwrap(),
            credential_id: &rand::random::<[u8; 32]>(),
            credential: &json!({}),
            created_at: self.now,
        };
        let id = passkeys::add(&mut connection, &new).await.unwrap().unwrap();
        self.put("passkey_id", id.get());
    }

    async fn tracking_token(&mut self, owner: UserId, program_id: i64) {
        let mut connection = self.stack.pool().acquire().await.unwrap();
        let new = NewToken {
            program_id: ProgramId::new(program_id),
            name: &Name::parse(&format!("{} server", self.marker)).unwrap(),
            scopes: TokenScopes::ALL,
            token: &ProgramToken::generate(rand::random()),
            created_by: Some(owner),
            created_at: self.now,
        };
        let id = tracking_tokens::create(&mut connection, &new).await.unwrap();
        self.put("tracking_token_id", id.get());
    }

    async fn key(
        &mut self,
        name: &str,
        created_by: UserId,
        scopes: Scopes,
        program: Option<i64>,
    ) -> ManagementKeyId {
        let key = ManagementKey::generate(rand::random());
        let settings = KeySettings {
            name: Name::parse(&format!("{} {name}", self.marker)).unwrap(),
            scopes,
            program_scope: ProgramScope::new(program.map(|id| [ProgramId::new(id)])),
            expires_at: None,
        };
        let new = NewKey {
            workspace_id: self.workspace_id,
            settings: &settings,
            key: &key,
            created_by,
            created_at: self.now,
        };
        let mut connection = self.stack.pool().acquire().await.unwrap();
        let key_id = management_keys::create(&mut connection, &new).await.unwrap();
        self.name(name, key.expose());
        key_id
    }

    /// A partner with an account, a link, and a sale through it.
    async fn partners(&mut self, program_id: i64, token: &str) {
        let user_id = self.user(UserKind::Partner, "partner").await;
        self.session("partner", user_id, SessionKind::Dashboard).await;
        let partner = self.stack.partner(ProgramId::new(program_id), &self.marker).await;
        let statement = format!(
            "UPDATE partners SET user_id = {user_id}, email = 'partner@{marker}.example' WHERE id = {id};
                 INSERT INTO partner_notes VALUES ({}, {id}, '{marker} note', now())",
            partner.membership,
            marker = self.marker,
            id = partner.partner_id
        );
        self.stack.execute(&statement).await;
        let keys = SealingKeys::new(&[0x33; 32], &[]);
        let unsubscribes = unsubscribe_token(&keys, user_id, rand::random()).unwrap();
        self.put("token", unsubscribes);
        self.put("partner_id", partner.partner_id.get());
        self.put("partner_program_id", partner.membership.get());
        self.put("referral_link_id", partner.link.get());
        self.put("link_id", partner.link.get());
        self.put("code", partner.code.as_str());
        let customer_key = format!("{}-customer", self.marker);
        let click_id = self.stack.click(&partner.code).await;
        let lead = json!({ "click_id": click_id, "customer_key": customer_key });
        self.stack.post("lead", Some(token), lead).await.ok();
        let sale = json!({ "transaction_id": format!("{}-sale", self.marker), "amount_cents": 5000,
                           "customer_key": customer_key });
        let sold = self.stack.post("sale", Some(token), sale).await.ok();
        let commission_id = sold.body["commission_id"].as_i64().unwrap();
        self.put("commission_id", commission_id);
        let customer = format!("SELECT id FROM customers WHERE program_id = {program_id}");
        self.put_id("customer_id", &customer).await;
        let sale = format!("SELECT sale_id FROM commissions WHERE id = {commission_id}");
        self.put_id("sale_id", &sale).await;
    }
}

#[test]
fn a_text_tells_of_whose_marker_or_id_stands_in_it() {
    let text = format!(
        "{{\"name\":\"{} shop\",\"id\":7000004000012,\"at\":\"2026-11-21\"}}",
        marker(3)
    );
    assert_eq!(told_of(&text, 5), [3, 4]);
    assert_eq!(
        told_of("cust_71_1700000000000 quokka quokkaq quokka9q 7000009000000", 5),
        [0; 0]
    );
}
