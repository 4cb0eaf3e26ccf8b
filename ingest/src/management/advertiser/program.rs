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
            programs::list, programs::create => programs::list_examples();
            programs::read, programs::update, programs::archive => programs::examples();
            programs::publish => programs::examples();
            processor_connection::read, processor_connection::update, processor_connection::remove => processor_connection::examples();
            processor_health::read => processor_health::examples();
            processor_connection::rotate_secret => processor_connection::rotation_examples();
            processor_customers::list, processor_customers::bind => processor_customers::examples();
            commission_policies::list, commission_policies::create => commission_policies::list_examples();
        },
        managed! { "events", SESSION_OR_KEY;
            event_stream::read => event_stream::examples();
        },
        managed! { "partners", SESSION_OR_KEY;
            partners::list, partners::add => partners::list_examples();
            partners::read, partners::update => partners::examples();
            partner_note::read, partner_note::write => partner_note::examples();
            partner_invitation::renew => partner_invitation::examples();
            referral_links::list, referral_links::create => referral_links::list_examples();
            referral_links::update => referral_links::examples();
        },
    ]
    .concat()
}
