//! Endpoints are created, changed, disabled, enabled and removed; a program's steps know which events its
//! endpoints want.

use chrono::TimeDelta;
use domain::ids::WebhookEndpointId;
use domain::programs::outbound_event::{OutboundEventType, WantedEvents};
use domain::programs::webhook::SigningSecret;
use domain::sealed::SealingKeys;
use serde_json::{Value, json};
use test_harness::managed::{Managed, audit_details, audited};
use test_harness::{Json, Receiver, Reply, Stack, refused_each, statuses};

use super::{ENDPOINTS, FAILS, URL, below, endpoint, event, with_endpoint, with_endpoint_at_noon};

const PUBLIC: &str = "url must lead to a public address";
const HTTPS: &str = "url must be an https URL";

const UNKNOWN: &str = "Webhook endpoint not found";

fn path_of(endpoint_id: i64) -> String {
    format!("{ENDPOINTS}/{endpoint_id}")
}

/// The types of events that the program's steps write.
async fn wanted(stack: &Stack) -> Vec<&'static str> {
    let query = "SELECT wanted_events FROM programs ORDER BY id LIMIT 1";
    let bits: i32 = stack.value(query).await;
    let wanted = WantedEvents::from_bits(bits);
    let names = OutboundEventType::ALL
        .into_iter()
        .filter(|event_type| wanted.contains(*event_type));
    names.map(OutboundEventType::as_str).collect()
}

/// The current and the previous secret that sign an endpoint's webhooks.
async fn opened(stack: &Stack, endpoint_id: i64) -> [Option<String>; 2] {
    let (secret, previous): (Vec<u8>, Option<Vec<u8>>) =
        sqlx::query_as("SELECT secret_sealed, previous_secret_sealed FROM webhook_endpoints WHERE id = $1")
            .bind(endpoint_id)
            .fetch_one(stack.pool())
            .await
            .unwrap();
    let purpose = SigningSecret::purpose(WebhookEndpointId::new(endpoint_id));
    [Some(secret), previous].map(|sealed| {
        let opened = SealingKeys::new(&[0x33; 32], &[])
            .open(&sealed?, &purpose)
            .unwrap();
        Some(SigningSecret::from_opened(&opened).unwrap().text())
    })
}

#[tokio::test]
async fn an_endpoint_shows_its_secret_once_and_its_health_always() {
    let stack = Stack::at_noon().await;
    let program = Managed::new(&stack, &stack.workspace("acme").await, "Acme").await;
    assert_eq!(program.get(&stack, ENDPOINTS).await.body, json!({ "data": [] }));
    let body = json!({ "url": URL, "description": "Billing",
                       "event_types": ["sale.recorded", "lead.created", "sale.recorded"] });
    let made = program.submit(&stack, ENDPOINTS, body).await.created();
    let mut shown = made.data().clone();
    let secret = shown.as_object_mut().unwrap().remove("secret").unwrap();
    let settings = json!({ "url": URL, "description": "Billing", "enabled": true,
                           "event_types": ["lead.created", "sale.recorded"] });
    let expected = settings.clone().with(json!({
        "id": made.id(), "disabled_reason": null, "disabled_at": null, "failing_since": null,
        "last_failure_at": null, "last_success_at": null, "previous_secret_valid_until": null,
        "created_at": "2026-03-01T12:00:00.000Z",
    }));
    assert_eq!(shown, expected);
    let secrets = opened(&stack, made.id()).await;
    assert_eq!(secrets, [secret.as_str().map(str::to_owned), None]);
    assert_eq!(*program.get(&stack, ENDPOINTS).await.data(), json!([expected]));
    let one = path_of(made.id());
    assert_eq!(*program.get(&stack, &one).await.data(), expected);
    let statement = format!("{FAILS}, last_success_at = '2026-03-01 09:00Z'");
    stack.execute(&statement).await;
    program.get(&stack, &one).await.data().has(json!({
        "failing_since": "2026-03-01T10:00:00.000Z", "last_failure_at": "2026-03-01T11:00:00.000Z",
        "last_success_at": "2026-03-01T09:00:00.000Z",
    }));
    assert_eq!(
        audit_details(&stack, "webhook_endpoint.created").await,
        [settings]
    );
}

