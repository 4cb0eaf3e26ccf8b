//! `ctl webhooks`: how an operator sees and changes endpoints and deliveries.

use serde_json::json;
use test_harness::{ctl, managed::audited, succeeds};

use super::{ENDPOINTS, FAILS, URL, endpoint, event, finish, row, with_endpoint};

#[tokio::test]
async fn an_operator_lists_endpoints_and_turns_them_off_and_on() {
    let (stack, program, id) = with_endpoint().await;
    let other = endpoint(&stack, &program, &["lead.created"]).await;
    let program_id = program.id.to_string();
    let list = async |more: &[&str]| {
        let arguments = [&["webhooks", "list", "--program", &program_id], more].concat();
        succeeds(&stack, &arguments).await.out
    };
    let line =
        |id: i64, state: &str| format!("{id}  program {program_id}  {state}  last success never  {URL}\n");
    assert_eq!(list(&[]).await, line(id, "enabled") + &line(other, "enabled"));
    assert_eq!(list(&["--troubled"]).await, "no webhook endpoints\n");
    let fails = format!("{FAILS} WHERE id = {id}");
    stack.execute(&fails).await;
    let failing = line(id, "failing since 2026-03-01T10:00:00Z");
    assert_eq!(list(&["--troubled"]).await, failing);
    let disabled = succeeds(&stack, &["webhooks", "disable", &id.to_string()]).await;
    assert_eq!(disabled.out, format!("endpoint {id} is disabled\n"));
    let shown = program.get(&stack, &format!("{ENDPOINTS}/{id}")).await;
    assert_eq!(shown.data()["disabled_reason"], "by_hand");
    succeeds(&stack, &["webhooks", "enable", &id.to_string()]).await;
    assert_eq!(list(&["--troubled"]).await, "no webhook endpoints\n");
    assert_eq!(audited(&stack, "webhook_endpoint.updated").await, 2);
    let unknown = ctl(&stack, &["webhooks", "disable", "999999"]).await;
    let message = "there is no webhook endpoint 999999";
    assert!(!unknown.ok && unknown.err.contains(message), "{unknown:?}");
}

#[tokio::test]
async fn an_operator_sees_deliveries_and_sends_them_again() {
    let (stack, program, id) = with_endpoint().await;
    let failed = event(&stack, &program, "sale.recorded", Some(id)).await;
    finish(&stack, failed, "given_up", 500, "oh\nno").await;
    event(&stack, &program, "lead.created", None).await;
    let endpoint_id = id.to_string();
    let deliveries = ["webhooks", "deliveries", &endpoint_id];
    let list = succeeds(&stack, &deliveries).await.out;
    assert!(
        list.starts_with(&format!("{failed}  "))
            && list.ends_with("  sale.recorded  given_up  1  500  oh no\n"),
        "{list}"
    );
    let none = succeeds(&stack, &[&deliveries[..], &["--state", "waiting"]].concat()).await;
    assert_eq!(none.out, "no deliveries\n");
    let replay =
        async |more: &[&str]| ctl(&stack, &[&["webhooks", "replay", &endpoint_id], more].concat()).await;
    assert!(replay(&["--delivery", &failed.to_string()]).await.ok);
    let queued = row(&stack, "SELECT is_replay FROM webhook_queue").await;
    assert_eq!(queued, json!({ "is_replay": true }));
    assert_eq!(stack.count("webhook_queue").await, 1);
    // The sale is queued already; the endpoint does not receive leads.
    let since = ["--since", "2026-01-01T00:00:00Z"];
    assert_eq!(replay(&since).await.out, "0 deliveries are on their way\n");
    let leads = replay(&[&since[..], &["--type", "lead.created"]].concat()).await;
    assert_eq!(leads.out, "1 deliveries are on their way\n");
    assert!(!replay(&["--delivery", "999999"]).await.ok);
    assert!(!replay(&[]).await.ok, "of which?");
    let listed = program.get(&stack, &format!("{ENDPOINTS}/{id}/deliveries")).await;
    assert_eq!(listed.data().as_array().unwrap().len(), 3);
    assert_eq!(audited(&stack, "webhook_delivery.replayed").await, 1);
}
