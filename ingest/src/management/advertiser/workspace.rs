//! Workspaces: members, invitations and the audit log.

pub mod audit_log;
pub mod invitations;
pub mod members;
pub mod workspaces;

use crate::http::endpoint::{Endpoint, SESSION, managed};

pub fn endpoints() -> Vec<Endpoint> {
    managed! { "workspaces", SESSION;
        members::list_members;
        members::update_member, members::remove_member;
        workspaces::update_workspace;
        audit_log::list_audit_log;
        audit_log::export_audit_log;
    }
}

pub fn invitation_endpoints() -> Vec<Endpoint> {
    managed! { "accounts", SESSION;
        invitations::list_invitations, invitations::invite_member;
        invitations::withdraw_invitation;
    }
}
