//! What surrounds every answer: request ids, CORS, and errors of routes that do not exist.

use reqwest::{Method, StatusCode};
use serde_json::json;

use crate::stack::Stack;

#[tokio::test]
async fn a_sane_request_id_is_kept_and_another_is_replaced() {
    let stack = Stack::start().await;
    let ask = async |id: &str| {
        let request = stack
            .request(Method::POST, "/api/v1/track/sale")
            .header("x-request-id", id)
            .body("{}");
        stack.send(request).await.header("x-request-id").to_owned()
    };
    assert_eq!(ask("order-42.b").await, "order-42.b");
    let minted = ask("<script>").await;
    assert!(
        !minted.is_empty() && minted.bytes().all(|byte| byte.is_ascii_hexdigit()),
        "{minted}"
    );
    stack.stop().await;
}

#[tokio::test]
async fn any_site_may_send_clicks_and_leads_and_read_the_answers_headers() {
    let stack = Stack::start().await;
    for route in ["click", "lead"] {
        let path = format!("/api/v1/track/{route}");
        let preflight = stack
            .request(Method::OPTIONS, &path)
            .header("origin", "https://shop.example")
            .header("access-control-request-method", "POST")
            .header("access-control-request-headers", "content-type");
        let answer = stack.send(preflight).await;
        assert_eq!(answer.status, StatusCode::OK);
        assert_eq!(answer.header("access-control-allow-origin"), "*");
        assert_eq!(answer.header("access-control-max-age"), "86400");
        assert_eq!(
            answer.header("x-ratelimit-limit"),
            "",
            "a preflight is not counted"
        );
        let request = stack
            .request(Method::POST, &path)
            .header("origin", "https://shop.example")
            .body("{}");
        let answer = stack.send(request).await;
        assert_eq!(answer.header("access-control-allow-origin"), "*");
        let exposed = answer.header("access-control-expose-headers");
        for name in ["x-ratelimit-remaining", "retry-after", "sunset", "x-request-id"] {
            assert!(exposed.contains(name), "{name} in {exposed}");
        }
    }
    let sale = stack
        .request(Method::POST, "/api/v1/track/sale")
        .header("origin", "https://shop.example")
        .body("{}");
    assert_eq!(
        stack.send(sale).await.header("access-control-allow-origin"),
        "",
        "keys do not belong into browsers"
    );
    stack.stop().await;
}

#[tokio::test]
async fn what_does_not_exist_answers_in_the_platform_envelope() {
    let stack = Stack::start().await;
    let unknown = stack.send(stack.request(Method::GET, "/api/v1/nothing")).await;
    assert_eq!(unknown.status, StatusCode::NOT_FOUND);
    let expected = json!({ "status": 404, "name": "NotFoundError", "message": "Not Found", "details": {} });
    assert_eq!(unknown.body, json!({ "data": null, "error": expected }));
    let wrong = stack
        .send(stack.request(Method::GET, "/api/v1/track/click"))
        .await;
    assert_eq!(wrong.status, StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(wrong.body["error"]["name"], "MethodNotAllowedError");
    stack.stop().await;
}
