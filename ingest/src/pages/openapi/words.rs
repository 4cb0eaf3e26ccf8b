//! Texts that are one of a few words. A field lists the words in its pattern, `^(a|b)$`, because `ToSchema`
//! has no attribute for them. The description lists them as `enum`, from which client generators make types.

use serde_json::Value;
use utoipa::openapi::schema::{ArrayItems, Object, Schema, SchemaType, Type};
use utoipa::openapi::{OpenApi, RefOr};

/// Runs after all schemas have been added.
pub fn list(api: &mut OpenApi) {
    let Some(components) = &mut api.components else {
        return;
    };
    components.schemas.values_mut().for_each(list_in);
}

fn list_in(schema: &mut RefOr<Schema>) {
    let RefOr::T(schema) = schema else { return };
    match schema {
        Schema::Object(object) => {
            if let Some(words) = words(object) {
                object.pattern = None;
                object.enum_values = Some(words);
            }
            object.properties.values_mut().for_each(list_in);
        }
        Schema::Array(array) => {
            if let ArrayItems::RefOrSchema(items) = &mut array.items {
                list_in(items);
            }
        }
        Schema::AllOf(parts) => parts.items.iter_mut().for_each(list_in),
        Schema::OneOf(choice) => choice.items.iter_mut().for_each(list_in),
        _ => {}
    }
}

/// The words of the object's pattern, and null if it may be null.
fn words(object: &Object) -> Option<Vec<Value>> {
    let pattern = object.pattern.as_deref()?.strip_prefix('^')?.strip_suffix('$')?;
    let (pattern, may_be_empty) = match pattern.strip_suffix('?') {
        Some(pattern) => (pattern, true),
        None => (pattern, false),
    };
    let list = pattern
        .strip_prefix('(')
        .and_then(|list| list.strip_suffix(')'))
        .unwrap_or(pattern);
    let is_word = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    if !list.split('|').all(is_word) {
        return None;
    }
    let may_be_null = matches!(&object.schema_type, SchemaType::Array(types) if types.contains(&Type::Null));
    let empty = may_be_empty.then(|| Value::from(""));
    let null = may_be_null.then_some(Value::Null);
    Some(
        list.split('|')
            .map(Value::from)
            .chain(empty)
            .chain(null)
            .collect(),
    )
}
