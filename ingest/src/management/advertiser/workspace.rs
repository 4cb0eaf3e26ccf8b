//! Workspaces: members, invitations and the audit log.

pub mod audit_log;
pub mod invitations;
pub mod members;
pub mod workspaces;

use crate::http::endpoint::{Endpoint, SESSION, managed};

pub fn endpoints() -> Vec<Endpoint> {
    managed! { "workspaces", SESSION;
        members::list;
        members::update, members::remove;
        workspaces::update;
        audit_log::list;
        audit_log::export;
    }
}

pub fn invitation_endpoints() -> Vec<Endpoint> {
    managed! { "accounts", SESSION;
        invitations::list, invitations::create;
        invitations::withdraw;
    }
}