#[tokio::test]
async fn an_endpoint_that_cannot_be_is_refused_by_its_field_and_stores_nothing() {
    let stack = Stack::start_set(&[("WEBHOOK_ALLOW_LOOPBACK", "false")]).await;
    let program = Managed::new(&stack, &stack.workspace("acme").await, "Acme").await;
    let long_path = format!("https://hooks.example/{}", "x".repeat(2_048));
    let urls = json!({
        "url is required": [null, ""],
        "url must be a string": [7],
        HTTPS: ["hooks", "http://hooks.example/", "http://127.0.0.1/"],
        PUBLIC: [
            "https://127.0.0.1/", "https://[fd00:ec2::254]/latest/", "https://localhost/",
            "https://hooks..example/", "https://hooks.example:0/", format!("https://{}.example/", "x".repeat(64)),
        ],
        "url must not have a user name, a password or a fragment": ["https://user:secret@hooks.example/"],
        "url must have at most 2,048 characters": [long_path],
    });
    let with_url = async |url| {
        let body = json!({ "url": url, "event_types": ["sale.recorded"] });
        program.submit(&stack, ENDPOINTS, body).await
    };
    refused_each(400, urls, with_url).await;
    let fields = json!({
        "event_types is required": [{}],
        "event_types must name at least one type of event": [{ "event_types": [] }],
        "event_types must be a list of types of events": [
            { "event_types": "sale.recorded" }, { "event_types": [1] },
        ],
        "event_types names no type of event: click": [{ "event_types": ["click"] }],
        "description must be at most 200 characters": [
            { "event_types": ["sale.recorded"], "description": "x".repeat(201) },
        ],
    });
    let at_url = async |body: Value| {
        program
            .submit(&stack, ENDPOINTS, body.with(json!({ "url": URL })))
            .await
    };
    refused_each(400, fields, at_url).await;
    assert_eq!(stack.count("webhook_endpoints").await, 0);
    assert_eq!(audited(&stack, "webhook_endpoint.created").await, 0);
    assert_eq!(wanted(&stack).await, [""; 0]);
}

#[tokio::test]
async fn http_is_for_loopback_where_the_operator_allows_it() {
    let stack = Stack::start_set(&[("WEBHOOK_ALLOW_LOOPBACK", "true")]).await;
    let program = Managed::new(&stack, &stack.workspace("acme").await, "Acme").await;
    let create = |url: &str| {
        let body = json!({ "url": url, "event_types": ["sale.recorded"] });
        program.submit(&stack, ENDPOINTS, body)
    };
    create("http://127.0.0.1:9000/hook").await.created();
    create("http://localhost:9000/hook").await.created();
    create("http://192.168.0.1/").await.refused(400, HTTPS);
}

#[tokio::test]
async fn a_program_has_twenty_endpoints_at_most() {
    let (stack, program, first) = with_endpoint().await;
    for _ in 1..20 {
        endpoint(&stack, &program, &["lead.created"]).await;
    }
    let body = json!({ "url": URL, "event_types": ["lead.created"] });
    let create = || program.submit(&stack, ENDPOINTS, body.clone());
    let too_many = "A program has at most 20 webhook endpoints: delete one first";
    create().await.refused(409, too_many);
    program.delete(&stack, &path_of(first)).await.is(204);
    // Of two concurrent requests one creates the twentieth endpoint.
    let (one, other) = tokio::join!(create(), create());
    assert_eq!(statuses([one, other]), [201, 409]);
    assert_eq!(stack.count("webhook_endpoints").await, 20);
}

#[tokio::test]
async fn a_programs_steps_write_what_its_endpoints_want() {
    let (stack, program, sales) = with_endpoint().await;
    let other = Managed::new(&stack, &stack.workspace("rival").await, "Other").await;
    endpoint(&stack, &other, &["payout.created"]).await;
    assert_eq!(wanted(&stack).await, ["sale.recorded"]);
    let both = endpoint(&stack, &program, &["lead.created", "sale.recorded"]).await;
    assert_eq!(wanted(&stack).await, ["lead.created", "sale.recorded"]);
    let change = async |body: Value| program.patch(&stack, &path_of(both), body).await.ok();
    change(json!({ "event_types": ["partner.applied"] })).await;
    assert_eq!(wanted(&stack).await, ["sale.recorded", "partner.applied"]);
    // Events while an endpoint is disabled can be replayed to it.
    change(json!({ "enabled": false })).await;
    assert_eq!(wanted(&stack).await, ["sale.recorded", "partner.applied"]);
    change(json!({ "event_types": ["lead.created"] })).await;
    assert_eq!(wanted(&stack).await, ["lead.created", "sale.recorded"]);
    for id in [sales, both] {
        program.delete(&stack, &path_of(id)).await.is(204);
    }
    assert_eq!(wanted(&stack).await, [""; 0]);
    // A reader of the event stream wants all events, whatever the endpoints want.
    let stream = WantedEvents::NONE.with_stream().bits();
    let reads = format!(
        "UPDATE programs SET wanted_events = {stream} WHERE id = {}",
        program.id
    );
    stack.execute(&reads).await;
    let again = endpoint(&stack, &program, &["lead.created"]).await;
    program.delete(&stack, &path_of(again)).await.is(204);
    let query = "SELECT wanted_events FROM programs ORDER BY id LIMIT 1";
    let bits: i32 = stack.value(query).await;
    assert_eq!(bits, stream);
}

