//! Messages on the bus. Every record is versioned by its envelope, and carries the event_id and the time
//! minted at the edge: the keys by which a second delivery is recognised.
//!
//! New fields are optional with a default, so that the previous version's messages decode.

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

/// The program that a record names, decodable or not. Only where our own records name theirs: what is deeper was sent by
/// strangers. A lead of a browser names none.
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
