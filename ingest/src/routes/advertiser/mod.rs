//! `/api/advertiser/*`: what an advertiser sets up and looks at, by session or management key.

pub mod added_commissions;
mod api_keys;
mod audit_log;
pub mod commission_changes;
pub mod commission_policies;
pub mod commissions;
pub mod connection_change;
pub mod connection_settings;
pub mod customers;
mod dashboard;
pub mod exports;
pub mod invitations;
mod key_settings;
mod members;
pub mod notifications;
pub mod partner_invitation;
pub mod partners;
pub mod payouts;
pub mod processor_connection;
mod processor_customers;
pub mod program_settings;
mod program_token;
pub mod programs;
pub mod referral_links;
mod tracking_tokens;
mod workspaces;

use domain::ids::WorkspaceId;
use serde::Deserialize;
use utoipa_axum::routes;

use crate::body;
use crate::error::ApiError;
use crate::field::{Field, refused};
use crate::routes::endpoint::Endpoint;

/// The workspace a body names beside other fields. Those are parsed by themselves: a [`Field`] reads the text that stands
/// there, which a flattened one is not given.
pub fn named_workspace(bytes: &[u8]) -> Result<Option<WorkspaceId>, ApiError> {
    #[derive(Deserialize)]
    struct Named {
        workspace_id: Field<i64>,
    }
    let named: Named = body::parse(bytes)?;
    match named.workspace_id {
        Field::Absent => Ok(None),
        Field::Given(id) => Ok(Some(WorkspaceId::new(id))),
        Field::WrongType => Err(refused("workspace_id", "must be an integer")),
    }
}

pub fn endpoints() -> Vec<Endpoint> {
    [
        program_endpoints(),
        access_endpoints(),
        money_endpoints(),
        people_endpoints(),
    ]
    .concat()
}

/// A program, what it pays, and who recommends it.
fn program_endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::new(routes!(programs::list, programs::create))
            .managed()
            .examples(programs::list_examples()),
        Endpoint::new(routes!(programs::read, programs::update, programs::archive))
            .managed()
            .examples(programs::examples()),
        Endpoint::new(routes!(programs::publish))
            .managed()
            .examples(programs::examples()),
        Endpoint::new(routes!(
            processor_connection::read,
            processor_connection::update,
            processor_connection::remove
        ))
        .managed()
        .examples(processor_connection::examples()),
        Endpoint::new(routes!(processor_connection::rotate_secret))
            .managed()
            .examples(processor_connection::rotation_examples()),
        Endpoint::new(routes!(processor_customers::list, processor_customers::bind))
            .managed()
            .examples(processor_customers::examples()),
        Endpoint::new(routes!(commission_policies::list, commission_policies::create))
            .managed()
            .examples(commission_policies::list_examples()),
        Endpoint::new(routes!(partners::list, partners::add))
            .managed()
            .examples(partners::list_examples()),
        Endpoint::new(routes!(partners::read, partners::update))
            .managed()
            .examples(partners::examples()),
        Endpoint::new(routes!(partner_invitation::renew))
            .managed()
            .examples(partner_invitation::examples()),
        Endpoint::new(routes!(referral_links::list, referral_links::create))
            .managed()
            .examples(referral_links::list_examples()),
        Endpoint::new(routes!(referral_links::update))
            .managed()
            .examples(referral_links::examples()),
    ]
}

/// Who may do what in the name of a workspace, and what they did.
fn access_endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::new(routes!(invitations::list, invitations::create))
            .managed()
            .examples(invitations::list_examples()),
        Endpoint::new(routes!(invitations::withdraw))
            .managed()
            .examples(invitations::examples()),
        Endpoint::new(routes!(program_token::regenerate))
            .managed()
            .examples(program_token::regenerate_examples()),
        Endpoint::new(routes!(program_token::mark, program_token::unmark))
            .managed()
            .examples(program_token::rotation_examples()),
        Endpoint::new(routes!(tracking_tokens::list, tracking_tokens::create))
            .managed()
            .examples(tracking_tokens::list_examples()),
        Endpoint::new(routes!(tracking_tokens::revoke))
            .managed()
            .examples(tracking_tokens::examples()),
        Endpoint::new(routes!(api_keys::list, api_keys::create))
            .managed()
            .examples(api_keys::list_examples()),
        Endpoint::new(routes!(api_keys::update, api_keys::revoke))
            .managed()
            .examples(api_keys::examples()),
        Endpoint::new(routes!(members::list))
            .managed()
            .examples(members::list_examples()),
        Endpoint::new(routes!(members::update, members::remove))
            .managed()
            .examples(members::examples()),
        Endpoint::new(routes!(workspaces::update))
            .managed()
            .examples(workspaces::examples()),
        Endpoint::new(routes!(audit_log::list))
            .managed()
            .examples(audit_log::examples()),
        Endpoint::new(routes!(audit_log::export))
            .managed()
            .examples(audit_log::export_examples()),
    ]
}

/// What partners earned, and what was paid out.
fn money_endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::new(routes!(commissions::list, added_commissions::create))
            .managed()
            .examples(added_commissions::examples(commissions::list_examples())),
        Endpoint::new(routes!(commissions::approve))
            .managed()
            .examples(commissions::approve_examples()),
        Endpoint::new(routes!(commission_changes::reject))
            .managed()
            .examples(commission_changes::reject_examples()),
        Endpoint::new(routes!(commission_changes::adjust))
            .managed()
            .examples(commission_changes::adjust_examples()),
        Endpoint::new(routes!(exports::commissions))
            .managed()
            .examples(commissions::filter_examples()),
        Endpoint::new(routes!(payouts::list, payouts::create))
            .managed()
            .examples(payouts::list_examples()),
        Endpoint::new(routes!(payouts::read))
            .managed()
            .examples(payouts::examples()),
        Endpoint::new(routes!(exports::payout)).managed(),
    ]
}

/// What a person hears and sees, and the personal data of customers.
fn people_endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::new(routes!(notifications::list))
            .managed()
            .examples(notifications::list_examples()),
        Endpoint::new(routes!(notifications::mark_read))
            .managed()
            .examples(notifications::mark_read_examples()),
        Endpoint::new(routes!(customers::export))
            .managed()
            .examples(customers::export_examples()),
        Endpoint::new(routes!(customers::erase))
            .managed()
            .examples(customers::erase_examples()),
        Endpoint::new(routes!(dashboard::summary))
            .managed()
            .examples(dashboard::examples()),
    ]
}
