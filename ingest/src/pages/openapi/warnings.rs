//! Answers that may hold `warnings` beside their own fields.
//!
//! [`crate::http::layers::described`] combines the answer and its warnings by `allOf`. If the answer has
//! several forms, each form gets the field itself instead: client generators combine objects, but few combine
//! a choice with an object.

use std::collections::BTreeSet;

use utoipa::openapi::path::Operation;
use utoipa::openapi::schema::{AllOf, Components, Schema};
use utoipa::openapi::{OpenApi, Ref, RefOr};

use super::name_of;
use crate::http::endpoint::operations_mut;

const NOTICE: &str = "RotationNotice";
const FIELD: &str = "warnings";

/// Runs after all operations and the named alternatives of their schemas have been added.
pub fn put_into_forms(api: &mut OpenApi) {
    let Some(components) = &mut api.components else {
        return;
    };
    let mut choices = BTreeSet::new();
    let items = api.paths.paths.values_mut();
    for operation in items.flat_map(operations_mut) {
        for schema in answers(operation) {
            let RefOr::T(Schema::AllOf(both)) = schema else {
                continue;
            };
            if let Some(choice) = choice_with_warnings(both, components) {
                *schema = Ref::from_schema_name(&choice).into();
                choices.insert(choice);
            }
        }
    }
    let Some(RefOr::T(Schema::Object(notice))) = components.schemas.get(NOTICE) else {
        return;
    };
    let Some(warnings) = notice.properties.get(FIELD).cloned() else {
        return;
    };
    for choice in choices {
        put_into(&choice, &warnings, components);
    }
}

/// The schemas of an operation's answers.
fn answers(operation: &mut Operation) -> impl Iterator<Item = &mut RefOr<Schema>> {
    let responses = operation.responses.responses.values_mut();
    let contents = responses.filter_map(|response| match response {
        RefOr::T(response) => Some(response.content.values_mut()),
        RefOr::Ref(_) => None,
    });
    contents.flatten().filter_map(|content| match content {
        RefOr::T(content) => content.schema.as_mut(),
        RefOr::Ref(_) => None,
    })
}

/// The name of a schema that has several forms and is combined with warnings.
fn choice_with_warnings(both: &AllOf, components: &Components) -> Option<String> {
    let [answer, notice] = both.items.as_slice() else {
        return None;
    };
    let name = name_of(answer).filter(|_| name_of(notice) == Some(NOTICE))?;
    let has_forms = matches!(components.schemas.get(name), Some(RefOr::T(Schema::OneOf(_))));
    has_forms.then(|| name.to_owned())
}

/// Adds the field to each form of `name`, or to `name` itself if it has no forms.
fn put_into(name: &str, warnings: &RefOr<Schema>, components: &mut Components) {
    let mut others = Vec::new();
    match components.schemas.get_mut(name) {
        Some(RefOr::T(Schema::Object(form))) => {
            form.properties.insert(FIELD.to_owned(), warnings.clone());
        }
        Some(RefOr::T(Schema::OneOf(choice))) => {
            others.extend(choice.items.iter().filter_map(name_of).map(str::to_owned));
        }
        _ => {}
    }
    for other in others {
        put_into(&other, warnings, components);
    }
}
