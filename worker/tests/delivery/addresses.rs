//! Addresses that the delivery role never connects to, whatever an endpoint's row says. The client's own
//! tests cover the whole table.

use domain::programs::outbound_event::OutboundEventType::LeadCreated;
use runtime::clock::Clock;
use test_harness::{Receiver, Stack, noon, webhooks};

async fn failure(stack: &Stack) -> String {
    stack.reaches("webhook_queue WHERE attempts = 1", 1).await;
    stack.value("SELECT failure FROM webhook_queue").await
}

#[tokio::test]
async fn an_endpoint_inside_is_not_connected_to() {
    let receiver = Receiver::start().await;
    let port = receiver.address.port();
    let inside = "the host's address is not public";
    for (url, why) in [
        (receiver.url(), "the URL is not allowed"),
        (format!("https://127.0.0.1:{port}/"), inside),
        (format!("https://localhost:{port}/"), inside),
        (format!("https://[::ffff:127.0.0.1]:{port}/"), inside),
        ("https://169.254.169.254/latest/meta-data/".to_owned(), inside),
    ] {
        let mut stack = Stack::without_services(Clock::manual(noon())).await;
        stack.set("WEBHOOK_ALLOW_LOOPBACK", "false");
        let program = stack.program().await;
        webhooks::endpoint(&stack, &program, &url, &[LeadCreated]).await;
        webhooks::leads(&stack, &program, [1]).await;
        stack.start_delivery();
        assert_eq!(failure(&stack).await, why, "{url}");
    }
    assert_eq!(receiver.connections(), 0);
}

#[tokio::test]
async fn a_network_that_the_operator_allows_is_connected_to() {
    let receiver = Receiver::start().await;
    let mut stack = Stack::without_services(Clock::manual(noon())).await;
    stack.set("WEBHOOK_ALLOW_LOOPBACK", "false");
    stack.set("WEBHOOK_ALLOWED_NETWORKS", "10.0.0.0/8,127.0.0.0/8");
    stack.set("WEBHOOK_TIMEOUT_MS", "500");
    let program = stack.program().await;
    let url = format!("https://127.0.0.1:{}/", receiver.address.port());
    webhooks::endpoint(&stack, &program, &url, &[LeadCreated]).await;
    webhooks::leads(&stack, &program, [1]).await;
    stack.start_delivery();
    // The receiver speaks no TLS, and waits for a request.
    assert_eq!(failure(&stack).await, "no whole answer in time");
    assert_eq!((receiver.connections(), receiver.count()), (1, 0));
}
