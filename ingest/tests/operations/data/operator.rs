//! The operator's command line, as its built binary, on the database and streams of a running service.

use messages::envelope;
use messages::subject::Subject;
use reqwest::StatusCode;
use serde_json::{Value, json};
use test_harness::{
    Edge, PASSWORD, PATIENT, Program, Ran, Stack, Streams, answering_within, ctl, ctl_reading, sale_of,
    succeeds,
};
use testing::TestDatabase;

async fn fails(stack: &Stack, arguments: &[&str], because: &str) {
    let ran = ctl(stack, arguments).await;
    assert!(!ran.ok && ran.err.contains(because), "{arguments:?}: {ran:?}");
}

#[tokio::test]
async fn the_first_owner_of_an_installation_signs_in_with_what_the_operator_made() {
    let stack = Stack::start().await;
    let olive = [
        "user",
        "create",
        "--email",
        "olive@shop.example",
        "--name",
        "Olive",
        "--workspace",
        "Shop",
    ];
    let made = succeeds(&stack, &[&olive[..], &["--generate-password"]].concat()).await;
    let password = made.fact("password");
    let signed_in = stack.sign_in("olive@shop.example", &password).await;
    let me = stack
        .get("/api/users/me", signed_in.body["jwt"].as_str().unwrap())
        .await;
    assert_eq!(me.body["workspaces"][0]["name"], "Shop");
    assert_eq!(me.body["workspaces"][0]["role"], "owner");
    // A colleague joins the same workspace. The password comes from standard input and is never printed.
    let sam = [
        "user",
        "create",
        "--email",
        "sam@shop.example",
        "--name",
        "Sam",
        "--workspace",
        "Shop",
        "--role",
        "member",
    ];
    let made = ctl_reading(&stack, &sam, &format!("{PASSWORD}\n")).await;
    assert!(made.ok && !format!("{made:?}").contains(PASSWORD), "{made:?}");
    assert_eq!(
        made.fact("workspace_id"),
        me.body["workspaces"][0]["id"].to_string()
    );
    assert_eq!(
        stack.sign_in("sam@shop.example", PASSWORD).await.status,
        StatusCode::OK
    );
    let audited: Vec<(String, Value)> = sqlx::query_as(
        "SELECT actor || ' ' || action, details FROM audit_log WHERE action <> 'user.signed_in' ORDER BY id",
    )
    .fetch_all(stack.pool())
    .await
    .unwrap();
    let entry = |role: &str| ("operator user.created".to_owned(), json!({ "role": role }));
    assert_eq!(audited, [entry("owner"), entry("member")]);
    let stored: String = stack.value("SELECT string_agg(u::text, ' ') FROM users u").await;
    assert!(!stored.contains(&password) && !stored.contains(PASSWORD));
}

#[tokio::test]
async fn an_account_that_cannot_be_made_leaves_nothing_behind() {
    let stack = Stack::start().await;
    stack.workspace("acme").await;
    let create = |email: &'static str, more: &'static [&'static str]| {
        [
            &[
                "user",
                "create",
                "--name",
                "Olive",
                "--email",
                email,
                "--generate-password",
            ],
            more,
        ]
        .concat()
    };
    fails(
        &stack,
        &create("OWNER@acme.example", &["--workspace", "New"]),
        "has an account already",
    )
    .await;
    fails(&stack, &create("no address", &[]), "must be an e-mail address").await;
    fails(
        &stack,
        &create("a@b", &["--workspace-id", "999"]),
        "there is no workspace 999",
    )
    .await;
    fails(
        &stack,
        &create("a@b", &["--workspace", "acme", "--role", "king"]),
        "owner, admin, member",
    )
    .await;
    let short = ["user", "create", "--name", "Olive", "--email", "a@b"];
    let short = ctl_reading(&stack, &short, "short\n").await;
    assert!(
        !short.ok && short.err.contains("must have 10 to 128 characters"),
        "{short:?}"
    );
    stack
        .execute("INSERT INTO workspaces (name) VALUES ('acme')")
        .await;
    fails(
        &stack,
        &create("a@b", &["--workspace", "acme"]),
        "choose with --workspace-id",
    )
    .await;
    assert_eq!(stack.count("users").await, 1);
    assert_eq!(stack.count("workspaces").await, 2);
}

