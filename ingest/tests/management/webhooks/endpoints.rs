//! Endpoints are created, changed, disabled, enabled and removed; a program's steps know which events its
//! endpoints want.

use chrono::TimeDelta;
use domain::ids::WebhookEndpointId;
use domain::programs::outbound_event::{OutboundEventType, WantedEvents};
use domain::programs::webhook::SigningSecret;
use domain::sealed::SealingKeys;
use reqwest::StatusCode;
use runtime::clock::Clock;
use serde_json::{Value, json};
use test_harness::{
    Receiver, Reply, Stack,
    managed::{Managed, audited},
    noon,
};

use super::{ENDPOINTS, URL, below, endpoint, event, with_endpoint};

/// The types of events that the program's steps write.
async fn wanted(stack: &Stack) -> Vec<&'static str> {
    let bits: i32 = stack
        .value("SELECT wanted_events FROM programs ORDER BY id LIMIT 1")
        .await;
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
    let stack = Stack::start_with(Clock::manual(noon())).await;
    let acme = stack.workspace("acme").await;
    let program = Managed::new(&stack, &acme, "Acme").await;
    assert_eq!(program.get(&stack, ENDPOINTS).await.body, json!({ "data": [] }));
    let body = json!({ "url": URL, "description": "Billing",
                       "event_types": ["sale.recorded", "lead.created", "sale.recorded"] });
    let made = program.submit(&stack, ENDPOINTS, body).await;
    let mut shown = made.expect_status(StatusCode::CREATED).body["data"].clone();
    let secret = shown.as_object_mut().unwrap().remove("secret").unwrap();
    let id = shown["id"].as_i64().unwrap();
    let expected = json!({
        "id": id, "url": URL, "description": "Billing", "event_types": ["lead.created", "sale.recorded"], "enabled": true,
        "disabled_reason": null, "disabled_at": null, "failing_since": null, "last_failure_at": null, "last_success_at": null,
        "previous_secret_valid_until": null, "created_at": "2026-03-01T12:00:00.000Z",
    });
    assert_eq!(shown, expected);
    assert_eq!(
        opened(&stack, id).await,
        [secret.as_str().map(str::to_owned), None]
    );
    assert_eq!(
        program.get(&stack, ENDPOINTS).await.body["data"],
        json!([expected])
    );
    let one = format!("{ENDPOINTS}/{id}");
    assert_eq!(program.get(&stack, &one).await.body["data"], expected);
    stack
        .execute(
            "UPDATE webhook_endpoints SET failing_since = '2026-03-01 10:00Z', last_failure_at = '2026-03-01 11:00Z',
                 last_success_at = '2026-03-01 09:00Z'",
        )
        .await;
    let failing = program.get(&stack, &one).await.body["data"].clone();
    assert_eq!(failing["failing_since"], "2026-03-01T10:00:00.000Z");
    assert_eq!(failing["last_failure_at"], "2026-03-01T11:00:00.000Z");
    assert_eq!(failing["last_success_at"], "2026-03-01T09:00:00.000Z");
    let details: Value = stack
        .value("SELECT details FROM audit_log WHERE action = 'webhook_endpoint.created'")
        .await;
    assert_eq!(
        details,
        json!({ "url": URL, "description": "Billing", "event_types": ["lead.created", "sale.recorded"], "enabled": true })
    );
}

