//! `/api/tracking/{performance,status,events,live}/…`: what the dashboard shows of a program's events, by session only.

mod dates;
mod event_view;
mod events;
mod export;
mod live;
mod performance;
mod status;

use utoipa_axum::routes;

use crate::http::endpoint::Endpoint;

pub fn endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::new(routes!(performance::performance))
            .managed()
            .examples(performance::examples()),
        Endpoint::new(routes!(status::status))
            .managed()
            .examples(status::examples()),
        Endpoint::new(routes!(events::list))
            .managed()
            .examples(events::examples()),
        Endpoint::new(routes!(export::export))
            .managed()
            .examples(export::examples()),
        Endpoint::new(routes!(live::live))
            .managed()
            .examples(live::examples()),
    ]
}
