//! Examples of bodies whose endpoint has none, put together from an example of each field.
//!
//! The values are in `field_examples.json`: of a whole schema by its name, of one schema's field by
//! `Schema.field`, or of every field of a name. Fields without a value there get one by their type.

use serde_json::{Map, Value};
use utoipa::openapi::path::Operation;
use utoipa::openapi::{Content, OpenApi, RefOr};

use crate::http::endpoint::operations_mut;
use crate::http::openapi::examples::{Example, JSON};

pub const VALUES: &str = include_str!("field_examples.json");
const AT: &str = "2024-10-04T00:00:00.000Z";
const DAY: &str = "2024-10-04";

struct Fields {
    /// The schemas of the description, by name.
    schemas: Value,
    /// By schema, `Schema.field` or field.
    values: Map<String, Value>,
}

/// Runs after all schemas have their form.
pub fn complete(api: &mut OpenApi) {
    let schemas = api.components.as_ref().map(|components| &components.schemas);
    let fields = Fields {
        // Neither can fail: the document has only string keys and plain values, and a test reads the file.
        schemas: serde_json::to_value(schemas).unwrap_or_default(),
        values: serde_json::from_str(VALUES).unwrap_or_default(),
    };
    for operation in api.paths.paths.values_mut().flat_map(operations_mut) {
        for content in bodies_mut(operation) {
            if let RefOr::T(its) = &*content
                && its.examples.is_empty()
            {
                let schema = serde_json::to_value(&its.schema).unwrap_or_default();
                let example = Example {
                    summary: "An example".to_owned(),
                    body: fields.example("", "", &schema),
                };
                example.add_to(content);
            }
        }
    }
}

fn bodies_mut(operation: &mut Operation) -> impl Iterator<Item = &mut RefOr<Content>> {
    let request = operation.request_body.iter_mut().filter_map(|body| match body {
        RefOr::T(body) => body.content.get_mut(JSON),
        RefOr::Ref(_) => None,
    });
    let answers = operation.responses.responses.values_mut();
    request.chain(answers.filter_map(|answer| match answer {
        RefOr::T(answer) => answer.content.get_mut(JSON),
        RefOr::Ref(_) => None,
    }))
}

impl Fields {
    /// An example of a field of the schema `owner`.
    fn example(&self, owner: &str, field: &str, schema: &Value) -> Value {
        if let Some(own) = schema.get("example") {
            return own.clone();
        }
        if let Some(value) = self.values.get(&format!("{owner}.{field}")) {
            return value.clone();
        }
        if let Some(word) = schema["enum"].as_array().and_then(|words| words.first()) {
            return word.clone();
        }
        if let Some(value) = self.values.get(field) {
            return value.clone();
        }
        if let Some(name) = name_of(schema) {
            let whole = self.values.get(name);
            return whole
                .cloned()
                .unwrap_or_else(|| self.example(name, field, self.schema(name)));
        }
        if let Some(parts) = schema["allOf"].as_array() {
            let parts = parts.iter().map(|part| self.example(owner, field, part));
            return parts
                .filter_map(|part| part.as_object().cloned())
                .flatten()
                .collect();
        }
        if let Some(form) = forms(schema).first() {
            return self.example(owner, field, form);
        }
        self.by_type(owner, field, schema)
    }

    fn schema(&self, name: &str) -> &Value {
        self.schemas.get(name).unwrap_or(&Value::Null)
    }

    fn by_type(&self, owner: &str, field: &str, schema: &Value) -> Value {
        match type_of(schema) {
            "object" => {
                let fields = schema["properties"].as_object().into_iter().flatten();
                fields
                    .map(|(name, schema)| (name.clone(), self.example(owner, name, schema)))
                    .collect()
            }
            "array" => {
                let items = &schema["items"];
                let forms = name_of(items).map_or_else(Vec::new, |name| forms(self.schema(name)));
                let items = if forms.is_empty() { vec![items] } else { forms };
                items
                    .into_iter()
                    .map(|item| self.example(owner, field, item))
                    .collect()
            }
            "integer" | "number" => schema.get("minimum").cloned().unwrap_or_else(|| 1.into()),
            "boolean" => false.into(),
            "string" if schema["format"] == "date-time" => AT.into(),
            "string" if schema["format"] == "date" => DAY.into(),
            _ => Value::Null,
        }
    }
}

/// The alternatives but null.
fn forms(schema: &Value) -> Vec<&Value> {
    let forms = schema["oneOf"].as_array().into_iter().flatten();
    forms.filter(|form| form["type"] != "null").collect()
}

/// The name of the schema that is referred to.
fn name_of(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str()?.rsplit('/').next()
}

/// The type but null.
fn type_of(schema: &Value) -> &str {
    let types = schema["type"].as_array();
    let mut types = types
        .map_or(std::slice::from_ref(&schema["type"]), Vec::as_slice)
        .iter();
    types
        .find_map(|one| one.as_str().filter(|name| *name != "null"))
        .unwrap_or_default()
}