#[tokio::test]
async fn what_is_named_changes_and_its_health_stays() {
    let (stack, program, id) = with_endpoint_at_noon().await;
    let one = path_of(id);
    stack.execute(FAILS).await;
    let patch = async |body: Value| program.patch(&stack, &one, body).await;
    let other = "https://hooks.acme.example/other";
    let changed = patch(json!({ "url": other, "description": "Ours" })).await;
    changed.data().has(json!({
        "url": other, "description": "Ours", "event_types": ["sale.recorded"],
        "failing_since": "2026-03-01T10:00:00.000Z",
    }));
    // The endpoint is already enabled: its state is kept.
    let same = patch(json!({ "enabled": true, "description": null })).await;
    same.data()
        .has(json!({ "failing_since": "2026-03-01T10:00:00.000Z", "description": "" }));
    let refusals = json!({
        "url is required": [{ "url": null }],
        "event_types is required": [{ "event_types": null }],
        "event_types must name at least one type of event": [{ "event_types": [] }],
        "enabled must be a boolean": [{ "enabled": null }, { "enabled": "no" }],
    });
    refused_each(400, refusals, &patch).await;
    assert_eq!(
        audit_details(&stack, "webhook_endpoint.updated").await[0],
        json!({ "url": { "before": URL, "after": other }, "description": { "before": "", "after": "Ours" } })
    );
}

#[tokio::test]
async fn an_endpoint_that_was_off_begins_anew() {
    let (stack, program, id) = with_endpoint_at_noon().await;
    stack.execute(FAILS).await;
    let enable = async |enabled: bool| {
        let changed = program
            .patch(&stack, &path_of(id), json!({ "enabled": enabled }))
            .await;
        changed.data().clone()
    };
    enable(false).await.has(json!({
        "enabled": false, "disabled_reason": "by_hand", "disabled_at": "2026-03-01T12:00:00.000Z",
    }));
    // The reason of the first to disable the endpoint is kept.
    let statement = "UPDATE webhook_endpoints SET disabled_reason = 'gone'";
    stack.execute(statement).await;
    assert_eq!(enable(false).await["disabled_reason"], "gone");
    enable(true).await.has(json!({
        "enabled": true, "disabled_reason": null, "disabled_at": null, "failing_since": null,
        "last_failure_at": null,
    }));
}

#[tokio::test]
async fn a_secret_is_replaced_and_the_one_before_signs_for_as_long_as_was_said() {
    const VALID: &str = "previous_secret_valid_until";
    let (stack, program, id) = with_endpoint_at_noon().await;
    let [first, _] = opened(&stack, id).await;
    let rotate = async |body: Value| program.submit(&stack, &below(id, "rotate-secret"), body).await;
    let refusals = json!({
        "overlap_hours must be an integer from 0 to 168": [
            { "overlap_hours": -1 }, { "overlap_hours": 169 }, { "overlap_hours": "24" },
        ],
    });
    refused_each(400, refusals, &rotate).await;
    let rotated = rotate(json!({})).await.ok();
    assert_eq!(rotated.data()[VALID], "2026-03-02T12:00:00.000Z");
    let second = Some(rotated.string("secret"));
    assert_ne!(first, second);
    assert_eq!(opened(&stack, id).await, [second, first]);
    let shown = async || program.get(&stack, &path_of(id)).await.data()[VALID].clone();
    assert_eq!(shown().await, "2026-03-02T12:00:00.000Z");
    // A webhook has at most two signatures: a third secret would end one that is still valid.
    rotate(json!({})).await.refused(
        409,
        "The secret before the last replacement still signs deliveries. Wait until it ends, or send overlap_hours 0, which ends both at once",
    );
    assert_eq!(shown().await, "2026-03-02T12:00:00.000Z");
    stack.clock.advance(TimeDelta::days(1));
    assert_eq!(shown().await, Value::Null);
    stack.prove(&program.owner).await;
    rotate(json!({})).await.ok();
    let at_once = rotate(json!({ "overlap_hours": 0 })).await;
    assert_eq!(at_once.data()[VALID], Value::Null);
    assert_eq!(opened(&stack, id).await, [Some(at_once.string("secret")), None]);
    let hours = [24, 24, 0].map(|hours| json!({ "overlap_hours": hours }));
    assert_eq!(
        audit_details(&stack, "webhook_endpoint.secret_rotated").await,
        hours
    );
}

