//! The API description, OpenAPI 3.1, built from the endpoints themselves.
//!
//! A route describes its body, its 200 and its specific refusals. [`crate::http::layers`] adds the answers
//! and headers of the layers around it.

mod examples;
mod forms;
mod warnings;
mod webhooks;
mod words;

use std::sync::LazyLock;

use axum::http::header;
use axum::response::IntoResponse;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{Modify, OpenApi};

use crate::http::layers::described::headers;
use crate::http::openapi::envelopes;
use crate::routes::endpoints;

/// The document around the endpoints.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Referral tracking",
        // The contract's version, not the program's.
        version = "1.0.0",
        description = "Clicks, leads, sales and refunds of referral programs. Amounts are integers in the currency's \
                       smallest unit. Fields that are not described are ignored; `null` and absence are the same."
    ),
    servers((url = "/")),
    tags(
        (name = "tracking", description = "What happened at the advertiser's site."),
        (name = "set-up", description = "How far a program has come, and whether its events arrive."),
        (name = "accounts", description = "Signing in and out. A session's token is sent as `Authorization: Bearer`, or by \
                                           a browser as the cookie `__Host-session`."),
        (name = "programs", description = "What an advertiser sets up and looks at, by session or management key."),
        (name = "reports", description = "What the dashboard shows of a program's events, by session. Days are UTC."),
        (name = "partners", description = "Who promotes a program, and through which links."),
        (name = "webhook endpoints", description = "Where a program's events are sent, what was sent there, and sending it again."),
        (name = "credentials", description = "Management keys and tracking tokens: made, limited, replaced, revoked. Each is \
                                              shown once."),
        (name = "workspaces", description = "Who works in a workspace, and what was done there."),
        (name = "payouts", description = "What commissions came to: approving them, paying them, and what was paid."),
        (name = "webhooks", description = "What is sent to an advertiser's endpoints, signed by the Standard Webhooks specification. At least \
                                           once, and in the order of each customer's events."),
        (name = "events", description = "Everything that happens in a program, clicks included, read in an order that misses nothing."),
        (name = "privacy", description = "What is stored about one customer, for when they ask."),
        (name = "partner accounts", description = "A partner's own view, over all programs they take part in."),
        (name = "older paths", description = "For scripts that were installed long ago. New ones use `/api/v1`."),
        (name = "health", description = "For load balancers and operators.")
    ),
    components(schemas(
        envelopes::PlatformError,
        envelopes::PlatformErrorBody,
        envelopes::Unauthorized,
        envelopes::KeyRetired,
        envelopes::KeyRetiredBody,
        envelopes::InvalidKey,
        envelopes::InvalidKeyBody,
        envelopes::RateLimited,
        envelopes::RateLimitedBody,
        envelopes::RotationNotice,
        envelopes::RotationWarning,
    )),
    modifiers(&Shared)
)]
struct Description;

/// Components that the endpoints refer to: the callers' credentials, and the headers of answers. An operation
/// that names no credential takes none.
struct Shared;

impl Modify for Shared {
    fn modify(&self, api: &mut utoipa::openapi::OpenApi) {
        api.security = Some(Vec::new());
        let components = api.components.get_or_insert_default();
        for (name, format, description) in [
            ("program_key", "aff_…", "The program's tracking token."),
            ("management_key", "affk_…", "A management key, within its scopes."),
            ("session", "affs_…", "A user signed in at the dashboard."),
            ("cli_session", "affs_…", "A user signed in at the command line."),
        ] {
            let bearer = HttpBuilder::new()
                .scheme(HttpAuthScheme::Bearer)
                .bearer_format(format)
                .description(Some(description));
            components.add_security_scheme(name, SecurityScheme::Http(bearer.build()));
        }
        let headers = headers().map(|(name, header)| (name.to_owned(), header.into()));
        components.headers.extend(headers);
    }
}

fn describe() -> utoipa::openapi::OpenApi {
    let mut api = Description::openapi();
    for endpoint in endpoints() {
        endpoint.describe(&mut api);
    }
    forms::put_together(&mut api);
    warnings::put_into_forms(&mut api);
    webhooks::describe(&mut api);
    words::list(&mut api);
    examples::complete(&mut api);
    drop_unreferenced(&mut api);
    api
}

/// Drops schemas without a reference, such as the choice of an event's details once each event has them.
fn drop_unreferenced(api: &mut utoipa::openapi::OpenApi) {
    loop {
        // The document has only string keys and plain values, so this cannot fail.
        let text = api.to_json().unwrap_or_default();
        let Some(components) = &mut api.components else {
            return;
        };
        let before = components.schemas.len();
        components
            .schemas
            .retain(|name, _| text.contains(&format!("\"#/components/schemas/{name}\"")));
        if components.schemas.len() == before {
            return;
        }
    }
}

/// The name of the schema that is referred to.
fn name_of(schema: &RefOr<Schema>) -> Option<&str> {
    match schema {
        RefOr::Ref(reference) => reference.ref_location.rsplit('/').next(),
        RefOr::T(_) => None,
    }
}

/// The description as it is served and committed, built once.
static DOCUMENT: LazyLock<String> = LazyLock::new(|| {
    // The document has only string keys and plain values, so this cannot fail.
    let mut document = describe().to_pretty_json().unwrap_or_default();
    document.push('\n');
    document
});

/// `GET /openapi.json`.
pub async fn openapi_json() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], DOCUMENT.as_str())
}

#[cfg(test)]
mod tests;
