//! Authorization: permissions, the roles of workspace members, and the scopes of management keys.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::ids::ProgramId;

crate::text_enum! {
    #[derive(PartialOrd, Ord, Hash)]
    pub enum Permission {
        /// The set-up of a program's tracking.
        TrackingRead = "tracking:read",
        /// A program's events.
        TrackingList = "tracking:list",
        ProgramList = "program:list",
        /// A program with its partners, links, policies, commissions and payouts.
        ProgramRead = "program:read",
        ProgramCreate = "program:create",
        /// Settings, slug, policies, partners, links.
        ProgramUpdate = "program:update",
        ProgramDelete = "program:delete",
        ProgramGoLive = "program:go_live",
        ProgramRegenerateToken = "program:regenerate-token",
        /// Approving commissions and paying them.
        ProgramPayOut = "program:pay_out",
        DashboardView = "dashboard:view",
        /// All events of a program, clicks included, through its event stream.
        EventsRead = "events:read",
    }
}

impl Permission {
    /// Whether a management key can name this permission as a scope. Others come with `*` or a session only.
    const fn is_scope(self) -> bool {
        !matches!(
            self,
            Self::TrackingRead | Self::TrackingList | Self::ProgramPayOut
        )
    }

    /// Whether a member can have this permission for one program. Creating programs and viewing all of them
    /// concern no single program.
    const fn is_of_a_program(self) -> bool {
        !matches!(self, Self::ProgramCreate | Self::DashboardView)
    }

    /// For sessions only: the contract keeps tracking events from every key.
    const fn is_for_people(self) -> bool {
        matches!(self, Self::TrackingRead | Self::TrackingList)
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<&'static str>")]
pub struct ProgramPermissions(BTreeSet<Permission>);

impl TryFrom<Vec<String>> for ProgramPermissions {
    type Error = String;

    fn try_from(names: Vec<String>) -> Result<Self, String> {
        let parsed = Self::parse(names.iter().map(String::as_str));
        parsed.map_err(|unknown| format!("{unknown:?} is no permission"))
    }
}

impl From<ProgramPermissions> for Vec<&'static str> {
    fn from(permissions: ProgramPermissions) -> Self {
        permissions.names()
    }
}

crate::stored!(ProgramPermissions: Vec<String>, |names| Self::parse(names.iter().map(String::as_str)).ok());

impl ProgramPermissions {
    /// Parses names; `program:*` stands for all of a program's. The error is the first unknown name.
    pub fn parse<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Self, &'a str> {
        let mut permissions = BTreeSet::new();
        for name in names {
            if name == "program:*" {
                permissions.extend(
                    Permission::ALL
                        .iter()
                        .filter(|permission| permission.is_of_a_program() && !permission.is_for_people()),
                );
                continue;
            }
            let permission = Permission::parse(name).filter(|permission| permission.is_of_a_program());
            permissions.insert(permission.ok_or(name)?);
        }
        Ok(Self(permissions))
    }

    pub fn names(&self) -> Vec<&'static str> {
        self.0.iter().map(|permission| permission.as_str()).collect()
    }

    fn contains(&self, permission: Permission) -> bool {
        self.0.contains(&permission)
    }
}

crate::text_enum! {
    #[derive(PartialOrd, Ord)]
    pub enum Role {
        /// Everything, including the audit log and other owners.
        Owner = "owner",
        /// Everything about programs, members and keys.
        Admin = "admin",
        /// Only the permissions given for each program.
        Member = "member",
    }
}

impl Role {
    /// Whether the role manages members, keys and new programs, which belong to the workspace.
    pub const fn runs_the_workspace(self) -> bool {
        matches!(self, Self::Owner | Self::Admin)
    }