#[tokio::test]
async fn somebody_suspended_is_out_at_once_until_they_are_restored() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let suspended = succeeds(&stack, &["user", "suspend", "--email", "owner@ACME.example"]).await;
    assert_eq!(suspended.fact("sessions_ended"), "1");
    assert_eq!(
        stack.get("/api/users/me", &acme.owner.token).await.status,
        StatusCode::UNAUTHORIZED
    );
    let blocked = stack.sign_in("owner@acme.example", PASSWORD).await;
    assert_eq!(blocked.body["error"]["details"]["code"], "ACCOUNT_BLOCKED");
    succeeds(&stack, &["user", "restore", "--email", "owner@acme.example"]).await;
    assert_eq!(
        stack.sign_in("owner@acme.example", PASSWORD).await.status,
        StatusCode::OK
    );
    let actions: String = stack
        .value("SELECT string_agg(actor || ' ' || action, ', ' ORDER BY id) FROM audit_log WHERE actor = 'operator'")
        .await;
    assert_eq!(actions, "operator user.suspended, operator user.restored");
    fails(
        &stack,
        &["user", "suspend", "--email", "nobody@acme.example"],
        "no account has the address",
    )
    .await;
}

#[tokio::test]
async fn an_operator_replaces_a_forgotten_password_and_every_session_ends() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let command = [
        "user",
        "reset-password",
        "--email",
        "Owner@acme.example",
        "--generate-password",
    ];
    let reset = succeeds(&stack, &command).await;
    assert_eq!(reset.fact("sessions_ended"), "1");
    assert_eq!(
        stack.get("/api/users/me", &acme.owner.token).await.status,
        StatusCode::UNAUTHORIZED
    );
    let before = stack.sign_in("owner@acme.example", PASSWORD).await;
    assert_eq!(before.status, StatusCode::BAD_REQUEST);
    let after = stack.sign_in("owner@acme.example", &reset.fact("password")).await;
    assert_eq!(after.status, StatusCode::OK, "{after:?}");
    let actions: String = stack
        .value("SELECT string_agg(actor || ' ' || action, ', ' ORDER BY id) FROM audit_log WHERE actor = 'operator'")
        .await;
    assert_eq!(actions, "operator user.password_reset");
}

#[tokio::test]
async fn what_the_runbook_asks_the_database_is_answered() {
    let database = TestDatabase::create().await;
    let questions: Vec<&'static str> = include_str!("../../../../docs/runbook.md")
        .split("```sql\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap())
        .collect();
    assert!(questions.len() > 2, "{questions:?}");
    for question in questions {
        let answered = sqlx::query(question).fetch_all(&database.pool).await;
        assert!(answered.is_ok(), "{question}: {answered:?}");
    }
}

#[tokio::test]
async fn a_program_archived_at_the_command_line_takes_nothing_any_more() {
    let (stack, program) = Stack::with_customer().await;
    stack.sold(&program, sale_of("t1", "user-1")).await;
    let id = program.program_id.to_string();
    let archive = ["program", "archive", "--yes", "--program-id", &id];
    let unasked = ["program", "archive", "--program-id", &id];
    fails(&stack, &unasked, "--yes").await;
    let dry = succeeds(&stack, &[&unasked[..], &["--dry-run"]].concat()).await;
    assert!(dry.out.contains("nothing was changed"), "{dry:?}");
    assert_ne!(dry.fact("status"), "archived");
    assert_eq!(succeeds(&stack, &archive).await.fact("status"), "archived");
    stack
        .eventually("its key is refused", async || {
            stack.sale(&program, sale_of("t1", "user-1")).await.status == StatusCode::UNAUTHORIZED
        })
        .await;
    stack
        .eventually("its links are off", async || {
            stack.click_with(&program.ada.code, json!({})).await.status == StatusCode::GONE
        })
        .await;
    assert_eq!(
        stack.balance(program.ada.membership).await,
        1_000,
        "the books stay"
    );
    fails(&stack, &archive, "is archived").await;
    fails(
        &stack,
        &["program", "archive", "--yes", "--program-id", "999"],
        "there is no program 999",
    )
    .await;
    let told: String = stack
        .value("SELECT string_agg(actor || ' ' || action || ' ' || subject_id, ', ') FROM audit_log WHERE actor = 'operator'")
        .await;
    assert_eq!(told, format!("operator program.archived {id}"));
}

#[tokio::test]
async fn a_program_and_a_link_made_at_the_command_line_take_clicks_and_sales() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let workspace_id = acme.workspace_id.to_string();
    let create = [
        "program",
        "create",
        "--workspace-id",
        &workspace_id,
        "--name",
        "Shop",
        "--slug",
        "shop",
        "--live",
    ];
    let made = succeeds(&stack, &create).await;
    let (program_id, token) = (made.fact("program_id"), made.fact("api_token"));
    assert_eq!(
        stack.get("/api/v1/cli/status", &token).await.body["data"]["name"],
        "Shop"
    );
    fails(&stack, &create, "another program has the slug shop").await;
    let link = |more: &'static [&'static str]| {
        let program_id = program_id.clone();
        let stack = &stack;
        async move {
            let start = ["link", "create", "--program-id", &program_id, "--partner", "Ada"];
            ctl(stack, &[&start[..], more].concat()).await
        }
    };
    let first = link(&["--code", "ada", "--email", "ada@partner.example"]).await;
    assert!(first.ok, "{first:?}");
    let second = link(&[]).await;
    assert_eq!(
        second.fact("partner_id"),
        first.fact("partner_id"),
        "the same partner"
    );
    for code in ["ada".to_owned(), second.fact("code")] {
        let click_id = stack.click(&code).await;
        assert!(click_id.starts_with("cust_"), "{code}");
    }
    assert!(
        link(&["--code", "ada"])
            .await
            .err
            .contains("another link has the code ada")
    );
    stack
        .execute_on_links("UPDATE partner_programs SET status = 'suspended'")
        .await;
    assert!(link(&[]).await.err.contains("is not approved"));
    stack
        .execute("INSERT INTO partners (workspace_id, name) SELECT workspace_id, name FROM partners")
        .await;
    assert!(link(&[]).await.err.contains("say who is meant with --email"));
    let actions: String = stack.value("SELECT string_agg(DISTINCT action, ', ' ORDER BY action) FROM audit_log WHERE actor = 'operator'").await;
    assert_eq!(actions, "program.created, referral_link.created");
}

