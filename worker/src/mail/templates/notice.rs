//! The e-mail about problems of a program, for its members.

use domain::people::email_content::EndpointNotice;

use super::page::{Page, unlinked};

/// The most endpoints that are listed by name. For further ones the e-mail gives only their number.
const NAMED_ENDPOINTS: usize = 10;
const HOW_TO_END: &str =
    "At most one of these e-mails is sent a program and day. The settings of your account end them.";

/// `events`: the number to review, and the number that are stuck.
pub fn page(
    program: &str,
    endpoints: &[EndpointNotice],
    events: (i64, i64),
    endpoints_link: String,
    events_link: String,
) -> Page {
    let mut page = Page::new(format!("{} needs a look", unlinked(program)));
    if !endpoints.is_empty() {
        page = page
            .heading("Disabled webhook endpoints")
            .paragraph("Events are no longer sent to them. When the receiver works again, enable the endpoint and send it what it missed.");
        for endpoint in endpoints.iter().take(NAMED_ENDPOINTS) {
            page = page.fact("Endpoint", format!("{}: {}", named(endpoint), why(endpoint)));
        }
        let others = endpoints.len().saturating_sub(NAMED_ENDPOINTS);
        if others > 0 {
            page = page.fact("Others", others.to_string());
        }
        page = page.button("See the endpoints", endpoints_link);
    }
    let (to_review, stuck) = events;
    if to_review + stuck > 0 {
        page = page
            .heading("Events of the payment processor")
            .paragraph("Nothing follows from these events until a person has looked at them.");
        if to_review > 0 {
            page = page.fact("To review", to_review.to_string());
        }
        if stuck > 0 {
            page = page.fact("Could not be handled", stuck.to_string());
        }
        page = page
            .paragraph("Whoever runs this installation lists and settles them.")
            .button("See the payment processor", events_link);
    }
    page.footnote(HOW_TO_END)
}

fn named(endpoint: &EndpointNotice) -> String {
    format!("{} at {}", endpoint.endpoint_id, endpoint.host)
}

const fn why(endpoint: &EndpointNotice) -> &'static str {
    if endpoint.gone {
        "it answered 410 Gone"
    } else {
        "every attempt of the last five days failed"
    }
}
