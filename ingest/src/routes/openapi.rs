//! The description of the API, OpenAPI 3.1, made from the routes themselves.
//!
//! A route describes what is its own: its body, its 200, its refusals with a meaning of their own. What the layers
//! around it may answer, and the headers they set, are added here to every tracking route, as `router` adds the layers.

pub mod envelopes;

use std::sync::LazyLock;

use axum::http::header;
use axum::response::IntoResponse;
use utoipa::openapi::header::HeaderBuilder;
use utoipa::openapi::path::Operation;
use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, SchemaFormat, Type};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{Content, Header, Object, Ref, RefOr, Response};
use utoipa::{Modify, OpenApi};

use crate::routes::{click, health, lead, refund, sale};

/// What the layers around a tracking route answer: status, when, and the schema.
const SHARED_ANSWERS: [(&str, &str, &str); 7] = [
    (
        "400",
        "The request cannot succeed unchanged; the message says why.",
        "PlatformError",
    ),
    ("401", "No usable key.", "Unauthorized"),
    ("408", "The body did not arrive in time.", "PlatformError"),
    (
        "413",
        "The body is too large: more than 64 KiB unless configured otherwise.",
        "PlatformError",
    ),
    (
        "429",
        "Too many requests in this minute; nothing is recorded.",
        "RateLimited",
    ),
    (
        "500",
        "Failed, or not known in time. Send it again: what was recorded is not recorded twice.",
        "PlatformError",
    ),
    ("503", "Over capacity; nothing is recorded.", "PlatformError"),
];

/// The version of the contract, not of the program.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Referral tracking",
        version = "1.0.0",
        description = "Clicks, leads, sales and refunds of referral programs. Amounts are integers in the currency's \
                       smallest unit. Fields that are not described are ignored; `null` and absence are the same."
    ),
    tags(
        (name = "tracking", description = "What happened at the advertiser's site."),
        (name = "health", description = "For load balancers and operators.")
    ),
    paths(click::click, lead::lead, sale::sale, refund::refund, health::livez, health::readyz),
    components(schemas(
        envelopes::PlatformError,
        envelopes::PlatformErrorBody,
        envelopes::Unauthorized,
        envelopes::KeyRetired,
        envelopes::KeyRetiredBody,
        envelopes::RateLimited,
        envelopes::RateLimitedBody,
        envelopes::LinkDisabled,
        envelopes::LinkDisabledBody,
        envelopes::RotationWarning,
    )),
    modifiers(&Layers)
)]
struct Description;

/// Adds what surrounds the routes.
struct Layers;

impl Modify for Layers {
    fn modify(&self, api: &mut utoipa::openapi::OpenApi) {
        let key = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .bearer_format("aff_…")
            .description(Some("The program's tracking token."));
        api.components
            .get_or_insert_default()
            .add_security_scheme("program_key", SecurityScheme::Http(key.build()));
        let tracking = api
            .paths
            .paths
            .iter_mut()
            .filter(|(path, _)| path.starts_with("/api/"));
        for operation in tracking.filter_map(|(_, item)| item.post.as_mut()) {
            add_shared_answers(operation);
            add_headers(operation);
        }
    }
}

fn add_shared_answers(operation: &mut Operation) {
    for (status, description, schema) in SHARED_ANSWERS {
        let content = Content::new(Some(Ref::from_schema_name(schema)));
        let response = Response::builder()
            .description(description)
            .content("application/json", content)
            .build();
        operation
            .responses
            .responses
            .entry(status.to_owned())
            .or_insert_with(|| RefOr::T(response));
    }
}

fn add_headers(operation: &mut Operation) {
    for (status, response) in &mut operation.responses.responses {
        let RefOr::T(response) = response else { continue };
        let mut add = |name: &str, header: Header| {
            response.headers.insert(name.to_owned(), header.into());
        };
        add(
            "X-Request-ID",
            text("The request's own id when it is short and plain, a new one otherwise."),
        );
        add("X-RateLimit-Limit", integer("Requests a minute."));
        add("X-RateLimit-Remaining", integer("Requests left in this minute."));
        add(
            "X-RateLimit-Reset",
            integer("When the minute ends, in seconds since 1970."),
        );
        if ["429", "503"].contains(&status.as_str()) {
            add("Retry-After", integer("Seconds."));
        }
        if status != "429" {
            add(
                "Deprecation",
                text("For a key to be rotated: `@` and when it was marked, in seconds since 1970."),
            );
            add(
                "Sunset",
                text("For a key to be rotated: until when it works, as an HTTP date."),
            );
            add("Link", text("For a key to be rotated: what to do about it."));
        }
    }
}

fn text(description: &str) -> Header {
    header_of(Object::with_type(Type::String), description)
}

fn integer(description: &str) -> Header {
    let schema = ObjectBuilder::new()
        .schema_type(Type::Integer)
        .format(Some(SchemaFormat::KnownFormat(KnownFormat::Int64)))
        .minimum(Some(0));
    header_of(schema.build(), description)
}

fn header_of(schema: Object, description: &str) -> Header {
    HeaderBuilder::new()
        .schema(Some(schema))
        .description(Some(description))
        .build()
}

/// The description as it is served and as it is committed, built once.
static DOCUMENT: LazyLock<String> = LazyLock::new(|| {
    // Strings and numbers under string keys: this cannot fail.
    let mut document = Description::openapi().to_pretty_json().unwrap_or_default();
    document.push('\n');
    document
});

/// `GET /openapi.json`.
pub async fn openapi_json() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], DOCUMENT.as_str())
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn the_committed_description_is_the_servers() {
        let committed = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/openapi.json");
        if std::env::var_os("UPDATE_OPENAPI").is_some() {
            std::fs::write(&committed, DOCUMENT.as_str()).unwrap();
        }
        assert!(
            std::fs::read_to_string(&committed).unwrap_or_default() == *DOCUMENT,
            "docs/openapi.json is out of date: run `UPDATE_OPENAPI=1 cargo test -p ingest --lib openapi`"
        );
    }
}
