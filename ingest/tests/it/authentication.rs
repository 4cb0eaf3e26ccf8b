//! The `Authorization` header of sales and refunds.

use crate::requests::{nothing_stored, refused, with_a_sale};
use crate::rows;
use crate::stack::Stack;

const MALFORMED: &str = "Missing or malformed Authorization header. Expected: Bearer <PROGRAM_API_KEY>";

#[tokio::test]
async fn sales_and_refunds_need_one_usable_token() {
    let stack = Stack::start().await;
    let program = with_a_sale(&stack).await;
    let before = rows::counts(&stack).await;
    let management = format!("Bearer {}", program.token.replacen("aff_", "affk_", 1));
    let good = format!("Bearer {}", program.token);
    let typo = format!("{good}x");
    let cases: [(&[&str], &str, &str); 9] = [
        (&[], MALFORMED, MALFORMED),
        (&[program.token.as_str()], MALFORMED, MALFORMED),
        (&["Basic dXNlcjpwYXNz"], MALFORMED, MALFORMED),
        (&[&good, &good], MALFORMED, MALFORMED),
        (&["Bearer"], "Missing API token", "Invalid API token"),
        (&["Bearer  "], "Missing API token", "Invalid API token"),
        (&["Bearer nonsense"], "Invalid API token", "Invalid API token"),
        (&[&management], "Invalid API token", "Invalid API token"),
        (&[&typo], "Invalid API token", "Invalid API token"),
    ];
    for (headers, of_sale, of_refund) in cases {
        for (path, message) in [("sale", of_sale), ("refund", of_refund)] {
            // The credential is judged before the body: this one would be refused as well.
            let request = stack.tracking(path).body("not JSON");
            let request = headers
                .iter()
                .fold(request, |request, value| request.header("authorization", *value));
            refused(
                &stack.send(request).await,
                401,
                message,
                &format!("{path} with {headers:?}"),
            );
        }
    }
    nothing_stored(&stack, &program, &before).await;
    stack.verify().await;
    stack.stop().await;
}
