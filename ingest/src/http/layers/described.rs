//! The layers in API descriptions: the answers that they may give instead of the route, and the headers that
//! they set.

use axum::http::StatusCode;
use utoipa::openapi::extensions::Extensions;
use utoipa::openapi::header::HeaderBuilder;
use utoipa::openapi::path::{Operation, Parameter, ParameterIn};
use utoipa::openapi::schema::{AllOfBuilder, KnownFormat, ObjectBuilder, Schema, SchemaFormat, Type};
use utoipa::openapi::security::SecurityRequirement;
use utoipa::openapi::{Content, Header, Object, Ref, RefOr, Response};

use super::{Identified, Layers};
use crate::http::body::malformed;
use crate::http::error::ApiError;
use crate::http::openapi::examples::Examples;
use crate::management::access;
use crate::tracking::caller::Caller;

/// An answer that a layer may give instead of the route.
struct Shared {
    status: StatusCode,
    when: &'static str,
    schema: &'static str,
    /// Empty if each route has a message of its own.
    examples: Vec<ApiError>,
}

impl Layers {
    /// An answer that the operation describes itself takes precedence.
    pub fn describe(self, path: &str, operation: &mut Operation, refusals: &Examples) {
        for shared in self.answers(path, operation, refusals) {
            let responses = &mut operation.responses.responses;
            if !responses.contains_key(shared.status.as_str()) {
                responses.insert(shared.status.as_str().to_owned(), shared.response().into());
                Examples::of_refusals(shared.examples).add_to(operation);
            }
        }
        let meets_keys = self.budget.is_some() && meets_program_keys(operation);
        for (status, response) in &mut operation.responses.responses {
            let RefOr::T(response) = response else { continue };
            let announces_rotation = meets_keys && announces_rotation(status);
            for name in self.headers(status, announces_rotation) {
                let header = RefOr::Ref(Ref::new(format!("#/components/headers/{name}")));
                response.headers.insert(name.to_owned(), header);
            }
            if announces_rotation {
                response.content.values_mut().for_each(put_warnings_beside);
            }
        }
    }

    fn answers(self, path: &str, operation: &Operation, refusals: &Examples) -> Vec<Shared> {
        let counted = self.budget.map(|_| {
            [
                if takes_a_credential(operation) {
                    Shared {
                        status: StatusCode::UNAUTHORIZED,
                        when: "No usable credential.",
                        schema: "Unauthorized",
                        examples: refused_credentials(operation),
                    }
                } else {
                    Shared::of(
                        "No key is needed, but the one that was sent had to be rotated by now.",
                        ApiError::KeyRetired,
                    )
                },
                Shared::of("Too many requests; nothing is recorded.", ApiError::LIMITED),
                Shared {
                    status: StatusCode::INTERNAL_SERVER_ERROR,
                    when: "Failed, or not known in time. Send it again: what was recorded is not recorded twice.",
                    schema: "PlatformError",
                    examples: vec![],
                },
            ]
        });
        let managed = self.managed.then(|| managed(path, operation, refusals));
        let queried = self.managed.then(|| refused_query(operation)).flatten();
        let with_a_body = operation.request_body.as_ref().map(|_| {
            [
                Shared::of(
                    "The request cannot succeed unchanged; the message says why.",
                    malformed(),
                ),
                Shared::of("The body did not arrive in time.", ApiError::BodyTooSlow),
                Shared::of(
                    "The body is too large: more than 64 KiB unless configured otherwise.",
                    ApiError::BodyTooLarge,
                ),
                Shared::of("Over capacity; nothing is recorded.", ApiError::Overloaded),
            ]
        });
        counted
            .into_iter()
            .flatten()
            .chain(managed.into_iter().flatten())
            .chain(queried)
            .chain(with_a_body.into_iter().flatten())
            .collect()
    }

    /// The names of the [`headers`] of an answer.
    fn headers(self, status: &str, announces_rotation: bool) -> Vec<&'static str> {
        let identified = match self.identified {
            Identified::Never => false,
            Identified::OnFailure => status == "500",
            Identified::Always => true,
        };
        let mut names = Vec::new();
        if identified {
            names.push("X-Request-ID");
        }
        if self.browsers {
            names.push("Access-Control-Allow-Origin");
        }
        if self.budget.is_some() {
            names.extend(["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"]);
        }
        if (self.budget.is_some() || self.managed) && ["429", "503"].contains(&status) {
            names.push("Retry-After");
        }
        if announces_rotation {
            names.extend(["Deprecation", "Sunset", "Link"]);
        }
        names
    }
}

/// Every answer to a valid key that was looked up announces its rotation.
fn announces_rotation(status: &str) -> bool {
    !["401", "429"].contains(&status)
}

/// Whether a request may carry a valid program key: the operation takes one, or takes no credential at all.
fn meets_program_keys(operation: &Operation) -> bool {
    !takes_a_credential(operation) || takes(operation, "program_key")
}

/// Whether the operation lists this credential.
fn takes(operation: &Operation, credential: &str) -> bool {
    let wanted = SecurityRequirement::new(credential, [""; 0]);
    operation.security.iter().flatten().any(|its| *its == wanted)
}