#[tokio::test]
async fn an_endpoint_that_cannot_be_is_refused_by_its_field_and_stores_nothing() {
    let stack = Stack::start_set(&[("WEBHOOK_ALLOW_LOOPBACK", "false")]).await;
    let acme = stack.workspace("acme").await;
    let program = Managed::new(&stack, &acme, "Acme").await;
    let types = json!(["sale.recorded"]);
    for (body, message) in [
        (json!({ "event_types": types }), "url is required"),
        (json!({ "url": "", "event_types": types }), "url is required"),
        (json!({ "url": 7, "event_types": types }), "url must be a string"),
        (
            json!({ "url": "hooks", "event_types": types }),
            "url must be an https URL",
        ),
        (
            json!({ "url": "http://hooks.example/", "event_types": types }),
            "url must be an https URL",
        ),
        (
            json!({ "url": "http://127.0.0.1/", "event_types": types }),
            "url must be an https URL",
        ),
        (
            json!({ "url": "https://127.0.0.1/", "event_types": types }),
            "url must lead to a public address",
        ),
        (
            json!({ "url": "https://[fd00:ec2::254]/latest/", "event_types": types }),
            "url must lead to a public address",
        ),
        (
            json!({ "url": "https://localhost/", "event_types": types }),
            "url must lead to a public address",
        ),
        (
            json!({ "url": "https://hooks..example/", "event_types": types }),
            "url must lead to a public address",
        ),
        (
            json!({ "url": "https://hooks.example:0/", "event_types": types }),
            "url must lead to a public address",
        ),
        (
            json!({ "url": format!("https://{}.example/", "x".repeat(64)), "event_types": types }),
            "url must lead to a public address",
        ),
        (
            json!({ "url": "https://user:secret@hooks.example/", "event_types": types }),
            "url must not have a user name, a password or a fragment",
        ),
        (
            json!({ "url": format!("https://hooks.example/{}", "x".repeat(2_048)), "event_types": types }),
            "url must have at most 2,048 characters",
        ),
        (json!({ "url": URL }), "event_types is required"),
        (
            json!({ "url": URL, "event_types": [] }),
            "event_types must name at least one type of event",
        ),
        (
            json!({ "url": URL, "event_types": "sale.recorded" }),
            "event_types must be a list of types of events",
        ),
        (
            json!({ "url": URL, "event_types": [1] }),
            "event_types must be a list of types of events",
        ),
        (
            json!({ "url": URL, "event_types": ["click"] }),
            "event_types names no type of event: click",
        ),
        (
            json!({ "url": URL, "event_types": types, "description": "x".repeat(201) }),
            "description must be at most 200 characters",
        ),
    ] {
        program
            .submit(&stack, ENDPOINTS, body)
            .await
            .refused(400, message);
    }
    assert_eq!(stack.count("webhook_endpoints").await, 0);
    assert_eq!(audited(&stack, "webhook_endpoint.created").await, 0);
    assert_eq!(wanted(&stack).await, [""; 0]);
}

#[tokio::test]
async fn http_is_for_loopback_where_the_operator_allows_it() {
    let stack = Stack::start_set(&[("WEBHOOK_ALLOW_LOOPBACK", "true")]).await;
    let acme = stack.workspace("acme").await;
    let program = Managed::new(&stack, &acme, "Acme").await;
    let create = |url: &str| {
        let body = json!({ "url": url, "event_types": ["sale.recorded"] });
        let (program, stack) = (&program, &stack);
        async move { program.submit(stack, ENDPOINTS, body).await }
    };
    assert_eq!(
        create("http://127.0.0.1:9000/hook").await.status,
        StatusCode::CREATED
    );
    assert_eq!(
        create("http://localhost:9000/hook").await.status,
        StatusCode::CREATED
    );
    create("http://192.168.0.1/")
        .await
        .refused(400, "url must be an https URL");
}

#[tokio::test]
async fn a_program_has_twenty_endpoints_at_most() {
    let stack = Stack::start().await;
    let (program, first) = with_endpoint(&stack).await;
    for _ in 1..20 {
        endpoint(&stack, &program, &["lead.created"]).await;
    }
    let body = json!({ "url": URL, "event_types": ["lead.created"] });
    let too_many = "A program has at most 20 webhook endpoints: delete one first";
    program
        .submit(&stack, ENDPOINTS, body.clone())
        .await
        .refused(409, too_many);
    let gone = program.delete(&stack, &format!("{ENDPOINTS}/{first}")).await;
    assert_eq!(gone.status, StatusCode::NO_CONTENT);
    // Of two concurrent requests one creates the twentieth endpoint.
    let (one, other) = tokio::join!(
        program.submit(&stack, ENDPOINTS, body.clone()),
        program.submit(&stack, ENDPOINTS, body)
    );
    let mut statuses = [one.status.as_u16(), other.status.as_u16()];
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 409]);
    assert_eq!(stack.count("webhook_endpoints").await, 20);
}