#[tokio::test]
async fn whoever_sends_events_elsewhere_has_proved_who_they_are() {
    let (stack, program, id) = with_endpoint_at_noon().await;
    let one = path_of(id);
    stack.clock.advance(TimeDelta::hours(1));
    let body = json!({ "url": URL, "event_types": ["sale.recorded"] });
    let moved = json!({ "url": "https://elsewhere.example/" });
    program.submit(&stack, ENDPOINTS, body).await.is(403);
    program.patch(&stack, &one, moved).await.is(403);
    program
        .submit(&stack, &below(id, "rotate-secret"), json!({}))
        .await
        .is(403);
    // A change that sends events nowhere else needs no proof.
    let same = json!({ "url": URL, "enabled": false });
    program.patch(&stack, &one, same).await.ok();
    assert_eq!(stack.count("webhook_endpoints").await, 1);
}

#[tokio::test]
async fn an_endpoint_of_another_program_is_not_there() {
    let (stack, acme) = Stack::with_workspace().await;
    let program = Managed::new(&stack, &acme, "Acme").await;
    let second = Managed::new(&stack, &acme, "Second").await;
    let id = endpoint(&stack, &program, &["sale.recorded"]).await;
    let delivery = event(&stack, &program, "sale.recorded", Some(id)).await;
    let delivery = below(id, &format!("deliveries/{delivery}"));
    let one = path_of(id);
    let requests = json!({
        (format!("GET {one}")): null,
        (format!("PATCH {one}")): { "enabled": false },
        (format!("DELETE {one}")): null,
        (format!("POST {one}/rotate-secret")): {},
        (format!("POST {one}/test")): { "type": "sale.recorded" },
        (format!("GET {one}/deliveries")): null,
        (format!("GET {delivery}")): null,
        (format!("POST {delivery}/replay")): {},
        (format!("POST {one}/replay")): { "since": "2026-01-01T00:00:00Z" },
    });
    for (request, body) in requests.as_object().unwrap() {
        let (method, path) = request.split_once(' ').unwrap();
        let body = (!body.is_null()).then(|| body.clone());
        let path = second.path(path);
        let answer = acme.owner.call(method.parse().unwrap(), &path, body).await;
        answer.refused(404, UNKNOWN);
    }
    assert_eq!(stack.count("webhook_queue").await, 1);
    assert_eq!(program.get(&stack, &one).await.data()["enabled"], true);
}

#[tokio::test]
async fn an_archived_programs_endpoint_can_still_be_removed() {
    let (stack, program, id) = with_endpoint().await;
    event(&stack, &program, "sale.recorded", Some(id)).await;
    program.delete(&stack, "").await.ok();
    program.delete(&stack, &path_of(id)).await.is(204);
    assert_eq!(stack.count("webhook_queue").await, 0, "what waited is dropped");
    assert_eq!(audited(&stack, "webhook_endpoint.deleted").await, 1);
    program.get(&stack, &path_of(id)).await.refused(404, UNKNOWN);
}

#[tokio::test]
async fn an_endpoint_is_deleted_while_a_delivery_to_it_ends() {
    let receiver = Receiver::replying(Reply::Hang).await;
    let (mut stack, program, id) = with_endpoint().await;
    let moved = format!("UPDATE webhook_endpoints SET url = '{}'", receiver.url());
    stack.execute(&moved).await;
    let delivery = event(&stack, &program, "sale.recorded", Some(id)).await;
    stack.start_delivery();
    receiver.holds(&stack, 1).await;
    // This lock blocks both requests.
    let row = format!("SELECT FROM webhook_queue WHERE id = {delivery} FOR UPDATE");
    let held = stack.holding(&row).await;
    receiver.release();
    stack.locked_out("the delivery ends", 1).await;
    let one = path_of(id);
    let (answer, ()) = tokio::join!(program.delete(&stack, &one), stack.release(held, 2));
    answer.is(204);
    assert_eq!(stack.count("webhook_endpoints").await, 0);
    assert_eq!(
        stack.count("webhook_deliveries WHERE state = 'delivered'").await,
        1
    );
}

#[tokio::test]
async fn who_may_not_read_events_has_none_sent() {
    let (stack, program, id) = with_endpoint().await;
    let key = program
        .owner
        .api_key(json!({ "name": "Deploy script", "scopes": ["program:update"] }))
        .await;
    let deployer = program.owner.in_session(key["key"].as_str().unwrap().to_owned());
    let may_not = "You do not have access to this resource";
    let endpoint = json!({ "url": URL, "event_types": ["sale.recorded"] });
    let created = deployer.submit(&program.path(ENDPOINTS), endpoint).await;
    created.refused(403, may_not);
    let change = async |body: Value| deployer.patch(&program.path(&path_of(id)), body).await;
    for sends_more in [
        json!({ "url": "https://other.example/" }),
        json!({ "event_types": ["lead.created"] }),
    ] {
        change(sends_more).await.refused(403, may_not);
    }
    change(json!({ "enabled": false })).await.ok();
    assert_eq!(stack.count("webhook_endpoints").await, 1);
}
