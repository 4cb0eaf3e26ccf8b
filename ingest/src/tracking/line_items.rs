//! What a sale consists of, as its caller writes it: stored, never read.

use utoipa::openapi::schema::{
    AdditionalProperties, ArrayBuilder, Object, ObjectBuilder, OneOfBuilder, Schema, SchemaType, Type,
};

pub const MAX_BYTES: usize = 32 * 1024;

/// Each form by itself, and an array with its entries: generators of clients leave out an operation with less.
pub fn schema() -> Schema {
    let object = ObjectBuilder::new()
        .schema_type(Type::Object)
        .additional_properties(Some(AdditionalProperties::<Schema>::FreeForm(true)));
    let array = ArrayBuilder::new().items(Object::with_type(SchemaType::AnyValue));
    OneOfBuilder::new()
        .item(object)
        .item(array)
        .item(Object::with_type(Type::Null))
        .description(Some("An object or an array of at most 32 KiB, stored as it is."))
        .into()
}