#[tokio::test]
async fn a_programs_steps_write_what_its_endpoints_want() {
    let stack = Stack::start().await;
    let (program, sales) = with_endpoint(&stack).await;
    let other = Managed::new(&stack, &stack.workspace("rival").await, "Other").await;
    endpoint(&stack, &other, &["payout.created"]).await;
    assert_eq!(wanted(&stack).await, ["sale.recorded"]);
    let both = endpoint(&stack, &program, &["lead.created", "sale.recorded"]).await;
    assert_eq!(wanted(&stack).await, ["lead.created", "sale.recorded"]);
    let change = async |id: i64, body: Value| {
        let changed = program.patch(&stack, &format!("{ENDPOINTS}/{id}"), body).await;
        assert_eq!(changed.status, StatusCode::OK, "{changed:?}");
    };
    change(both, json!({ "event_types": ["partner.applied"] })).await;
    assert_eq!(wanted(&stack).await, ["sale.recorded", "partner.applied"]);
    // Events while an endpoint is disabled can be replayed to it.
    change(both, json!({ "enabled": false })).await;
    assert_eq!(wanted(&stack).await, ["sale.recorded", "partner.applied"]);
    change(both, json!({ "event_types": ["lead.created"] })).await;
    assert_eq!(wanted(&stack).await, ["lead.created", "sale.recorded"]);
    for id in [sales, both] {
        program.delete(&stack, &format!("{ENDPOINTS}/{id}")).await;
    }
    assert_eq!(wanted(&stack).await, [""; 0]);
    // A reader of the event stream wants all events, whatever the endpoints want.
    let stream = WantedEvents::NONE.with_stream().bits();
    stack
        .execute(&format!(
            "UPDATE programs SET wanted_events = {stream} WHERE id = {}",
            program.id
        ))
        .await;
    let again = endpoint(&stack, &program, &["lead.created"]).await;
    program.delete(&stack, &format!("{ENDPOINTS}/{again}")).await;
    let bits: i32 = stack
        .value("SELECT wanted_events FROM programs ORDER BY id LIMIT 1")
        .await;
    assert_eq!(bits, stream);
}

#[tokio::test]
async fn what_is_named_changes_and_its_health_stays() {
    let stack = Stack::start_with(Clock::manual(noon())).await;
    let (program, id) = with_endpoint(&stack).await;
    let one = format!("{ENDPOINTS}/{id}");
    stack
        .execute("UPDATE webhook_endpoints SET failing_since = '2026-03-01 10:00Z', last_failure_at = '2026-03-01 11:00Z'")
        .await;
    let other = "https://hooks.acme.example/other";
    let changed = program
        .patch(&stack, &one, json!({ "url": other, "description": "Ours" }))
        .await;
    let data = &changed.expect_status(StatusCode::OK).body["data"];
    assert_eq!(
        (&data["url"], &data["description"]),
        (&json!(other), &json!("Ours"))
    );
    assert_eq!(data["event_types"], json!(["sale.recorded"]));
    assert_eq!(data["failing_since"], "2026-03-01T10:00:00.000Z");
    // The endpoint is already enabled: its state is kept.
    let same = program
        .patch(&stack, &one, json!({ "enabled": true, "description": null }))
        .await;
    assert_eq!(same.body["data"]["failing_since"], "2026-03-01T10:00:00.000Z");
    assert_eq!(same.body["data"]["description"], "");
    for (body, message) in [
        (json!({ "url": null }), "url is required"),
        (json!({ "event_types": null }), "event_types is required"),
        (
            json!({ "event_types": [] }),
            "event_types must name at least one type of event",
        ),
        (json!({ "enabled": null }), "enabled must be a boolean"),
        (json!({ "enabled": "no" }), "enabled must be a boolean"),
    ] {
        program.patch(&stack, &one, body).await.refused(400, message);
    }
    let details: Value = stack
        .value("SELECT details FROM audit_log WHERE action = 'webhook_endpoint.updated' ORDER BY id LIMIT 1")
        .await;
    assert_eq!(
        details,
        json!({ "url": { "before": URL, "after": other }, "description": { "before": "", "after": "Ours" } })
    );
}

#[tokio::test]
async fn an_endpoint_that_was_off_begins_anew() {
    let stack = Stack::start_with(Clock::manual(noon())).await;
    let (program, id) = with_endpoint(&stack).await;
    let one = format!("{ENDPOINTS}/{id}");
    stack
        .execute("UPDATE webhook_endpoints SET failing_since = '2026-03-01 10:00Z', last_failure_at = '2026-03-01 11:00Z'")
        .await;
    let off = program.patch(&stack, &one, json!({ "enabled": false })).await;
    let data = &off.expect_status(StatusCode::OK).body["data"];
    assert_eq!(
        (&data["enabled"], &data["disabled_reason"]),
        (&json!(false), &json!("by_hand"))
    );
    assert_eq!(data["disabled_at"], "2026-03-01T12:00:00.000Z");
    // The reason of the first to disable the endpoint is kept.
    stack
        .execute("UPDATE webhook_endpoints SET disabled_reason = 'gone'")
        .await;
    let again = program.patch(&stack, &one, json!({ "enabled": false })).await;
    assert_eq!(again.body["data"]["disabled_reason"], "gone");
    let on = program.patch(&stack, &one, json!({ "enabled": true })).await;
    let data = &on.body["data"];
    for (name, value) in [
        ("enabled", json!(true)),
        ("disabled_reason", Value::Null),
        ("disabled_at", Value::Null),
        ("failing_since", Value::Null),
        ("last_failure_at", Value::Null),
    ] {
        assert_eq!(data[name], value, "{name}");
    }
}