/// The headers that layers set, by name.
pub fn headers() -> [(&'static str, Header); 9] {
    let request_id = "The request's own id when it is short and plain, a new one otherwise.";
    let deprecation = "For a key to be rotated: `@` and when it was marked, in seconds since 1970.";
    let retry_after = "How many seconds to wait before the request is sent again.";
    let reset = "When the minute ends, in seconds since 1970.";
    let origin = "`*`: pages of any site may read the answer.";
    [
        ("X-Request-ID", always(text(request_id))),
        ("Access-Control-Allow-Origin", always(text(origin))),
        ("X-RateLimit-Limit", always(integer("Requests a minute."))),
        (
            "X-RateLimit-Remaining",
            always(integer("Requests left in this minute.")),
        ),
        ("X-RateLimit-Reset", always(integer(reset))),
        ("Retry-After", always(integer(retry_after))),
        ("Deprecation", text(deprecation)),
        (
            "Sunset",
            text("For a key to be rotated: until when it works, as an HTTP date."),
        ),
        ("Link", text("For a key to be rotated: what to do about it.")),
    ]
}

/// Whether the operation requires a credential, or answers otherwise with one.
fn takes_a_credential(operation: &Operation) -> bool {
    let mut requirements = operation.security.iter().flatten();
    requirements.any(|requirement| *requirement != SecurityRequirement::default())
}

/// The refusal of an operation that has query parameters.
fn refused_query(operation: &Operation) -> Option<Shared> {
    let parameters = operation.parameters.iter().flatten();
    let names: Vec<_> = parameters.filter_map(query_parameter).collect();
    let has_page = names.contains(&"page");
    let has_others = names.iter().any(|name| !["page", "pageSize"].contains(name));
    (has_page || has_others).then(|| Shared {
        status: StatusCode::BAD_REQUEST,
        when: if has_others {
            "A parameter is not what it must be."
        } else {
            "page or pageSize is no positive integer."
        },
        schema: "PlatformError",
        examples: has_page
            .then(|| ApiError::refusal("page must be a positive integer"))
            .into_iter()
            .collect(),
    })
}

fn query_parameter(parameter: &RefOr<Parameter>) -> Option<&str> {
    match parameter {
        RefOr::T(parameter) if parameter.parameter_in == ParameterIn::Query => Some(&parameter.name),
        _ => None,
    }
}

fn refused_credentials(operation: &Operation) -> Vec<ApiError> {
    let mut requirements = operation.security.iter().flatten();
    let is_optional = requirements.any(|requirement| *requirement == SecurityRequirement::default());
    let people = takes(operation, "cli_session").then_some(access::UNAUTHENTICATED);
    let unknown = Caller::Unknown.program("", "").err();
    let missing = Caller::Anonymous.program("", "").err();
    unknown
        .into_iter()
        .chain(missing.filter(|_| !is_optional && people.is_none()))
        .filter(|_| takes(operation, "program_key"))
        .chain(people)
        .chain([ApiError::KeyRetired])
        .collect()
}

/// The answers that any management route may give.
fn managed(path: &str, operation: &Operation, refusals: &Examples) -> Vec<Shared> {
    let mut answers = vec![
        Shared::of(
            "Not permitted, not theirs, or a write from a page of another site.",
            access::FORBIDDEN,
        ),
        Shared::of(
            "Failed; nothing was changed.",
            ApiError::unexpected(anyhow::anyhow!("an example")),
        ),
        Shared {
            status: StatusCode::SERVICE_UNAVAILABLE,
            when: "Over capacity, or the database cannot be reached; nothing was changed. Send it again.",
            schema: "PlatformError",
            examples: vec![
                ApiError::Overloaded,
                ApiError::Unavailable(sqlx::Error::PoolTimedOut.into()),
            ],
        },
    ];
    if takes_a_credential(operation) {
        answers.push(Shared::of("No usable credential.", access::UNAUTHENTICATED));
        answers.push(Shared::of(
            "Too many requests of this user or key, or too many unknown tokens from this address.",
            ApiError::LIMITED,
        ));
    }
    if refusals.contain(&access::ARCHIVED) {
        answers.push(Shared::of("The program is archived.", access::ARCHIVED));
    }
    if path.contains('{') {
        answers.push(Shared::of(
            "There is no such thing.",
            ApiError::NotFound("Not Found"),
        ));
    }
    answers
}

impl Shared {
    fn of(when: &'static str, error: ApiError) -> Self {
        Self {
            status: error.status(),
            when,
            schema: match error {
                ApiError::KeyRetired => "KeyRetired",
                ApiError::RateLimited { .. } => "RateLimited",
                _ => "PlatformError",
            },
            examples: vec![error],
        }
    }

    fn response(&self) -> Response {
        Response::builder()
            .description(self.when)
            .content(
                "application/json",
                Content::new(Some(Ref::from_schema_name(self.schema))),
            )
            .build()
    }
}

fn put_warnings_beside(content: &mut RefOr<Content>) {
    let RefOr::T(content) = content else { return };
    content.schema = content.schema.take().map(|answer| {
        let both = AllOfBuilder::new()
            .item(answer)
            .item(Ref::from_schema_name("RotationNotice"));
        RefOr::T(Schema::AllOf(both.build()))
    });
}

/// Marks the header as required, for which the builder has no method.
fn always(mut header: Header) -> Header {
    header.extensions = Some(Extensions::from_iter([("required", true)]));
    header
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