#[tokio::test]
async fn a_key_marked_at_the_command_line_is_announced_until_the_mark_is_taken_back() {
    let (stack, program) = Stack::with_program().await;
    let id = program.program_id.to_string();
    let mark =
        |more: &'static [&'static str]| [&["key", "mark-rotation", "--program-id", &id], more].concat();
    fails(
        &stack,
        &mark(&["--rotate-by", "2020-01-01"]),
        "must be in the future",
    )
    .await;
    fails(&stack, &mark(&["--rotate-by", "soon"]), "a date such as").await;
    fails(&stack, &mark(&["--clear"]), "is not marked").await;
    succeeds(&stack, &mark(&["--rotate-by", "2099-01-31"])).await;
    let status = || stack.get("/api/v1/cli/status", &program.token);
    stack
        .eventually("the rotation is announced", async || {
            status().await.body["warnings"][0]["rotate_by"] == "2099-01-31T00:00:00.000Z"
        })
        .await;
    succeeds(&stack, &mark(&["--clear"])).await;
    stack
        .eventually("nothing is announced", async || {
            status().await.body["warnings"].is_null()
        })
        .await;
    let audited: String = stack
        .value("SELECT string_agg(details::text, ' ' ORDER BY id) FROM audit_log WHERE actor = 'operator'")
        .await;
    assert_eq!(
        audited,
        r#"{"rotate_by": "2099-01-31T00:00:00Z"} {"rotate_by": null}"#
    );
}

/// A sale that cannot be stored: its claim is dead, its dead letter is kept, and a refund of it is parked.
async fn dead_sale(stack: &Stack, edge: &Edge, program: &Program) {
    stack.customer(program, &program.ada.code, "user-1").await;
    stack
        .execute("ALTER TABLE sale_events ADD CONSTRAINT no_poison CHECK (processor_event_id <> 'poison')")
        .await;
    let send = |path: &'static str, body: Value| {
        let (edge, token) = (edge.clone(), program.token.clone());
        // The answer comes only at the deadline, and the test need not wait for it.
        tokio::spawn(async move { edge.post(path, Some(&token), &body).await })
    };
    let sale = send("sale", sale_of("poison", "user-1"));
    stack.reaches("transaction_claims WHERE state = 'dead'", 1).await;
    let refund = send(
        "refund",
        json!({ "transaction_id": "poison", "refund_amount_cents": 2_500 }),
    );
    stack.reaches("parked_refunds", 1).await;
    sale.abort();
    refund.abort();
}