#[tokio::test]
async fn a_secret_is_replaced_and_the_one_before_signs_for_as_long_as_was_said() {
    let clock = Clock::manual(noon());
    let stack = Stack::start_with(clock.clone()).await;
    let (program, id) = with_endpoint(&stack).await;
    let [first, _] = opened(&stack, id).await;
    let rotate = async |body: Value| program.submit(&stack, &below(id, "rotate-secret"), body).await;
    for hours in [json!(-1), json!(169), json!("24")] {
        rotate(json!({ "overlap_hours": hours }))
            .await
            .refused(400, "overlap_hours must be an integer from 0 to 168");
    }
    let rotated = rotate(json!({})).await.expect_status(StatusCode::OK);
    assert_eq!(
        rotated.body["data"]["previous_secret_valid_until"],
        "2026-03-02T12:00:00.000Z"
    );
    let second = rotated.body["data"]["secret"].as_str().map(str::to_owned);
    assert_ne!(first, second);
    assert_eq!(opened(&stack, id).await, [second, first]);
    let one = format!("{ENDPOINTS}/{id}");
    let shown = async || program.get(&stack, &one).await.body["data"]["previous_secret_valid_until"].clone();
    assert_eq!(shown().await, "2026-03-02T12:00:00.000Z");
    // A webhook has at most two signatures: a third secret would end one that is still valid.
    rotate(json!({})).await.refused(
        409,
        "The secret before the last replacement still signs deliveries. Wait until it ends, or send overlap_hours 0, which ends both at once",
    );
    assert_eq!(shown().await, "2026-03-02T12:00:00.000Z");
    clock.advance(TimeDelta::days(1));
    assert_eq!(shown().await, Value::Null);
    stack.prove(&program.owner).await;
    let again = rotate(json!({})).await;
    assert_eq!(again.status, StatusCode::OK, "{again:?}");
    let at_once = rotate(json!({ "overlap_hours": 0 })).await;
    assert_eq!(at_once.body["data"]["previous_secret_valid_until"], Value::Null);
    let third = at_once.body["data"]["secret"].as_str().map(str::to_owned);
    assert_eq!(opened(&stack, id).await, [third, None]);
    let details: Value = stack
        .value("SELECT jsonb_agg(details ORDER BY id) FROM audit_log WHERE action = 'webhook_endpoint.secret_rotated'")
        .await;
    let hours = [24, 24, 0].map(|hours| json!({ "overlap_hours": hours }));
    assert_eq!(details, json!(hours));
}

#[tokio::test]
async fn whoever_sends_events_elsewhere_has_proved_who_they_are() {
    let clock = Clock::manual(noon());
    let stack = Stack::start_with(clock.clone()).await;
    let (program, id) = with_endpoint(&stack).await;
    let one = format!("{ENDPOINTS}/{id}");
    clock.advance(TimeDelta::hours(1));
    let body = json!({ "url": URL, "event_types": ["sale.recorded"] });
    for answer in [
        program.submit(&stack, ENDPOINTS, body).await,
        program
            .patch(&stack, &one, json!({ "url": "https://elsewhere.example/" }))
            .await,
        program
            .submit(&stack, &below(id, "rotate-secret"), json!({}))
            .await,
    ] {
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{answer:?}");
    }
    // A change that sends events nowhere else needs no proof.
    let changed = program
        .patch(&stack, &one, json!({ "url": URL, "enabled": false }))
        .await;
    assert_eq!(changed.status, StatusCode::OK, "{changed:?}");
    assert_eq!(stack.count("webhook_endpoints").await, 1);
}

#[tokio::test]
async fn an_endpoint_of_another_program_is_not_there() {
    let stack = Stack::start().await;
    let (program, id) = with_endpoint(&stack).await;
    let delivery = event(&stack, &program, "sale.recorded", Some(id)).await;
    let acme_too = Managed {
        id: 0,
        api_token: String::new(),
        owner: program.owner.clone(),
    };
    let made = stack
        .submit(
            test_harness::managed::PROGRAMS,
            Some(&program.owner.token),
            json!({ "name": "Second" }),
        )
        .await;
    let second = Managed {
        id: made.body["data"]["id"].as_i64().unwrap(),
        ..acme_too
    };
    let unknown = "Webhook endpoint not found";
    let one = format!("{ENDPOINTS}/{id}");
    for answer in [
        second.get(&stack, &one).await,
        second.patch(&stack, &one, json!({ "enabled": false })).await,
        second.delete(&stack, &one).await,
        second
            .submit(&stack, &below(id, "rotate-secret"), json!({}))
            .await,
        second
            .submit(&stack, &below(id, "test"), json!({ "type": "sale.recorded" }))
            .await,
        second.get(&stack, &below(id, "deliveries")).await,
        second
            .get(&stack, &below(id, &format!("deliveries/{delivery}")))
            .await,
        second
            .submit(
                &stack,
                &below(id, &format!("deliveries/{delivery}/replay")),
                json!({}),
            )
            .await,
        second
            .submit(
                &stack,
                &below(id, "replay"),
                json!({ "since": "2026-01-01T00:00:00Z" }),
            )
            .await,
    ] {
        answer.refused(404, unknown);
    }
    assert_eq!(stack.count("webhook_queue").await, 1);
    assert_eq!(program.get(&stack, &one).await.body["data"]["enabled"], true);
}

