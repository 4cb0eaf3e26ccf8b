//! What tests of refusals share: status, message and envelope, and nothing stored.

use reqwest::StatusCode;
use serde_json::json;

use crate::rows;
use crate::stack::{Answer, Program, Stack};

/// The platform envelope, exactly.
pub fn refused(answer: &Answer, status: u16, message: &str, what: &str) {
    let name = match status {
        400 => "BadRequestError",
        401 => "UnauthorizedError",
        404 => "NotFoundError",
        409 => "ConflictError",
        413 => "PayloadTooLargeError",
        other => panic!("{other} is not expected of {what}"),
    };
    let body = json!({ "data": null, "error": { "status": status, "name": name, "message": message, "details": {} } });
    assert_eq!(answer.body, body, "{what}");
    assert_eq!(answer.status.as_u16(), status, "{what}");
}

/// A program with a customer `user-1` and their sale `t1`, everything written.
pub async fn with_a_sale(stack: &Stack) -> Program {
    let program = stack.program().await;
    stack.customer(&program, &program.ada.code, "user-1").await;
    let body = json!({ "transaction_id": "t1", "amount_cents": 5000, "customer_key": "user-1" });
    assert_eq!(stack.sale(&program, body).await.status, StatusCode::OK);
    rows::counted(stack, program.ada.link, 1).await;
    program
}

/// Clicks are written behind their answers, in order: once one more is counted, none before it is still to come.
pub async fn nothing_stored(
    stack: &Stack,
    program: &Program,
    before: &std::collections::BTreeMap<String, i64>,
) {
    let mut expected = before.clone();
    for table in ["customers", "click_events"] {
        *expected.get_mut(table).unwrap() += 1;
    }
    stack.click(&program.bruno.code).await;
    rows::counted(stack, program.bruno.link, 1).await;
    assert_eq!(rows::counts(stack).await, expected);
}
