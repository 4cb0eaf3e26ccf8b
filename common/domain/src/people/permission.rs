//! Authorization: permissions, the roles of a workspace's members, the scopes of its management keys.

use std::collections::BTreeSet;

use crate::ids::ProgramId;

crate::text_enum! {
    /// One thing that may be allowed.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Permission {
        /// How a program's tracking is set up.
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
        /// Everything that happens in a program, clicks among it, as its event stream has it.
        EventsRead = "events:read",
    }
}

impl Permission {
    /// May be a scope of a management key by its name. What is not comes with `*` alone, or with a session only.
    const fn is_scope(self) -> bool {
        !matches!(
            self,
            Self::TrackingRead | Self::TrackingList | Self::ProgramPayOut
        )
    }

    /// May be given to a member for one program. Creating programs and the view over all of them are no one program's.
    const fn is_of_a_program(self) -> bool {
        !matches!(self, Self::ProgramCreate | Self::DashboardView)
    }

    /// Sessions only: the contract keeps tracking's events from every key.
    const fn is_for_people(self) -> bool {
        matches!(self, Self::TrackingRead | Self::TrackingList)
    }
}

/// What a member may do with one program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProgramPermissions(BTreeSet<Permission>);

crate::stored!(ProgramPermissions: Vec<String>, |names| Self::parse(names.iter().map(String::as_str)).ok());

impl ProgramPermissions {
    /// From names; `program:*` means everything about the program. The error is the first unknown name.
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
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Role {
        /// Everything, the audit log and other owners among it.
        Owner = "owner",
        /// Everything with programs, members and keys.
        Admin = "admin",
        /// What was given, program by program.
        Member = "member",
    }
}

impl Role {
    /// Members, keys and programs to come are the workspace's, not one program's.
    pub const fn runs_the_workspace(self) -> bool {
        matches!(self, Self::Owner | Self::Admin)
    }

    /// What a member of this role may do with one program, given their permissions for it.
    pub fn may(self, given: &ProgramPermissions, permission: Permission) -> bool {
        self.runs_the_workspace() || given.contains(permission)
    }
}

/// What a management key may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scopes(ScopeSet);

#[derive(Debug, Clone, PartialEq, Eq)]
enum ScopeSet {
    All,
    Some(BTreeSet<Permission>),
}

crate::stored!(Scopes: Vec<String>, |names| Self::parse(names.iter().map(String::as_str)).ok());

impl Scopes {
    /// Everything a key can do.
    pub const ALL: Self = Self(ScopeSet::All);

    /// Reading programs: what a new key may do unless said otherwise.
    pub fn reading() -> Self {
        Self(ScopeSet::Some(BTreeSet::from([
            Permission::ProgramList,
            Permission::ProgramRead,
        ])))
    }

    /// From names, `*` among them. The error is the first name that is none.
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

/// Which programs a management key reaches; `None` is every one of its workspace.
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

    /// A key that is limited to programs there are cannot make others.
    pub const fn is_everything(&self) -> bool {
        self.0.is_none()
    }

    /// As stored and shown.
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