#[tokio::test]
async fn an_archived_programs_endpoint_can_still_be_removed() {
    let stack = Stack::start().await;
    let (program, id) = with_endpoint(&stack).await;
    event(&stack, &program, "sale.recorded", Some(id)).await;
    let owner = &program.owner.token;
    stack
        .delete(
            &format!("{}/{}", test_harness::managed::PROGRAMS, program.id),
            owner,
        )
        .await;
    let one = format!("{ENDPOINTS}/{id}");
    program
        .patch(&stack, &one, json!({ "enabled": false }))
        .await
        .refused(409, "This program is archived");
    program
        .submit(&stack, &below(id, "rotate-secret"), json!({}))
        .await
        .refused(409, "This program is archived");
    assert_eq!(program.delete(&stack, &one).await.status, StatusCode::NO_CONTENT);
    assert_eq!(stack.count("webhook_queue").await, 0, "what waited is dropped");
    assert_eq!(audited(&stack, "webhook_endpoint.deleted").await, 1);
    program
        .get(&stack, &one)
        .await
        .refused(404, "Webhook endpoint not found");
}

#[tokio::test]
async fn an_endpoint_is_deleted_while_a_delivery_to_it_ends() {
    let mut stack = Stack::start().await;
    let receiver = Receiver::replying(Reply::Hang).await;
    let (program, id) = with_endpoint(&stack).await;
    stack
        .execute(&format!(
            "UPDATE webhook_endpoints SET url = '{}'",
            receiver.url()
        ))
        .await;
    let delivery = event(&stack, &program, "sale.recorded", Some(id)).await;
    stack.start_delivery();
    stack
        .eventually("it is in flight", async || receiver.hanging() == 1)
        .await;
    // This lock blocks both requests.
    let mut held = stack.pool().begin().await.unwrap();
    sqlx::query("SELECT FROM webhook_queue WHERE id = $1 FOR UPDATE")
        .bind(delivery)
        .execute(&mut *held)
        .await
        .unwrap();
    let waiting = async |sessions| {
        stack.locked_out("both wait", sessions).await;
    };
    receiver.release();
    waiting(1).await;
    let one = format!("{ENDPOINTS}/{id}");
    let release = async {
        waiting(2).await;
        held.rollback().await.unwrap();
    };
    let (answer, ()) = tokio::join!(program.delete(&stack, &one), release);
    assert_eq!(answer.status, StatusCode::NO_CONTENT, "{answer:?}");
    assert_eq!(stack.count("webhook_endpoints").await, 0);
    assert_eq!(
        stack.count("webhook_deliveries WHERE state = 'delivered'").await,
        1
    );
}

#[tokio::test]
async fn who_may_not_read_events_has_none_sent() {
    let stack = Stack::start().await;
    let (program, id) = with_endpoint(&stack).await;
    let body = json!({ "name": "Deploy script", "scopes": ["program:update"] });
    let made = stack
        .created("/api/advertiser/api-keys", Some(&program.owner.token), body)
        .await;
    let key = made.body["data"]["key"].as_str().unwrap();
    let may_not = "You do not have access to this resource";
    let endpoint = json!({ "url": URL, "event_types": ["sale.recorded"] });
    stack
        .submit(&program.path(ENDPOINTS), Some(key), endpoint)
        .await
        .refused(403, may_not);
    let change = async |body: Value| {
        let path = program.path(&format!("{ENDPOINTS}/{id}"));
        stack.patch(&path, key, body).await
    };
    change(json!({ "url": "https://other.example/" }))
        .await
        .refused(403, may_not);
    change(json!({ "event_types": ["lead.created"] }))
        .await
        .refused(403, may_not);
    assert_eq!(change(json!({ "enabled": false })).await.status, StatusCode::OK);
    assert_eq!(stack.count("webhook_endpoints").await, 1);
}
