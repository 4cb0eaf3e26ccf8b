//! Rewrites schemas that are a choice into forms that client generators take.
//!
//! The types combine a choice and the fields beside it by `allOf`, such as an event and the details of its
//! type. Client generators combine objects, but few combine a choice with an object. So such a schema becomes
//! a choice between objects that have the fields of both. Generators also leave out alternatives without a
//! name, so each becomes a schema of its own.

use std::collections::BTreeMap;

use utoipa::openapi::schema::{AllOf, ArrayItems, Components, Object, OneOf, Schema, Type};
use utoipa::openapi::{OpenApi, Ref, RefOr};

use super::name_of;

type Schemas = BTreeMap<String, RefOr<Schema>>;

/// Runs after all schemas have been added.
pub fn put_together(api: &mut OpenApi) {
    let Some(components) = &mut api.components else {
        return;
    };
    let known = components.schemas.clone();
    for (name, schema) in &mut components.schemas {
        refer_to_part(schema, name, &known);
        put_together_in(schema, name, &known);
    }
    name_alternatives(components);
}

/// Replaces a copy by a reference: `Data_Sale` and `Listed_Sale` contain all of a `Sale`.
fn refer_to_part(schema: &mut RefOr<Schema>, name: &str, known: &Schemas) {
    let (RefOr::T(Schema::Object(object)), Some((_, part))) = (schema, name.rsplit_once('_')) else {
        return;
    };
    for field in object.properties.values_mut() {
        let place = match field {
            RefOr::T(Schema::Array(array)) => match &mut array.items {
                ArrayItems::RefOrSchema(items) => items,
                ArrayItems::False => continue,
            },
            field => field,
        };
        if known.get(part) == Some(place) {
            *place = Ref::from_schema_name(part).into();
        }
    }
}

/// `name` is the component's name, with which the titles of its forms end.
fn put_together_in(schema: &mut RefOr<Schema>, name: &str, known: &Schemas) {
    let RefOr::T(Schema::AllOf(both)) = schema else {
        return;
    };
    let Some(forms) = forms_of_both(both, known).filter(|forms| forms.len() > 1) else {
        return;
    };
    let mut choice = OneOf::new();
    choice.description.clone_from(&both.description);
    choice.items = forms
        .into_iter()
        .map(|mut form| {
            let title = form.title.take().unwrap_or_default();
            form.title = Some(format!("{title}{name}"));
            form.into()
        })
        .collect();
    *schema = RefOr::T(choice.into());
}

/// Turns an alternative with a title into a schema of that name.
fn name_alternatives(components: &mut Components) {
    let mut named = Schemas::new();
    for schema in components.schemas.values_mut() {
        let RefOr::T(Schema::OneOf(choice)) = schema else {
            continue;
        };
        for alternative in &mut choice.items {
            if let RefOr::T(Schema::Object(form)) = alternative
                && let Some(name) = form.title.take()
            {
                let reference = Ref::from_schema_name(&name).into();
                named.insert(name, std::mem::replace(alternative, reference));
            }
        }
    }
    components.schemas.extend(named);
}

/// The forms that a schema can have, if each is an object: each has its name as title.
fn forms(schema: &RefOr<Schema>, known: &Schemas) -> Option<Vec<Object>> {
    match schema {
        RefOr::Ref(_) => {
            let name = name_of(schema)?;
            let mut forms = forms(known.get(name)?, known)?;
            if let [only] = forms.as_mut_slice() {
                only.title = Some(name.trim_end_matches("Details").to_owned());
            }
            Some(forms)
        }
        RefOr::T(Schema::Object(object)) => {
            (object.schema_type == Type::Object.into()).then(|| vec![object.clone()])
        }
        RefOr::T(Schema::OneOf(choice)) => {
            let forms: Option<Vec<_>> = choice.items.iter().map(|form| forms(form, known)).collect();
            Some(forms?.concat())
        }
        RefOr::T(Schema::AllOf(both)) => forms_of_both(both, known),
        RefOr::T(_) => None,
    }
}

fn forms_of_both(both: &AllOf, known: &Schemas) -> Option<Vec<Object>> {
    let mut parts = both.items.iter().map(|part| forms(part, known));
    let first = parts.next()??;
    parts.try_fold(first, |combined, part| {
        let part = part?;
        let with = |form: &Object| part.iter().map(|other| united(form, other)).collect::<Vec<_>>();
        Some(combined.iter().flat_map(with).collect())
    })
}

/// One object with the fields of both.
fn united(one: &Object, other: &Object) -> Object {
    let mut both = one.clone();
    both.title = one.title.clone().or_else(|| other.title.clone());
    both.description = None;
    both.required.extend(other.required.iter().cloned());
    both.properties.extend(other.properties.clone());
    both
}