#[tokio::test]
async fn a_dead_sale_is_recorded_once_it_is_replayed_and_its_parked_refund_with_it() {
    let (stack, edge) = answering_within(PATIENT).await;
    let program = stack.program().await;
    dead_sale(&stack, &edge, &program).await;
    let listed = succeeds(&stack, &["dead-letters", "list"]).await;
    assert!(
        listed.out.contains("tracking.sales") && listed.out.contains("no_poison"),
        "{listed:?}"
    );
    let id: i64 = stack.value("SELECT id FROM dead_letters").await;
    let id = id.to_string();
    let shown = succeeds(&stack, &["dead-letters", "show", &id]).await;
    assert!(
        shown.fact("reason").contains("no_poison") && shown.out.contains("\"poison\""),
        "{shown:?}"
    );
    // Still broken: the replay becomes a new dead letter.
    let replayed = succeeds(&stack, &["dead-letters", "replay", &id]).await;
    assert!(replayed.out.contains("its claim is open again"), "{replayed:?}");
    stack.reaches("dead_letters", 2).await;
    let again = succeeds(&stack, &["dead-letters", "replay", &id]).await;
    assert!(again.out.contains("nothing done"), "{again:?}");
    let state: String = stack.value("SELECT state FROM transaction_claims").await;
    assert_eq!(state, "dead");
    // The cause is repaired.
    stack
        .execute("ALTER TABLE sale_events DROP CONSTRAINT no_poison")
        .await;
    succeeds(&stack, &["dead-letters", "replay", "--all"]).await;
    stack.reaches("refunds", 1).await;
    assert_eq!(stack.balance(program.ada.membership).await, 500);
    assert_eq!(stack.count("parked_refunds").await, 0);
    let streams = Streams::of(&stack).await;
    succeeds(&stack, &["dead-letters", "replay", "--all"]).await;
    streams.replay(&stack).await;
    assert_eq!(stack.count("sale_events").await, 1);
    assert_eq!(stack.balance(program.ada.membership).await, 500);
    assert_eq!(
        succeeds(&stack, &["dead-letters", "list"]).await.out,
        "no dead letters\n"
    );
    assert!(
        succeeds(&stack, &["dead-letters", "list", "--all"])
            .await
            .out
            .contains("(replayed)")
    );
    stack.verify().await;
}

#[tokio::test]
async fn of_two_operators_who_replay_everything_at_once_each_letter_is_one_ones() {
    let (stack, edge) = answering_within(PATIENT).await;
    let program = stack.program().await;
    dead_sale(&stack, &edge, &program).await;
    stack
        .execute("ALTER TABLE sale_events DROP CONSTRAINT no_poison")
        .await;
    let replay = ["dead-letters", "replay", "--all"];
    let both: [Ran; 3] =
        tokio::join!(ctl(&stack, &replay), ctl(&stack, &replay), ctl(&stack, &replay)).into();
    assert!(both.iter().all(|ran| ran.ok), "{both:?}");
    let opened = both
        .iter()
        .filter(|ran| ran.out.contains("its claim is open again"));
    assert_eq!(opened.count(), 1, "{both:?}");
    stack.reaches("refunds", 1).await;
    stack.verify().await;
}

