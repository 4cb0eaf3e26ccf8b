//! Workspaces: members, invitations and the audit log.

pub mod audit_log;
pub mod invitations;
pub mod members;
pub mod workspaces;

use crate::http::endpoint::{Endpoint, SESSION, managed};

pub fn endpoints() -> Vec<Endpoint> {
    managed! { "workspaces", SESSION;
        members::list => members::list_examples();
        members::update, members::remove => members::examples();
        workspaces::update => workspaces::examples();
        audit_log::list => audit_log::examples();
        audit_log::export => audit_log::export_examples();
    }
}

pub fn invitation_endpoints() -> Vec<Endpoint> {
    managed! { "accounts", SESSION;
        invitations::list, invitations::create => invitations::list_examples();
        invitations::withdraw => invitations::examples();
    }
}
