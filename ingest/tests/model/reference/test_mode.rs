//! Test mode: events that do not count.

use serde_json::json;

use super::answers::{answered, credential, link_refusal, refused};
use super::{Answered, Reference};
use crate::calls::{NO_LINK, TestKind, Who};

impl Reference {
    pub fn test(&mut self, who: Who, kind: TestKind, named: Option<usize>) -> Answered {
        let caller = match who {
            Who::Program(program) => Some(program),
            _ => None,
        };
        if let TestKind::Sale { .. } = kind {
            return match credential(who, "Missing API token") {
                Ok(program) => self.tested(program, "sale"),
                Err(refusal) => refusal,
            };
        }
        if let (Some(caller), Some(named)) = (caller, named)
            && caller != named
        {
            return refused(403, "program_id does not match the API key");
        }
        let mut program = caller.or(named);
        if let TestKind::Click { program: of, link } = kind
            && link != NO_LINK
        {
            if let Some(refusal) = link_refusal(link) {
                return refusal;
            }
            program = program.or(Some(of));
        }
        let noun = if kind == TestKind::Lead { "lead" } else { "click" };
        match program {
            Some(program) => self.tested(program, noun),
            None => refused(400, "additional_data.program_id must name a program"),
        }
    }

    fn tested(&mut self, program: usize, noun: &'static str) -> Answered {
        self.tests.push((program, noun));
        answered(json!({
            "success": true,
            "message": format!("Test {noun} event tracked successfully"),
            "data": { "eventId": "an id", "programId": format!("program {program}"), "test_mode": true },
        }))
    }
}