    /// Whether a member with this role and these permissions for a program may do this in the program.
    pub fn may(self, given: &ProgramPermissions, permission: Permission) -> bool {
        self.runs_the_workspace() || given.contains(permission)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scopes(ScopeSet);

#[derive(Debug, Clone, PartialEq, Eq)]
enum ScopeSet {
    All,
    Some(BTreeSet<Permission>),
}

crate::stored!(Scopes: Vec<String>, |names| Self::parse(names.iter().map(String::as_str)).ok());

impl Scopes {
    /// All permissions that a key can have.
    pub const ALL: Self = Self(ScopeSet::All);

    /// The default of a new key: reading programs.
    pub fn reading() -> Self {
        Self(ScopeSet::Some(BTreeSet::from([
            Permission::ProgramList,
            Permission::ProgramRead,
        ])))
    }

    /// Parses names, `*` included. The error is the first unknown name.
    pub fn parse<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Self, &'a str> {
        let mut all = false;
        let mut some = BTreeSet::new();
        for name in names {
            if name == "*" {
                all = true;
                continue;
            }
            let scope = Permission::parse(name).filter(|permission| permission.is_scope());
            some.insert(scope.ok_or(name)?);
        }
        Ok(if all {
            Self::ALL
        } else {
            Self(ScopeSet::Some(some))
        })
    }

    pub fn names(&self) -> Vec<&'static str> {
        match &self.0 {
            ScopeSet::All => vec!["*"],
            ScopeSet::Some(some) => some.iter().map(|scope| scope.as_str()).collect(),
        }
    }

    pub fn allow(&self, permission: Permission) -> bool {
        match &self.0 {
            ScopeSet::All => !permission.is_for_people(),
            ScopeSet::Some(some) => some.contains(&permission),
        }
    }
}

/// The programs that a management key reaches; `None` means all programs of its workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramScope(Option<BTreeSet<ProgramId>>);

impl ProgramScope {
    pub fn new(programs: Option<impl IntoIterator<Item = ProgramId>>) -> Self {
        Self(programs.map(|programs| programs.into_iter().collect()))
    }

    pub fn contains(&self, program_id: ProgramId) -> bool {
        self.0
            .as_ref()
            .is_none_or(|programs| programs.contains(&program_id))
    }

    /// Whether the key reaches all programs. A key limited to existing programs cannot create new ones.
    pub const fn is_everything(&self) -> bool {
        self.0.is_none()
    }

    /// The stored and displayed form.
    pub fn ids(&self) -> Option<Vec<i64>> {
        self.0
            .as_ref()
            .map(|programs| programs.iter().map(|program_id| program_id.get()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for permission in Permission::ALL {
            assert_eq!(Permission::parse(permission.as_str()), Some(permission));
        }
        for role in Role::ALL {
            assert_eq!(Role::parse(role.as_str()), Some(role));
        }
        assert_eq!(Permission::parse("program:*"), None);
    }

    #[test]
    fn a_star_opens_everything_but_what_is_for_people() {
        let all = Scopes::parse(["program:read", "*"]).unwrap();
        assert_eq!(all, Scopes::ALL);
        assert_eq!(all.names(), ["*"]);
        assert!(all.allow(Permission::ProgramPayOut));
        assert!(!all.allow(Permission::TrackingList));
    }

    #[test]
    fn a_scope_opens_itself_only() {
        let scopes = Scopes::parse(["program:read"]).unwrap();
        for permission in Permission::ALL {
            assert_eq!(scopes.allow(permission), permission == Permission::ProgramRead);
        }
        assert!(
            Permission::ALL
                .iter()
                .all(|permission| !Scopes::parse([]).unwrap().allow(*permission))
        );
    }

    #[test]
    fn names_that_are_no_scopes_are_named() {
        assert_eq!(
            Scopes::parse(["program:read", "tracking:read"]),
            Err("tracking:read")
        );
        assert_eq!(Scopes::parse(["everything"]), Err("everything"));
        assert_eq!(
            ProgramPermissions::parse(["program:create"]),
            Err("program:create")
        );
    }

    #[test]
    fn members_have_what_they_were_given_and_the_others_everything() {
        let given = ProgramPermissions::parse(["tracking:read"]).unwrap();
        assert!(Role::Member.may(&given, Permission::TrackingRead));
        assert!(!Role::Member.may(&given, Permission::ProgramRead));
        assert!(Role::Admin.may(&ProgramPermissions::default(), Permission::ProgramDelete));
        let program = ProgramPermissions::parse(["program:*"]).unwrap();
        assert!(Role::Member.may(&program, Permission::ProgramPayOut));
        assert!(!Role::Member.may(&program, Permission::TrackingList));
    }

    #[test]
    fn a_program_scope_of_none_is_every_program() {
        let everything = ProgramScope::new(None::<Vec<ProgramId>>);
        let one = ProgramScope::new(Some([ProgramId::new(7)]));
        assert!(everything.contains(ProgramId::new(8)) && everything.is_everything());
        assert!(one.contains(ProgramId::new(7)) && !one.contains(ProgramId::new(8)) && !one.is_everything());
        assert!(!ProgramScope::new(Some([])).contains(ProgramId::new(7)));
    }
}
