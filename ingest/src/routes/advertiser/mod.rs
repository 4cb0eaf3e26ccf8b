//! `/api/advertiser/*`: what an advertiser sets up and looks at, by session or management key.

pub mod program_settings;
pub mod programs;

use utoipa_axum::routes;

use crate::routes::endpoint::Endpoint;

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
    ]
}
