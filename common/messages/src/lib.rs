//! Messages on the bus. The envelope of a record carries its version. Every record has the event_id and the
//! time that ingest assigned; they identify a repeated delivery.
//!
//! New fields are optional and have a default, so that messages of the previous version can be decoded.

pub mod click;
pub mod envelope;
pub mod instant;
pub mod lead;
pub mod notification;
pub mod outbound_event;
pub mod payment;
pub mod refund;
pub mod sale;
pub mod subject;
pub mod test_chain;
pub mod test_event;

use serde_json::Value;

use domain::ids::ProgramId;

/// The program that a record names, even if the record cannot be decoded. Only the places where our own
/// records name their program are read: deeper values come from outside. A browser's lead names no program.
pub fn program_of(record: &[u8]) -> Option<ProgramId> {
    let record: Value = serde_json::from_slice(record).ok()?;
    ["/program_id", "/lead/mode/server/program_id"]
        .iter()
        .find_map(|place| record.pointer(place))
        .and_then(Value::as_i64)
        .map(ProgramId::new)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_record_names_its_program_where_our_records_do() {
        for (record, named) in [
            (
                json!({ "program_id": 5, "sale": { "line_items": [{ "program_id": 6 }] } }),
                Some(5),
            ),
            (
                json!({ "lead": { "mode": { "server": { "program_id": 5 } } } }),
                Some(5),
            ),
            (json!({ "lead": { "mode": "browser", "event_name": "5" } }), None),
            (json!({ "sale": { "line_items": { "program_id": 5 } } }), None),
            (json!([{ "program_id": 5 }]), None),
        ] {
            assert_eq!(
                program_of(record.to_string().as_bytes()),
                named.map(ProgramId::new),
                "{record}"
            );
        }
        assert_eq!(program_of(b"{\"program_id\": 5"), None);
    }
}
