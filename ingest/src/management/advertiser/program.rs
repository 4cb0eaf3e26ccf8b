//! Programs: settings, commission policies, partners, links, connections and events.

pub mod commission_policies;
pub mod connection_change;
pub mod connection_settings;
pub mod event_stream;
pub mod partner_invitation;
pub mod partner_note;
pub mod partners;
pub mod processor_connection;
pub mod processor_customers;
pub mod processor_health;
pub mod program_settings;
pub mod programs;
pub mod referral_links;

use crate::http::endpoint::{Endpoint, SESSION_OR_KEY, managed};

pub fn endpoints() -> Vec<Endpoint> {
    [
        managed! { "programs", SESSION_OR_KEY;
            programs::list_programs, programs::create_program;
            programs::read_program, programs::update_program, programs::archive_program;
            programs::publish_program;
            processor_connection::read_processor_connection,
                processor_connection::update_processor_connection,
                processor_connection::delete_processor_connection;
            processor_health::read_processor_health;
            processor_connection::rotate_processor_secret;
            processor_customers::list_processor_customers, processor_customers::bind_processor_customer;
            commission_policies::list_commission_policies, commission_policies::create_commission_policy;
        },
        managed! { "events", SESSION_OR_KEY;
            event_stream::read_event_stream;
        },
        managed! { "partners", SESSION_OR_KEY;
            partners::list_partners, partners::add_partner;
            partners::read_partner, partners::update_partner;
            partner_note::read_partner_note, partner_note::write_partner_note;
            partner_invitation::renew_partner_invitation;
            referral_links::list_referral_links, referral_links::create_referral_link;
            referral_links::update_referral_link;
        },
    ]
    .concat()
}
