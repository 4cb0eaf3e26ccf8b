//! The routes of `/api/tracking`, which older scripts still call.

pub mod lead;
pub mod test_events;

use utoipa_axum::routes;

use crate::http::endpoint::Endpoint;
use crate::http::limits::Budget;
use crate::tracking::pipeline::Noun;

/// Legacy tracking routes share the rate limits of the routes that replaced them. The two set-up checks have the
/// limit by key of the command line's routes.
pub fn endpoints(tracking: &[Endpoint]) -> Vec<Endpoint> {
    // The bodies of clicks, sales and refunds have not changed, so their older paths lead to the current
    // routes.
    let unchanged = tracking.iter().filter_map(|endpoint| {
        let noun = endpoint.path().strip_prefix("/api/v1/track/")?;
        (noun != "lead").then(|| endpoint.under_older_path(&format!("/api/tracking/{noun}")))
    });
    let changed = vec![
        Endpoint::new(routes!(lead::older_lead))
            .older()
            .limited(Budget::Lead)
            .waiting_with(Noun::Lead)
            .open_to_browsers()
            .examples(lead::examples()),
        Endpoint::new(routes!(test_events::older_test))
            .older()
            .limited(Budget::Cli)
            .open_to_browsers()
            .examples(test_events::test_examples()),
        Endpoint::new(routes!(test_events::older_check))
            .older()
            .limited(Budget::Cli)
            .open_to_browsers()
            .examples(test_events::check_examples()),
    ];
    unchanged.chain(changed).collect()
}
