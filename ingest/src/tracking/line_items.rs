//! The line items of a sale, as its caller writes them: stored, never read.

use utoipa::openapi::schema::{
    AdditionalProperties, ArrayBuilder, Object, ObjectBuilder, OneOfBuilder, Schema, SchemaType, Type,
};

pub const MAX_BYTES: usize = 32 * 1024;

/// Spells out each form, and the entries of the array: client generators leave out an operation with less
/// detail.
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
