mod audit_log;
pub mod invitations;
mod members;
