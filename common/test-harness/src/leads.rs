//! Leads from a browser and from a backend.

use serde_json::Value;

use crate::program::Program;
use crate::requests::Answer;
use crate::stack::Stack;

pub const NOT_FOUND: &str = "Customer not found. Provide a valid click_id or customer_key.";

pub async fn browser(stack: &Stack, body: Value) -> Answer {
    stack.post("lead", None, body).await
}

pub async fn server(stack: &Stack, program: &Program, body: Value) -> Answer {
    stack.post("lead", Some(&program.token), body).await
}
