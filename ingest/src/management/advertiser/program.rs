//! A program, what it pays, and who recommends it.

pub mod commission_policies;
pub mod connection_change;
pub mod connection_settings;
pub mod partner_invitation;
pub mod partners;
pub mod processor_connection;
pub mod processor_customers;
pub mod program_settings;
pub mod programs;
pub mod referral_links;

use utoipa_axum::routes;

use crate::http::endpoint::Endpoint;

pub fn endpoints() -> Vec<Endpoint> {
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
