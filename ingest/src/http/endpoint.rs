//! An endpoint: its route, its middleware, and the description of both.
//!
//! The router and the API description are built from the same list of endpoints, so they always agree.

use axum::Router;
use axum::routing::MethodRouter;
use utoipa::openapi::path::{Operation, ParameterBuilder, ParameterIn, PathItem};
use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, Schema, SchemaFormat, Type};
use utoipa::openapi::security::SecurityRequirement;
use utoipa::openapi::{Deprecated, OpenApi, RefOr, Required};
use utoipa_axum::router::UtoipaMethodRouter;

use crate::app::App;
use crate::http::client_address::TrustedProxies;
use crate::http::layers::{Identified, Layers};
use crate::http::limits::Budget;
use crate::http::openapi::examples::Examples;
use crate::tracking::pipeline::Noun;

/// The credentials that a group of routes takes.
pub const SESSION: [&str; 1] = ["session"];
pub const SESSION_OR_KEY: [&str; 2] = ["session", "management_key"];

#[derive(Clone)]
pub struct Endpoint {
    path: String,
    route: MethodRouter<App>,
    described: PathItem,
    schemas: Vec<(String, RefOr<Schema>)>,
    examples: Examples,
    layers: Layers,
}

impl Endpoint {
    /// One path with all its methods, as `routes!` returns them, still without middleware.
    pub fn new((schemas, paths, route): UtoipaMethodRouter<App>) -> Self {
        let (path, described) = paths.paths.into_iter().next().unwrap_or_default();
        Self {
            path,
            route,
            described,
            schemas,
            examples: Examples::default(),
            layers: Layers::default(),
        }
    }

    pub fn path(&self) -> &str {
        &self.path
    }

    /// A tracking or CLI route: its requests get an id, are counted, and have their program key looked up.
    pub fn limited(mut self, budget: Budget) -> Self {
        self.layers.identified = Identified::Always;
        self.layers.budget = Some(budget);
        self
    }

    /// Callers of the route count towards a noun's concurrency limit.
    pub fn waiting_with(mut self, noun: Noun) -> Self {
        self.layers.waits_with = Some(noun);
        self
    }

    /// A route for people or management keys. The tag, the credentials and the path's ids are added to its
    /// description unless the operation names its own.
    pub fn managed(mut self, tag: &str, credentials: &[&str]) -> Self {
        self.layers.identified = Identified::Always;
        self.layers.managed = true;
        for operation in operations_mut(&mut self.described) {
            operation.tags.get_or_insert_with(|| vec![tag.to_owned()]);
            if operation.security.is_none() && !credentials.is_empty() {
                let requirements = credentials
                    .iter()
                    .map(|name| SecurityRequirement::new(*name, [""; 0]));
                operation.security = Some(requirements.collect());
            }
            describe_ids(&self.path, operation);
        }
        self
    }

    pub fn identified(mut self) -> Self {
        self.layers.identified = Identified::Always;
        self
    }

    pub fn open_to_browsers(mut self) -> Self {
        self.layers.browsers = true;
        self
    }

    /// An answer carries the request's id only if the service failed.
    pub fn identified_on_failure(mut self) -> Self {
        self.layers.identified = Identified::OnFailure;
        self
    }

    pub fn examples(mut self, examples: Examples) -> Self {
        self.examples = examples;
        self
    }

    pub fn under_older_path(&self, path: &str) -> Self {
        let mut older = Self {
            path: path.to_owned(),
            ..self.clone()
        };
        for operation in operations_mut(&mut older.described) {
            let id = operation.operation_id.take().unwrap_or_default();
            operation.operation_id = Some(format!("older_{id}"));
            operation.description = Some(format!("Use `{}` instead: it answers the same.", self.path));
        }
        older.older()
    }

    /// Marks a route that is kept for old callers only. Its description names the replacement.
    pub fn older(mut self) -> Self {
        for operation in operations_mut(&mut self.described) {
            operation.tags = Some(vec!["older paths".to_owned()]);
            operation.deprecated = Some(Deprecated::True);
        }
        self
    }

    pub fn serve(self, app: &App, proxies: &TrustedProxies, router: Router<App>) -> Router<App> {
        router.route(&self.path, self.layers.wrap(&self.path, self.route, app, proxies))
    }

    /// Adds the description, with the answers and headers of the middleware.
    pub fn describe(mut self, api: &mut OpenApi) {
        for operation in operations_mut(&mut self.described) {
            let refusals = Examples::take_refusals(operation);
            self.layers.describe(&self.path, operation, &refusals);
            self.examples.add_to(operation);
            refusals.add_to(operation);
        }
        api.components
            .get_or_insert_default()
            .schemas
            .extend(self.schemas);
        api.paths.paths.insert(self.path, self.described);
    }
}

/// Describes as integers the `{name}`s of the path that the operation does not describe itself.
fn describe_ids(path: &str, operation: &mut Operation) {
    let names = path
        .split('/')
        .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let parameters = operation.parameters.get_or_insert_default();
    let described = names
        .filter(|name| {
            !parameters
                .iter()
                .any(|its| matches!(its, RefOr::T(its) if its.name == *name))
        })
        .map(|name| {
            let integer = ObjectBuilder::new()
                .schema_type(Type::Integer)
                .format(Some(SchemaFormat::KnownFormat(KnownFormat::Int64)));
            let parameter = ParameterBuilder::new()
                .name(name)
                .parameter_in(ParameterIn::Path)
                .required(Required::True)
                .schema(Some(integer));
            RefOr::T(parameter.build())
        })
        .collect::<Vec<_>>();
    parameters.splice(..0, described);
    if parameters.is_empty() {
        operation.parameters = None;
    }
}

pub fn operations_mut(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    [
        &mut item.get,
        &mut item.put,
        &mut item.post,
        &mut item.patch,
        &mut item.delete,
    ]
    .into_iter()
    .flatten()
}

/// Endpoints for people and management keys that share a tag and credentials: the operations of each path.
macro_rules! managed {
    ($tag:literal, $credentials:expr; $($($route:path),+;)+) => {
        vec![$(
            $crate::http::endpoint::Endpoint::new(::utoipa_axum::routes!($($route),+))
                .managed($tag, &$credentials),
        )+]
    };
}

pub(crate) use managed;
