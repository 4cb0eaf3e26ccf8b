//! The rights that routes ask for: the permission they need, and whether the program may be archived.

use domain::people::permission::Permission;

pub trait Right: Send + 'static {
    const PERMISSION: Permission;
    /// Whether an archived program allows the action. It rejects changes, but allows payouts and removals.
    const IN_ARCHIVED: bool;
}

macro_rules! rights {
    ($($(#[$about:meta])* $name:ident: $permission:ident, archived: $in_archived:literal;)+) => {$(
        $(#[$about])*
        #[derive(Debug, Clone, Copy)]
        pub struct $name;

        impl Right for $name {
            const PERMISSION: Permission = Permission::$permission;
            const IN_ARCHIVED: bool = $in_archived;
        }
    )+};
}

rights! {
    Read: ProgramRead, archived: true;
    Update: ProgramUpdate, archived: false;
    /// Removals and marks that an archived program allows.
    CleanUp: ProgramUpdate, archived: true;
    GoLive: ProgramGoLive, archived: false;
    Delete: ProgramDelete, archived: true;
    IssueToken: ProgramRegenerateToken, archived: false;
    RevokeToken: ProgramRegenerateToken, archived: true;
    PayOut: ProgramPayOut, archived: true;
    ReadEvents: EventsRead, archived: true;
}
