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
pub mod program_partner;
pub mod program_settings;
pub mod programs;
pub mod referral_links;

use crate::http::endpoint::{Endpoint, SESSION_OR_KEY, managed};

pub fn endpoints() -> Vec<Endpoint> {
    [
        managed! { "programs", SESSION_OR_KEY;
            programs::list, programs::create;
            programs::read, programs::update, programs::archive;
            programs::publish;
            processor_connection::read, processor_connection::update, processor_connection::remove;
            processor_health::read;
            processor_connection::rotate_secret;
            processor_customers::list, processor_customers::bind;
            commission_policies::list, commission_policies::create;
        },
        managed! { "events", SESSION_OR_KEY;
            event_stream::read;
        },
        managed! { "partners", SESSION_OR_KEY;
            partners::list, partners::add;
            partners::read, partners::update;
            partner_note::read, partner_note::write;
            partner_invitation::renew;
            referral_links::list, referral_links::create;
            referral_links::update;
        },
    ]
    .concat()
}