#[tokio::test]
async fn other_records_go_back_on_their_stream_as_they_came() {
    let (stack, edge) = answering_within(PATIENT).await;
    let program = stack.program().await;
    let click_id = stack.click(&program.ada.code).await;
    let streams = Streams::of(&stack).await;
    streams.drained(&stack).await;
    stack
        .execute("ALTER TABLE lead_events ADD CONSTRAINT no_poison CHECK (customer_key <> 'poison')")
        .await;
    let lead = json!({ "click_id": click_id, "customer_key": "poison" });
    let token = program.token.clone();
    let caller = tokio::spawn(async move { edge.post("lead", Some(&token), &lead).await });
    // A message that cannot be split into records is kept whole.
    streams.publish(Subject::Leads, "not JSON").await;
    let letters = async |count: i64| {
        stack
            .reaches("dead_letters WHERE replayed_at IS NULL", count)
            .await;
    };
    letters(2).await;
    caller.abort();
    stack
        .execute("ALTER TABLE lead_events DROP CONSTRAINT no_poison")
        .await;
    let before = streams.messages(Subject::Leads).await.len();
    let replayed = succeeds(&stack, &["dead-letters", "replay", "--all"]).await;
    assert_eq!(replayed.out.matches("published again").count(), 2, "{replayed:?}");
    stack.reaches("lead_events", 1).await;
    let messages = streams.messages(Subject::Leads).await;
    let mut again = messages.get(before..).unwrap().to_vec();
    assert_eq!(again.len(), 2);
    again.sort_by_key(|message| message.starts_with(b"{"));
    assert_eq!(again[0], "not JSON");
    assert_eq!(envelope::decode(&again[1]).unwrap().records.len(), 1);
    // The replayed message is as unreadable as before.
    streams.drained(&stack).await;
    letters(1).await;
    // No consumer would receive it under another prefix.
    stack
        .execute("UPDATE dead_letters SET subject = 'elsewhere.tracking.leads' WHERE replayed_at IS NULL")
        .await;
    let foreign = ctl(&stack, &["dead-letters", "replay", "--all"]).await;
    assert!(
        !foreign.ok && foreign.out.contains("not of this STREAM_PREFIX"),
        "{foreign:?}"
    );
    letters(1).await;
    fails(
        &stack,
        &["dead-letters", "replay", "999"],
        "there is no such letter",
    )
    .await;
    stack.verify().await;
}

#[tokio::test]
async fn the_status_of_the_outbox_fails_when_something_waits_too_long() {
    let mut stack = Stack::start().await;
    let program = stack.program().await;
    stack.customer(&program, &program.ada.code, "user-1").await;
    assert_eq!(
        stack.sale(&program, sale_of("t1", "user-1")).await.status,
        StatusCode::OK
    );
    let streams = Streams::of(&stack).await;
    streams.drained(&stack).await;
    let fresh = succeeds(&stack, &["outbox", "status"]).await;
    let count = |ran: &Ran, name: &str| {
        let line = ran
            .out
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .unwrap()
            .to_owned();
        line.split_whitespace().next().unwrap().to_owned()
    };
    assert_eq!(count(&fresh, "open claims"), "0");
    stack.stop_workers().await;
    for (table, time) in [
        (
            "transaction_claims (transaction_id, program_id, event_id, payload, claimed_at)",
            "'t2', 1, gen_random_uuid(), '{}'",
        ),
        ("outbox (noun, payload, created_at)", "'notifications', '{}'"),
        (
            "parked_refunds (event_id, program_id, transaction_id, payload, parked_at)",
            "gen_random_uuid(), 1, 't3', '{}'",
        ),
    ] {
        stack
            .execute(&format!("INSERT INTO {table} VALUES ({time}, now())"))
            .await;
        let waiting = succeeds(&stack, &["outbox", "status"]).await;
        assert!(waiting.out.contains("oldest"), "{table}: {waiting:?}");
        let (name, columns) = table.split_once(" (").unwrap();
        let column = columns.trim_end_matches(')').rsplit(", ").next().unwrap();
        stack.execute(&format!("UPDATE {name} SET {column} = now() - interval '61 seconds' WHERE {column} > now() - interval '1 minute' AND payload = '{{}}'")).await;
        assert!(!ctl(&stack, &["outbox", "status"]).await.ok, "{table}");
        stack
            .execute(&format!("DELETE FROM {name} WHERE payload = '{{}}'"))
            .await;
    }
}

#[tokio::test]
async fn verify_names_every_invariant_and_what_breaks_it() {
    let (stack, program) = Stack::with_customer().await;
    stack.sale(&program, sale_of("t1", "user-1")).await;
    stack.verify().await;
    let fine = succeeds(&stack, &["verify"]).await;
    assert!(fine.out.lines().all(|line| line.starts_with("ok ")), "{fine:?}");
    stack
        .execute("UPDATE partner_program_balances SET balance_cents = balance_cents + 1")
        .await;
    let broken = ctl(&stack, &["verify"]).await;
    assert!(
        !broken.ok && broken.err.contains("invariants are broken"),
        "{broken:?}"
    );
    assert!(
        broken.out.contains("BROKEN  partner-program balance"),
        "{broken:?}"
    );
    stack
        .execute("UPDATE partner_program_balances SET balance_cents = balance_cents - 1")
        .await;
    succeeds(&stack, &["migrate"]).await;
}
